//! Digests that somebody chose for a known seed, so that they crowd in few shards: a xor filter is built all the same.

use core::num::NonZeroUsize;

use amq::{Amq, BuildError, Digest, Family, Spec, attempt_seed};
use amq_xor::{Builder, XorFilter};

/// The multiplier of the hash, whose inverse anybody can find.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The digest with this hash under the first seed of a spec.
fn digest_of(hash: u64, spec: &Spec) -> Digest {
    let inverse = (0..6).fold(GOLDEN, |x, _| x.wrapping_mul(2_u64.wrapping_sub(GOLDEN.wrapping_mul(x))));
    Digest::new((hash ^ hash >> 32).wrapping_mul(inverse) ^ attempt_seed(spec.seed(), 0))
}

/// Keys for each of the shards, two to a power of them.
fn crowd(spec: &Spec, keys: &[u64]) -> Vec<Digest> {
    let bits = keys.len().trailing_zeros();
    (0..).zip(keys).flat_map(|(shard, &keys)| in_shard(spec, bits, shard, keys)).collect()
}

fn in_shard(spec: &Spec, bits: u32, shard: u64, keys: u64) -> impl Iterator<Item = Digest> {
    let rest = move |i| Digest::new(i).remix(shard).get() >> bits;
    (0..keys).map(move |i| digest_of(shard << (64 - bits) | rest(i), spec))
}

fn builder(threads: usize) -> Builder {
    let builder = Builder::new();
    #[cfg(feature = "rayon")]
    let builder = builder.with_threads(NonZeroUsize::new(threads).unwrap());
    #[cfg(not(feature = "rayon"))]
    let _ = NonZeroUsize::new(threads);
    builder
}

/// Builds with all that must not change a byte. Returns the peak of the serial build.
fn check(digests: &[Digest], distinct: u64, spec: &Spec) -> u64 {
    let mut serial = builder(1);
    let expected: XorFilter = serial.build(digests, spec).unwrap();
    assert_eq!((expected.len(), expected.build_attempts() < 4), (Some(distinct), true));
    assert_eq!(expected.count_hits(digests), digests.len() as u64, "lost");
    expected.check_invariants().unwrap();
    // The builder has room for a crowd now, and builds what has none.
    let even: Vec<_> = (0..spec.capacity()).map(Digest::new).collect();
    assert!(serial.build::<XorFilter>(&even, spec).unwrap() == XorFilter::build(&even, spec).unwrap());
    for threads in [1, 2, 3] {
        assert!(builder(threads).build::<XorFilter>(digests, spec).unwrap() == expected, "{threads} threads");
        // Limits that are just enough, or nearly.
        let mut limit = 0;
        let mut refusals = 0;
        let filter = loop {
            let mut builder = builder(threads).with_memory_limit(limit);
            match builder.build::<XorFilter>(digests, spec) {
                Ok(filter) => {
                    assert!(builder.peak_bytes() <= limit, "{} of {limit}", builder.peak_bytes());
                    break filter;
                }
                Err(BuildError::MemoryLimit { needed, limit: named }) => {
                    assert!(named == limit && needed > limit, "{needed} of {limit}");
                    (limit, refusals) = (needed, refusals + 1);
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert!(filter == expected && refusals < 8, "{threads} threads, {limit} bytes, {refusals} refusals");
    }
    #[cfg(feature = "spill")]
    {
        let spill = amq_xor::Spill::new(digests.iter().copied()).unwrap();
        assert!(builder(2).build_from::<XorFilter, _>(&spill, spec).unwrap() == expected, "spilled");
    }
    let mut fresh = builder(1);
    fresh.build::<XorFilter>(digests, spec).unwrap();
    fresh.peak_bytes()
}

/// For cells of whole bytes and of none.
fn crowded(keys: &[u64]) {
    let n = keys.iter().sum::<u64>();
    for r in [8, 12] {
        let spec = Spec::fpr(0.5_f64.powi(r), n).with_seed(9);
        let digests = crowd(&spec, keys);
        let expected = XorFilter::build(&digests, &spec).unwrap();
        assert_eq!(expected.shards(), keys.len() as u64, "the digests are made for the shards there are");
        let peak = check(&digests, n, &spec);
        // The digests are where they were meant to be, or an even set would take as much.
        let even: Vec<_> = (0..n).map(Digest::new).collect();
        let mut builder = builder(1);
        builder.build::<XorFilter>(&even, &spec).unwrap();
        assert!(
            peak > builder.peak_bytes() + 3 * n,
            "{peak} bytes, {} for an even set",
            builder.peak_bytes()
        );
    }
}

#[test]
fn all_in_one_shard() {
    crowded(&[0, 0, 150_000, 0]);
}

#[test]
fn nine_tenths_in_the_last_shard() {
    crowded(&[5_000, 5_000, 5_000, 135_000]);
}

#[test]
fn crowds_of_different_sizes() {
    crowded(&[100, 100, 100, 110_000, 170_000, 0, 0, 0]);
}

#[test]
fn a_crowd_of_copies_and_a_crowd() {
    let spec = Spec::fpr(0.01, 150_000);
    let mut digests = crowd(&spec, &[10_000, 0, 0, 140_000]);
    digests.extend_from_within(..);
    digests.resize(500_000, digests[0]);
    check(&digests, 150_000, &spec);
}
