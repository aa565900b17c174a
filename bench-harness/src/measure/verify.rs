//! The gate before timing: a filter is built and has to keep every promise. One that loses a key has no times, it has a
//! defect.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use amq::{BuildError, Descriptor, Digest, Erased, Kind, Spec};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::fpr::{self, Absent};
use super::space;
use crate::store::cell::Status;
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
            Self::AnotherSeed => "the build and the lookups under another seed",
        }
    }

    /// The status of a filter whose process broke down in this phase.
    pub const fn status_of_breakdown(self) -> Status {
        match self {
            Self::Plan | Self::Build => Status::BuildFailed,
            Self::Check | Self::Insert | Self::Remove | Self::AnotherSeed => Status::VerifyFailed,
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

/// Why a filter does not go on.
#[derive(Debug)]
struct Refusal {
    status: Status,
    reason: String,
}

impl Refusal {
    fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    fn defect(reason: impl Into<String>) -> Self {
        Self::new(Status::VerifyFailed, reason)
    }
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        Self::new(status_of(&error), error.to_string())
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

/// Builds a filter over `members` and checks it: no member lost after the bulk build, after inserting one by one and in a
/// batch, and after removing a tenth; single and batched lookups agree; memory as planned and as counted; invariants of the
/// table; false positives as the filter expects of itself, in one of two counts over different keys. A panic in the filter is caught and becomes a status.
///
/// `announce` is told of each phase before it begins.
///
/// # Errors
/// If the absent keys cannot be had: a fault of the harness, not of the filter.
pub fn verify(
    descriptor: &Descriptor,
    spec: &Spec,
    members: &[Digest],
    absent: &Absent<'_>,
    announce: &mut dyn FnMut(Phase),
) -> Result<Verdict> {
    let mut facts = Facts::default();
    let mut phase = Phase::Plan;
    let mut enter = |next| {
        phase = next;
        announce(next);
    };
    let outcome =
        catch_unwind(AssertUnwindSafe(|| check(descriptor, spec, members, absent, &mut facts, &mut enter)));
    let refusal = match outcome {
        Ok(Ok(Ok(()))) => return Ok(Verdict { status: Status::Ok, reason: String::new(), facts }),
        Ok(Ok(Err(refusal))) => refusal,
        Ok(Err(error)) => return Err(error),
        Err(panic) => Refusal::new(
            phase.status_of_breakdown(),
            format!("{} panicked: {}", phase.name(), panic_text(&*panic)),
        ),
    };
    Ok(Verdict { status: refusal.status, reason: refusal.reason, facts })
}

/// The message of a caught panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Outer error: of the harness. Inner: of the filter.
fn check(
    descriptor: &Descriptor,
    spec: &Spec,
    members: &[Digest],
    absent: &Absent<'_>,
    facts: &mut Facts,
    enter: &mut dyn FnMut(Phase),
) -> Result<Result<(), Refusal>> {
    let filter = match build(descriptor, spec, members, facts, enter) {
        Ok(filter) => filter,
        Err(refusal) => return Ok(Err(refusal)),
    };
    enter(Phase::Check);
    if let Err(refusal) = check_built(descriptor, &*filter, members, facts) {
        return Ok(Err(refusal));
    }
    if let Err(refusal) = check_rate(&*filter, members, absent, facts)? {
        return Ok(Err(refusal));
    }
    drop(filter);
    Ok(check_changes(descriptor, spec, members, facts, enter))
}

/// Counts false positives and holds them against what the filter expects of itself.
fn check_rate(
    filter: &dyn Erased,
    members: &[Digest],
    absent: &Absent<'_>,
    facts: &mut Facts,
) -> Result<Result<(), Refusal>> {
    facts.fpr_expected = filter.expected_fpr();
    let counted = match fpr::count_hits(filter, members, absent.count, absent.get)? {
        Ok(counted) => counted,
        Err(reason) => return Ok(Err(Refusal::defect(reason))),
    };
    (facts.fpr_queries, facts.fpr_hits) = (Some(counted.queries), Some(counted.hits));
    let Some((expected, first)) =
        facts.fpr_expected.and_then(|expected| Some((expected, fpr::contradiction(counted, expected)?)))
    else {
        return Ok(Ok(()));
    };
    // Among hundreds of cells chance alone contradicts one now and then, but not the same one twice.
    let fresh = match fpr::count_hits(filter, members, absent.count, absent.fresh)? {
        Ok(counted) => counted,
        Err(reason) => return Ok(Err(Refusal::defect(reason))),
    };
    (facts.fpr_queries_again, facts.fpr_hits_again) = (Some(fresh.queries), Some(fresh.hits));
    Ok(match fpr::contradiction(fresh, expected) {
        Some(second) => Err(Refusal::defect(format!("{first}; with as many fresh keys, {second}"))),
        None => Ok(()),
    })
}

/// The rate of a filter that has passed [`verify`], under another seed: other keys, another table, other queries. `None` where
/// it does not tell what it expects. What is wrong now is wrong with the filter, and is added to the verdict.
///
/// # Errors
/// If the absent keys cannot be had: a fault of the harness, not of the filter.
pub fn another_seed(
    descriptor: &Descriptor,
    spec: &Spec,
    members: &[Digest],
    absent: &Absent<'_>,
    verdict: &mut Verdict,
) -> Result<()> {
    let seed = spec.seed();
    let mut facts = Facts::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| -> Result<Result<(), Refusal>> {
        let filter = match (descriptor.build)(members, spec) {
            Ok(filter) => filter,
            Err(error) => return Ok(Err(error.into())),
        };
        match expect_all(&*filter, members, &mut facts, "after the build") {
            Ok(()) => check_rate(&*filter, members, absent, &mut facts),
            Err(refusal) => Ok(Err(refusal)),
        }
    }));
    let refusal = match outcome {
        Ok(result) => result?.err(),
        Err(panic) => Some(Refusal::defect(format!("it panicked: {}", panic_text(&*panic)))),
    };
    if let Some(refusal) = refusal {
        verdict.status = refusal.status;
        verdict.reason = format!("under another seed, {seed}: {}", refusal.reason);
    }
    if let (Some(expected), Some(queries), Some(hits)) =
        (facts.fpr_expected, facts.fpr_queries, facts.fpr_hits)
    {
        verdict.facts.fpr_seeds.push(SeedRate { seed, expected, queries, hits });
    }
    Ok(())
}

fn build(
    descriptor: &Descriptor,
    spec: &Spec,
    members: &[Digest],
    facts: &mut Facts,
    enter: &mut dyn FnMut(Phase),
) -> Result<Box<dyn Erased>, Refusal> {
    enter(Phase::Plan);
    let plan = (descriptor.plan)(spec).map_err(BuildError::Spec)?;
    facts.alpha = Some(plan.alpha);
    facts.r = Some(plan.r);
    facts.k = plan.k;
    facts.table_bytes = Some(plan.table_bytes);
    facts.fpr_predicted = Some(plan.fpr);

    enter(Phase::Build);
    let (built, usage) = space::measure(|| (descriptor.build)(members, spec));
    let filter = built?;
    facts.build_attempts = Some(filter.build_attempts());
    facts.payload_bits = Some(filter.space().payload_bits);
    facts.heap_bytes = usage.map(|usage| usage.live);
    facts.peak_bytes = usage.map(|usage| usage.peak);
    if let Some(reason) = space::contradiction(descriptor, &*filter, &plan, usage) {
        return Err(Refusal::defect(reason));
    }
    Ok(filter)
}

fn check_built(
    descriptor: &Descriptor,
    filter: &dyn Erased,
    members: &[Digest],
    facts: &mut Facts,
) -> Result<(), Refusal> {
    expect_all(filter, members, facts, "after the build")?;
    filter
        .check_invariants()
        .map_err(|error| Refusal::defect(format!("after the build the table contradicts itself: {error}")))?;
    match filter.len() {
        // Bloom types cannot tell a repeated key from a collision and may count either way.
        Some(len) if descriptor.kind != Kind::Bloom && len != members.len() as u64 => {
            Err(Refusal::defect(format!("it says that it holds {len} keys of {}", members.len())))
        }
        _ => check_counts(filter, members),
    }
}

/// A filter that counts knows each key at least as often as it was inserted. Asked of the first members.
fn check_counts(filter: &dyn Erased, members: &[Digest]) -> Result<(), Refusal> {
    const ASKED: usize = 100_000;
    let Some(count) = filter.as_count() else { return Ok(()) };
    let mut asked = members[..members.len().min(ASKED)].to_vec();
    asked.sort_unstable();
    asked.dedup();
    let mut times = vec![0; asked.len()];
    for place in members.iter().filter_map(|member| asked.binary_search(member).ok()) {
        times[place] += 1;
    }
    match asked
        .iter()
        .zip(times)
        .map(|(&digest, times)| (count.count(digest), times))
        .find(|(told, times)| told < times)
    {
        Some((told, times)) => {
            Err(Refusal::defect(format!("it counts a key {told} times that was inserted {times} times")))
        }
        None => Ok(()),
    }
}

/// Adds to `facts` how many members are lost, one by one or in a batch; none may be.
fn expect_all(filter: &dyn Erased, members: &[Digest], facts: &mut Facts, when: &str) -> Result<(), Refusal> {
    let single = members.len() as u64 - filter.count_hits(members).min(members.len() as u64);
    let mut answers = vec![false; members.len()];
    filter.contains_batch(members, &mut answers);
    let batch = answers.iter().map(|&answer| u64::from(!answer)).sum::<u64>();
    let lost = single.max(batch);
    *facts.false_negatives.get_or_insert(0) += lost;
    if lost == 0 {
        return Ok(());
    }
    Err(Refusal::defect(format!(
        "{when}, of {} members {single} are lost to single lookups and {batch} to a batch",
        members.len()
    )))
}

fn check_changes(
    descriptor: &Descriptor,
    spec: &Spec,
    members: &[Digest],
    facts: &mut Facts,
    enter: &mut dyn FnMut(Phase),
) -> Result<(), Refusal> {
    if !descriptor.can(amq::Capability::Insert) {
        return Ok(());
    }
    enter(Phase::Insert);
    let mut filter = (descriptor.build)(&[], spec)?;
    let (first, rest) = members.split_at(members.len() / 2);
    let full = |error| Refusal::new(Status::BuildFailed, format!("filled after the build: {error}"));
    let missing = |what| Refusal::defect(format!("it is listed with {what} but does not have it"));
    let insert = filter.as_insert().ok_or_else(|| missing("insert"))?;
    for &digest in first {
        insert.insert(digest).map_err(full)?;
    }
    expect_all(&*filter, first, facts, "after single inserts")?;
    let insert = filter.as_insert().ok_or_else(|| missing("insert"))?;
    insert.insert_batch(rest).map_err(full)?;
    expect_all(&*filter, members, facts, "after a batch of inserts")?;

    if !descriptor.can(amq::Capability::Remove) {
        return Ok(());
    }
    enter(Phase::Remove);
    let (removed, others): (Vec<_>, Vec<_>) = members.iter().enumerate().partition(|(i, _)| i % 10 == 0);
    let remove = filter.as_remove().ok_or_else(|| missing("remove"))?;
    for (i, digest) in removed {
        if !remove.remove(*digest) {
            return Err(Refusal::defect(format!("member {i} was there but not to be removed")));
        }
    }
    let others: Vec<_> = others.into_iter().map(|(_, &digest)| digest).collect();
    expect_all(&*filter, &others, facts, "after removing a tenth")?;
    filter.check_invariants().map_err(|error| {
        Refusal::defect(format!("after removing a tenth the table contradicts itself: {error}"))
    })
}
