//! What a filter answers, and of whom.

use amq::{Amq as _, BuildError, Digest, Family as _, Insert as _, InsertError, Spec};
use amq_testkit::conformance::{self, Check};
use amq_testkit::exact::Exact;

use crate::flawed::{Flaw, Flawed, caught};

caught!(a_lost_key, Forgets, conformance::members_of_every_size_are_kept, "is lost", {
    // One in ten thousand.
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && !digest.get().is_multiple_of(10_000)
    }
});

caught!(
    a_key_lost_in_a_batch,
    ForgetsInBatch,
    conformance::members_of_every_size_are_kept,
    "lost in a batch",
    {
        // The remainder after blocks of eight.
        fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
            exact.contains_batch(digests, answers);
            let whole = answers.len() / 8 * 8;
            answers[whole..].fill(false);
        }
    }
);

caught!(
    a_key_lost_by_inserts,
    InsertLoses,
    conformance::members_of_every_size_are_kept,
    "after single inserts",
    {
        fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
            exact.insert(if digest.get().is_multiple_of(5_000) { Digest::new(0) } else { digest })
        }
    }
);

caught!(refused_duplicates, RefusesDuplicates, conformance::duplicates_are_kept, "construction failed", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        amq_testkit::keys::check_distinct(digests).map_err(|_| BuildError::Exhausted {
            alpha: 0.5,
            threshold: 0.8,
            attempts: 9,
        })?;
        Exact::build(digests, spec)
    }
});

caught!(a_sentinel_among_the_data, Sentinel, conformance::hostile_digests_are_kept, "is lost", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest.get() != u64::MAX
    }
});

caught!(a_truncated_digest, Truncates, conformance::hostile_digests_are_kept, "HighConstant", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest.get() >> 32 != 0xDEAD_BEEF
    }
});

caught!(a_lost_empty_key, LosesEmptyKey, conformance::awkward_keys_are_kept, "is lost", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest != amq::Key::digest(b"", 11)
    }
});

caught!(a_batch_that_differs, BatchDiffers, conformance::batches_equal_single_lookups, "a batch of", {
    fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
        exact.contains_batch(digests, answers);
        // One false positive more, in long batches.
        if let Some(last) = answers.get_mut(99) {
            *last = true;
        }
    }
});

caught!(
    hits_counted_wrongly,
    CountsHitsWrongly,
    conformance::batches_equal_single_lookups,
    "count_hits of 129",
    {
        fn count_hits(exact: &Exact, digests: &[Digest]) -> u64 {
            exact.count_hits(digests) + u64::from(digests.len() == 129)
        }
    }
);

caught!(
    chained_hits_counted_wrongly,
    CountsChainWrongly,
    conformance::batches_equal_single_lookups,
    "chained",
    {
        fn count_hits_chained(exact: &Exact, digests: &[Digest]) -> u64 {
            exact.count_hits_chained(&digests[digests.len().min(1)..])
        }
    }
);

caught!(a_length_not_checked, LaxLength, conformance::batches_of_wrong_length_panic, "do not panic", {
    fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
        for (answer, &digest) in answers.iter_mut().zip(digests) {
            *answer = exact.contains(digest);
        }
    }
});
