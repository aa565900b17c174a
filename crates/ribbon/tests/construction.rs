//! Builds: every width and size, duplicates, digests that no good hash makes; nothing but the set of digests matters.

use std::collections::BTreeSet;

use amq::{Amq, BuildError, Digest, Family, Key, Spec, attempt_seed};
use amq_ribbon::{BumpedRibbon, MAX_ATTEMPTS, RibbonFilter, W64, W128, WideRibbonFilter, Width};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

fn random(n: usize, seed: u64) -> Vec<Digest> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| Digest::new(rng.next_u64())).collect()
}

/// Builds at the default size for the number of digests given, and checks all that must hold for any filter.
#[track_caller]
fn check<W: Width>(digests: &[Digest], r: u32, seed: u64) -> BumpedRibbon<W>
where
    BumpedRibbon<W>: Family,
{
    let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), digests.len() as u64).with_seed(seed);
    let context = format!("{}, {} digests, r = {r}, seed {seed}", W::NAME, digests.len());
    let filter =
        BumpedRibbon::<W>::build(digests, &spec).unwrap_or_else(|error| panic!("{context}: {error}"));
    let plan = BumpedRibbon::<W>::plan(&spec).unwrap();
    assert_eq!((filter.r(), plan.r, filter.slots()), (r, r, plan.slots), "{context}");
    assert_eq!(Family::table(&filter).len() as u64, plan.table_bytes, "{context}");
    assert_eq!(filter.space().heap_bytes, plan.table_bytes, "{context}");
    Family::check_invariants(&filter).unwrap_or_else(|error| panic!("{context}: {error}"));

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

#[test]
fn every_width_at_a_grid_of_sizes() {
    for r in 1..=32 {
        for n in [0, 1, 2, 3, 7, 8, 63, 64, 65, 999, 1_000, 11_400, 11_480, 11_504, 11_511, 11_521, 11_550] {
            check::<W64>(&random(n, n as u64), r, u64::from(r));
            check::<W128>(&random(n, n as u64), r, u64::from(r));
        }
    }
}

#[test]
fn every_small_size_under_many_seeds() {
    for n in 0..=200 {
        for seed in 0..if n <= 64 { 100 } else { 10 } {
            let digests = random(n, 1_000 * n as u64 + seed);
            for r in [1, 8, 13, 32] {
                check::<W64>(&digests, r, seed);
                check::<W128>(&digests, r, seed);
            }
        }
    }
}

/// Sizes at which the number of layers or of blocks changes, and those in between.
#[test]
fn every_size_around_a_change_of_layers() {
    for n in (400..700).chain((950..1_250).step_by(7)).chain((12_000..13_000).step_by(97)) {
        check::<W64>(&random(n, n as u64), 7, 1);
        check::<W128>(&random(n, n as u64), 7, 1);
    }
}

#[test]
fn duplicates_are_ignored() {
    for raw in [&[1, 1, 2][..], &[5, 9, 5], &[7; 1_000], &[0; 255], &[0; 256], &[0; 257], &[u64::MAX; 2]] {
        let digests: Vec<_> = raw.iter().copied().map(Digest::new).collect();
        for r in [1, 8, 32] {
            assert_eq!(check::<W64>(&digests, r, 11).parts().attempts, 1, "{} copies of few", raw.len());
            assert_eq!(check::<W128>(&digests, r, 11).parts().attempts, 1, "{} copies of few", raw.len());
        }
    }
    // 40,000 draws from 39,000 keys, of which most come once.
    let digests: Vec<_> = (0..40_000_u64).map(|i| Digest::new(i % 39_000).remix(1)).collect();
    assert_eq!(check::<W64>(&digests, 8, 1).len(), Some(39_000));
    assert_eq!(check::<W128>(&digests, 8, 1).len(), Some(39_000));
}

