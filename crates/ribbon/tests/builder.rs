//! One builder for many builds, with limits and threads: always the same bytes.

use amq::{BuildError, Digest, Spec, attempt_seed};
use amq_ribbon::{Build, Builder, MAX_ATTEMPTS, RibbonFilter, WideRibbonFilter};

fn digests(n: u64, seed: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(seed)).collect()
}

fn a_builder_forgets_what_it_built<F: Build>() {
    let mut builder = Builder::new();
    for (n, r) in [(60_000, 8), (10, 3), (0, 8), (7_000, 32), (1, 1), (300_000, 9), (2, 12), (3, 1)] {
        for seed in 0..2 {
            let digests = digests(n, seed);
            let spec = Spec::fpr(0.5_f64.powi(r), n).with_seed(seed);
            let filter: F = builder.build(&digests, &spec).unwrap();
            let fresh = F::build(&digests, &spec).unwrap();
            assert!(filter.table() == fresh.table(), "{} n = {n}", F::NAME);
            assert_eq!(filter.build_attempts(), fresh.build_attempts());
            assert_eq!(filter.count_hits(&digests), n);
            builder.recycle(filter);
        }
        // Builds that fail leave nothing behind.
        let error = builder.build::<F>(&digests(5_000, 3), &Spec::shape(1.0, 8, 5_000)).map(drop);
        assert!(matches!(error, Err(BuildError::Exhausted { attempts: MAX_ATTEMPTS, .. })), "{error:?}");
        let error = builder.build::<F>(&digests(5_000, 3), &Spec::fpr(0.1, 1_000)).map(drop);
        assert!(matches!(error, Err(BuildError::Full { records: 5_000, .. })), "{error:?}");
    }
}

/// Duplicates in any share, in several ranges.
fn duplicates_change_nothing<F: Build>() {
    let n = 300_000;
    let distinct = digests(n, 9);
    let spec = Spec::fpr(0.01, n);
    let expected = F::build(&distinct, &spec).unwrap();
    for (copies, of) in [(1, 1), (100_000, 1), (1, 300_000)] {
        let mut repeated = distinct.clone();
        repeated.extend_from_slice(&distinct[..of].repeat(copies));
        repeated.reverse();
        let filter = F::build(&repeated, &spec).unwrap();
        assert_eq!(filter.len(), Some(n));
        assert!(filter.table() == expected.table(), "{copies} copies of {of}");
    }
}

/// Digests chosen for the hash function of the first attempt: all in one part, or far more than fit a few buckets.
fn crowded_digests_build<F: Build>() {
    let n = 50_000;
    let seed = 5;
    let spec = Spec::fpr(1.0 / 256.0, n).with_seed(seed);
    for crowded in [n / 2, n] {
        // Found by trying: the first of a 50th of all windows.
        let crowd =
            (0_u64..).map(Digest::new).filter(|digest| digest.remix(attempt_seed(seed, 0)).scale(50) == 7);
        let others = (0..n - crowded).map(|i| Digest::new(1 << 40 | i));
        let digests: Vec<_> = (0..crowded).zip(crowd).map(|(_, digest)| digest).chain(others).collect();
        let filter: F = Builder::new().build(&digests, &spec).unwrap();
        assert_eq!((filter.len(), filter.count_hits(&digests)), (Some(n), n), "{crowded}");
        assert!(filter.build_attempts() <= 3, "{crowded}: {}", filter.build_attempts());
    }
}

/// The seams between ranges hold no key that is lost, and keep the space within 1 % of r bits a key.
fn ranges_are_small_and_complete<F: Build>(lowest: i32) {
    let n = 1_000_000;
    let digests = digests(n, 3);
    let mut builder = Builder::new();
    for r in [lowest, 8, 16] {
        let filter: F = builder.build(&digests, &Spec::fpr(0.5_f64.powi(r), n)).unwrap();
        assert_eq!((filter.count_hits(&digests), filter.build_attempts()), (n, 1), "{} r = {r}", F::NAME);
        assert_eq!(filter.check_invariants(), Ok(()));
        let bits = filter.space().payload_bits as f64 / n as f64;
        assert!(bits <= 1.01 * f64::from(r), "{} r = {r}: {bits}", F::NAME);
    }
}

#[cfg(feature = "rayon")]
fn threads_do_not_change_a_byte<F: Build>() {
    use core::num::NonZeroUsize;
    for n in [0, 1, 1_000, 600_000] {
        let digests = digests(n, 4);
        let spec = Spec::fpr(0.001, n);
        let expected = F::build(&digests, &spec).unwrap();
        for threads in [2, 3] {
            let mut builder = Builder::new().with_threads(NonZeroUsize::new(threads).unwrap());
            let mut repeated = digests.clone();
            for _ in 0..2 {
                let filter: F = builder.build(&repeated, &spec).unwrap();
                assert!(filter.table() == expected.table(), "{} n = {n}, {threads} threads", F::NAME);
                builder.recycle(filter);
                repeated.extend_from_slice(&digests[..digests.len() / 2]);
            }
        }
    }
}

/// Each of the functions as a test of each family.
macro_rules! for_each_family {
    ($($test:ident),* $(,)?) => {
        for_each_family! { @family narrow, RibbonFilter, 4: $($test)* }
        for_each_family! { @family wide, WideRibbonFilter, 1: $($test)* }
    };
    (@family $name:ident, $family:ty, $lowest:literal: $($test:ident)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $test() { super::$test::<$family>(); })*
            #[test]
            fn ranges_are_small_and_complete() { super::ranges_are_small_and_complete::<$family>($lowest); }
            #[cfg(feature = "rayon")]
            #[test]
            fn threads_do_not_change_a_byte() { super::threads_do_not_change_a_byte::<$family>(); }
        }
    };
}

for_each_family! {
    a_builder_forgets_what_it_built,
    duplicates_change_nothing,
    crowded_digests_build,
}
