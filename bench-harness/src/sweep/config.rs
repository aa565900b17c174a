//! A sweep as data: the TOML files of `sweeps/` and those of a user.

use std::path::Path;

use amq::theory::queries::{self, Z_95};
use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::keys::{KeySource, MOST_QUERIES};
use crate::numbers::Count;
use crate::store::cell::{Hashing, Mode, Workload};
use crate::store::sample::Work;
use crate::studies::config::Studies;

/// The sweeps that come with the program.
pub const PROFILES: [(&str, &str); 4] = [
    ("smoke", include_str!("../../sweeps/smoke.toml")),
    ("quick", include_str!("../../sweeps/quick.toml")),
    ("standard", include_str!("../../sweeps/standard.toml")),
    ("full", include_str!("../../sweeps/full.toml")),
];

/// What is swept, and how thoroughly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The name that the results carry.
    pub name: String,
    /// Timed repetitions, each with a fresh table.
    pub repetitions: u32,
    /// Shares of members among the keys looked up one by one.
    pub hit_ratios: Vec<f64>,
    /// Lookups in one pass over the query array.
    pub lookups_per_pass: Count,
    /// Seconds that one filter may take for each phase of its verification and each repetition of its timing.
    pub deadline_seconds: f64,
    /// MiB of address space that a measuring process may use.
    pub memory_limit_mib: Count,
    /// The foreign crates' filters that take part; all of them, if this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<Vec<String>>,
    /// What is timed. A filter that cannot do one of them has a row that says so.
    #[serde(default = "basic_workloads")]
    pub workloads: Vec<Workload>,
    /// The keys, where none are given on the command line.
    #[serde(default, skip_serializing_if = "KeySource::is_default")]
    pub keys: KeySource,
    /// How many absent keys are asked.
    pub queries: Queries,
    /// The axis over (n, ε).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<Rates>,
    /// The axis over (n, α, r).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loads: Option<Loads>,
    /// Questions beyond the axes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub studies: Option<Studies>,
}

/// How many absent keys are asked for the false-positive rate ε of a cell: `per_rate / ε`, within limits. Fixed before the
/// first query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queries {
    /// Expected false positives; the default tells the rate to ±10 % at 95 % confidence.
    #[serde(default = "for_a_tenth")]
    pub per_rate: Count,
    /// At least as many queries, which is cheap and sharpens high rates.
    pub least: Count,
    /// At most as many queries: what a filter's verification may cost.
    pub budget: Count,
    /// Cells of these n are asked more thoroughly: `verification_per_rate / ε`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verification_n: Vec<Count>,
    /// See above; the default tells a rate that is 10 % too high from a right one.
    #[serde(default = "to_notice_a_tenth")]
    pub verification_per_rate: Count,
    /// In the same cells, so many seeds are measured: each has its own keys, table and queries, those after the first with
    /// `per_rate / ε` queries.
    #[serde(default = "one")]
    pub verification_seeds: u32,
}

fn one() -> u32 {
    1
}

/// How far a rate may be off before these numbers of queries show it.
const RELATIVE_ERROR: f64 = 0.1;
/// A rate so small that a number of queries depends on it by its inverse alone.
const SMALL_RATE: f64 = 1e-9;

/// `queries` at [`SMALL_RATE`], times that rate.
fn times_rate(queries: Option<u64>) -> Count {
    let expected = queries.map_or(1.0, |queries| (queries as f64 * SMALL_RATE).round());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    Count(expected as u64)
}

/// With so many expected false positives, a measured rate is right to 10 % at 95 % confidence.
fn for_a_tenth() -> Count {
    times_rate(queries::for_precision(SMALL_RATE, RELATIVE_ERROR, Z_95))
}

/// With so many, a rate that is 10 % too high is refused (|z| above 4) with 97 % probability; up to the next hundred.
fn to_notice_a_tenth() -> Count {
    const Z_97_ONE_SIDED: f64 = 1.88;
    let wanted = times_rate(queries::to_notice(SMALL_RATE, RELATIVE_ERROR, 4.0, Z_97_ONE_SIDED));
    Count(wanted.0.next_multiple_of(100))
}

fn basic_workloads() -> Vec<Workload> {
    vec![Workload::Build, Workload::Insert, Workload::Lookup, Workload::Remove]
}

impl Queries {
    /// The number for one cell.
    pub fn count(&self, n: u64, fpr: f64) -> u64 {
        self.limited(if self.is_thorough(n) { self.verification_per_rate } else { self.per_rate }, fpr)
    }

    /// The number for each further seed of one cell.
    pub fn count_again(&self, fpr: f64) -> u64 {
        self.limited(self.per_rate, fpr)
    }