/// More digests than slots, of which few are distinct, fit a table for few.
#[test]
fn the_table_is_as_planned_whatever_the_number_of_digests() {
    let spec = Spec::fpr(0.01, 1_000).with_seed(5);
    let bytes = RibbonFilter::plan(&spec).unwrap().table_bytes;
    for (distinct, copies) in [(0, 0), (1, 1), (1, 100_000), (50, 1_000), (1_000, 1), (1_010, 3)] {
        let digests = random(distinct, 9).repeat(copies);
        let filter = RibbonFilter::build(&digests, &spec).unwrap();
        assert_eq!(filter.len(), Some(distinct as u64));
        assert_eq!(filter.table().len() as u64, bytes);
        assert_eq!(filter.count_hits(&digests), digests.len() as u64);
    }
    // 1,088 slots.
    let error = RibbonFilter::build(&random(1_089, 9), &spec).unwrap_err();
    assert_eq!(error, BuildError::Full { records: 1_089, limit: 1_088 });
    let error = RibbonFilter::build(&random(1_088, 9), &spec).unwrap_err();
    assert!(matches!(error, BuildError::Exhausted { alpha: 1.0, attempts: MAX_ATTEMPTS, .. }), "{error}");
}

#[test]
fn order_and_repetition_do_not_change_a_byte() {
    for n in [1, 2, 100, 5_000, 50_000] {
        let digests = random(n, 21);
        let spec = Spec::fpr(0.001, n as u64).with_seed(4);
        let filter = RibbonFilter::build(&digests, &spec).unwrap();
        let mut reversed = digests.clone();
        reversed.reverse();
        let mut sorted = digests.clone();
        sorted.sort_unstable();
        let mut repeated = digests.repeat(2);
        repeated.rotate_right(n / 3);
        repeated.extend_from_slice(&digests[..n / 2]);
        for other in [reversed, sorted, repeated] {
            let other = RibbonFilter::build(&other, &spec).unwrap();
            assert_eq!(other, filter, "{n} digests");
            assert_eq!(other.table(), filter.table());
        }
        let reseeded = RibbonFilter::build(&digests, &spec.with_seed(5)).unwrap();
        assert_ne!(reseeded.table(), filter.table());
    }
}

#[test]
fn digests_that_no_good_hash_makes() {
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
            for attempts in [
                check::<W64>(&digests, 8, 17).parts().attempts,
                check::<W128>(&digests, 8, 17).parts().attempts,
            ] {
                assert!(attempts <= 3, "{name}: {attempts} attempts");
            }
        }
    }
    check::<W64>(&[Digest::new(0)], 8, 0);
    check::<W128>(&[Digest::new(u64::MAX), Digest::new(0)], 8, 0);
}

/// The digest whose hash is 0, of which every product is 0: an ordinary key all the same.
#[test]
fn a_hash_of_zero_is_ordinary() {
    let seed = 123;
    let hash_seed = attempt_seed(seed, 0);
    // The finaliser maps 0 to 0, so the digest is the negative of what remixing adds.
    let golden = 0x9E37_79B9_7F4A_7C15_u64;
    let zero = Digest::new(0_u64.wrapping_sub(hash_seed.wrapping_mul(golden).wrapping_add(golden)));
    assert_eq!(zero.remix(hash_seed).get(), 0);
    for n in [0, 1, 2, 98, 99, 10_000] {
        let mut digests = random(n, 8);
        digests.push(zero);
        for r in [1, 8, 32] {
            assert_eq!(
                check::<W64>(&digests, r, seed).parts().attempts,
                1,
                "another attempt has another hash"
            );
        }
    }
}

#[test]
fn no_digests_answer_at_the_rate_for_every_width() {
    let queries = random(1 << 16, 77);
    for r in 1..=32_u32 {
        let rate = 0.5_f64.powi(r.cast_signed());
        let filter = WideRibbonFilter::build(&[], &Spec::fpr(rate, 0)).unwrap();
        assert_eq!((filter.len(), filter.slots(), filter.parts().attempts), (Some(0), 128, 1));
        assert!(filter.table().iter().all(|&byte| byte == 0));
        assert_eq!(filter.expected_fpr(), Some(rate));
        let expected = queries.len() as f64 * rate;
        let hits = filter.count_hits(&queries) as f64;
        assert!(
            (hits - expected).abs() <= 4.0 * expected.sqrt() + 2.0,
            "r = {r}: {hits} hits, expected {expected}"
        );
        // A capacity does not change that.
        let roomy = RibbonFilter::build(&[], &Spec::shape(0.5, r, 10_000)).unwrap();
        assert!(roomy.table().iter().all(|&byte| byte == 0));
    }
}

