//! Studies as data: the section `[studies]` of a sweep.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::numbers::Count;
use crate::store::study::{Fleet, StudyPoint};

/// Which studies are run, and how thoroughly. What is left out is not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Studies {
    /// Inserts against the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling: Option<Filling>,
    /// Lookups in filters that are not in the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// Hashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hashing: Option<Hashing>,
    /// Builds under many seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builds: Option<Builds>,
    /// Loads at the first refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Bits a key against n.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Space>,
    /// Lengths of clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Clusters>,
    /// Keys that repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Duplicates>,
}

/// See [`StudyPoint::Filling`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filling {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// Remainder bits.
    pub r: Vec<u32>,
    /// Times that each filter is filled, once for the mean and once for single inserts.
    pub repetitions: u32,
}

/// See [`StudyPoint::Cold`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cold {
    /// The rate asked for.
    pub fpr: f64,
    /// Numbers of keys in each of many filters.
    pub n: Vec<Count>,
    /// How many filters.
    pub filters: Count,
    /// Numbers of keys in each of as many filters as it takes to be beyond the last-level cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond_cache_n: Vec<Count>,
    /// Passes over the same filters.
    pub repetitions: u32,
    /// Passes before each of which the caches are overwritten; 0, if left out.
    #[serde(default)]
    pub evictions: u32,
}

/// See [`StudyPoint::Hashing`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hashing {
    /// Timed passes.
    pub repetitions: u32,
}

/// See [`StudyPoint::Builds`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builds {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// The rate asked for.
    pub fpr: f64,
    /// Builds.
    pub seeds: Count,
}

/// See [`StudyPoint::Refusal`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// Remainder bits.
    pub r: u32,
    /// Tables.
    pub seeds: Count,
}

/// See [`StudyPoint::Space`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Rates asked for.
    pub fpr: Vec<f64>,
    /// The smallest n.
    pub from: Count,
    /// The largest.
    pub to: Count,
    /// Numbers in a decade.
    pub per_decade: u32,
}

/// See [`StudyPoint::Clusters`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clusters {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// Loads.
    pub alpha: Vec<f64>,
    /// Tables.
    pub seeds: Count,
}

/// See [`StudyPoint::Duplicates`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicates {
    /// Keys handed over.
    pub n: Count,
    /// Shares of copies.
    pub copies: Vec<f64>,
    /// The rate asked for.
    pub fpr: f64,
    /// Seconds that a build and the check after it may take.
    pub deadline_seconds: f64,
}

/// n of these studies are far below it: a study that would not end is a slip of the pen.
const MOST_KEYS: u64 = 1 << 32;

impl Studies {
    /// Whether there is anything to run.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every point, in the order in which they run: what is timed comes first.
    pub fn points(&self) -> Vec<StudyPoint> {
        let mut points = Vec::new();
        if self.hashing.is_some() {
            points.push(StudyPoint::Hashing);
        }
        if let Some(Filling { n, r, .. }) = &self.filling {
            let pairs = n.iter().flat_map(|n| r.iter().map(move |&r| (n.0, r)));
            points.extend(pairs.map(|(n, r)| StudyPoint::Filling { n, r }));
        }
        if let Some(Cold { fpr, n, filters, beyond_cache_n, .. }) = &self.cold {
            let fpr = *fpr;
            let fleet = Fleet::Of(filters.0);
            points.extend(n.iter().map(|n| StudyPoint::Cold { n: n.0, fpr, fleet }));
            let fleet = Fleet::BeyondCache;
            points.extend(beyond_cache_n.iter().map(|n| StudyPoint::Cold { n: n.0, fpr, fleet }));
        }
        if let Some(Builds { n, fpr, seeds }) = &self.builds {
            points.extend(n.iter().map(|n| StudyPoint::Builds { n: n.0, fpr: *fpr, seeds: seeds.0 }));
        }
        if let Some(Refusal { n, r, seeds }) = &self.refusal {
            points.extend(n.iter().map(|n| StudyPoint::Refusal { n: n.0, r: *r, seeds: seeds.0 }));
        }
        if let Some(Space { fpr, from, to, per_decade }) = &self.space {
            points.extend(fpr.iter().map(|&fpr| StudyPoint::Space {
                fpr,
                from: from.0,
                to: to.0,
                per_decade: *per_decade,
            }));
        }
        if let Some(Clusters { n, alpha, seeds }) = &self.clusters {
            let pairs = n.iter().flat_map(|n| alpha.iter().map(move |&alpha| (n.0, alpha)));
            points.extend(pairs.map(|(n, alpha)| StudyPoint::Clusters { n, alpha, seeds: seeds.0 }));
        }
        if let Some(Duplicates { n, copies, fpr, .. }) = &self.duplicates {
            points.extend(copies.iter().map(|&copies| StudyPoint::Duplicates { n: n.0, copies, fpr: *fpr }));
        }
        points
    }

