//! The same input makes the same filter.

use amq::{Capability, Descriptor, Spec};

use super::case::{Case, Outcome, ensure, is_canonical};
use crate::keys::{absent_digests, digests, permute};

/// Two builds give the same bytes; so does a build from the digests in another order, where a table is decided by its contents.
///
/// # Errors
/// The first failure.
pub fn builds_are_reproducible(descriptor: &Descriptor) -> Outcome {
    for n in [0, 1, 2, 65, 1_000, 11_511, 40_000] {
        for fpr in [0.3, 1e-3] {
            let case =
                Case::new(descriptor, "builds are reproducible", n, Spec::fpr(fpr, n).with_seed(n ^ 9));
            let mut members = digests(n, n ^ 9);
            let first = case.build(&members)?;
            let second = case.build(&members)?;
            ensure!(case, first.table() == second.table(), "two builds differ");
            ensure!(
                case,
                first.build_attempts() == second.build_attempts(),
                "two builds differ in their attempts"
            );
            if !is_canonical(descriptor) {
                continue;
            }
            members.reverse();
            let reversed = case.build(&members)?;
            ensure!(case, first.table() == reversed.table(), "a build from the reversed digests differs");
            members.sort_unstable_by_key(|digest| permute(digest.get(), 1));
            let shuffled = case.build(&members)?;
            ensure!(case, first.table() == shuffled.table(), "a build from the shuffled digests differs");
        }
    }
    Ok(())
}

/// A filter built from digests and one that they were inserted into answer alike, and are equal byte for byte where a table
/// is decided by its contents.
///
/// # Errors
/// The first failure.
pub fn inserts_equal_a_build(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Insert) {
        return Ok(());
    }
    for n in [0, 1, 7, 64, 1_000, 10_000] {
        for fpr in [0.3, 0.01, 1e-4] {
            let case = Case::new(descriptor, "inserts equal a build", n, Spec::fpr(fpr, n).with_seed(4));
            let members = digests(n, 4);
            let built = case.build(&members)?;
            let mut single = case.build(&[])?;
            let mut batch = case.build(&[])?;
            let mut halves = case.build(&members[..members.len() / 2])?;
            for &digest in &members {
                single.as_insert().map(|insert| insert.insert(digest));
            }
            batch.as_insert().map(|insert| insert.insert_batch(&members));
            halves.as_insert().map(|insert| insert.insert_batch(&members[members.len() / 2..]));
            let queries: Vec<_> = absent_digests(10_000, 4).chain(members.iter().copied()).collect();
            let mut expected = vec![false; queries.len()];
            built.contains_batch(&queries, &mut expected);
            for (filter, how) in
                [(single, "single inserts"), (batch, "a batch"), (halves, "a build and a batch")]
            {
                case.check_members(&*filter, &members, how)?;
                let mut answers = vec![false; queries.len()];
                filter.contains_batch(&queries, &mut answers);
                ensure!(case, answers == expected, "after {how} the answers differ from a build's");
                ensure!(case, filter.len() == built.len(), "after {how} len is {:?}", filter.len());
                let equal = filter.table() == built.table();
                ensure!(
                    case,
                    equal || !is_canonical(descriptor),
                    "after {how} the table differs from a build's"
                );
            }
        }
    }
    Ok(())
}
