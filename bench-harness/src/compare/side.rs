//! One side of a comparison: the cells of a run with their raw samples.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::store::cell::{Cell, Mode, Status, Workload};
use crate::store::derive;
use crate::store::run::{NoiseFloor, RunInfo};
use crate::store::sample::{Access, Header, Point, Sample, Sentinel, Time, Work};

/// A run, or what `ab` measured of a build.
#[derive(Clone, Debug)]
pub struct Side {
    /// Where it comes from.
    pub provenance: Provenance,
    /// What decides its results.
    pub header: Header,
    /// Its samples, those of a group together.
    pub samples: Vec<Sample>,
}

/// Where one side's numbers come from: what a reader looks at before the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The run's name or the program's path.
    pub name: String,
    /// What may make a difference, by name: processor, compiler, flags, revision.
    pub facts: BTreeMap<&'static str, String>,
}

impl Provenance {
    /// Of a stored run.
    pub fn of_run(info: &RunInfo) -> Self {
        let RunInfo { machine, compiler, .. } = info;
        let unknown = |text: &str| if text.is_empty() { "unknown".into() } else { text.to_owned() };
        let revision = match info.dirty {
            Some(true) => format!("{} with changes", info.revision),
            _ => unknown(&info.revision),
        };
        let dependencies: Vec<_> =
            info.dependencies.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let facts = BTreeMap::from([
            ("cores", machine.cores.to_string()),
            ("CPU", unknown(&machine.cpu)),
            ("OS", unknown(&machine.os)),
            ("governor", unknown(machine.governor.as_deref().unwrap_or(""))),
            ("huge pages", unknown(machine.huge_pages.as_deref().unwrap_or(""))),
            ("revision", revision),
            ("compiler", unknown(&compiler.rustc)),
            ("target", unknown(&compiler.target)),
            ("flags", unknown(&compiler.flags)),
            ("dependencies", dependencies.join(", ")),
            ("repetitions", info.repetitions.to_string()),
        ]);
        Self { name: info.run.clone(), facts }
    }
}

/// A filter at a point of the axes.
#[derive(Clone, Debug)]
pub(super) struct Built<'a> {
    pub(super) point: Point,
    pub(super) seed: u64,
    /// Sizes, rates and status: any of its cells.
    pub(super) cell: Cell,
    pub(super) timed: Vec<Timed<'a>>,
}

/// A workload of it.
#[derive(Clone, Debug)]
pub(super) struct Timed<'a> {
    pub(super) work: Work,
    pub(super) status: Status,
    pub(super) reason: String,
    /// By repetition; empty where there are no times.
    pub(super) ns: &'a [f64],
    /// The floor's in the same repetitions, for workloads that have one.
    pub(super) floor: Option<&'a [f64]>,
    /// What was timed beside all filters of the group.
    pub(super) sentinel: Option<&'a Sentinel>,
    /// The times of the same filter under its other name.
    pub(super) twin: Option<&'a [f64]>,
}

/// Every filter at every point, in the order of the run.
pub(super) fn built<'a>(header: &Header, samples: &'a [Sample]) -> Vec<Built<'a>> {
    let mut all = Vec::new();
    for samples in samples.chunk_by(|a, b| group_of(a) == group_of(b)) {
        let Some(start) = samples.iter().find_map(|sample| match sample {
            Sample::GroupStart(start) => Some(start),
            _ => None,
        }) else {
            continue;
        };
        let cells = derive::cells(header, samples);
        // A filter's cells follow each other in the order of the works.
        for cells in cells.chunks(start.works.len().max(1)) {
            let timed = cells.iter().zip(&start.works).map(|(cell, work)| timed(samples, cell, work));
            all.push(Built {
                point: start.point,
                seed: start.seed,
                cell: cells[0].clone(),
                timed: timed.collect(),
            });
        }
    }
    all
}

fn timed<'a>(samples: &'a [Sample], cell: &Cell, work: &Work) -> Timed<'a> {
    let times = |twin| {
        samples.iter().find_map(move |sample| match sample {
            Sample::Time(Time { filter, twin: other, work: done, ns, .. })
                if *filter == cell.filter && *other == twin && done == work =>
            {
                Some(&ns[..])
            }
            _ => None,
        })
    };
    let floor = floors_of(work).iter().find_map(|access| {
        samples.iter().find_map(|sample| match sample {
            Sample::Floor(floor) if (floor.access, floor.reads) == (*access, 1) => {
                floor.filters.contains(&cell.filter).then_some(&floor.ns[..])
            }
            _ => None,
        })
    });
    let sentinel = samples.iter().find_map(|sample| match sample {
        Sample::Sentinel(sentinel) => Some(sentinel),
        _ => None,
    });
    let ns = if cell.status == Status::Ok { times(false).unwrap_or_default() } else { &[] };
    Timed {
        work: *work,
        status: cell.status,
        reason: cell.reason.clone(),
        ns,
        floor,
        sentinel,
        twin: times(true),
    }
}

/// What the workload is measured in, the first that there is: lookups in one line at a time, each waiting for the one before
/// where the lookups do; passes over tables in a pass over memory.
fn floors_of(work: &Work) -> &'static [Access] {
    match (work.workload, work.mode) {
        (Workload::Lookup, Mode::Chain) => &[Access::Chain, Access::Random],
        (Workload::Lookup, Mode::Single | Mode::Batch) => &[Access::Random],
        (workload, _) if workload.is_pass() => &[Access::Stream],
        _ => &[],
    }
}

/// The group that a sample belongs to.
fn group_of(sample: &Sample) -> Option<usize> {
    match sample {
        Sample::Run(_) | Sample::Study(_) => None,
        Sample::GroupStart(start) => Some(start.group),
        Sample::Verify(verify) => Some(verify.group),
        Sample::Time(time) => Some(time.group),
        Sample::Fault(fault) => Some(fault.group),
        Sample::Floor(floor) => Some(floor.group),
        Sample::Clock(clock) => Some(clock.group),
        Sample::Sentinel(sentinel) => Some(sentinel.group),
        Sample::Environment(environment) => Some(environment.group),
        Sample::GroupDone(done) => Some(done.group),
    }
}

/// What two measurements of the same filter within a run differ by: the larger of both sides, by workload and mode.
#[derive(Debug, Default)]
pub(super) struct Noise([BTreeMap<String, NoiseFloor>; 2]);

impl Noise {
    pub(super) fn of(base: &[Sample], new: &[Sample]) -> Self {
        Self([derive::noise(base), derive::noise(new)])
    }

    /// As |ln(ratio)|; `None` where neither side has such a pair.
    pub(super) fn get(&self, workload: Workload, mode: Mode) -> Option<f64> {
        let key = derive::noise_key(workload, mode);
        let floors = self.0.iter().filter_map(|side| side.get(&key));
        floors.map(|floor| floor.p95).max_by(f64::total_cmp)
    }
}
