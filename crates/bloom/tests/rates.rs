//! The expected rate is the measured one, from ten keys to ten million, whatever the keys look like before they are hashed; and what
//! intersections overestimate.

mod common;

use amq::{Amq, Digest, Family, Intersect, Key, Spec, Union};
use amq_bloom::{
    AtomicBlockedBloom, AtomicBloom, BlockedBloom, BlockedCountingBloom, Bloom, CountingBloom,
    SplitBlockBloom,
};
use common::some_digests;

const SEED: u64 = 42;

/// A name, and how key i is made.
type Pattern = (&'static str, fn(u64) -> u64);

const PATTERNS: [Pattern; 4] = [
    ("sequential", |i| i),
    ("strided", |i| i << 12),
    ("bit-reversed", u64::reverse_bits),
    ("random", |i| Digest::new(i).remix(7).get()),
];

fn digests(pattern: fn(u64) -> u64, from: u64, count: u64) -> Vec<Digest> {
    (from..from + count).map(|i| pattern(i).digest(SEED)).collect()
}

fn check<F: Family>(bits: f64, n: u64, name: &str, members: &[Digest], absent: &[Digest]) {
    let filter = F::build(members, &Spec::bits_per_key(bits, n).with_seed(SEED)).unwrap();
    let mut answers = vec![false; absent.len()];
    filter.contains_batch(absent, &mut answers);
    let hits = answers.iter().filter(|&&answer| answer).count() as f64;
    let expected = filter.expected_fpr().unwrap();
    let mean = expected * absent.len() as f64;
    let z = (hits - mean) / (mean * (1.0 - expected)).sqrt();
    assert!(z.abs() <= 4.0, "{} of {n} {name} keys: {hits} hits, {mean:.1} expected, z = {z:.1}", F::NAME);
    let some = &members[..members.len().min(100_000)];
    let mut answers = vec![false; some.len()];
    filter.contains_batch(some, &mut answers);
    assert!(answers.iter().all(|&answer| answer), "{} lost one of a batch", F::NAME);
    assert!(members.iter().step_by(97).all(|&digest| filter.contains(digest)), "{} lost a key", F::NAME);
}

fn check_all(n: u64, patterns: &[Pattern], queries: u64) {
    for &pattern in patterns {
        let members = digests(pattern.1, 0, n);
        let absent = digests(pattern.1, n, queries);
        check::<Bloom>(9.6, n, pattern.0, &members, &absent);
        check::<BlockedBloom>(10.0, n, pattern.0, &members, &absent);
        check::<SplitBlockBloom>(12.0, n, pattern.0, &members, &absent);
        check::<CountingBloom>(32.0, n, pattern.0, &members, &absent);
        check::<BlockedCountingBloom>(40.0, n, pattern.0, &members, &absent);
    }
}

#[test]
fn expected_rates_are_measured_on_every_kind_of_key() {
    for n in [10, 100, 1_000, 10_000, 100_000] {
        check_all(n, &PATTERNS, 400_000);
    }
}

#[test]
fn expected_rates_are_measured_on_a_million_keys() {
    check_all(1_000_000, &PATTERNS, 1_000_000);
}

#[test]
fn expected_rates_are_measured_on_ten_million_keys() {
    const N: u64 = 10_000_000;
    check_all(N, &PATTERNS[3..], 1_000_000);
    for (name, pattern) in &PATTERNS[..3] {
        let (members, absent) = (digests(*pattern, 0, N), digests(*pattern, N, 1_000_000));
        check::<Bloom>(9.6, N, name, &members, &absent);
        check::<BlockedBloom>(10.0, N, name, &members, &absent);
    }
}

/// Shared filters have lookups and inserts of their own.
#[test]
fn expected_rates_are_measured_on_shared_filters() {
    for n in [10, 1_000, 100_000] {
        for (name, pattern) in &PATTERNS {
            let (members, absent) = (digests(*pattern, 0, n), digests(*pattern, n, 400_000));
            check::<AtomicBloom>(9.6, n, name, &members, &absent);
            check::<AtomicBlockedBloom>(10.0, n, name, &members, &absent);
        }
    }
}

/// How far the rate that lookups of absent keys find is from the one that the filter expects, in standard deviations.
fn measured_z(filter: &impl Amq, absent: &[Digest]) -> f64 {
    let mean = filter.expected_fpr().unwrap() * absent.len() as f64;
    (filter.count_hits(absent) as f64 - mean) / mean.sqrt()
}

/// Of keys that are in neither operand, a union and an intersection report as many as their fill says, which is how much an intersection
/// overestimates; a key of one operand alone is reported by the
/// intersection exactly where the other operand reports it.
fn combinations_are_measured<F: Family + Union + Intersect>() {
    let all = some_digests(0xAB5, 1_015_000);
    let (members, absent) = all.split_at(15_000);
    let spec = Spec::fpr(0.01, 10_000);
    let left = F::build(&members[..10_000], &spec).unwrap();
    let right = F::build(&members[5_000..], &spec).unwrap();
    let (union, both) = (left.union(&right).unwrap(), left.intersect(&right).unwrap());
    for (what, filter) in [("union", &union), ("intersection", &both)] {
        let z = measured_z(filter, absent);
        assert!(z.abs() <= 4.0, "{} of {}: z = {z:.1}", what, F::NAME);
    }
    assert_eq!((union.count_hits(members), both.count_hits(&members[5_000..10_000])), (15_000, 5_000));
    let only_left = &members[..5_000];
    assert_eq!(both.count_hits(only_left), right.count_hits(only_left));
}

#[test]
fn the_rates_of_unions_and_intersections_are_measured() {
    combinations_are_measured::<Bloom>();
    combinations_are_measured::<BlockedBloom>();
    combinations_are_measured::<SplitBlockBloom>();
}

/// The rate of an intersection over that of a filter built from the common keys, at the same size; and never above the operands'.
fn overestimate<F: Family + Intersect>(shared: usize) -> f64 {
    let all = some_digests(9, 30_000);
    let spec = Spec::fpr(0.01, 10_000);
    let left = F::build(&all[..10_000], &spec).unwrap();
    let right = F::build(&all[10_000 - shared..20_000 - shared], &spec).unwrap();
    let both = left.intersect(&right).unwrap();
    let built = F::build(&all[10_000 - shared..10_000], &spec).unwrap();
    let rate = |filter: &F| filter.expected_fpr().unwrap();
    assert!(all[10_000 - shared..10_000].iter().all(|&digest| both.contains(digest)));
    assert!(rate(&both) <= rate(&left).min(rate(&right)));
    rate(&both) / rate(&built)
}

/// The README's figures: with half of the keys in common, and with a tenth.
#[test]
fn intersections_overestimate_by_what_is_documented() {
    let half = [
        overestimate::<Bloom>(5_000),
        overestimate::<BlockedBloom>(5_000),
        overestimate::<SplitBlockBloom>(5_000),
    ];
    let tenth = [
        overestimate::<Bloom>(1_000),
        overestimate::<BlockedBloom>(1_000),
        overestimate::<SplitBlockBloom>(1_000),
    ];
    let [bloom, blocked, split] = half;
    assert!(
        (3.6..4.0).contains(&bloom) && (2.3..2.7).contains(&blocked) && (3.1..3.5).contains(&split),
        "{half:?}"
    );
    assert!(tenth.iter().all(|&ratio| ratio > 100.0), "{tenth:?}");
}

/// The README's table: bits a key at 1 % and at .1 %.
#[test]
fn sizes_are_the_documented_ones() {
    fn bits<F: Family>() -> [f64; 2] {
        [0.01, 0.001].map(|fpr| F::plan(&Spec::fpr(fpr, 1_000_000)).unwrap().bits_per_key().unwrap())
    }
    let rate = BlockedCountingBloom::plan(&Spec::bits_per_key(40.0, 1_000_000)).unwrap().fpr;
    for (actual, documented) in [
        (bits::<Bloom>(), [9.6, 14.4]),
        (bits::<BlockedBloom>(), [9.9, 15.5]),
        (bits::<SplitBlockBloom>(), [10.5, 16.9]),
        (bits::<BlockedCountingBloom>(), [43.4, 76.0]),
    ] {
        for (actual, documented) in actual.into_iter().zip(documented) {
            assert!((actual - documented).abs() < documented * 0.006, "{actual} instead of {documented}");
        }
    }
    assert!((rate - 0.013_5).abs() < 0.000_5, "{rate}");
}
