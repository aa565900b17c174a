//! One group from start to end: every filter verified in a process of its own, then those that pass timed beside each other.

use std::ops::Range;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use amq::{Capability, Descriptor, attempt_seed};
use anyhow::{Context as _, Result, bail};

use super::children::{Ending, cause_of_death, watch};
use super::config::Sweep;
use super::groups::{self, Group};
use super::jobs::{Event, Job, SUBCOMMAND, Task, TimeTask, TimedFilter, VerifyTask};
use super::keys::{KeySource, Keys, Material, Prepared, Wanted};
use crate::measure::verify::{Phase, Verdict};
use crate::numbers::grouped;
use crate::store::cell::Status;
use crate::store::machine;
use crate::store::sample::{
    ClockCheck, Environment, Facts, Fault, Floor, GroupDone, GroupStart, Sample, Sentinel, Time, Verify,
};

/// Up to so many keys, filters are verified side by side, one on each core: nothing is timed then. Beyond it each gets the
/// machine's memory for itself.
const SIDE_BY_SIDE_UP_TO: u64 = 4_000_000;

/// The further seeds of a group are derived with numbers from here on: below lie those that [`Keys::prepare`] tries.
const SEEDS_FROM: u32 = 1 << 16;

/// Told what is being done.
pub type Report<'a> = &'a mut (dyn FnMut(&str) + Send);

/// What groups are run with.
#[derive(Debug)]
pub struct Scheduler<'a> {
    /// The program whose measuring processes do the work.
    pub program: &'a Path,
    /// The sweep.
    pub sweep: &'a Sweep,
    /// The keys.
    pub keys: &'a Keys,
    /// The folder in which a group's keys lie while it runs.
    pub scratch: &'a Path,
    /// Whether one filter of each group is timed twice.
    pub twins: Twins,
    /// Set from outside to stop.
    pub interrupted: &'a AtomicBool,
}

/// Whether one filter of each group is timed twice, which tells what two measurements of the same differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// It is.
    Timed,
    /// Whatever is measured is measured twice anyway.
    LeftOut,
}

/// The sweep was interrupted: the group has no results.
#[derive(Debug)]
pub struct Interrupted;

/// What an interruption ends.
pub type Stoppable<T> = Result<Result<T, Interrupted>>;

/// A group whose filters are verified and not yet timed.
#[derive(Debug)]
pub struct Begun {
    /// What was found until now.
    pub samples: Vec<Sample>,
    /// `None` where they cannot be prepared.
    keys: Option<Prepared>,
    /// Those to be timed.
    passed: Vec<TimedFilter>,
}

