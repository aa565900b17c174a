//! Studies: questions that do not fit the cells of filter × cell × workload.
//!
//! [`config`] says which are run; [`schedule`] runs each filter at each point of them in a [`child`] process with a deadline and
//! a memory limit; the other modules are what is measured there. What was found is a
//! [`Record`], one line of the stored samples, and `studies.csv` is derived from them.
//!
//! The filters of a study are measured one after the other, not beside each other: what a study compares is one filter with
//! itself (at another load, in another cache), and times of two filters only by their order of magnitude. Keys are generated
//! ones, whatever the sweep's are.

mod builds;
pub mod child;
mod clusters;
mod cold;
pub mod config;
mod duplicates;
mod filling;
mod hashing;
mod refusal;
pub mod schedule;
mod space;
mod vessel;

use amq::{BuildError, Capability, Descriptor, Key as _, Kind, attempt_seed};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use self::config::Studies;
use crate::measure::time::Fault;
use crate::measure::verify::status_of;
use crate::store::cell::Status;
use crate::store::study::{Record, StudyPoint, Value};

/// One filter at one point: what a child process measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The point.
    pub point: StudyPoint,
    /// The filter's name; for hashing, the hash's.
    pub filter: String,
    /// The seed of keys and filters: the same for all filters of a point, but for clusters.
    pub seed: u64,
}

impl Unit {
    /// Whether `record` is what came of it.
    pub fn is(&self, record: &Record) -> bool {
        (&self.point, &self.filter) == (&record.point, &record.filter)
    }
}

/// Every filter at every point, in the order in which they run: deterministic.
pub fn units(studies: &Studies, filters: &[&'static Descriptor], seed: u64) -> Vec<Unit> {
    let mut units = Vec::new();
    for point in studies.points() {
        let name = format!("{} n={:?} {}", point.study(), point.n(), point.parameters());
        units.extend(subjects(&point, filters).into_iter().map(|filter| {
            // Clusters of the same keys are the same in every layout: tested as one, they would count twice.
            let own = if matches!(point, StudyPoint::Clusters { .. }) { filter.as_str() } else { "" };
            // Short enough to be exact in JavaScript.
            let seed = format!("{name}{own}").digest(seed).get() >> 11;
            Unit { point, filter, seed }
        }));
    }
    units
}

/// Who takes part.
fn subjects(point: &StudyPoint, filters: &[&'static Descriptor]) -> Vec<String> {
    let those = |takes_part: &dyn Fn(&Descriptor) -> bool| {
        filters.iter().filter(|filter| takes_part(filter)).map(|filter| filter.name.to_owned()).collect()
    };
    match point {
        StudyPoint::Hashing => hashing::HASHES.map(|(name, _)| name.to_owned()).to_vec(),
        StudyPoint::Filling { .. } => those(&|filter| filter.can(Capability::Insert)),
        StudyPoint::Refusal { .. } => {
            those(&|filter| filter.can(Capability::Insert) && filter.kind == Kind::Table)
        }
        StudyPoint::Clusters { .. } => {
            those(&|filter| filter.can(Capability::Stats) && filter.kind == Kind::Table)
        }
        StudyPoint::Duplicates { .. } => {
            let mut names: Vec<String> = those(&|_| true);
            let has = |name: &str| filters.iter().any(|filter| filter.name == name);
            names.extend(duplicates::bare().filter(|bare| has(bare.of)).map(|bare| bare.name.to_owned()));
            names
        }
        StudyPoint::Cold { .. } | StudyPoint::Builds { .. } | StudyPoint::Space { .. } => those(&|_| true),
    }
}

/// Told of each value that is found; `None` says only that the work goes on, which holds off the deadline.
type Tell<'a> = &'a mut dyn FnMut(Option<Value>) -> Result<()>;

/// Outer error: of the harness. Inner: of the filter.
type Outcome = Result<Result<(), Fault>>;

/// Returns the inner error of an [`Outcome`] from the function around it.
macro_rules! of_filter {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(fault) => return Ok(Err(fault)),
        }
    };
}
use of_filter;

/// The seed of one of many tables of a point.
fn numbered(seed: u64, number: u64) -> u64 {
    attempt_seed(attempt_seed(seed, 0) ^ number, 0)
}

/// A failed build, as the fault that ends a study.
fn build_fault(error: &BuildError) -> Fault {
    Fault { status: status_of(error), reason: error.to_string() }
}

/// A filter that breaks a promise.
fn defect(reason: String) -> Fault {
    Fault { status: Status::VerifyFailed, reason }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::registry;
    use crate::sweep::config::Sweep;

    #[test]
    fn units_are_distinct_and_only_who_can_takes_part() {
        let filters = registry::filters();
        let studies = Sweep::profile("standard").unwrap().studies.unwrap();
        let units = units(&studies, &filters, 1);
        let distinct: BTreeSet<_> =
            units.iter().map(|unit| format!("{:?} {}", unit.point, unit.filter)).collect();
        assert_eq!(distinct.len(), units.len());
        for unit in &units {
            assert!(unit.seed < 1 << 53);
            let filter = registry::filter(&unit.filter);
            match unit.point {
                StudyPoint::Filling { .. } => assert!(filter.unwrap().kind != Kind::Static),
                StudyPoint::Refusal { .. } | StudyPoint::Clusters { .. } => {
                    assert_eq!(filter.unwrap().kind, Kind::Table);
                }
                StudyPoint::Hashing => assert!(filter.is_none()),
                StudyPoint::Duplicates { .. } => {}
                _ => assert!(filter.is_some()),
            }
        }
    }
}
