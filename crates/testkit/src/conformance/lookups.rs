//! All ways of asking give one answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use amq::{Descriptor, Digest, Spec};

use super::case::{Case, Outcome, ensure};
use crate::keys::{absent_digests, digests};

/// `contains`, `contains_batch`, `count_hits` and `count_hits_chained` agree for every length from 0 to 130 and at every place
/// of a batch, in tables from empty to larger than the caches near a core.
///
/// # Errors
/// The first failure.
pub fn batches_equal_single_lookups(descriptor: &Descriptor) -> Outcome {
    for (n, fpr) in [(0, 0.01), (1, 0.5), (100, 0.1), (5_000, 1e-4), (1_500_000, 1e-4)] {
        let case = Case::new(descriptor, "batches equal single lookups", n, Spec::fpr(fpr, n).with_seed(2));
        let members = digests(n, 2);
        let filter = case.build(&members)?;
        let absent: Vec<Digest> = absent_digests(20_000, 2).collect();
        // Members and others, in runs and alternating, so that adaptive lookups meet both and their changes.
        let mut queries = absent.clone();
        queries.extend(members.iter().take(10_000));
        queries.extend(absent.iter().zip(&members).take(10_000).flat_map(|(&a, &b)| [a, b]));
        let single: Vec<bool> = queries.iter().map(|&digest| filter.contains(digest)).collect();

        let mut answers = vec![false; queries.len()];
        filter.contains_batch(&queries, &mut answers);
        ensure!(case, answers == single, "a batch of {} differs from single lookups", queries.len());
        let hits = single.iter().filter(|&&hit| hit).count() as u64;
        ensure!(case, filter.count_hits(&queries) == hits, "count_hits is not {hits}");
        ensure!(case, filter.count_hits_chained(&queries) == hits, "count_hits_chained is not {hits}");

        for length in 0..=130 {
            let start = (length * 307) % (queries.len() - length);
            let (part, expected) = (&queries[start..start + length], &single[start..start + length]);
            // What is in the answers before must not matter.
            let mut answers = vec![length % 2 == 0; length];
            filter.contains_batch(part, &mut answers);
            ensure!(case, answers == expected, "a batch of {length} differs from single lookups");
            let hits = expected.iter().filter(|&&hit| hit).count() as u64;
            ensure!(case, filter.count_hits(part) == hits, "count_hits of {length} is not {hits}");
            ensure!(
                case,
                filter.count_hits_chained(part) == hits,
                "count_hits_chained of {length} is not {hits}"
            );
        }
    }
    Ok(())
}

/// A batch with more or fewer answers than digests panics, as the contract says, instead of leaving some unanswered.
///
/// # Errors
/// The first failure.
pub fn batches_of_wrong_length_panic(descriptor: &Descriptor) -> Outcome {
    let case = Case::new(descriptor, "batches of wrong length panic", 100, Spec::fpr(0.01, 100));
    let members = digests(100, 0);
    let filter = case.build(&members)?;
    for (queries, answers) in [(0, 1), (1, 0), (64, 63), (63, 64), (100, 0)] {
        let mut answers = vec![false; answers];
        let result =
            catch_unwind(AssertUnwindSafe(|| filter.contains_batch(&members[..queries], &mut answers)));
        ensure!(case, result.is_err(), "{queries} digests and {} answers do not panic", answers.len());
    }
    Ok(())
}