    /// The number of seeds for one cell.
    pub fn seeds(&self, n: u64) -> u32 {
        if self.is_thorough(n) { self.verification_seeds } else { 1 }
    }

    fn is_thorough(&self, n: u64) -> bool {
        self.verification_n.contains(&Count(n))
    }

    fn limited(&self, per_rate: Count, fpr: f64) -> u64 {
        let wanted = (per_rate.0 as f64 / fpr).ceil().min(self.budget.0 as f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, at most the budget"
        )]
        let wanted = wanted as u64;
        wanted.max(self.least.0.min(self.budget.0))
    }
}

/// Every filter at its best parameters for a false-positive rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// False-positive rates asked for.
    pub fpr: Vec<f64>,
}

/// Tables at loads and widths; the other filters once for each (n, r), at ε = 2^-r.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loads {
    /// Numbers of keys.
    pub n: Vec<Count>,
    /// Loads: records over slots.
    pub alpha: Vec<f64>,
    /// Remainder bits.
    pub r: Vec<u32>,
}

/// Which numbers of keys a sweep over a key file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Those that were asked for one by one.
    AsGiven,
    /// Those that are below the number of keys in the file, and that number.
    UpToAll,
}

/// What a command line changes in a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// In place of both axes' n.
    pub n: Option<Vec<Count>>,
    /// In place of the rates.
    pub fpr: Option<Vec<f64>>,
    /// In place of the loads.
    pub alpha: Option<Vec<f64>>,
    /// In place of the widths.
    pub r: Option<Vec<u32>>,
    /// In place of the keys.
    pub keys: Option<KeySource>,
}

