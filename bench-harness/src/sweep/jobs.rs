//! The measuring processes: what they are told on their input, what they tell on their output, and what they do.

use std::io::{Write as _, stdin, stdout};
use std::ops::Range;

use amq::{Descriptor, Digest};
use anyhow::{Context as _, Result};
use rand::SeedableRng as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::groups;
use super::keys::Material;
use crate::measure::clock::Clock;
use crate::measure::floors::{self, Floor};
use crate::measure::fpr::Absent;
use crate::measure::sentinel::Sentinel;
use crate::measure::time::{Lookups, Queries, Subject};
use crate::measure::verify::{Phase, Trial, Verdict, another_seed, verify};
use crate::store::cell::{Hashing, Mode, Status, Workload};
use crate::store::sample::{Access, Point, Work};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "measure";

/// The version of [`Job`] and [`Event`]: rises when one of them changes its form or meaning, or the work that is measured does.
pub const PROTOCOL: u32 = 3;

/// What a measuring process is to do: one JSON object on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// The sweep's process: when it is gone, so is this one.
    pub parent: u32,
    /// Bytes of address space.
    pub memory_limit: u64,
    /// The cell.
    pub point: Point,
    /// Its keys.
    pub material: Material,
    /// What to do.
    pub task: Task,
}

/// See [`Job`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Build and verify one filter.
    Verify(VerifyTask),
    /// Time filters beside each other.
    Time(TimeTask),
}

/// See [`Task::Verify`].
#[derive(Debug, Serialize, Deserialize)]
pub struct VerifyTask {
    /// The filter's name.
    pub filter: String,
    /// Absent keys that it is asked.
    pub queries: u64,
    /// Other seeds to measure its rate under, with the absent keys asked.
    pub others: Vec<(Material, u64)>,
    /// What will be timed.
    pub workloads: Vec<Workload>,
}

/// See [`Task::Time`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimeTask {
    /// The filters.
    pub filters: Vec<TimedFilter>,
    /// Which of them is timed twice, for the noise floor, if one is.
    pub twin: Option<usize>,
    /// What is timed.
    pub works: Vec<Work>,
    /// Which repetitions: each has an order of its own.
    pub repetitions: Range<u32>,
    /// Lookups in a pass.
    pub lookups: usize,
}

/// See [`TimeTask`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimedFilter {
    /// Its name.
    pub name: String,
    /// Bytes of its table, for the floor.
    pub table_bytes: u64,
    /// Lines that a lookup of it reads, for the floor, where that is known.
    pub k: Option<u32>,
}

/// What a measuring process reports: JSON objects, one a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The verification enters a phase.
    Phase {
        /// Which.
        phase: Phase,
    },
    /// The verification is complete.
    Verified {
        /// How it ended.
        verdict: Box<Verdict>,
    },
    /// The next thing is about to be timed: of this filter, or a floor.
    Begin {
        /// The filter.
        filter: Option<String>,
        /// The repetition, from 0.
        repetition: u32,
    },
    /// A filter has failed and is out.
    Fault {
        /// The filter.
        filter: String,
        /// What it is from now on.
        status: Status,
        /// Why.
        reason: String,
    },
    /// The times of a filter, after the last repetition.
    Timed {
        /// The filter.
        filter: String,
        /// Whether it is its twin.
        twin: bool,
        /// What was timed.
        work: Work,
        /// Nanoseconds by repetition.
        ns: Vec<f64>,
    },
    /// The clock, before the first repetition.
    Clock {
        /// The smallest difference of two readings, in nanoseconds.
        resolution_ns: f64,
        /// The cost of a reading, in nanoseconds.
        cost_ns: f64,
        /// The core that this process stays on.
        core: Option<u32>,
    },
    /// The times of the sentinel.
    Sentinel {
        /// Of a multiplication, by repetition.
        compute_ns: Vec<f64>,
        /// Of a random read, by repetition.
        memory_ns: Vec<f64>,
    },
    /// The times of a floor.
    Floor {
        /// Bytes of the table.
        table_bytes: u64,
        /// The filters that it is for.
        filters: Vec<String>,
        /// How it is read.
        access: Access,
        /// Lines read.
        reads: u32,
        /// Nanoseconds by repetition.
        ns: Vec<f64>,
    },
    /// All done.
    Finished,
    /// The harness itself failed.
    Broken {
        /// Why.
        reason: String,
    },
}

