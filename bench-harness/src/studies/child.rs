//! The process that measures one filter at one point of a study: told what to do on its standard input, it tells what it finds
//! on its standard output.

use std::io::{Write as _, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};

use amq::Descriptor;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::{Outcome, Tell, Unit, builds, clusters, cold, duplicates, filling, hashing, refusal, space};
use crate::measure::time::Fault;
use crate::measure::verify::panic_text;
use crate::registry;
use crate::store::cell::Status;
use crate::store::study::{StudyPoint, Value};
use crate::sweep::jobs;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "study";

/// One JSON object on the standard input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// The sweep's process: when it is gone, so is this one.
    pub parent: u32,
    /// Bytes of address space.
    pub memory_limit: u64,
    /// What to measure.
    pub unit: Unit,
    /// Timed repetitions.
    pub repetitions: u32,
    /// Passes after an eviction of the caches.
    pub evictions: u32,
    /// Bytes of the last-level cache.
    pub cache_bytes: u64,
}

/// JSON objects on the standard output, one a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The work goes on.
    Alive,
    /// Something was found.
    Found {
        /// What.
        value: Value,
    },
    /// All done.
    Ended {
        /// Whether the filter got through.
        status: Status,
        /// Why not.
        reason: String,
    },
    /// The harness itself failed.
    Broken {
        /// Why.
        reason: String,
    },
}

/// Reads the job, does it, and reports.
///
/// # Errors
/// If its input or output fails.
pub fn serve() -> Result<()> {
    let job: Job = serde_json::from_reader(stdin().lock()).context("the job on standard input")?;
    // A panic is caught and becomes a status.
    std::panic::set_hook(Box::new(|_| ()));
    let outcome = jobs::confine(job.parent, job.memory_limit).and_then(|()| {
        let measured = catch_unwind(AssertUnwindSafe(|| measure(&job, &mut |value| tell(&found(value)))));
        measured.unwrap_or_else(|panic| {
            let reason = format!("panicked: {}", panic_text(&*panic));
            Ok(Err(Fault { status: breakdown(&job.unit.point), reason }))
        })
    });
    tell(&match outcome {
        Ok(Ok(())) => Event::Ended { status: Status::Ok, reason: String::new() },
        Ok(Err(Fault { status, reason })) => Event::Ended { status, reason },
        Err(error) => Event::Broken { reason: format!("{error:#}") },
    })
}

fn found(value: Option<Value>) -> Event {
    value.map_or(Event::Alive, |value| Event::Found { value })
}

fn tell(event: &Event) -> Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut out = stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// What a filter is that breaks down in a study: one that is mostly building, or one that was built and is used.
pub(super) const fn breakdown(point: &StudyPoint) -> Status {
    match point {
        StudyPoint::Filling { .. } | StudyPoint::Cold { .. } | StudyPoint::Hashing => Status::VerifyFailed,
        StudyPoint::Builds { .. }
        | StudyPoint::Refusal { .. }
        | StudyPoint::Space { .. }
        | StudyPoint::Clusters { .. }
        | StudyPoint::Duplicates { .. } => Status::BuildFailed,
    }
}

fn measure(job: &Job, tell: Tell<'_>) -> Outcome {
    let Unit { point, filter, seed } = &job.unit;
    let (name, seed) = (filter.as_str(), *seed);
    let filter = || -> Result<&'static Descriptor> {
        registry::filter(name).with_context(|| format!("there is no filter {name:?}"))
    };
    // The counting allocator works for the study that asks for its figures, and stands still for what is timed.
    let timed = || {
        jobs::pin();
        amq_bits::counting::pause()
    };
    match *point {
        StudyPoint::Hashing => {
            let _pause = timed();
            hashing::measure(name, seed, job.repetitions, tell)
        }
        StudyPoint::Filling { n, r } => {
            let _pause = timed();
            filling::measure(filter()?, (n, r), seed, job.repetitions, tell)
        }
        StudyPoint::Cold { n, fpr, fleet } => {
            let _pause = timed();
            let effort = cold::Effort {
                repetitions: job.repetitions,
                evictions: job.evictions,
                cache_bytes: job.cache_bytes,
                memory_bytes: job.memory_limit,
            };
            cold::measure(filter()?, (n, fpr, fleet), seed, effort, tell)
        }
        StudyPoint::Builds { n, fpr, seeds } => builds::measure(filter()?, (n, fpr), seed, seeds, tell),
        StudyPoint::Refusal { n, r, seeds } => refusal::measure(filter()?, (n, r), seed, seeds, tell),
        StudyPoint::Space { fpr, from, to, per_decade } => {
            space::measure(filter()?, (fpr, &space::grid(from, to, per_decade)), seed, tell)
        }
        StudyPoint::Clusters { n, alpha, seeds } => {
            clusters::measure(filter()?, (n, alpha), seed, seeds, tell)
        }
        StudyPoint::Duplicates { n, copies, fpr } => {
            match duplicates::bare().find(|bare| bare.name == name) {
                Some(bare) => duplicates::measure_bare(bare, (n, copies), seed, tell),
                None => duplicates::measure(filter()?, (n, copies, fpr), seed, tell),
            }
        }
    }
}
