//! What fails, fails as a whole.

use amq::{Capability, Descriptor, Digest, Spec};

use super::case::{Case, Outcome, State, ensure};
use crate::keys::{absent_digests, digests, permute};

/// Inserts far beyond the capacity, up to this many times it.
const OVERFILL: u64 = 40;

/// An insert into a full table, a batch of which not all fits, and the removal of a key that is not there leave the table byte
/// for byte and the number of records as they were.
///
/// # Errors
/// The first failure.
pub fn failed_operations_change_nothing(descriptor: &Descriptor) -> Outcome {
    for n in [0, 1, 7, 63, 500] {
        for fpr in [0.2, 0.01] {
            for seed in 0..4 {
                let spec = Spec::fpr(fpr, n).with_seed(seed);
                let case = Case::new(descriptor, "failed operations change nothing", n, spec);
                insert_beyond_the_end(&case, seed)?;
                remove_what_is_absent(&case, seed)?;
            }
        }
    }
    Ok(())
}

fn insert_beyond_the_end(case: &Case<'_>, seed: u64) -> Outcome {
    if !case.descriptor.can(Capability::Insert) {
        return Ok(());
    }
    let mut filter = case.build(&[])?;
    let mut accepted = Vec::new();
    let mut refused = 0;
    for index in 0..(case.n + 10) * OVERFILL {
        let digest = Digest::new(permute(index, seed));
        let before = State::of(&*filter);
        let Some(insert) = filter.as_insert() else { return Err(case.fail("no inserts")) };
        let remaining = insert.remaining();
        if insert.insert(digest).is_ok() {
            accepted.push(digest);
            continue;
        }
        ensure!(case, remaining == Some(0), "an insert failed where {remaining:?} certainly fit");
        case.check_unchanged(&*filter, &before, "an insert that failed")?;
        refused += 1;
        if refused == 5 {
            break;
        }
    }
    case.check_members(&*filter, &accepted, "after overfilling")?;
    if refused == 0 {
        return Ok(());
    }
    let expected = accepted.len() as u64;
    ensure!(case, filter.len().is_none_or(|len| len == expected), "len is {:?} of {expected}", filter.len());

    // A batch that does not fit, into a table that has room for a part of it.
    let kept = accepted.len() / 2;
    let mut filter = case.build(&[])?;
    let before = accepted[..kept].to_vec();
    let Some(insert) = filter.as_insert() else { return Err(case.fail("no inserts")) };
    insert
        .insert_batch(&before)
        .map_err(|error| case.fail(format!("half of what fits does not: {error}")))?;
    let batch: Vec<Digest> = absent_digests(expected * 3 + 10, seed).collect();
    let state = State::of(&*filter);
    let result = filter.as_insert().map(|insert| insert.insert_batch(&batch));
    ensure!(case, matches!(result, Some(Err(_))), "three times what fits was inserted as a batch");
    case.check_unchanged(&*filter, &state, "a batch that failed")?;
    case.check_members(&*filter, &before, "after a batch that failed")
}

fn remove_what_is_absent(case: &Case<'_>, seed: u64) -> Outcome {
    if !case.descriptor.can(Capability::Remove) {
        return Ok(());
    }
    let members = digests(case.n, seed);
    let mut filter = case.build(&members)?;
    let state = State::of(&*filter);
    let absent: Vec<Digest> = absent_digests(300, seed).filter(|&digest| !filter.contains(digest)).collect();
    for &digest in &absent {
        let removed = filter.as_remove().map(|remove| remove.remove(digest));
        ensure!(case, removed == Some(false), "removing an absent digest says {removed:?}");
    }
    case.check_unchanged(&*filter, &state, "removals of absent digests")?;
    let removed = filter.as_remove().map(|remove| remove.remove_batch(&absent));
    ensure!(case, removed == Some(0), "removing absent digests says {removed:?}");
    case.check_unchanged(&*filter, &state, "a batch of removals of absent digests")
}
