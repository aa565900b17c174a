//! One builder for many builds, from sources, with limits and threads: always the same bytes.

use core::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use amq::{BuildError, Digest, Spec};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, Builder, Source, SourceError, XorFilter};

fn digests(n: u64, seed: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(seed)).collect()
}

/// Digests made on the way, in blocks of different sizes.
struct Generated {
    n: u64,
    seed: u64,
    passes: AtomicU64,
}

impl Source for Generated {
    type Error = String;

    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> Result<(), String> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let (mut i, mut size) = (0, 1);
        while i < self.n {
            let end = (i + size).min(self.n);
            let block: Vec<_> = (i..end).map(|i| Digest::new(i).remix(self.seed)).collect();
            visit(&block);
            (i, size) = (end, size * 3 % 10_007 + 1);
        }
        Ok(())
    }
}

fn a_builder_forgets_what_it_built<F: Build>() {
    let mut builder = Builder::new();
    for (n, r) in [(200_000, 8), (10, 3), (0, 8), (70_000, 32), (1, 1), (300_000, 9), (69_000, 12)] {
        for seed in 0..2 {
            let digests = digests(n, seed);
            let spec = Spec::fpr(0.5_f64.powi(r), n).with_seed(seed);
            let filter: F = builder.build(&digests, &spec).unwrap();
            let fresh = F::build(&digests, &spec).unwrap();
            assert!(filter.table() == fresh.table(), "{} n = {n}", F::NAME);
            assert_eq!(filter.count_hits(&digests), n);
        }
        // A build that fails leaves nothing behind.
        let error = builder.build::<F>(&digests(50_000, 3), &Spec::shape(0.995, 8, 50_000)).map(drop);
        assert!(matches!(error, Err(BuildError::Exhausted { .. })), "{error:?}");
    }
}

fn a_source_is_as_good_as_a_slice<F: Build>() {
    for n in [0, 1, 1_000, 150_000] {
        let source = Generated { n, seed: 5, passes: AtomicU64::new(0) };
        let spec = Spec::fpr(0.01, n);
        let filter: F = Builder::new().build_from(&source, &spec).unwrap();
        assert!(filter.table() == F::build(&digests(n, 5), &spec).unwrap().table(), "{} n = {n}", F::NAME);
    }
}

/// With less memory than 8 bytes a key, in several rounds, with duplicates and without.
#[test]
fn a_limited_xor_build_goes_through_its_source_more_often() {
    let n = 400_000;
    let spec = Spec::fpr(0.01, n);
    let expected = {
        let filter: XorFilter = Builder::new().build(&digests(n, 5), &spec).unwrap();
        filter
    };
    for limit in [2_600_000, 3_000_000, 10_000_000] {
        let source = Generated { n, seed: 5, passes: AtomicU64::new(0) };
        let mut builder = Builder::new().with_memory_limit(limit);
        let filter: XorFilter = builder.build_from(&source, &spec).unwrap();
        assert_eq!(filter, expected, "{limit} bytes");
        assert!(builder.peak_bytes() <= limit, "{} of {limit}", builder.peak_bytes());
        let passes = source.passes.into_inner();
        println!("{limit} bytes: {passes} passes");
        assert!(passes > 2 || limit == 10_000_000, "{passes}");
        let doubled = digests(n, 5).repeat(2);
        // Twice the digests take shards of twice the words.
        let mut builder = Builder::new().with_memory_limit(2 * limit);
        let filter: XorFilter = builder.build(&doubled, &spec).unwrap();
        assert_eq!(filter, expected, "{limit} bytes, each digest twice");
    }
}

fn duplicates_in_shards_and_segments_change_nothing<F: Build>() {
    let n = 200_000;
    let distinct = digests(n, 9);
    let spec = Spec::fpr(0.01, n);
    let expected = F::build(&distinct, &spec).unwrap();
    for copies in [1, 1_000, 200_000] {
        let mut repeated = distinct.clone();
        repeated.extend_from_slice(&distinct[..copies]);
        repeated.reverse();
        let filter = F::build(&repeated, &spec).unwrap();
        assert_eq!(filter.len(), Some(n));
        assert!(filter.table() == expected.table(), "{} with {copies} copies", F::NAME);
    }
}

/// Fails after the first pass, or gives other digests then.
struct Unreliable<'a> {
    passes: Cell<u32>,
    first: &'a [Digest],
    then: Option<&'a [Digest]>,
}

// One thread goes through it here, but a source must allow more.
struct OneThread<'a>(std::sync::Mutex<Unreliable<'a>>);

impl Source for OneThread<'_> {
    type Error = &'static str;

    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> Result<(), &'static str> {
        let source = self.0.lock().unwrap();
        let pass = source.passes.replace(source.passes.get() + 1);
        visit(if pass == 0 { source.first } else { source.then.ok_or("gone")? });
        Ok(())
    }
}

fn unreliable_sources_are_errors<F: Build>() {
    let (first, other) = (digests(100_000, 1), digests(100_000, 2));
    let spec = Spec::fpr(0.01, 100_000);
    let build = |then| {
        let source =
            OneThread(std::sync::Mutex::new(Unreliable { passes: Cell::new(0), first: &first, then }));
        Builder::new().build_from::<F, _>(&source, &spec).map(drop)
    };
    assert_eq!(build(None), Err(SourceError::Source("gone")));
    assert_eq!(build(Some(&[])), Err(SourceError::Changed));
    let longer = first.repeat(2);
    assert_eq!(build(Some(&longer)), Err(SourceError::Changed));
    // Where there are several places, other digests have other counts.
    assert!(matches!(build(Some(&other)), Err(SourceError::Changed) | Ok(())));
    assert_eq!(build(Some(&first)), Ok(()));
}

#[cfg(feature = "rayon")]
fn threads_do_not_change_a_byte<F: Build>() {
    use core::num::NonZeroUsize;
    for n in [0, 1, 1_000, 200_000, 1_000_000] {
        let digests = digests(n, 4);
        let spec = Spec::fpr(0.001, n);
        let expected = F::build(&digests, &spec).unwrap();
        for threads in [1, 2, 3, 7] {
            let mut builder = Builder::new().with_threads(NonZeroUsize::new(threads).unwrap());
            for _ in 0..2 {
                let filter: F = builder.build(&digests, &spec).unwrap();
                assert!(filter.table() == expected.table(), "{} n = {n}, {threads} threads", F::NAME);
            }
            let doubled: Vec<_> = digests.iter().chain(&digests).copied().collect();
            let filter: F = builder.build(&doubled, &spec).unwrap();
            assert!(filter.table() == expected.table(), "{} n = {n}, {threads} threads, twice", F::NAME);
        }
    }
}

/// Each of the functions as a test of each family.
macro_rules! for_each_family {
    ($($test:ident),* $(,)?) => {
        for_each_family! { @family xor, XorFilter: $($test)* }
        for_each_family! { @family fuse3, BinaryFuse3: $($test)* }
        for_each_family! { @family fuse4, BinaryFuse4: $($test)* }
    };
    (@family $name:ident, $family:ty: $($test:ident)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $test() { super::$test::<$family>(); })*
            #[cfg(feature = "rayon")]
            #[test]
            fn threads_do_not_change_a_byte() { super::threads_do_not_change_a_byte::<$family>(); }
        }
    };
}

for_each_family! {
    a_builder_forgets_what_it_built,
    a_source_is_as_good_as_a_slice,
    duplicates_in_shards_and_segments_change_nothing,
    unreliable_sources_are_errors,
}
