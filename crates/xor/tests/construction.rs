//! Every build ends, every key is found, and nothing but the set of digests matters.

use std::collections::BTreeSet;
use std::fmt::Debug;

use amq::{BuildError, Digest, Key, Spec, attempt_seed};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, MAX_ATTEMPTS, XorFilter};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What is tested here.
trait Filter: Build + PartialEq + Debug {
    /// A load at which tables for 100,000 keys can be built, one at which they cannot, and the threshold.
    const LOADS: (f64, f64, f64);
}

impl Filter for XorFilter {
    const LOADS: (f64, f64, f64) = (0.80, 0.85, 0.818);
}

impl Filter for BinaryFuse3 {
    const LOADS: (f64, f64, f64) = (0.85, 0.95, 0.918);
}

impl Filter for BinaryFuse4 {
    const LOADS: (f64, f64, f64) = (0.89, 0.99, 0.977);
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
        }
    };
}

for_each_family! {
    every_width_at_a_grid_of_sizes,
    every_small_size_under_a_hundred_seeds,
    sizes_around_a_load_of_95_percent,
    duplicates_are_ignored,
    the_table_is_as_planned_whatever_the_number_of_digests,
    order_and_repetition_do_not_change_a_byte,
    digests_that_no_good_hash_makes,
    a_hash_of_zero_is_ordinary,
    no_digests_answer_at_the_rate_for_every_width,
    loads_below_the_threshold_build_and_loads_above_do_not,
    tiny_tables_end_one_way_or_the_other,
    sequential_keys_under_twenty_seeds,
    a_million_keys,
    behaves_as_a_set_without_false_negatives,
}

fn random(n: usize, seed: u64) -> Vec<Digest> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| Digest::new(rng.next_u64())).collect()
}

/// Builds at the default size for the number of digests given, and checks all that must hold for any filter.
#[track_caller]
fn check<F: Filter>(digests: &[Digest], r: u32, seed: u64) -> F {
    let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), digests.len() as u64).with_seed(seed);
    let context = format!("{} digests, r = {r}, seed {seed}", digests.len());
    let filter = F::build(digests, &spec).unwrap_or_else(|error| panic!("{context}: {error}"));
    let plan = F::plan(&spec).unwrap();
    assert_eq!(plan.r, r, "{context}");
    assert_eq!(filter.table().len() as u64, plan.table_bytes, "{context}");
    assert_eq!(filter.space().heap_bytes, plan.table_bytes, "{context}");
    filter.check_invariants().unwrap_or_else(|error| panic!("{context}: {error}"));

    let distinct = digests.iter().collect::<BTreeSet<_>>().len() as u64;
    assert_eq!(filter.len(), Some(distinct), "{context}");
    assert_eq!(filter.is_empty(), Some(distinct == 0), "{context}");
    for &digest in digests {
        assert!(filter.contains(digest), "{context}: {digest:?} is lost");
    }
    let mut answers = vec![false; digests.len()];
    filter.contains_batch(digests, &mut answers);
    assert!(answers.iter().all(|&answer| answer), "{context}: lost in a batch");
    assert_eq!(filter.count_hits(digests), digests.len() as u64, "{context}");
    filter
}

fn every_width_at_a_grid_of_sizes<F: Filter>() {
    for r in 1..=32 {
        for n in [0, 1, 2, 3, 7, 8, 63, 64, 65, 999, 1_000, 11_400, 11_480, 11_504, 11_511, 11_521, 11_550] {
            check::<F>(&random(n, n as u64), r, u64::from(r));
        }
    }
}

fn every_small_size_under_a_hundred_seeds<F: Filter>() {
    for n in 0..=64 {
        for seed in 0..100 {
            let digests = random(n, 1_000 * n as u64 + seed);
            for r in [1, 8, 13, 32] {
                check::<F>(&digests, r, seed);
            }
        }
    }
}

/// Just below the powers of two times .95, where tables of other families fill up.
fn sizes_around_a_load_of_95_percent<F: Filter>() {
    for k in 4..=16 {
        let full = (1_usize << k) * 95 / 100;
        for n in full - 1..=full + 1 {
            check::<F>(&random(n, n as u64), 8, 3);
        }
    }
}

fn duplicates_are_ignored<F: Filter>() {
    for raw in
        [&[1, 1, 2][..], &[5, 9, 5], &[7; 1_000], &[0; 255], &[0; 256], &[0; 257], &[0; 258], &[u64::MAX; 2]]
    {
        let digests: Vec<_> = raw.iter().copied().map(Digest::new).collect();
        for r in [1, 8, 32] {
            let filter = check::<F>(&digests, r, 11);
            assert!(filter.build_attempts() <= 3, "{} copies of few", raw.len());
        }
    }
    // 40,000 draws from 39,000 keys, of which most come once.
    let digests: Vec<_> = (0..40_000_u64).map(|i| Digest::new(i % 39_000).remix(1)).collect();
    assert_eq!(check::<F>(&digests, 8, 1).len(), Some(39_000));
}

