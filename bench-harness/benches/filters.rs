//! Criterion over the registry: build, insert, lookup-hit, lookup-miss and remove of every filter, ours and peers, at ε = 2^-8, so
//! that one can be worked on with criterion's own statistics and baselines. Comparisons between families belong to
//! `amq-bench sweep`.
//!
//! `cargo bench -p bench-harness -- lookup-miss/quotient` runs one filter of one group.

use std::hint::black_box;

use amq::{Capability, Descriptor, Digest, Erased, Key, Spec};
use bench_harness::registry;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};

/// In the caches, and beyond the second level.
const SIZES: [u64; 2] = [10_000, 1_000_000];
const FPR: f64 = 1.0 / 256.0;
const SEED: u64 = 1;
/// Lookups in one iteration: enough for a plain loop, few enough to stay near what is measured.
const QUERIES: usize = 8192;
/// Each iteration takes another slice of so many queries, or the lines of few would stay in the caches.
const ALL_QUERIES: usize = 1 << 18;

fn digests(range: std::ops::Range<u64>) -> Vec<Digest> {
    range.map(|key| key.digest(SEED)).collect()
}

fn spec(n: u64) -> Spec {
    Spec::fpr(FPR, n).with_seed(SEED)
}

fn built(family: &Descriptor, digests: &[Digest]) -> Box<dyn Erased> {
    (family.build)(digests, &spec(digests.len() as u64)).expect("the sizes suit every family")
}

/// Runs `bench` for each size and each family that can do what the group is about.
fn over_families(
    criterion: &mut Criterion,
    name: &str,
    needs: Option<Capability>,
    operations: impl Fn(u64) -> u64,
    mut bench: impl FnMut(&mut BenchmarkGroup<'_, WallTime>, BenchmarkId, &Descriptor, &[Digest]),
) {
    let mut group = criterion.benchmark_group(name);
    for n in SIZES {
        let keys = digests(0..n);
        group.throughput(Throughput::Elements(operations(n)));
        let able = registry::filters().into_iter();
        // A peer may not offer the rate, or fill up before its capacity.
        let builds = |family: &Descriptor| family.peer.is_none() || (family.build)(&keys, &spec(n)).is_ok();
        for family in able.filter(|family| needs.is_none_or(|needed| family.can(needed)) && builds(family)) {
            bench(&mut group, BenchmarkId::new(family.name, n), family, &keys);
        }
    }
    group.finish();
}

fn build(criterion: &mut Criterion) {
    over_families(
        criterion,
        "build",
        None,
        |n| n,
        |group, id, family, keys| {
            group.bench_function(id, |bencher| {
                bencher.iter_with_large_drop(|| built(family, black_box(keys)));
            });
        },
    );
}

fn insert(criterion: &mut Criterion) {
    over_families(
        criterion,
        "insert",
        Some(Capability::Insert),
        |n| n,
        |group, id, family, keys| {
            group.bench_function(id, |bencher| {
                bencher.iter_batched_ref(
                    || (family.build)(&[], &spec(keys.len() as u64)).expect("an empty filter can be made"),
                    |filter| {
                        let filter = filter.as_insert().expect("the family inserts");
                        for &digest in keys {
                            filter.insert(digest).expect("the capacity suffices");
                        }
                    },
                    BatchSize::LargeInput,
                );
            });
        },
    );
}

fn look_up(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    family: &Descriptor,
    keys: &[Digest],
    queries: &[Digest],
) {
    group.bench_function(id, |bencher| {
        let filter = built(family, keys);
        let mut slices = queries.chunks_exact(QUERIES).cycle();
        bencher.iter(|| slices.next().map(|slice| filter.count_hits(black_box(slice))));
    });
}

fn lookup_hit(criterion: &mut Criterion) {
    over_families(
        criterion,
        "lookup-hit",
        None,
        |_| QUERIES as u64,
        |group, id, family, keys| {
            // Members in an order that is not the one they went in: the stride is a prime.
            let queries: Vec<Digest> = (0..ALL_QUERIES).map(|i| keys[i * 7_919 % keys.len()]).collect();
            look_up(group, id, family, keys, &queries);
        },
    );
}

fn lookup_miss(criterion: &mut Criterion) {
    over_families(
        criterion,
        "lookup-miss",
        None,
        |_| QUERIES as u64,
        |group, id, family, keys| {
            let n = keys.len() as u64;
            look_up(group, id, family, keys, &digests(n..n + ALL_QUERIES as u64));
        },
    );
}

fn remove(criterion: &mut Criterion) {
    over_families(
        criterion,
        "remove",
        Some(Capability::Remove),
        |n| n / 10,
        |group, id, family, keys| {
            let gone = &keys[..keys.len() / 10];
            group.bench_function(id, |bencher| {
                bencher.iter_batched_ref(
                    || built(family, keys),
                    |filter| {
                        let filter = filter.as_remove().expect("the family removes");
                        for &digest in gone {
                            black_box(filter.remove(digest));
                        }
                    },
                    BatchSize::LargeInput,
                );
            });
        },
    );
}

criterion_group!(benches, build, insert, lookup_hit, lookup_miss, remove);
criterion_main!(benches);
