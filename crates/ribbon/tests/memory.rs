//! What a build takes of memory beyond its input.

use amq::{BuildError, Digest, Spec};
use amq_bits::counting::{CountingAllocator, is_installed, measure};
use amq_ribbon::{Build, Builder, RibbonFilter, WideRibbonFilter};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn digests(n: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(1)).collect()
}

/// Peak, what the builder says of it, and what is left.
fn the_peak_is_as_documented<F: Build>() {
    let n = 1_000_000;
    let digests = digests(n);
    for r in [1, 8, 32] {
        let spec = Spec::fpr(0.5_f64.powi(r), n);
        let table = F::plan(&spec).unwrap().table_bytes;
        let mut builder = Builder::new();
        let (filter, usage) = measure(|| builder.build::<F>(&digests, &spec).unwrap());
        println!("{} r = {r}: peak {:.2} bytes a key", F::NAME, usage.peak as f64 / n as f64);
        // 8 bytes a key, the table, and what does not depend on the keys.
        assert!(usage.peak > 8 * n + table && usage.peak < 8 * n + table + (6 << 20), "{}", usage.peak);
        let said = builder.peak_bytes();
        assert!(said.abs_diff(usage.peak) < 4_096, "{said} said, {} taken", usage.peak);
        assert_eq!(filter.space().heap_bytes, table);
    }
    // Far more copies than slots.
    let copies = vec![Digest::new(7); 1_000_000];
    let (filter, usage) = measure(|| F::build(&copies, &Spec::fpr(0.01, 1)).unwrap());
    assert_eq!((filter.len(), usage.live), (Some(1), filter.space().heap_bytes));
    assert!(usage.peak < 8_100_000, "{} bytes", usage.peak);
}

/// The second build of a size allocates nothing: not the working memory, and not the table of a filter given back.
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
    // A smaller one takes a table of its own, after the larger one was given back, and nothing else.
    let spec = Spec::fpr(0.01, 1_000);
    let (_, usage) = measure(|| builder.build::<F>(&digests[..1_000], &spec).unwrap());
    assert_eq!(usage.peak, 0);
}

/// A limit is kept, and what the error says is enough is enough, also for a builder that has too much from before.
fn limits_are_kept<F: Build>() {
    let n = 400_000;
    let (digests, spec) = (digests(n), Spec::fpr(0.01, n));
    let expected = F::build(&digests, &spec).unwrap();
    for limit in [0, 1_024, 3 << 20] {
        let mut builder = Builder::new().with_memory_limit(limit);
        let (result, usage) = measure(|| builder.build::<F>(&digests, &spec).map(drop));
        let Err(BuildError::MemoryLimit { needed, limit: named }) = result else { panic!("{result:?}") };
        assert!(named == limit && needed > limit, "{needed} of {limit}");
        assert_eq!(usage.peak, 0, "a limit of {limit}");
        for enough in [needed, needed - 1] {
            let mut builder = Builder::new().with_memory_limit(enough);
            let (result, usage) = measure(|| builder.build::<F>(&digests, &spec));
            assert!(usage.peak <= enough, "{} bytes of {enough}", usage.peak);
            match result {
                Ok(filter) => assert!(enough == needed && filter.table() == expected.table()),
                Err(error) => assert_eq!(error, BuildError::MemoryLimit { needed, limit: enough }),
            }
        }
        // Much of one list and little of another is kept from before.
        let mut builder = Builder::new().with_memory_limit(needed);
        let few = Spec::fpr(0.01, 1_000);
        let (filter, usage) = measure(|| {
            drop(builder.build::<F>(&[digests[0]].repeat(450_000), &few).unwrap());
            builder.build::<F>(&digests, &spec).unwrap()
        });
        assert!(filter.table() == expected.table());
        // The copies are in memory too.
        assert!(usage.peak <= needed + 8 * 450_000, "{} of {needed}", usage.peak);
    }
}

/// One test, because allocations are counted over all threads.
#[test]
fn memory_is_counted_bounded_and_kept() {
    assert!(is_installed());
    the_peak_is_as_documented::<RibbonFilter>();
    the_peak_is_as_documented::<WideRibbonFilter>();
    a_second_build_allocates_nothing::<RibbonFilter>();
    a_second_build_allocates_nothing::<WideRibbonFilter>();
    limits_are_kept::<RibbonFilter>();
    limits_are_kept::<WideRibbonFilter>();
}