/// More digests than cells, of which few are distinct, fit a table for few.
fn the_table_is_as_planned_whatever_the_number_of_digests<F: Filter>() {
    let spec = Spec::fpr(0.01, 100).with_seed(5);
    let bytes = F::plan(&spec).unwrap().table_bytes;
    for (distinct, copies) in [(0, 0), (1, 1), (1, 100_000), (50, 1_000), (100, 1), (120, 3)] {
        let digests = random(distinct, 9).repeat(copies);
        let filter = F::build(&digests, &spec).unwrap();
        assert_eq!(filter.len(), Some(distinct as u64));
        assert_eq!(filter.table().len() as u64, bytes);
        assert_eq!(filter.count_hits(&digests), digests.len() as u64);
    }
    let cells = F::plan(&spec).unwrap().slots;
    let full = random(usize::try_from(cells).unwrap() + 1, 9);
    let error = F::build(&full, &spec).unwrap_err();
    assert_eq!(error, BuildError::Full { records: cells + 1, limit: cells });
    let error = F::build(&full[1..], &spec).unwrap_err();
    assert!(matches!(error, BuildError::Exhausted { alpha: 1.0, attempts: MAX_ATTEMPTS, .. }), "{error}");
}

fn order_and_repetition_do_not_change_a_byte<F: Filter>() {
    for n in [1, 2, 100, 5_000] {
        let digests = random(n, 21);
        let spec = Spec::fpr(0.001, n as u64).with_seed(4);
        let filter = F::build(&digests, &spec).unwrap();
        let mut reversed = digests.clone();
        reversed.reverse();
        let mut sorted = digests.clone();
        sorted.sort_unstable();
        let mut repeated = digests.repeat(2);
        repeated.rotate_right(n / 3);
        repeated.extend_from_slice(&digests[..n / 2]);
        for other in [reversed, sorted, repeated] {
            let other = F::build(&other, &spec).unwrap();
            assert_eq!(other, filter, "{n} digests");
            assert_eq!(other.table(), filter.table());
        }
        let reseeded = F::build(&digests, &spec.with_seed(5)).unwrap();
        assert_ne!(reseeded.table(), filter.table());
    }
}

fn digests_that_no_good_hash_makes<F: Filter>() {
    type Rule = fn(u64) -> u64;
    for n in [1_000_u64, 100_000] {
        let hostile: [(&str, Rule); 7] = [
            ("sequential", |i| i),
            ("sequential downwards", |i| u64::MAX - i),
            ("low half constant", |i| i << 32 | 0xdead_beef),
            ("high half constant", |i| 0xdead_beef_0000_0000 | i),
            ("multiples of 2^40", |i| i << 40),
            ("reversed bits", u64::reverse_bits),
            ("both halves equal", |i| i << 32 | i),
        ];
        for (name, digest) in hostile {
            let digests: Vec<_> = (0..n).map(|i| Digest::new(digest(i))).collect();
            let filter = check::<F>(&digests, 8, 17);
            assert!(filter.build_attempts() <= 3, "{name}: {} attempts", filter.build_attempts());
        }
    }
    check::<F>(&[Digest::new(0)], 8, 0);
    check::<F>(&[Digest::new(u64::MAX), Digest::new(0)], 8, 0);
}

/// The digest whose hash is 0: an empty cell, a stale entry and a key must not be taken for one another.
fn a_hash_of_zero_is_ordinary<F: Filter>() {
    let seed = 124;
    // The hash is a bijection that maps 0 to 0, of the digest XOR this.
    let zero = Digest::new(attempt_seed(seed, 0));
    for n in [0, 1, 2, 98, 99, 10_000] {
        let mut digests = random(n, 8);
        digests.push(zero);
        for r in [1, 8, 32] {
            let filter = check::<F>(&digests, r, seed);
            assert_eq!(filter.build_attempts(), 1, "another attempt has another hash");
        }
    }
}

fn no_digests_answer_at_the_rate_for_every_width<F: Filter>() {
    let queries = random(1 << 16, 77);
    for r in 1..=32_u32 {
        let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), 0);
        let filter = F::build(&[], &spec).unwrap();
        assert_eq!((filter.len(), filter.build_attempts()), (Some(0), 1));
        assert!(filter.table().iter().all(|&byte| byte == 0));
        let rate = 0.5_f64.powi(r.cast_signed());
        assert_eq!(filter.expected_fpr(), Some(rate));
        let expected = queries.len() as f64 * rate;
        let hits = filter.count_hits(&queries) as f64;
        assert!(
            (hits - expected).abs() <= 4.0 * expected.sqrt() + 2.0,
            "r = {r}: {hits} hits, expected {expected}"
        );
        // A capacity does not change that.
        let roomy = F::build(&[], &Spec::shape(0.5, r, 1_000)).unwrap();
        assert!(roomy.table().iter().all(|&byte| byte == 0));
    }
}