fn tell(event: &Event) -> Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut out = stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// How a measuring process finds a filter by its name.
pub type Find = fn(&str) -> Option<&'static Descriptor>;

/// The measuring process: reads its job, does it with the filters that `find` knows, and reports.
///
/// # Errors
/// If its input or output fails.
pub fn serve(find: Find) -> Result<()> {
    let job: Job = serde_json::from_reader(stdin().lock()).context("the job on standard input")?;
    // A panic is caught where a filter may cause it and is reported as its status.
    std::panic::set_hook(Box::new(|_| ()));
    let outcome = confine(job.parent, job.memory_limit).and_then(|()| match &job.task {
        Task::Verify(task) => run_verification(&job, task, find),
        Task::Time(task) => run_timing(&job, task, find),
    });
    match outcome {
        Ok(()) => tell(&Event::Finished),
        Err(error) => tell(&Event::Broken { reason: format!("{error:#}") }),
    }
}

/// Ends this process with its parent, and limits its memory.
#[cfg(target_os = "linux")]
pub(crate) fn confine(parent_id: u32, memory_limit: u64) -> Result<()> {
    use rustix::process::{Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot tie this process to its parent")?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    // It may have gone before the line above.
    anyhow::ensure!(parent == Some(parent_id), "the sweep is gone");
    let limit = Rlimit { current: Some(memory_limit), maximum: Some(memory_limit) };
    setrlimit(Resource::As, limit).context("cannot limit the memory")
}

/// Elsewhere there is a deadline only.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature everywhere")]
pub(crate) fn confine(_parent_id: u32, _memory_limit: u64) -> Result<()> {
    Ok(())
}

/// Calls `ask` with what a filter is verified with under the seed of `material`.
fn under<R>(
    (job, workloads): (&Job, &[Workload]),
    descriptor: &Descriptor,
    (material, count): (&Material, u64),
    ask: impl FnOnce(&Trial<'_>) -> Result<R>,
) -> Result<R> {
    let get = |from, count| material.queries(descriptor.name, from, count);
    let fresh = |from, count| Ok(material.fresh_queries(descriptor.name, from, count));
    let spec = groups::spec(&job.point, descriptor.kind, material.records, material.seed);
    let absent = Absent { count, get: &get, fresh: &fresh };
    let members = material.members()?;
    let memory_limit = job.memory_limit;
    ask(&Trial { descriptor, spec: &spec, members: &members, absent: &absent, workloads, memory_limit })
}

fn run_verification(job: &Job, task: &VerifyTask, find: Find) -> Result<()> {
    let VerifyTask { filter, queries, others, workloads } = task;
    let queries = *queries;
    let descriptor = find(filter).with_context(|| format!("there is no filter {filter:?}"))?;
    let mut told = Ok(());
    let mut announce = |phase| {
        let result = tell(&Event::Phase { phase });
        if told.is_ok() {
            told = result;
        }
    };
    let here = (job, &workloads[..]);
    let mut verdict =
        under(here, descriptor, (&job.material, queries), |trial| verify(trial, &mut announce))?;
    for &(ref material, queries) in others {
        if verdict.status != Status::Ok || verdict.facts.fpr_expected.is_none() {
            break;
        }
        announce(Phase::AnotherSeed);
        under(here, descriptor, (material, queries), |trial| another_seed(trial, &mut verdict))?;
    }
    told?;
    tell(&Event::Verified { verdict: Box::new(verdict) })
}

/// One of the things that are timed in turn.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// The subject of this number.
    Subject(usize),
    /// The floor of this number.
    Floor(usize),
}

/// A filter or its twin while it is timed.
#[derive(Debug)]
struct Timed {
    name: String,
    twin: bool,
    subject: Subject,
    /// By work, then by repetition.
    ns: Vec<Vec<f64>>,
}

/// The floors of a table size while they are timed.
#[derive(Debug)]
struct TimedFloor {
    bytes: u64,
    filters: Vec<String>,
    reads: Vec<(Access, u32)>,
    /// By `reads`, then by repetition.
    ns: Vec<Vec<f64>>,
}

fn run_timing(job: &Job, task: &TimeTask, find: Find) -> Result<()> {
    let core = pin();
    let _pause = amq_bits::counting::pause();
    let clock = Clock::measure();
    tell(&Event::Clock { resolution_ns: clock.resolution_ns, cost_ns: clock.cost_ns, core })?;
    let sentinel = Sentinel::new().context("no memory for the sentinel's table")?;
    let (mut compute_ns, mut memory_ns) = (Vec::new(), Vec::new());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(job.material.seed);
    let queries = prepare_queries(job, task, &mut rng)?;
    let places: Vec<_> = queries.lookups.iter().flat_map(|lookups| lookups.digests.iter().copied()).collect();

    let mut timed = Vec::new();
    for (i, filter) in task.filters.iter().enumerate() {
        let descriptor =
            find(&filter.name).with_context(|| format!("there is no filter {:?}", filter.name))?;
        let spec = groups::spec(&job.point, descriptor.kind, job.material.records, job.material.seed);
        for twin in [false, true] {
            if !twin || Some(i) == task.twin {
                let ns = vec![Vec::new(); task.works.len()];
                timed.push(Timed {
                    name: filter.name.clone(),
                    twin,
                    subject: Subject::new(descriptor, spec),
                    ns,
                });
            }
        }
    }
    let mut floors = prepare_floors(&task.filters, &task.works);
    let mut items: Vec<_> =
        (0..timed.len()).map(Item::Subject).chain((0..floors.len()).map(Item::Floor)).collect();
    let mut out: Vec<String> = Vec::new();

    for _ in 0..task.repetitions.start {
        rng.jump();
    }
    for repetition in task.repetitions.clone() {
        let (compute, memory) = sentinel.time(&clock);
        compute_ns.push(compute);
        memory_ns.push(memory);
        items.shuffle(&mut rng);
        for &item in &items {
            match item {
                Item::Subject(i) => {
                    let timed = &mut timed[i];
                    if out.contains(&timed.name) {
                        continue;
                    }
                    tell(&Event::Begin { filter: Some(timed.name.clone()), repetition })?;
                    match timed.subject.pass(&task.works, &queries, &clock, &mut rng) {
                        Ok(times) => {
                            for (all, ns) in timed.ns.iter_mut().zip(times) {
                                all.extend(ns);
                            }
                        }
                        Err(fault) => {
                            let filter = timed.name.clone();
                            out.push(filter.clone());
                            tell(&Event::Fault { filter, status: fault.status, reason: fault.reason })?;
                        }
                    }
                }
                Item::Floor(i) => {
                    tell(&Event::Begin { filter: None, repetition })?;
                    let timed = &mut floors[i];
                    // Without memory for it the floor is unknown: it has fewer times than repetitions.
                    let Ok(floor) = Floor::new(timed.bytes) else { continue };
                    let most = timed.reads.iter().map(|&(_, reads)| reads).max();
                    floor.warm_up(&places, most.unwrap_or(1));
                    for (turn, (&(access, reads), ns)) in timed.reads.iter().zip(&mut timed.ns).enumerate() {
                        let turn = turn + usize::try_from(repetition).unwrap_or(0);
                        ns.push(floor.time(&clock, &places, access, reads, turn));
                    }
                }
            }
        }
    }

    for Timed { name, subject, .. } in &timed {
        if let Some(fault) = subject.postponed().filter(|_| !out.contains(name)) {
            out.push(name.clone());
            tell(&Event::Fault { filter: name.clone(), status: fault.status, reason: fault.reason })?;
        }
    }
    for Timed { name, twin, ns, .. } in timed.into_iter().filter(|timed| !out.contains(&timed.name)) {
        for (&work, ns) in task.works.iter().zip(ns) {
            if !ns.is_empty() {
                tell(&Event::Timed { filter: name.clone(), twin, work, ns })?;
            }
        }
    }
    for TimedFloor { bytes, filters, reads, ns } in floors {
        for ((access, reads), ns) in reads.into_iter().zip(ns).filter(|(_, ns)| !ns.is_empty()) {
            tell(&Event::Floor { table_bytes: bytes, filters: filters.clone(), access, reads, ns })?;
        }
    }
    tell(&Event::Sentinel { compute_ns, memory_ns })?;
    Ok(())
}

fn prepare_queries(job: &Job, task: &TimeTask, rng: &mut Xoshiro256PlusPlus) -> Result<Queries> {
    let members = job.material.members()?;
    let absent = job.material.absent(0, task.lookups as u64)?;
    let mut ratios: Vec<f64> = Vec::new();
    for work in task.works.iter().filter(|work| work.workload == Workload::Lookup) {
        if let Some(ratio) = work.hit_ratio.filter(|ratio| !ratios.contains(ratio)) {
            ratios.push(ratio);
        }
    }
    let from_key = task.works.iter().find(|work| work.hashing == Hashing::Included);
    let mut lookups = Vec::new();
    for ratio in ratios {
        let keys = from_key.filter(|work| work.hit_ratio == Some(ratio));
        let keys = keys.map(|_| job.material.sample()).transpose()?;
        lookups.push(match keys {
            Some(keys) if keys.len() == task.lookups => Lookups::of_keys(ratio, keys, job.material.seed),
            keys => Lookups { keys, ..Lookups::new(ratio, task.lookups, &members, &absent, rng) },
        });
    }
    // Without repetition: what is removed has to be there once for each time.
    let removals: Vec<Digest> = members.sample(rng, members.len().div_ceil(10)).copied().collect();
    let newcomers = absent[..absent.len().min(removals.len())].to_vec();
    Ok(Queries { members, removals, newcomers, lookups })
}

const fn random(reads: u32) -> (Access, u32) {
    (Access::Random, reads)
}

/// Floors for each size of table: of one, two and three random lines, and as many as a filter of that size reads; a chain and a
/// pass over the table where something is timed that is held against it.
fn prepare_floors(filters: &[TimedFilter], works: &[Work]) -> Vec<TimedFloor> {
    let chained = works.iter().any(|work| work.mode == Mode::Chain);
    let streamed = works.iter().any(|work| work.workload.is_pass());
    let also = [(chained, Access::Chain), (streamed, Access::Stream)];
    let also: Vec<_> =
        also.into_iter().filter_map(|(wanted, access)| wanted.then_some((access, 1))).collect();
    let (sizes, of) =
        floors::representatives(&filters.iter().map(|filter| filter.table_bytes).collect::<Vec<_>>());
    let mut timed: Vec<_> = sizes
        .into_iter()
        .map(|bytes| TimedFloor {
            bytes,
            filters: Vec::new(),
            reads: [1, 2, 3].map(random).to_vec(),
            ns: Vec::new(),
        })
        .collect();
    for (filter, place) in filters.iter().zip(of) {
        let floor = &mut timed[place];
        floor.filters.push(filter.name.clone());
        floor.reads.extend(filter.k.map(random).filter(|k| !floor.reads.contains(k)));
    }
    for floor in &mut timed {
        floor.reads.extend(&also);
        floor.ns = vec![Vec::new(); floor.reads.len()];
    }
    timed
}

/// Keeps this thread on one core, which is returned: the last that it may use, since the first serves most interrupts. Not being
/// able to is no failure: the noise floor shows what it costs.
#[cfg(target_os = "linux")]
pub(crate) fn pin() -> Option<u32> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None).ok()?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core))?;
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).ok()?;
    u32::try_from(last).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin() -> Option<u32> {
    None
}
