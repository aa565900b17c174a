//! What changes a filter: every key is still there after each change.

use amq::{Digest, Erased};

use super::built::{check_invariants, check_whole, expect_all};
use super::{Phase, Stop, Trial};
use crate::measure::join;
use crate::store::cell::{Status, Workload};
use crate::store::sample::{Facts, Refused};

/// Told of each phase before it begins.
type Enter<'a> = &'a mut dyn FnMut(Phase);

/// Goes through all that the family can do and the sweep asks for.
pub(super) fn check(trial: &Trial<'_>, facts: &mut Facts, enter: Enter<'_>) -> Result<(), Stop> {
    let can = |workload: Workload| workload.lacks(|needed| trial.descriptor.can(needed)).is_none();
    let asked = |workload| can(workload) && trial.workloads.contains(&workload);
    if can(Workload::Insert) {
        enter(Phase::Insert);
        let mut filter = fill(trial, facts)?;
        if can(Workload::Remove) {
            enter(Phase::Remove);
            let stay = remove_a_tenth(&mut *filter, trial.members, facts)?;
            if asked(Workload::Churn) {
                enter(Phase::Churn);
                replace_a_tenth(trial, &mut *filter, &stay, facts)?;
            }
        }
    }
    if asked(Workload::Merge) {
        enter(Phase::Merge);
        merge(trial, facts)?;
    }
    if asked(Workload::Grow) {
        enter(Phase::Grow);
        grow(trial, facts)?;
    }
    Ok(())
}

fn missing(what: &str) -> Stop {
    Stop::defect(format!("it is listed with {what} but does not have it"))
}

fn insert(filter: &mut dyn Erased, digests: &[Digest]) -> Result<(), Stop> {
    let insert = filter.as_insert().ok_or_else(|| missing("insert"))?;
    digests.iter().try_for_each(|&digest| insert.insert(digest)).map_err(full)
}

fn insert_batch(filter: &mut dyn Erased, digests: &[Digest]) -> Result<(), Stop> {
    filter.as_insert().ok_or_else(|| missing("insert"))?.insert_batch(digests).map_err(full)
}

fn full(error: amq::InsertError) -> Stop {
    Stop::refused(Status::BuildFailed, format!("filled after the build: {error}"))
}

fn remove(filter: &mut dyn Erased, digests: &[Digest]) -> Result<(), Stop> {
    let remove = filter.as_remove().ok_or_else(|| missing("remove"))?;
    match digests.iter().position(|&digest| !remove.remove(digest)) {
        Some(place) => Err(Stop::defect(format!(
            "the member {place} of those to remove was there but not to be removed"
        ))),
        None => Ok(()),
    }
}

/// Half of the members one by one, the rest in a batch.
fn fill(trial: &Trial<'_>, facts: &mut Facts) -> Result<Box<dyn Erased>, Stop> {
    let mut filter = (trial.descriptor.build)(&[], trial.spec)?;
    let (first, rest) = trial.members.split_at(trial.members.len() / 2);
    insert(&mut *filter, first)?;
    expect_all(&*filter, first, facts, "after single inserts")?;
    insert_batch(&mut *filter, rest)?;
    expect_all(&*filter, trial.members, facts, "after a batch of inserts")?;
    Ok(filter)
}

/// Every tenth member goes; the others are returned.
fn remove_a_tenth(
    filter: &mut dyn Erased,
    members: &[Digest],
    facts: &mut Facts,
) -> Result<Vec<Digest>, Stop> {
    let (leave, stay) = every_tenth(members);
    remove(filter, &leave)?;
    expect_all(filter, &stay, facts, "after removing a tenth")?;
    check_invariants(filter, "after removing a tenth")?;
    Ok(stay)
}

/// Every tenth, and the others.
fn every_tenth(digests: &[Digest]) -> (Vec<Digest>, Vec<Digest>) {
    let (tenth, others): (Vec<_>, Vec<_>) = digests.iter().enumerate().partition(|(i, _)| i % 10 == 0);
    let digests = |of: Vec<(_, &Digest)>| of.into_iter().map(|(_, &digest)| digest).collect();
    (digests(tenth), digests(others))
}

/// Of the keys in the filter, every tenth leaves and an absent one comes for it: half of them in turn, half of them in two
/// batches. Where there are fewer absent keys, fewer are replaced.
fn replace_a_tenth(
    trial: &Trial<'_>,
    filter: &mut dyn Erased,
    there: &[Digest],
    facts: &mut Facts,
) -> Result<(), Stop> {
    let (leave, stay) = every_tenth(there);
    let newcomers = (trial.absent.get)(0, trial.absent.count.min(leave.len() as u64))?;
    let (leave, stay_too) = leave.split_at(newcomers.len().min(leave.len()));
    let half = newcomers.len() / 2;
    let (leave_in_turn, leave_together) = leave.split_at(half);
    let (come_in_turn, come_together) = newcomers.split_at(half);
    for (&leaves, &comes) in leave_in_turn.iter().zip(come_in_turn) {
        remove(filter, &[leaves])?;
        insert(filter, &[comes])?;
    }
    let removed = filter.as_remove().ok_or_else(|| missing("remove"))?.remove_batch(leave_together);
    if removed != leave_together.len() as u64 {
        let asked = leave_together.len();
        return Err(Stop::defect(format!("of {asked} members, {removed} could be removed in a batch")));
    }
    insert_batch(filter, come_together)?;
    let now = [&stay, stay_too, &newcomers].concat();
    expect_all(filter, &now, facts, "after replacing a tenth")?;
    check_invariants(filter, "after replacing a tenth")
}

/// Two halves become one filter of all members.
fn merge(trial: &Trial<'_>, facts: &mut Facts) -> Result<(), Stop> {
    let (left, right) = trial.members.split_at(trial.members.len() / 2);
    let build = |half| (trial.descriptor.build)(half, trial.spec);
    let both = match join(&*build(left)?, &*build(right)?) {
        None => return Err(missing("union or multiset-algebra")),
        Some(Err(error)) => {
            facts.refused.push(Refused { workload: Workload::Merge, reason: error.to_string() });
            return Ok(());
        }
        Some(Ok(both)) => both,
    };
    check_whole(trial, &*both, facts, "after merging two halves")
}

/// Every answer stays as it was, also for absent keys.
fn grow(trial: &Trial<'_>, facts: &mut Facts) -> Result<(), Stop> {
    let mut filter = (trial.descriptor.build)(trial.members, trial.spec)?;
    let grown = filter.as_grow().ok_or_else(|| missing("grow"))?.grow();
    if let Err(error) = grown {
        facts.refused.push(Refused { workload: Workload::Grow, reason: error.to_string() });
        return Ok(());
    }
    check_whole(trial, &*filter, facts, "after growing")?;
    match (facts.fpr_expected, filter.expected_fpr()) {
        (Some(before), Some(after)) if (before - after).abs() > 1e-12 * before => Err(Stop::defect(format!(
            "after growing it expects a false-positive rate of {after:e}, before {before:e}"
        ))),
        _ => Ok(()),
    }
}