fn loads_below_the_threshold_build_and_loads_above_do_not<F: Filter>() {
    let digests = random(100_000, 31);
    let (low, high, limit) = F::LOADS;
    let filter = F::build(&digests, &Spec::shape(low, 8, 100_000)).unwrap();
    assert_eq!(filter.count_hits(&digests), 100_000);

    let error = F::build(&digests, &Spec::shape(high, 8, 100_000)).unwrap_err();
    let BuildError::Exhausted { alpha, threshold, attempts } = error else { panic!("{error}") };
    assert!((high - 1e-4..=high).contains(&alpha), "{alpha}");
    assert_eq!((threshold, attempts), (limit, MAX_ATTEMPTS));
    let text = error.to_string();
    for part in [high.to_string(), limit.to_string(), "32 attempts".to_owned()] {
        assert!(text.contains(&part), "{text}");
    }
}

fn tiny_tables_end_one_way_or_the_other<F: Filter>() {
    for n in 1..=12_u64 {
        for alpha in [1.0, 0.9, 0.5, 0.1, 1e-3] {
            for seed in 0..20 {
                let digests = random(usize::try_from(n).unwrap(), seed);
                match F::build(&digests, &Spec::shape(alpha, 5, n).with_seed(seed)) {
                    Ok(filter) => {
                        assert_eq!(filter.count_hits(&digests), n, "n = {n}, alpha = {alpha}, seed {seed}");
                    }
                    Err(BuildError::Exhausted { attempts: MAX_ATTEMPTS, .. }) => {
                        assert!(n > 1 && alpha >= 0.5, "n = {n}, alpha = {alpha}, seed {seed}");
                    }
                    Err(error) => panic!("n = {n}, alpha = {alpha}, seed {seed}: {error}"),
                }
            }
        }
    }
    // As many keys as cells.
    let error = F::build(&random(12, 1), &Spec::shape(1.0, 5, 12)).unwrap_err();
    assert!(matches!(error, BuildError::Exhausted { .. }), "{error}");
}

fn sequential_keys_under_twenty_seeds<F: Filter>() {
    for seed in 0..20 {
        for n in [11_500_u64, 11_511] {
            let digests: Vec<_> = (0..n).map(|key| key.digest(seed)).collect();
            check::<F>(&digests, 8, seed);
        }
    }
}

fn a_million_keys<F: Filter>() {
    let digests = random(1_000_000, 2);
    let filter = check::<F>(&digests, 9, 2);
    // Beyond the size from which batches look ahead: the same answers as one by one, for members and others.
    let queries: Vec<_> = random(200_000, 3).into_iter().chain(digests[..1_000].iter().copied()).collect();
    let mut answers = vec![false; queries.len()];
    filter.contains_batch(&queries, &mut answers);
    assert!(answers.iter().zip(&queries).all(|(&answer, &query)| answer == filter.contains(query)));
    for len in 0..40 {
        let mut answers = vec![false; len];
        filter.contains_batch(&queries[..len], &mut answers);
        assert!(
            answers.iter().zip(&queries).all(|(&answer, &query)| answer == filter.contains(query)),
            "{len}"
        );
    }
}

/// Any digests, with many repetitions, at any capacity that is enough for them.
fn behaves_as_a_set_without_false_negatives<F: Filter>() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) };
    let inputs = (
        prop::collection::vec(prop_oneof![0..50_u64, any::<u64>()], 0..300),
        0..200_u64,
        1..=32_u32,
        any::<u64>(),
    );
    proptest!(config, |((raw, spare, r, seed) in inputs)| {
        let digests: Vec<_> = raw.iter().copied().map(Digest::new).collect();
        let distinct: BTreeSet<_> = raw.iter().copied().collect();
        let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), distinct.len() as u64 + spare).with_seed(seed);
        let filter = F::build(&digests, &spec).unwrap();
        prop_assert_eq!(filter.len(), Some(distinct.len() as u64));
        prop_assert_eq!(filter.count_hits(&digests), digests.len() as u64);
        prop_assert_eq!(filter.check_invariants(), Ok(()));
        let distinct: Vec<_> = distinct.into_iter().map(Digest::new).collect();
        prop_assert_eq!(F::build(&distinct, &spec).unwrap(), filter);
    });
}