    /// Whether every value is in range.
    ///
    /// # Errors
    /// The first that is not, by name.
    pub fn check(&self) -> Result<()> {
        for point in self.points() {
            let name = point.study();
            if let Some(n) = point.n() {
                ensure!(n <= MOST_KEYS, "studies.{name}: n = {n}: at most 2^32");
            }
            match point {
                StudyPoint::Filling { r, .. } | StudyPoint::Refusal { r, .. } => {
                    ensure!((1..=64).contains(&r), "studies.{name}: r = {r}: 1 to 64");
                }
                StudyPoint::Space { from, to, per_decade, .. } => {
                    ensure!(
                        from <= to && to <= MOST_KEYS,
                        "studies.{name}: from = {from}, to = {to}: rising, at most 2^32"
                    );
                    ensure!(
                        (1..=1000).contains(&per_decade),
                        "studies.{name}: per_decade = {per_decade}: 1 to 1000"
                    );
                }
                _ => {}
            }
            if let StudyPoint::Builds { seeds, .. }
            | StudyPoint::Refusal { seeds, .. }
            | StudyPoint::Clusters { seeds, .. } = point
            {
                ensure!(seeds <= 1 << 24, "studies.{name}: seeds = {seeds}: at most 2^24");
            }
            if let StudyPoint::Cold { fpr, .. }
            | StudyPoint::Builds { fpr, .. }
            | StudyPoint::Space { fpr, .. }
            | StudyPoint::Duplicates { fpr, .. } = point
            {
                ensure!(
                    fpr > 0.0 && fpr < 1.0,
                    "studies.{name}: fpr = {fpr}: between 0 and 1, both excluded"
                );
            }
            if let StudyPoint::Clusters { alpha, .. } = point {
                ensure!(
                    alpha > 0.0 && alpha < 1.0,
                    "studies.{name}: alpha = {alpha}: between 0 and 1, both excluded"
                );
            }
            if let StudyPoint::Duplicates { copies, .. } = point {
                ensure!(
                    (0.0..=1.0).contains(&copies),
                    "studies.{name}: copies = {copies}: 0 to 1, both included"
                );
            }
        }
        self.check_thoroughness()
    }

    fn check_thoroughness(&self) -> Result<()> {
        let repetitions = [
            ("filling", self.filling.as_ref().map(|study| study.repetitions)),
            ("cold", self.cold.as_ref().map(|study| study.repetitions)),
            ("hashing", self.hashing.as_ref().map(|study| study.repetitions)),
        ];
        for (name, repetitions) in repetitions {
            let Some(repetitions) = repetitions else { continue };
            ensure!(
                (1..=1000).contains(&repetitions),
                "studies.{name}: repetitions = {repetitions}: 1 to 1000"
            );
        }
        if let Some(cold) = &self.cold {
            ensure!(cold.evictions <= 1000, "studies.cold: evictions = {}: at most 1000", cold.evictions);
        }
        if let Some(Duplicates { deadline_seconds, .. }) = self.duplicates {
            ensure!(
                deadline_seconds > 0.0 && deadline_seconds <= 1e6,
                "studies.duplicates: deadline_seconds = {deadline_seconds}: above 0, at most 10^6"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::config::{PROFILES, Sweep};

    #[test]
    fn every_profile_has_every_study_and_smoke_has_little_of_it() {
        for (name, _) in PROFILES {
            let studies = Sweep::profile(name).unwrap().studies.unwrap_or_default();
            let names: std::collections::BTreeSet<_> =
                studies.points().iter().map(StudyPoint::study).collect();
            assert_eq!(names.len(), 8, "{name}: {names:?}");
        }
    }

    #[test]
    fn bad_values_are_named() {
        for (text, said) in [
            ("[filling]\nn = [1e20]\nr = [8]\nrepetitions = 1", "1e20"),
            ("[filling]\nn = [1e12]\nr = [8]\nrepetitions = 1", "n = 1000000000000: at most"),
            ("[filling]\nn = [10]\nr = [0]\nrepetitions = 1", "r = 0: 1 to 64"),
            ("[filling]\nn = [10]\nr = [8]\nrepetitions = 0", "repetitions = 0: 1 to 1000"),
            ("[builds]\nn = [10]\nfpr = 1.0\nseeds = 3", "fpr = 1: between"),
            ("[builds]\nn = [10]\nfpr = nan\nseeds = 3", "fpr = NaN: between"),
            ("[space]\nfpr = [0.1]\nfrom = 10\nto = 9\nper_decade = 3", "from = 10, to = 9: rising"),
            ("[space]\nfpr = [0.1]\nfrom = 1\nto = 9\nper_decade = 0", "per_decade = 0: 1 to"),
            ("[duplicates]\nn = 9\ncopies = [2.0]\nfpr = 0.1\ndeadline_seconds = 1", "copies = 2: 0 to 1"),
            ("[duplicates]\nn = 9\ncopies = [1.0]\nfpr = 0.1\ndeadline_seconds = 0", "deadline_seconds = 0"),
            ("[clusters]\nn = [9]\nalpha = [1.0]\nseeds = 1", "alpha = 1: between"),
            ("[hashing]\nrepetition = 1", "repetition"),
        ] {
            let error = toml::from_str::<Studies>(text)
                .map_err(anyhow::Error::from)
                .and_then(|studies| studies.check())
                .unwrap_err();
            assert!(format!("{error:#}").contains(said), "{text}: {error:#}");
        }
    }
}