impl Sweep {
    /// The sweep that comes with the program under this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn profile(name: &str) -> Result<Self> {
        let Some((_, text)) = PROFILES.iter().find(|(profile, _)| *profile == name) else {
            bail!("there is no profile {name:?}: take one of {}", PROFILES.map(|(name, _)| name).join(", "));
        };
        Self::parse(text).with_context(|| format!("in the profile {name}"))
    }

    /// A sweep of the user's.
    ///
    /// # Errors
    /// If the file cannot be read or is no sweep.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the sweep file {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in the sweep file {}", path.display()))
    }

    /// A sweep from its TOML text, checked.
    ///
    /// # Errors
    /// If it is not TOML, a field is unknown or missing, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self> {
        let sweep: Self = toml::from_str(text)?;
        sweep.check()?;
        Ok(sweep)
    }

    /// The sweep with some values replaced, checked.
    ///
    /// # Errors
    /// If a value is out of range, or belongs to an axis that the sweep does not have.
    pub fn with(mut self, overrides: Overrides) -> Result<Self> {
        let Overrides { n, fpr, alpha, r, keys } = overrides;
        self.keys = keys.unwrap_or(self.keys);
        if let Some(n) = n {
            if let Some(rates) = &mut self.rates {
                rates.n.clone_from(&n);
            }
            if let Some(loads) = &mut self.loads {
                loads.n = n;
            }
        }
        if let Some(fpr) = fpr {
            let name = &self.name;
            let rates = self.rates.as_mut();
            rates
                .with_context(|| {
                    format!("--fpr: the sweep {name} has no [rates] axis, take another profile")
                })?
                .fpr = fpr;
        }
        if alpha.is_some() || r.is_some() {
            let name = &self.name;
            let loads = self.loads.as_mut();
            let loads = loads.with_context(|| {
                format!("--alpha, --r: the sweep {name} has no [loads] axis, take another profile")
            })?;
            loads.alpha = alpha.unwrap_or_else(|| loads.alpha.clone());
            loads.r = r.unwrap_or_else(|| loads.r.clone());
        }
        self.check()?;
        Ok(self)
    }

    /// The sweep limited to what a file of `distinct` keys has keys for.
    ///
    /// # Errors
    /// If no number of keys is left on an axis.
    pub fn over_keys(mut self, distinct: u64, counts: Counts) -> Result<Self> {
        let axes = self.rates.as_mut().map(|rates| &mut rates.n).into_iter();
        for axis in axes.chain(self.loads.as_mut().map(|loads| &mut loads.n)) {
            match counts {
                Counts::AsGiven => axis.retain(|n| n.0 <= distinct),
                Counts::UpToAll => {
                    axis.retain(|n| n.0 < distinct);
                    axis.push(Count(distinct));
                }
            }
            ensure!(
                !axis.is_empty(),
                "the key file has {distinct} distinct keys, fewer than every n that was asked for: give a smaller --n"
            );
        }
        Ok(self)
    }

    /// The sweep as TOML.
    ///
    /// # Panics
    /// Never: every sweep is a TOML document.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a sweep has string keys and plain values only")
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.name.trim().is_empty(), "name is empty: give the sweep a name");
        ensure!(
            (1..=1000).contains(&self.repetitions),
            "repetitions = {}: 1 to 1000, and 9 for an interval of 95 %",
            self.repetitions
        );
        check_axis(
            "hit_ratios",
            &self.hit_ratios,
            |ratio| (0.0..=1.0).contains(ratio),
            "0 to 1, both included",
        )?;
        ensure!(
            self.lookups_per_pass.0 <= 1 << 28,
            "lookups_per_pass = {}: at most 2^28, so that the queries fit into memory",
            self.lookups_per_pass.0
        );
        ensure!(
            self.deadline_seconds > 0.0 && self.deadline_seconds <= 1e6,
            "deadline_seconds = {}: above 0, at most 10^6",
            self.deadline_seconds
        );
        ensure!(
            self.memory_limit_mib.0 >= 64,
            "memory_limit_mib = {}: at least 64, which the program itself needs",
            self.memory_limit_mib.0
        );
        check_axis("workloads", &self.workloads, |_| true, "names of workloads")?;
        self.keys.check()?;
        ensure!(
            (1..=1000).contains(&self.queries.verification_seeds),
            "queries.verification_seeds = {}: 1 to 1000",
            self.queries.verification_seeds
        );
        ensure!(
            self.queries.budget.0 <= MOST_QUERIES,
            "queries.budget = {}: at most 2^31",
            self.queries.budget.0
        );
        ensure!(
            self.rates.is_some() || self.loads.is_some(),
            "nothing to sweep: give [rates] with n and fpr, or [loads] with n, alpha and r, or both"
        );
        if let Some(studies) = &self.studies {
            studies.check()?;
        }
        let possible_n = |n: &Count| n.0 <= 1 << 40;
        if let Some(rates) = &self.rates {
            check_axis("rates.n", &rates.n, possible_n, "1 to 2^40")?;
            check_axis(
                "rates.fpr",
                &rates.fpr,
                |fpr| *fpr > 0.0 && *fpr < 1.0,
                "between 0 and 1, both excluded",
            )?;
        }
        if let Some(loads) = &self.loads {
            check_axis("loads.n", &loads.n, possible_n, "1 to 2^40")?;
            check_axis(
                "loads.alpha",
                &loads.alpha,
                |alpha| *alpha > 0.0 && *alpha <= 1.0,
                "above 0, at most 1",
            )?;
            check_axis("loads.r", &loads.r, |r| (1..=64).contains(r), "1 to 64")?;
        }
        Ok(())
    }

    /// What is timed of every filter, in the order of tables.
    pub fn works(&self) -> Vec<Work> {
        let work = |workload, mode| Work { workload, mode, hit_ratio: None, hashing: Hashing::Digest };
        let lookup =
            |mode, ratio, hashing| Work { workload: Workload::Lookup, mode, hit_ratio: Some(ratio), hashing };
        let mut works = Vec::new();
        for workload in Workload::ALL.into_iter().filter(|workload| self.workloads.contains(workload)) {
            match workload {
                Workload::Build | Workload::Merge | Workload::Grow | Workload::Iterate => {
                    works.push(work(workload, Mode::Batch));
                }
                Workload::Insert | Workload::Remove | Workload::Churn => {
                    works.extend([Mode::Single, Mode::Batch].map(|mode| work(workload, mode)));
                }
                Workload::Lookup => {
                    let single = |&ratio: &f64| lookup(Mode::Single, ratio, Hashing::Digest);
                    works.extend(self.hit_ratios.iter().map(single));
                    for mode in [Mode::Batch, Mode::Chain] {
                        works.extend([0.0, 1.0].map(|ratio| lookup(mode, ratio, Hashing::Digest)));
                    }
                    works.push(lookup(Mode::Single, 0.5, Hashing::Included));
                }
            }
        }
        works
    }
}

