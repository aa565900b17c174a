//! How a filter comes about, and what it lists.

use std::sync::atomic::{AtomicU64, Ordering};

use amq::{
    Amq as _, BuildError, Count as _, Digest, Family as _, Fingerprints as _, Grow as _, Histogram,
    Insert as _, InsertError, InvariantError, Spec, Stats as _,
};
use amq_testkit::conformance::{self, Check};
use amq_testkit::exact::Exact;

use crate::flawed::{Flaw, Flawed, caught};

caught!(
    an_unlucky_size,
    UnluckySize,
    conformance::small_and_tight_sets_always_build,
    "construction failed",
    {
        fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
            if digests.len() == 37 && spec.seed() == 91 {
                return Err(BuildError::Exhausted { alpha: 0.5, threshold: 0.8, attempts: 9 });
            }
            Exact::build(digests, spec)
        }
    }
);

caught!(a_build_that_varies, Varies, conformance::builds_are_reproducible, "two builds differ", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        static BUILDS: AtomicU64 = AtomicU64::new(0);
        let mut digests = digests.to_vec();
        if let Some(first) = digests.first_mut() {
            *first = Digest::new(BUILDS.fetch_add(1, Ordering::Relaxed));
        }
        Exact::build(&digests, spec)
    }
});

caught!(a_build_that_depends_on_order, OrderMatters, conformance::builds_are_reproducible, "reversed", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        let mut digests = digests.to_vec();
        if let Some(last) = digests.last_mut() {
            *last = Digest::new(last.get() & !1);
        }
        Exact::build(&digests, spec)
    }
});

caught!(inserts_that_differ_from_a_build, InsertDiffers, conformance::inserts_equal_a_build, "differ", {
    fn insert_batch(exact: &mut Exact, digests: &[Digest]) -> Result<(), InsertError> {
        exact.insert_batch(digests)?;
        // Keeps all keys, but in place of a spare one.
        if exact.remaining() == Some(0) {
            exact.grow().map_err(|_| InsertError::Full { records: 1, len: 0, limit: 0 })?;
        }
        Ok(())
    }
});

caught!(a_count_too_low, CountsTooLow, conformance::counts_reach_multiplicities, "counts 1", {
    fn count(exact: &Exact, digest: Digest) -> u64 {
        exact.count(digest).min(1)
    }
});

caught!(a_count_too_high, CountsTooHigh, conformance::counts_reach_multiplicities, "are exact", {
    fn count(exact: &Exact, digest: Digest) -> u64 {
        exact.count(digest) * 2
    }
});

caught!(fingerprints_out_of_order, Unsorted, conformance::fingerprints_are_the_models, "ascending", {
    fn for_each_fingerprint(exact: &Exact, visit: &mut dyn FnMut(u64, u64)) {
        let mut all = Vec::new();
        exact.for_each_fingerprint(&mut |fingerprint, count| all.push((fingerprint, count)));
        all.iter().rev().for_each(|&(fingerprint, count)| visit(fingerprint, count));
    }
});

caught!(a_fingerprint_too_few, FingerprintMissing, conformance::fingerprints_are_the_models, "but len is", {
    fn for_each_fingerprint(exact: &Exact, visit: &mut dyn FnMut(u64, u64)) {
        exact.for_each_fingerprint(&mut |fingerprint, _| visit(fingerprint, 1));
    }
});

caught!(
    a_histogram_that_leaves_one_out,
    HistogramForgets,
    conformance::histograms_account_for_everything,
    "counts",
    {
        fn histograms(exact: &Exact) -> Vec<Histogram> {
            let mut histograms = exact.histograms();
            for histogram in &mut histograms {
                if let Some(count) = histogram.counts.last_mut() {
                    *count = count.saturating_sub(1);
                }
            }
            histograms
        }
    }
);

caught!(an_inconsistent_table, Inconsistent, conformance::members_of_every_size_are_kept, "inconsistent", {
    fn check_invariants(exact: &Exact) -> Result<(), InvariantError> {
        if exact.len() == Some(999) {
            return Err(InvariantError { what: "nothing is right", at: 3 });
        }
        exact.check_invariants()
    }
});
