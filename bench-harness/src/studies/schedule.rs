//! Running studies: each filter at each point in a process of its own, what is timed alone, the rest on every core.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::Unit;
use super::child::{Event, Job, SUBCOMMAND, breakdown};
use super::config::Studies;
use crate::store::cell::Status;
use crate::store::study::{Record, StudyPoint};
use crate::sweep::children::{Ending, cause_of_death, watch};

/// What studies are run with.
#[derive(Debug)]
pub struct Runner<'a> {
    /// The studies.
    pub studies: &'a Studies,
    /// Seconds that a filter may be silent.
    pub deadline_seconds: f64,
    /// Bytes of address space for each process.
    pub memory_limit: u64,
    /// Bytes of the last-level cache.
    pub cache_bytes: u64,
    /// Set from outside to stop.
    pub interrupted: &'a AtomicBool,
}

/// How a run of studies ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All were run.
    All,
    /// It was interrupted before.
    Interrupted,
}

impl Runner<'_> {
    /// Runs `units`, and hands each record over as it comes; `say` is told of each point before it begins.
    ///
    /// # Errors
    /// If the harness fails or a record cannot be stored.
    pub fn run(
        &self,
        units: &[Unit],
        say: &mut dyn FnMut(&StudyPoint, usize),
        store: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<Finish> {
        for units in units.chunk_by(|a, b| a.point == b.point) {
            say(&units[0].point, units.len());
            if self.run_point(units, store)? == Finish::Interrupted {
                return Ok(Finish::Interrupted);
            }
        }
        Ok(Finish::All)
    }

    fn run_point(&self, units: &[Unit], store: &mut dyn FnMut(Record) -> Result<()>) -> Result<Finish> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers = if is_timed(&units[0].point) { 1 } else { cores };
        let next = AtomicUsize::new(0);
        let (sender, records) = channel();
        thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Nobody listens any more where a record could not be stored.
                        if sender.send(self.measure(unit)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for record in records {
                match record? {
                    Some(record) => store(record)?,
                    None => return Ok(Finish::Interrupted),
                }
            }
            Ok(Finish::All)
        })
    }

    /// One filter at one point; `None` if the sweep was interrupted.
    fn measure(&self, unit: &Unit) -> Result<Option<Record>> {
        let start = Instant::now();
        let (repetitions, evictions) = self.effort(&unit.point);
        let job = Job {
            parent: std::process::id(),
            memory_limit: self.memory_limit,
            unit: unit.clone(),
            repetitions,
            evictions,
            cache_bytes: self.cache_bytes,
        };
        let mut record = Record {
            point: unit.point,
            filter: unit.filter.clone(),
            seed: unit.seed,
            status: Status::Ok,
            reason: String::new(),
            seconds: 0.0,
            values: Vec::new(),
        };
        let mut ended = None;
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        command.arg(SUBCOMMAND);
        let deadline = self.deadline(&unit.point);
        let ending = watch(command, &serde_json::to_vec(&job)?, deadline, self.interrupted, |line| {
            match serde_json::from_str(line).with_context(|| format!("a study said {line:?}"))? {
                Event::Alive => {}
                Event::Found { value } => record.add(value),
                Event::Ended { status, reason } => ended = Some((status, reason)),
                Event::Broken { reason } => bail!("a study failed: {reason}"),
            }
            Ok(())
        })?;
        let doing = unit.point.study();
        (record.status, record.reason) = match (ending, ended) {
            (Ending::Interrupted, _) => return Ok(None),
            (_, Some(ended)) => ended,
            (Ending::Deadline, None) => {
                let silent = deadline.as_secs_f64();
                (Status::Timeout, format!("it said nothing for {silent} s, and was ended"))
            }
            (Ending::Exited { status, errors }, None) => {
                cause_of_death(status, &errors, breakdown(&unit.point), &format!("the study {doing}"))
            }
        };
        record.seconds = start.elapsed().as_secs_f64();
        Ok(Some(record))
    }

    fn deadline(&self, point: &StudyPoint) -> Duration {
        let own = self.studies.duplicates.as_ref().filter(|_| matches!(point, StudyPoint::Duplicates { .. }));
        Duration::from_secs_f64(own.map_or(self.deadline_seconds, |study| study.deadline_seconds))
    }

    /// Repetitions and evictions.
    fn effort(&self, point: &StudyPoint) -> (u32, u32) {
        let Studies { filling, cold, hashing, .. } = self.studies;
        match point {
            StudyPoint::Filling { .. } => (filling.as_ref().map_or(1, |study| study.repetitions), 0),
            StudyPoint::Cold { .. } => {
                cold.as_ref().map_or((1, 0), |study| (study.repetitions, study.evictions))
            }
            StudyPoint::Hashing => (hashing.as_ref().map_or(1, |study| study.repetitions), 0),
            _ => (1, 0),
        }
    }
}

/// Whether times are the subject, so that nothing may run beside it.
const fn is_timed(point: &StudyPoint) -> bool {
    matches!(point, StudyPoint::Filling { .. } | StudyPoint::Cold { .. } | StudyPoint::Hashing)
}
