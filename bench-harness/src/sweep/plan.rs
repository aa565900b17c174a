//! All that decides the results of a sweep, from its options or from a run that goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amq::Descriptor;
use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;

use super::config::{Counts, Sweep};
use super::groups::{self, Group};
use super::keys::file::KeyFile;
use super::keys::{KeySource, Keys};
use super::places::absolute;
use super::{DEFAULT_SEED, Options, Peers};
use crate::numbers::grouped;
use crate::registry;
use crate::store::cell::SCHEMA;
use crate::store::derive;
use crate::store::machine;
use crate::store::run::{FilterInfo, RunInfo};
use crate::store::sample::{Header, Sample};
use crate::studies::{self, Unit};

/// A sweep with all that decides its results.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) sweep: Sweep,
    pub(crate) keys: Keys,
    pub(super) key_file: Option<PathBuf>,
    pub(crate) filters: Vec<&'static Descriptor>,
    pub(crate) seed: u64,
    pub(crate) groups: Vec<Group>,
    pub(super) units: Vec<Unit>,
}

impl Plan {
    /// What the options ask for; where they say nothing, as in the `stored` run.
    pub(crate) fn of(options: &Options, stored: Option<&Header>) -> Result<Self> {
        let sweep = match (&options.file, &options.profile, stored) {
            (Some(file), ..) => Sweep::read(file)?,
            (None, Some(profile), _) => Sweep::profile(profile)?,
            (None, None, Some(header)) => Sweep::parse(&header.sweep_toml).context("in the stored sweep")?,
            (None, None, None) => Sweep::profile("quick")?,
        };
        let sweep = sweep.with(options.overrides.clone())?;
        let filters = match (&options.families, stored) {
            (Some(names), _) => select(names)?,
            (None, Some(header)) => {
                select(&header.filters.iter().map(|filter| filter.name.clone()).collect::<Vec<_>>())?
            }
            (None, None) => taking_part(&sweep)?,
        };
        let filters: Vec<_> = filters
            .into_iter()
            .filter(|filter| options.peers == Peers::Included || filter.peer.is_none())
            .collect();
        ensure!(!filters.is_empty(), "no filter is left: --no-peers leaves out all that were chosen");
        let stored_keys = stored.and_then(|header| header.key_file.as_ref()).map(PathBuf::from);
        let from_sweep = match &sweep.keys {
            KeySource::File { path } => Some(PathBuf::from(path)),
            _ => None,
        };
        let key_file = options.keys.clone().or(stored_keys).or(from_sweep);
        let keys = match &key_file {
            Some(path) => Keys::File(KeyFile::read(path)?),
            None => Keys::Generated(sweep.keys.clone()),
        };
        let sweep = match keys.distinct() {
            None => sweep,
            Some(distinct) => {
                // A stored sweep names every number of keys that it was carried out with.
                let as_stored = options.file.is_none() && options.profile.is_none() && stored.is_some();
                let given = options.overrides.n.as_deref();
                for n in given.into_iter().flatten().filter(|n| n.0 > distinct) {
                    eprintln!(
                        "warning: n = {} is left out: the key file has {} distinct keys",
                        grouped(n.0),
                        grouped(distinct)
                    );
                }
                let counts = if as_stored || given.is_some() { Counts::AsGiven } else { Counts::UpToAll };
                sweep.over_keys(distinct, counts)?
            }
        };
        let seed = options.seed.or(stored.map(|header| header.seed)).unwrap_or(DEFAULT_SEED);
        let groups = groups::plan(&sweep, &keys, &filters, seed);
        ensure!(
            !groups.is_empty(),
            "there is nothing to measure: the chosen filters take part in no group of this sweep"
        );
        let units = sweep.studies.as_ref().map_or_else(Vec::new, |own| studies::units(own, &filters, seed));
        Ok(Self { sweep, keys, key_file, filters, seed, groups, units })
    }

    /// The first line of the samples of a run in `path`.
    pub(crate) fn header(&self, path: &Path) -> Header {
        let name = path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
        let largest = self.groups.iter().map(|group| group.point.n()).max().unwrap_or(0);
        Header {
            schema: SCHEMA,
            run: name,
            sweep_toml: self.sweep.to_toml(),
            seed: self.seed,
            keys: self.keys.info(largest),
            key_file: self.key_file.as_ref().map(|path| absolute(path).to_string_lossy().into_owned()),
            key_hash: self.keys.hash(),
            filters: self.filters.iter().map(|filter| FilterInfo::of(filter)).collect(),
        }
    }

