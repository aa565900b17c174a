//! The gate before timing: a filter is built and has to keep every promise. One that loses a key has no times, it has a
//! defect.
//!
//! `built` is about a filter as it was built, `changes` about what may be done to it then.

mod built;
mod changes;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use amq::{BuildError, Descriptor, Digest, Spec};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::fpr::Absent;
use crate::store::cell::{Status, Workload};
use crate::store::sample::{Facts, SeedRate};

/// What a verification is about to do: when the process dies, this says in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Planning.
    Plan,
    /// The bulk build.
    Build,
    /// Looking up what was built.
    Check,
    /// Inserting one by one, and the rest in a batch.
    Insert,
    /// Removing a tenth.
    Remove,
    /// Replacing a tenth.
    Churn,
    /// Merging two halves.
    Merge,
    /// Growing.
    Grow,
    /// Building and looking up under another seed.
    AnotherSeed,
}

impl Phase {
    /// The name in a reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "planning",
            Self::Build => "the build",
            Self::Check => "the lookups of the verification",
            Self::Insert => "inserting",
            Self::Remove => "removing",
            Self::Churn => "replacing keys",
            Self::Merge => "merging",
            Self::Grow => "growing",
            Self::AnotherSeed => "the build and the lookups under another seed",
        }
    }

    /// The status of a filter whose process broke down in this phase.
    pub const fn status_of_breakdown(self) -> Status {
        match self {
            Self::Plan | Self::Build => Status::BuildFailed,
            Self::Check
            | Self::Insert
            | Self::Remove
            | Self::Churn
            | Self::Merge
            | Self::Grow
            | Self::AnotherSeed => Status::VerifyFailed,
        }
    }
}

/// How a verification ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// [`Status::Ok`], or what is wrong.
    pub status: Status,
    /// Why, in words.
    pub reason: String,
    /// What was found out until then.
    pub facts: Facts,
}

/// What a filter is verified with.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The filter.
    pub descriptor: &'a Descriptor,
    /// What it is to be.
    pub spec: &'a Spec,
    /// The keys, each as often as it is inserted.
    pub members: &'a [Digest],
    /// Keys that are not in it.
    pub absent: &'a Absent<'a>,
    /// What will be timed: what changes a filter is verified only if it is among them, except for insertions and removals.
    pub workloads: &'a [Workload],
    /// Bytes of address space that this process may use.
    pub memory_limit: u64,
}

/// Why a verification ends before its end.
#[derive(Debug)]
enum Stop {
    /// The filter is at fault, or cannot.
    Refused { status: Status, reason: String },
    /// The harness is.
    Broken(anyhow::Error),
}

impl Stop {
    fn refused(status: Status, reason: impl Into<String>) -> Self {
        Self::Refused { status, reason: reason.into() }
    }

    fn defect(reason: impl Into<String>) -> Self {
        Self::refused(Status::VerifyFailed, reason)
    }
}

impl From<BuildError> for Stop {
    fn from(error: BuildError) -> Self {
        Self::refused(status_of(&error), error.to_string())
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

/// The status that a failed build gives.
pub fn status_of(error: &BuildError) -> Status {
    match error {
        BuildError::Spec(_) => Status::Infeasible,
        BuildError::OutOfMemory { .. } => Status::OutOfMemory,
        _ => Status::BuildFailed,
    }
}

/// Builds a filter over the members and checks it: no member lost after the bulk build, after inserting one by one and in a
/// batch, after removing and replacing a tenth, after merging two halves, and after growing; single and batched lookups agree;
/// memory as planned and as counted; invariants of the table; false positives as the filter expects of itself, in one of two
/// counts over different keys. A panic in the filter is caught and becomes a status.
///
/// `announce` is told of each phase before it begins.
///
/// # Errors
/// If the absent keys cannot be had: a fault of the harness, not of the filter.
pub fn verify(trial: &Trial<'_>, announce: &mut dyn FnMut(Phase)) -> Result<Verdict> {
    let mut facts = Facts::default();
    let mut phase = Phase::Plan;
    let mut enter = |next| {
        phase = next;
        announce(next);
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        built::check(trial, &mut facts, &mut enter)?;
        changes::check(trial, &mut facts, &mut enter)
    }));
    let mut verdict = Verdict { status: Status::Ok, reason: String::new(), facts };
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(Stop::Refused { status, reason })) => (verdict.status, verdict.reason) = (status, reason),
        Ok(Err(Stop::Broken(error))) => return Err(error),
        Err(panic) => {
            verdict.status = phase.status_of_breakdown();
            verdict.reason = format!("{} panicked: {}", phase.name(), panic_text(&*panic));
        }
    }
    Ok(verdict)
}

/// The rate of a filter that has passed [`verify`], under another seed: other keys, another table, other queries. What is wrong
/// now is wrong with the filter, and changes the verdict. Nothing is learnt of a filter that does not tell what it expects.
///
/// # Errors
/// If the absent keys cannot be had: a fault of the harness, not of the filter.
pub fn another_seed(trial: &Trial<'_>, verdict: &mut Verdict) -> Result<()> {
    let seed = trial.spec.seed();
    let mut facts = Facts::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| built::check_rate_alone(trial, &mut facts)));
    let failed = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(Stop::Refused { status, reason })) => Some((status, reason)),
        Ok(Err(Stop::Broken(error))) => return Err(error),
        Err(panic) => Some((Status::VerifyFailed, format!("it panicked: {}", panic_text(&*panic)))),
    };
    if let Some((status, reason)) = failed {
        verdict.status = status;
        verdict.reason = format!("under another seed, {seed}: {reason}");
    }
    if let (Some(expected), Some(queries), Some(hits)) =
        (facts.fpr_expected, facts.fpr_queries, facts.fpr_hits)
    {
        verdict.facts.fpr_seeds.push(SeedRate { seed, expected, queries, hits });
    }
    Ok(())
}

/// The message of a caught panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
