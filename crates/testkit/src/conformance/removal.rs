//! Removal takes what was put in, and nothing else.

use amq::{Capability, Descriptor, Spec};

use super::case::{Case, Outcome, State, ensure, is_canonical};
use crate::keys::digests;

/// Insert X and Y, remove Y: every removal finds its key, all of X is still there, and the filter is the one of X. Then remove
/// X one by one, which empties it. With duplicates, removing one leaves the other.
///
/// # Errors
/// The first failure.
pub fn removals_leave_the_others(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Remove) {
        return Ok(());
    }
    for (kept, removed) in [(1, 1), (0, 50), (50, 50), (900, 1_000), (15_000, 5_000)] {
        for fpr in [0.5, 0.05, 1e-4] {
            for seed in 0..2 {
                let n = kept + removed;
                let case =
                    Case::new(descriptor, "removals leave the others", n, Spec::fpr(fpr, n).with_seed(seed));
                remove_the_second_half(&case, kept, seed)?;
            }
        }
    }
    remove_duplicates(&Case::new(descriptor, "removals leave the others", 600, Spec::fpr(0.01, 600)))
}

fn remove_the_second_half(case: &Case<'_>, kept: u64, seed: u64) -> Outcome {
    let all = digests(case.n, seed);
    let (x, y) = all.split_at(usize::try_from(kept).map_err(|error| case.fail(error.to_string()))?);
    let mut filter = case.build(&all)?;
    for (i, &digest) in y.iter().enumerate() {
        let removed = filter.as_remove().map(|remove| remove.remove(digest));
        ensure!(case, removed == Some(true), "removal {i} of a member says {removed:?}");
    }
    case.check_members(&*filter, x, "after the removals")?;
    ensure!(case, filter.len().is_none_or(|len| len == kept), "len is {:?}, not {kept}", filter.len());
    if is_canonical(case.descriptor) {
        let of_x = case.build(x)?;
        ensure!(case, filter.table() == of_x.table(), "the table is not that of the keys that are left");
    }

    let mut batch = case.build(&all)?;
    let removed = batch.as_remove().map(|remove| remove.remove_batch(y));
    ensure!(case, removed == Some(y.len() as u64), "a batch of {} removals says {removed:?}", y.len());
    case.check_members(&*batch, x, "after a batch of removals")?;

    for (i, &digest) in x.iter().enumerate() {
        let removed = filter.as_remove().map(|remove| remove.remove(digest));
        ensure!(case, removed == Some(true), "removal {i} of the rest says {removed:?}");
    }
    ensure!(case, filter.len().is_none_or(|len| len == 0), "emptied, but len is {:?}", filter.len());
    let state = State::of(&*case.build(&[])?);
    if is_canonical(case.descriptor) {
        case.check_unchanged(&*filter, &state, "removing everything")?;
    }
    let found = filter.count_hits(&all);
    ensure!(case, found == 0, "{found} digests are found in an emptied filter");
    Ok(())
}

fn remove_duplicates(case: &Case<'_>) -> Outcome {
    let once = digests(case.n / 3, 8);
    let thrice: Vec<_> = once.iter().chain(&once).chain(&once).copied().collect();
    let mut filter = case.build(&thrice)?;
    for round in 1..=2 {
        let removed = filter.as_remove().map(|remove| remove.remove_batch(&once));
        ensure!(case, removed == Some(case.n / 3), "round {round}: {removed:?} removed");
        case.check_members(&*filter, &once, "after removing one of several")?;
    }
    let removed = filter.as_remove().map(|remove| remove.remove_batch(&once));
    ensure!(case, removed == Some(case.n / 3), "the last round: {removed:?} removed");
    ensure!(case, filter.count_hits(&once) == 0, "found after the last removal");
    Ok(())
}