/// Every value in range, at least one, none twice.
fn check_axis<T: PartialEq + std::fmt::Debug>(
    name: &str,
    values: &[T],
    in_range: impl Fn(&T) -> bool,
    range: &str,
) -> Result<()> {
    ensure!(!values.is_empty(), "{name} is empty: give at least one value, {range}");
    for (i, value) in values.iter().enumerate() {
        ensure!(in_range(value), "{name} = {value:?} is out of range: {range}");
        ensure!(!values[..i].contains(value), "{name} lists {value:?} twice: remove one");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smoke_with(from: &str, to: &str) -> Result<Sweep> {
        let text = PROFILES[0].1;
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{from:?} is not in the smoke sweep");
        Sweep::parse(&changed)
    }

    #[test]
    fn the_profiles_are_sweeps_and_survive_a_round_trip() {
        for (name, _) in PROFILES {
            let sweep = Sweep::profile(name).unwrap();
            assert_eq!(sweep.name, name);
            assert_eq!(Sweep::parse(&sweep.to_toml()).unwrap(), sweep);
        }
    }

    #[test]
    fn bad_values_are_named_with_a_remedy() {
        for (from, to, said) in [
            ("repetitions = 3", "repetitions = 0", "repetitions = 0: 1 to 1000"),
            ("repetitions = 3", "repetitions = 3\nrepetition = 4", "repetition"),
            ("deadline_seconds = 20", "deadline_seconds = -1", "deadline_seconds = -1"),
            ("deadline_seconds = 20", "deadline_seconds = nan", "deadline_seconds = NaN"),
            ("hit_ratios = [0.0, 0.5, 1.0]", "hit_ratios = [1.5]", "hit_ratios = 1.5 is out of range"),
            ("hit_ratios = [0.0, 0.5, 1.0]", "hit_ratios = []", "hit_ratios is empty"),
            ("fpr = [1e-2]", "fpr = [1e-2, 0.01]", "rates.fpr lists 0.01 twice"),
            ("fpr = [1e-2]", "fpr = [0.0]", "rates.fpr = 0.0 is out of range"),
            ("fpr = [1e-2]", "fpr = [nan]", "rates.fpr = NaN is out of range"),
            ("n = [1e3, 1e4]", "n = [1.5]", "1.5 is not a whole number"),
            ("n = [1e3, 1e4]", "n = [0]", "0 is not a whole number"),
            ("n = [1e3, 1e4]", "n = [-1]", "n = [-1]"),
        ] {
            let error = format!("{:#}", smoke_with(from, to).unwrap_err());
            assert!(error.contains(said), "{to}: {error}");
        }
        let error = Sweep::profile("huge").unwrap_err().to_string();
        assert!(error.contains("\"huge\"") && error.contains("quick"), "{error}");
    }

    #[test]
    fn the_number_of_queries_keeps_its_limits() {
        let queries = Queries {
            per_rate: for_a_tenth(),
            least: Count(1000),
            budget: Count(100_000),
            verification_n: vec![Count(77)],
            verification_per_rate: to_notice_a_tenth(),
            verification_seeds: 1,
        };
        assert_eq!((for_a_tenth(), to_notice_a_tenth()), (Count(384), Count(3600)));
        assert_eq!(queries.count(5, 0.5), 1000);
        assert_eq!(queries.count(5, 0.01), 38_400);
        assert_eq!(queries.count(77, 0.1), 36_000);
        assert_eq!(queries.count(5, 1e-300), 100_000);
    }

    #[test]
    fn a_key_file_limits_n_and_adds_all_its_keys_where_none_was_asked_for() {
        let sweep = Sweep::profile("smoke").unwrap();
        let over = |distinct, counts| {
            let sweep = sweep.clone().over_keys(distinct, counts)?;
            anyhow::Ok((sweep.rates.unwrap().n, sweep.loads.unwrap().n))
        };
        let counts = |n: &[u64]| n.iter().copied().map(Count).collect::<Vec<_>>();
        assert_eq!(over(5000, Counts::UpToAll).unwrap(), (counts(&[1000, 5000]), counts(&[5000])));
        assert_eq!(over(10_000, Counts::UpToAll).unwrap(), (counts(&[1000, 10_000]), counts(&[10_000])));
        assert_eq!(over(10_001, Counts::AsGiven).unwrap(), (counts(&[1000, 10_000]), counts(&[10_000])));
        let error = over(5000, Counts::AsGiven).unwrap_err().to_string();
        assert!(error.contains("5000 distinct keys"), "{error}");
    }

    #[test]
    fn overrides_replace_and_are_checked() {
        let sweep = Sweep::profile("smoke").unwrap();
        let narrow = Overrides { n: Some(vec![Count(77)]), fpr: Some(vec![0.25]), ..Overrides::default() };
        let narrowed = sweep.clone().with(narrow).unwrap();
        assert_eq!(narrowed.rates, Some(Rates { n: vec![Count(77)], fpr: vec![0.25] }));
        assert_eq!(narrowed.loads.unwrap().n, [Count(77)]);
        let wrong = Overrides { alpha: Some(vec![2.0]), ..Overrides::default() };
        assert!(sweep.with(wrong).unwrap_err().to_string().contains("loads.alpha = 2.0"));
    }
}