    /// The provenance of a run that begins now.
    pub(super) fn info(&self, header: &Header) -> RunInfo {
        let (revision, dirty) = machine::revision().unzip();
        RunInfo {
            schema: SCHEMA,
            run: header.run.clone(),
            started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            finished: None,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            sweep: self.sweep.name.clone(),
            sweep_toml: header.sweep_toml.clone(),
            seed: self.seed,
            repetitions: self.sweep.repetitions,
            revision: revision.unwrap_or_default(),
            dirty,
            machine: machine::machine(),
            compiler: machine::compiler(),
            dependencies: machine::dependencies(),
            keys: header.keys.clone(),
            filters: header.filters.clone(),
            noise: BTreeMap::new(),
            drift: None,
            noisy: None,
            uniformity: None,
        }
    }

    /// What is left of the studies.
    pub(super) fn units_left(&self, samples: &[Sample]) -> Vec<Unit> {
        let done = derive::studies(samples);
        self.units.iter().filter(|unit| !done.iter().any(|record| unit.is(record))).cloned().collect()
    }
}

/// Every filter of ours, and the peers that the sweep names: all, if it names none.
fn taking_part(sweep: &Sweep) -> Result<Vec<&'static Descriptor>> {
    let all = registry::filters();
    let Some(peers) = sweep.peers.as_ref().filter(|_| cfg!(feature = "peers")) else { return Ok(all) };
    let chosen = select(peers).context("in the sweep's peers")?;
    Ok(all
        .into_iter()
        .filter(|filter| filter.peer.is_none() || chosen.iter().any(|peer| peer.name == filter.name))
        .collect())
}

fn select(names: &[String]) -> Result<Vec<&'static Descriptor>> {
    for name in names {
        if registry::filter(name).is_none() {
            let known: Vec<_> = registry::filters().iter().map(|filter| filter.name).collect();
            bail!("there is no filter {name:?}: take some of {}", known.join(", "));
        }
    }
    // In the order of the registry, each once.
    Ok(registry::filters()
        .into_iter()
        .filter(|filter| names.iter().any(|name| name == filter.name))
        .collect())
}

/// The provenance of a run that goes on: as it began, with a warning where the program is another one.
pub(super) fn continued(info: RunInfo) -> RunInfo {
    let now = machine::revision().map(|(revision, _)| revision).unwrap_or_default();
    if now != info.revision {
        eprintln!(
            "warning: the run began with revision {} and goes on with {now}: its numbers may not be comparable",
            info.revision
        );
    }
    info
}

/// A run goes on only with the same sweep, filters, keys and seed.
pub(super) fn refuse_differences(before: &Header, now: &Header) -> Result<()> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, before: String, now: String| {
        if before != now {
            differences.push(format!("  {what}: {before} before, {now} now"));
        }
    };
    compare("seed", before.seed.to_string(), now.seed.to_string());
    compare("keys", before.keys.source.clone(), now.keys.source.clone());
    compare("distinct keys", grouped(before.keys.distinct), grouped(now.keys.distinct));
    compare("hash of the keys", format!("{:016x}", before.key_hash), format!("{:016x}", now.key_hash));
    let names = |header: &Header| {
        header
            .filters
            .iter()
            .map(|filter| format!("{} {}", filter.name, filter.version))
            .collect::<Vec<_>>()
            .join(", ")
    };
    compare("filters", names(before), names(now));
    compare("schema", before.schema.to_string(), now.schema.to_string());
    let lines = |header: &Header| header.sweep_toml.lines().map(String::from).collect::<Vec<_>>();
    let (lines_before, lines_now) = (lines(before), lines(now));
    for line in lines_before.iter().filter(|line| !lines_now.contains(line)) {
        differences.push(format!("  the sweep had  {line}"));
    }
    for line in lines_now.iter().filter(|line| !lines_before.contains(line)) {
        differences.push(format!("  the sweep has  {line}"));
    }
    ensure!(
        differences.is_empty(),
        "the run to continue is another one:\n{}\nGive the same options, or none, or another folder.",
        differences.join("\n")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_keep_the_order_of_the_registry() {
        let mut names: Vec<_> = registry::filters().iter().map(|filter| filter.name.to_string()).collect();
        let expected = names.clone();
        names.reverse();
        names.push(expected[0].clone());
        let selected: Vec<_> = select(&names).unwrap().iter().map(|filter| filter.name).collect();
        assert_eq!(selected, expected);
        let error = select(&["blom".into()]).unwrap_err().to_string();
        assert!(error.contains("\"blom\"") && error.contains(&expected[0]), "{error}");
    }
}