#[test]
fn loads_near_one_build_and_a_load_of_one_does_not() {
    let digests = random(200_000, 31);
    for alpha in [0.01, 0.5, 0.9, 0.99, 0.996] {
        let spec = Spec::shape(alpha, 8, 200_000);
        let narrow = RibbonFilter::build(&digests, &spec).unwrap();
        let wide = WideRibbonFilter::build(&digests, &spec).unwrap();
        for (slots, hits) in
            [(narrow.slots(), narrow.count_hits(&digests)), (wide.slots(), wide.count_hits(&digests))]
        {
            assert_eq!((slots as f64, hits), ((200_000.0 / alpha).ceil(), 200_000), "alpha = {alpha}");
        }
    }
    let error = RibbonFilter::build(&digests, &Spec::shape(1.0, 8, 200_000)).unwrap_err();
    let BuildError::Exhausted { alpha, attempts, .. } = error else { panic!("{error}") };
    assert_eq!((alpha, attempts), (1.0, MAX_ATTEMPTS));
    let text = error.to_string();
    for part in ["1.0", "0.99", "32 attempts"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Explicit loads of small sets: slots in any number, the last block filled in part.
#[test]
fn tiny_tables_end_one_way_or_the_other() {
    for n in [1, 2, 63, 64, 65, 100, 511, 513, 1_000] {
        for alpha in [1.0, 0.97, 0.9, 0.5, 0.1, 1e-3] {
            for seed in 0..5 {
                let digests = random(n, seed);
                match RibbonFilter::build(&digests, &Spec::shape(alpha, 5, n as u64).with_seed(seed)) {
                    Ok(filter) => {
                        assert_eq!(
                            filter.count_hits(&digests),
                            n as u64,
                            "n = {n}, alpha = {alpha}, seed {seed}"
                        );
                        assert_eq!(filter.check_invariants(), Ok(()));
                    }
                    Err(BuildError::Exhausted { attempts: MAX_ATTEMPTS, .. }) => {
                        assert!(n > 1 && alpha >= 0.9, "n = {n}, alpha = {alpha}, seed {seed}");
                    }
                    Err(error) => panic!("n = {n}, alpha = {alpha}, seed {seed}: {error}"),
                }
            }
        }
    }
}

#[test]
fn sequential_keys_under_twenty_seeds() {
    for seed in 0..20 {
        for n in [11_500_u64, 11_511] {
            let digests: Vec<_> = (0..n).map(|key| key.digest(seed)).collect();
            check::<W64>(&digests, 8, seed);
        }
    }
}

/// Beyond the size from which batches look ahead: the same answers as one by one, for members and others.
fn batches_of_a_million<W: Width>()
where
    BumpedRibbon<W>: Family,
{
    let digests = random(1_000_000, 2);
    let filter = check::<W>(&digests, 9, 2);
    let queries: Vec<_> = random(200_000, 3).into_iter().chain(digests[..1_000].iter().copied()).collect();
    for len in (0..100).chain([queries.len()]) {
        let mut answers = vec![false; len];
        filter.contains_batch(&queries[queries.len() - len..], &mut answers);
        let single = queries[queries.len() - len..].iter().map(|&query| filter.contains(query));
        assert!(answers.iter().copied().eq(single), "{len}");
    }
}

#[test]
fn a_million_keys() {
    batches_of_a_million::<W64>();
    batches_of_a_million::<W128>();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Any digests, with many repetitions, at any capacity that is enough for them.
    #[test]
    fn behaves_as_a_set_without_false_negatives(
        raw in prop::collection::vec(prop_oneof![0..50_u64, any::<u64>()], 0..1_500),
        spare in 0..200_u64,
        r in 1..=32_u32,
        seed in any::<u64>(),
    ) {
        let digests: Vec<_> = raw.iter().copied().map(Digest::new).collect();
        let distinct: BTreeSet<_> = raw.iter().copied().collect();
        let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), distinct.len() as u64 + spare).with_seed(seed);
        let filter = RibbonFilter::build(&digests, &spec).unwrap();
        prop_assert_eq!(filter.len(), Some(distinct.len() as u64));
        prop_assert_eq!(filter.count_hits(&digests), digests.len() as u64);
        prop_assert_eq!(filter.check_invariants(), Ok(()));
        let distinct: Vec<_> = distinct.into_iter().map(Digest::new).collect();
        prop_assert_eq!(RibbonFilter::build(&distinct, &spec).unwrap(), filter);
        let wide = WideRibbonFilter::build(&distinct, &spec).unwrap();
        prop_assert_eq!(wide.count_hits(&digests), digests.len() as u64);
    }
}
