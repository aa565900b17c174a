//! A filter as it was built: every member is found, memory and table are as told, and the rate is as expected.

use amq::{BuildError, Digest, Erased, Kind};

use super::{Phase, Stop, Trial};
use crate::measure::{fpr, space};
use crate::numbers::grouped;
use crate::store::cell::{Status, Workload};
use crate::store::sample::Facts;

/// Builds it and checks it.
pub(super) fn check(trial: &Trial<'_>, facts: &mut Facts, enter: &mut dyn FnMut(Phase)) -> Result<(), Stop> {
    let filter = build(trial, facts, enter)?;
    enter(Phase::Check);
    check_whole(trial, &*filter, facts, "after the build")?;
    if trial.workloads.contains(&Workload::Iterate) {
        check_fingerprints(&*filter, trial.members.len() as u64)?;
    }
    check_rate(trial, &*filter, facts)
}

/// Builds it and checks its members and its rate.
pub(super) fn check_rate_alone(trial: &Trial<'_>, facts: &mut Facts) -> Result<(), Stop> {
    let filter = (trial.descriptor.build)(trial.members, trial.spec)?;
    expect_all(&*filter, trial.members, facts, "after the build")?;
    check_rate(trial, &*filter, facts)
}

fn build(
    trial: &Trial<'_>,
    facts: &mut Facts,
    enter: &mut dyn FnMut(Phase),
) -> Result<Box<dyn Erased>, Stop> {
    let Trial { descriptor, spec, members, .. } = *trial;
    enter(Phase::Plan);
    let plan = (descriptor.plan)(spec).map_err(BuildError::Spec)?;
    facts.alpha = Some(plan.alpha);
    facts.r = Some(plan.r);
    facts.k = plan.k;
    facts.table_bytes = Some(plan.table_bytes);
    facts.fpr_predicted = Some(plan.fpr);
    if let Some(reason) = too_large(trial, plan.table_bytes) {
        return Err(Stop::refused(Status::OutOfMemory, reason));
    }

    enter(Phase::Build);
    let (built, usage) = space::measure(|| (descriptor.build)(members, spec));
    let filter = built?;
    facts.build_attempts = Some(filter.build_attempts());
    facts.payload_bits = Some(filter.space().payload_bits);
    facts.heap_bytes = usage.map(|usage| usage.live);
    facts.peak_bytes = usage.map(|usage| usage.peak);
    match space::contradiction(descriptor, &*filter, &plan, usage) {
        Some(reason) => Err(Stop::defect(reason)),
        None => Ok(filter),
    }
}

/// Why a planned table is not even tried: it does not fit beside the digests of the members.
fn too_large(trial: &Trial<'_>, table: u64) -> Option<String> {
    let mib = |bytes: u64| grouped(bytes.div_ceil(1 << 20));
    let digests = trial.members.len() as u64 * 8;
    (table.saturating_add(digests) > trial.memory_limit).then(|| {
        format!(
            "its table would take {} MiB beside the {} MiB of the keys' digests, more than memory_limit_mib, {}",
            mib(table),
            mib(digests),
            mib(trial.memory_limit)
        )
    })
}

/// What holds for every filter of all members, however it came about.
pub(super) fn check_whole(
    trial: &Trial<'_>,
    filter: &dyn Erased,
    facts: &mut Facts,
    when: &str,
) -> Result<(), Stop> {
    let members = trial.members;
    expect_all(filter, members, facts, when)?;
    check_invariants(filter, when)?;
    match filter.len() {
        // Bloom types cannot tell a repeated key from a collision and may count either way.
        Some(len) if trial.descriptor.kind != Kind::Bloom && len != members.len() as u64 => {
            Err(Stop::defect(format!("{when} it says that it holds {len} keys of {}", members.len())))
        }
        _ => check_counts(filter, members, when),
    }
}

pub(super) fn check_invariants(filter: &dyn Erased, when: &str) -> Result<(), Stop> {
    filter
        .check_invariants()
        .map_err(|error| Stop::defect(format!("{when} the table contradicts itself: {error}")))
}

/// Adds to `facts` how many members are lost, one by one or in a batch; none may be.
pub(super) fn expect_all(
    filter: &dyn Erased,
    members: &[Digest],
    facts: &mut Facts,
    when: &str,
) -> Result<(), Stop> {
    let single = members.len() as u64 - filter.count_hits(members).min(members.len() as u64);
    let mut answers = vec![false; members.len()];
    filter.contains_batch(members, &mut answers);
    let batch = answers.iter().map(|&answer| u64::from(!answer)).sum::<u64>();
    let lost = single.max(batch);
    *facts.false_negatives.get_or_insert(0) += lost;
    if lost == 0 {
        return Ok(());
    }
    Err(Stop::defect(format!(
        "{when}, of {} members {single} are lost to single lookups and {batch} to a batch",
        members.len()
    )))
}

/// A filter that counts knows each key at least as often as it was inserted. Asked of the first members.
fn check_counts(filter: &dyn Erased, members: &[Digest], when: &str) -> Result<(), Stop> {
    const ASKED: usize = 100_000;
    let Some(count) = filter.as_count() else { return Ok(()) };
    let mut asked = members[..members.len().min(ASKED)].to_vec();
    asked.sort_unstable();
    asked.dedup();
    let mut times = vec![0; asked.len()];
    for place in members.iter().filter_map(|member| asked.binary_search(member).ok()) {
        times[place] += 1;
    }
    let told = asked.iter().map(|&digest| count.count(digest));
    match told.zip(times).find(|(told, times)| told < times) {
        Some((told, times)) => {
            Err(Stop::defect(format!("{when} it counts a key {told} times that was inserted {times} times")))
        }
        None => Ok(()),
    }
}

/// The fingerprints of a filter of so many records are in order, and as many.
fn check_fingerprints(filter: &dyn Erased, records: u64) -> Result<(), Stop> {
    let Some(fingerprints) = filter.as_fingerprints() else { return Ok(()) };
    let (mut last, mut in_order, mut total) = (None, true, 0);
    fingerprints.for_each_fingerprint(&mut |fingerprint, times| {
        in_order &= last.is_none_or(|last| last < fingerprint) && times > 0;
        last = Some(fingerprint);
        total += times;
    });
    if !in_order {
        return Err(Stop::defect("its fingerprints are not in order"));
    }
    if total != records {
        return Err(Stop::defect(format!("it lists {total} fingerprints of {records} records")));
    }
    Ok(())
}

/// Counts false positives and holds them against what the filter expects of itself.
fn check_rate(trial: &Trial<'_>, filter: &dyn Erased, facts: &mut Facts) -> Result<(), Stop> {
    let count =
        |source| fpr::count_hits(filter, trial.members, trial.absent.count, source)?.map_err(Stop::defect);
    facts.fpr_expected = filter.expected_fpr();
    let counted = count(trial.absent.get)?;
    (facts.fpr_queries, facts.fpr_hits) = (Some(counted.queries), Some(counted.hits));
    let Some(expected) = facts.fpr_expected else { return Ok(()) };
    let Some(first) = fpr::contradiction(counted, expected) else { return Ok(()) };
    // Among hundreds of cells chance alone contradicts one now and then, but not the same one twice.
    let fresh = count(trial.absent.fresh)?;
    (facts.fpr_queries_again, facts.fpr_hits_again) = (Some(fresh.queries), Some(fresh.hits));
    match fpr::contradiction(fresh, expected) {
        Some(second) => Err(Stop::defect(format!("{first}; with as many fresh keys, {second}"))),
        None => Ok(()),
    }
}
