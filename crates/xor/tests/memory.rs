//! What a build takes of memory beyond its input.

use amq::{BuildError, Digest, Spec};
use amq_bits::counting::{CountingAllocator, is_installed, measure};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, Builder, XorFilter};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn digests(n: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(1)).collect()
}

/// Peak, what the builder says of it, and what is left, in a build of distinct digests.
fn the_peak_is_as_documented<F: Build>() {
    assert!(is_installed());
    let n = 1_000_000;
    let digests = digests(n);
    for r in [1, 8, 32] {
        let spec = Spec::fpr(0.5_f64.powi(r), n);
        let table = F::plan(&spec).unwrap().table_bytes;
        let mut builder = Builder::new();
        let (filter, usage) = measure(|| builder.build::<F>(&digests, &spec).unwrap());
        println!("{} r = {r}: peak {:.2} bytes a key", F::NAME, usage.peak as f64 / n as f64);
        // 8 bytes a key, the table, and at most 5 MiB that do not depend on the keys.
        assert!(usage.peak > 8 * n + table && usage.peak < 8 * n + table + (5 << 20), "{}", usage.peak);
        let said = builder.peak_bytes();
        assert!(said.abs_diff(usage.peak) < 4_096, "{said} said, {} taken", usage.peak);
        assert_eq!(filter.space().heap_bytes, table);
        drop(builder);
    }
    // Far more copies than cells: they are dropped before anything is sized by them.
    let copies = vec![Digest::new(7); 1_000_000];
    let (filter, usage) = measure(|| F::build(&copies, &Spec::fpr(0.01, 1)).unwrap());
    assert_eq!((filter.len(), usage.live), (Some(1), filter.space().heap_bytes));
    assert!(usage.peak < 16_100_000, "{} bytes", usage.peak);
}

/// The second build of a size allocates nothing: not the working memory, and not the table of a filter given
/// back.
fn a_second_build_allocates_nothing<F: Build>() {
    let digests = digests(300_000);
    let spec = Spec::fpr(0.01, 300_000);
    let mut builder = Builder::new();
    let first: F = builder.build(&digests, &spec).unwrap();
    let table = first.table().to_vec();
    builder.recycle(first);
    for seed in [0, 0, 1] {
        let spec = spec.with_seed(seed);
        let (filter, usage) = measure(|| builder.build::<F>(&digests, &spec).unwrap());
        assert_eq!(usage.peak, 0, "seed {seed}");
        assert_eq!(filter.table() == table, seed == 0);
        builder.recycle(filter);
    }
}

/// A limit is kept, and what the error says is enough is enough.
fn limits_are_kept<F: Build>() {
    let n = 400_000;
    let digests = digests(n);
    let spec = Spec::fpr(0.01, n);
    let expected = F::build(&digests, &spec).unwrap();
    let mut limit = 0;
    let filter = loop {
        let mut builder = Builder::new().with_memory_limit(limit);
        let (result, usage) = measure(|| builder.build::<F>(&digests, &spec));
        assert!(usage.peak <= limit + 4_096, "{} bytes of {limit}", usage.peak);
        match result {
            Ok(filter) => break filter,
            Err(BuildError::MemoryLimit { needed, limit: named }) => {
                assert!(named == limit && needed > limit, "{needed} of {limit}");
                limit = needed;
            }
            Err(error) => panic!("{error}"),
        }
    };
    println!("{}: {:.2} bytes a key are enough", F::NAME, limit as f64 / n as f64);
    assert_eq!(filter.table(), expected.table());
}

/// One test, because allocations are counted over all threads.
#[test]
fn memory_is_counted_bounded_and_kept() {
    the_peak_is_as_documented::<XorFilter>();
    the_peak_is_as_documented::<BinaryFuse3>();
    the_peak_is_as_documented::<BinaryFuse4>();
    a_second_build_allocates_nothing::<XorFilter>();
    a_second_build_allocates_nothing::<BinaryFuse3>();
    a_second_build_allocates_nothing::<BinaryFuse4>();
    limits_are_kept::<XorFilter>();
    limits_are_kept::<BinaryFuse3>();
    limits_are_kept::<BinaryFuse4>();
}