impl Scheduler<'_> {
    /// Runs a group and returns its samples. `report` is told what is being done.
    ///
    /// # Errors
    /// If the harness fails; what a filter does wrong is in the samples.
    pub fn run(&self, group: &Group, report: Report<'_>) -> Stoppable<Vec<Sample>> {
        let start = Instant::now();
        let before = machine::surroundings();
        let mut begun = match self.begin(group, report)? {
            Ok(begun) => begun,
            Err(interrupted) => return Ok(Err(interrupted)),
        };
        if let Err(interrupted) = self.time(group, &mut begun, 0..self.sweep.repetitions, report)? {
            return Ok(Err(interrupted));
        }
        let Begun { mut samples, .. } = begun;
        let after = machine::surroundings();
        samples.push(Sample::Environment(Environment { group: group.index, before, after }));
        let seconds = start.elapsed().as_secs_f64();
        samples.push(Sample::GroupDone(GroupDone { group: group.index, seconds }));
        Ok(Ok(samples))
    }

    /// Prepares the keys of a group and verifies its filters.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn begin(&self, group: &Group, report: Report<'_>) -> Stoppable<Begun> {
        let n = group.point.n();
        if let Some(reason) = self.too_many(n) {
            return Ok(Ok(self.not_begun(group, &reason)));
        }
        report("preparing keys");
        // As many as start at the digest.
        let lookups = self.sweep.lookups_per_pass.0;
        let wanted = Wanted { base: group.seed, n, queries: group.queries, lookups };
        let prepared = self.keys.prepare(wanted, self.scratch)?;
        let others = self.other_seeds(group, wanted)?;

        let mut samples = vec![self.group_start(group, &prepared.material)];
        let mut passed = Vec::new();
        for (filter, verdict) in group.filters.iter().zip(self.verify_all(group, &prepared, &others, report))
        {
            let verdict = match verdict? {
                Ok(verdict) => verdict,
                Err(interrupted) => return Ok(Err(interrupted)),
            };
            if verdict.status == Status::Ok {
                passed.push(TimedFilter {
                    name: filter.name.into(),
                    table_bytes: verdict.facts.table_bytes.unwrap_or(0),
                    k: verdict.facts.k,
                });
            }
            let Verdict { status, reason, facts } = verdict;
            let filter = filter.name.into();
            samples.push(Sample::Verify(Verify { group: group.index, filter, status, reason, facts }));
        }
        Ok(Ok(Begun { samples, keys: Some(prepared), passed }))
    }

    /// The keys of further seeds, for cells whose rates are checked thoroughly.
    fn other_seeds(&self, group: &Group, first: Wanted) -> Result<Vec<Prepared>> {
        (1..group.seeds)
            .map(|number| {
                let base = attempt_seed(first.base, SEEDS_FROM + number);
                self.keys.prepare(Wanted { base, queries: group.queries_again, ..first }, self.scratch)
            })
            .collect()
    }

    fn group_start(&self, group: &Group, material: &Material) -> Sample {
        Sample::GroupStart(GroupStart {
            group: group.index,
            point: group.point,
            seed: material.seed,
            records: (material.records > material.n).then_some(material.records),
            filters: group.filters.iter().map(|filter| filter.name.into()).collect(),
            works: self.sweep.works(),
        })
    }

    /// Why the digests of `n` keys are not even made: a measuring process could not hold them, or this one, which works on a
    /// second copy.
    fn too_many(&self, n: u64) -> Option<String> {
        let limit = self.memory_limit();
        let digests = n.saturating_mul(8);
        let memory = machine::memory().unwrap_or(u64::MAX);
        let most = limit.min(memory / 2);
        (digests > most).then(|| {
            let of = if most == limit { "memory_limit_mib" } else { "half of the machine's memory" };
            format!(
                "the digests of {} keys alone take {} MiB, more than {of}, {} MiB",
                grouped(n),
                grouped(digests.div_ceil(1 << 20)),
                grouped(most >> 20)
            )
        })
    }

    /// The samples of a group whose keys cannot be prepared.
    fn not_begun(&self, group: &Group, reason: &str) -> Begun {
        // As short as the seeds of groups that are measured.
        let seed = group.seed >> 11;
        let (n, source) = (group.point.n(), KeySource::Uniform);
        let material = Material { seed, n, records: n, absent: 0, sample: 0, source, folder: None };
        let mut samples = vec![self.group_start(group, &material)];
        for filter in &group.filters {
            let planned = (filter.plan)(&groups::spec(&group.point, filter.kind, n, seed));
            let mut facts = Facts::default();
            let (status, reason) = match planned {
                Err(error) => (Status::Infeasible, error.to_string()),
                Ok(plan) => {
                    facts.table_bytes = Some(plan.table_bytes);
                    let table = grouped(plan.table_bytes.div_ceil(1 << 20));
                    (Status::OutOfMemory, format!("{reason}; its table would take {table} MiB"))
                }
            };
            let filter = filter.name.into();
            samples.push(Sample::Verify(Verify { group: group.index, filter, status, reason, facts }));
        }
        Begun { samples, keys: None, passed: Vec::new() }
    }

    fn memory_limit(&self) -> u64 {
        self.sweep.memory_limit_mib.0.saturating_mul(1 << 20)
    }

    /// Verifies every filter in a process of its own, in the order of the group.
    fn verify_all(
        &self,
        group: &Group,
        prepared: &Prepared,
        others: &[Prepared],
        report: Report<'_>,
    ) -> Vec<Stoppable<Verdict>> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers = if group.point.n() <= SIDE_BY_SIDE_UP_TO { cores } else { 1 };
        let next = AtomicUsize::new(0);
        let report = Mutex::new(report);
        let work = || {
            let mut verdicts = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(filter) = group.filters.get(place) else { return verdicts };
                if let Ok(mut report) = report.lock() {
                    report(&format!("verifying {}", filter.name));
                }
                verdicts.push((place, self.verify(group, prepared, others, filter)));
            }
        };
        let mut verdicts: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        verdicts.sort_by_key(|(place, _)| *place);
        verdicts.into_iter().map(|(_, verdict)| verdict).collect()
    }

    fn verify(
        &self,
        group: &Group,
        prepared: &Prepared,
        others: &[Prepared],
        filter: &Descriptor,
    ) -> Stoppable<Verdict> {
        if self.keys.repeat() && !filter.can(Capability::Count) {
            let reason = "the family does not count, and these keys repeat".into();
            return Ok(Ok(Verdict { status: Status::Unsupported, reason, facts: Facts::default() }));
        }
        let mut phase = Phase::Plan;
        let mut verdict = None;
        let others = others.iter().map(|other| (other.material.clone(), group.queries_again)).collect();
        let workloads = self.sweep.workloads.clone();
        let task = Task::Verify(VerifyTask {
            filter: filter.name.into(),
            queries: group.queries,
            others,
            workloads,
        });
        let ending = self.measure(group, prepared, task, |event| {
            match event {
                Event::Phase { phase: next } => phase = next,
                Event::Verified { verdict: reported } => verdict = Some(*reported),
                _ => {}
            }
            Ok(())
        })?;
        let (status, reason) = match (ending, verdict) {
            (Ending::Interrupted, _) => return Ok(Err(Interrupted)),
            (_, Some(verdict)) => return Ok(Ok(verdict)),
            (Ending::Deadline, None) => (Status::Timeout, self.timeout(phase.name())),
            (Ending::Exited { status, errors }, None) => {
                cause_of_death(status, &errors, phase.status_of_breakdown(), phase.name())
            }
        };
        Ok(Ok(Verdict { status, reason, facts: Facts::default() }))
    }

    /// Times the filters that passed, in these repetitions. If the process dies over one, that one is out and the others start
    /// again.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn time(
        &self,
        group: &Group,
        begun: &mut Begun,
        repetitions: Range<u32>,
        report: Report<'_>,
    ) -> Stoppable<()> {
        let Begun { samples, keys: Some(prepared), passed: filters } = begun else { return Ok(Ok(())) };
        let number = group.index;
        while !filters.is_empty() {
            let task = Task::Time(TimeTask {
                // Another one in each group, so that every family is measured against itself.
                twin: (self.twins == Twins::Timed).then(|| number % filters.len()),
                filters: filters.clone(),
                works: self.sweep.works(),
                repetitions: repetitions.clone(),
                lookups: self.sweep.lookups_per_pass.as_usize(),
            });
            let mut at = None;
            let mut found = Vec::new();
            let mut finished = false;
            let repetitions = self.sweep.repetitions;
            let ending = self.measure(group, prepared, task, |event| {
                match event {
                    Event::Begin { filter, repetition } => {
                        let what = filter.as_deref().unwrap_or("the floor");
                        report(&format!("timing, repetition {} of {repetitions}: {what}", repetition + 1));
                        at = filter;
                    }
                    Event::Fault { filter, status, reason } => {
                        found.push(Sample::Fault(Fault { group: number, filter, status, reason }));
                    }
                    Event::Timed { filter, twin, work, ns } => {
                        found.push(Sample::Time(Time { group: number, filter, twin, work, ns }));
                    }
                    Event::Floor { table_bytes, filters, access, reads, ns } => {
                        let floor = Floor { group: number, table_bytes, filters, access, reads, ns };
                        found.push(Sample::Floor(floor));
                    }
                    Event::Clock { resolution_ns, cost_ns, core } => {
                        let clock = ClockCheck { group: number, resolution_ns, cost_ns, core };
                        found.push(Sample::Clock(clock));
                    }
                    Event::Sentinel { compute_ns, memory_ns } => {
                        found.push(Sample::Sentinel(Sentinel { group: number, compute_ns, memory_ns }));
                    }
                    Event::Finished => finished = true,
                    _ => {}
                }
                Ok(())
            })?;
            let (status, reason) = match ending {
                Ending::Interrupted => return Ok(Err(Interrupted)),
                _ if finished => {
                    samples.append(&mut found);
                    filters.retain(|filter| !is_out(samples, number, &filter.name));
                    return Ok(Ok(()));
                }
                Ending::Deadline => (Status::Timeout, self.timeout("one repetition of its timing")),
                Ending::Exited { status, errors } => {
                    cause_of_death(status, &errors, Status::VerifyFailed, "its timing")
                }
            };
            // Those that had fallen out before it are out as well.
            let faults = found.into_iter().filter(|sample| matches!(sample, Sample::Fault(_)));
            samples.extend(faults);
            // Where it was none of them, the group cannot be timed at all.
            let culprits =
                at.map_or_else(|| filters.iter().map(|filter| filter.name.clone()).collect(), |at| vec![at]);
            for filter in culprits {
                samples.push(Sample::Fault(Fault { group: number, filter, status, reason: reason.clone() }));
            }
            filters.retain(|filter| !is_out(samples, number, &filter.name));
        }
        Ok(Ok(()))
    }

    fn timeout(&self, doing: &str) -> String {
        format!("{doing} took longer than the deadline of {} s", self.sweep.deadline_seconds)
    }

    fn measure(
        &self,
        group: &Group,
        prepared: &Prepared,
        task: Task,
        mut on_event: impl FnMut(Event) -> Result<()>,
    ) -> Result<Ending> {
        let job = Job {
            parent: std::process::id(),
            memory_limit: self.memory_limit(),
            point: group.point,
            material: prepared.material.clone(),
            task,
        };
        let mut command = Command::new(self.program);
        command.arg(SUBCOMMAND);
        let deadline = Duration::from_secs_f64(self.sweep.deadline_seconds);
        watch(command, &serde_json::to_vec(&job)?, deadline, self.interrupted, |line| {
            match serde_json::from_str(line).with_context(|| format!("a measuring process said {line:?}"))? {
                Event::Broken { reason } => bail!("a measuring process failed: {reason}"),
                event => on_event(event),
            }
        })
    }
}

fn is_out(samples: &[Sample], group: usize, filter: &str) -> bool {
    samples.iter().any(
        |sample| matches!(sample, Sample::Fault(fault) if fault.group == group && fault.filter == filter),
    )
}
