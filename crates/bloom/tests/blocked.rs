//! The blocked filters against naive models, against Parquet's bytes, and their rates against theory.

mod common;

use std::collections::BTreeSet;

use amq::theory::blocked;
use amq::{Amq, Digest, Family, Insert, Intersect, InvariantError, Spec, SpecError, Target, Union};
use amq_bloom::{
    BitFilter, BitPlaces, BlockLayout, BlockedBloom, LayoutError, Places, Split, SplitBlockBloom, Spread,
};
use common::{hostile_digests, mean_and_error, random_digests, some_digests};
use proptest::prelude::*;

fn filled<P: BitPlaces>(layout: P, digests: &[Digest]) -> BitFilter<P> {
    let mut filter = BitFilter::with_layout(layout, 0).unwrap();
    filter.insert_batch(digests).unwrap();
    filter
}

/// The bits of some keys, one at a time.
fn bits<P: Places>(layout: P, digests: &[Digest]) -> BTreeSet<u64> {
    digests.iter().flat_map(|&digest| layout.positions(digest).take(layout.k() as usize)).collect()
}

fn table_of(m: u64, bits: &BTreeSet<u64>) -> Vec<u8> {
    let mut table = vec![0; usize::try_from(m / 8).unwrap()];
    for &bit in bits {
        table[usize::try_from(bit / 8).unwrap()] |= 1 << (bit % 8);
    }
    table
}

fn agrees_with_the_model<P: BitPlaces>(layout: P, left: usize, right: usize, seed: u64)
where
    BitFilter<P>: Union + Intersect + Family,
{
    let digests = some_digests(seed, left + right);
    let (a, b) = digests.split_at(left);
    let (filter_a, filter_b) = (filled(layout, a), filled(layout, b));
    let (bits_a, bits_b) = (bits(layout, a), bits(layout, b));
    assert_eq!(filter_a.table(), table_of(layout.m(), &bits_a));
    assert_eq!(filter_a.set_bits(), bits_a.len() as u64);
    let mut single = BitFilter::with_layout(layout, 0).unwrap();
    for &digest in a {
        single.insert(digest).unwrap();
    }
    assert!(single == filter_a);
    let union = filter_a.union(&filter_b).unwrap();
    assert_eq!(union.table(), table_of(layout.m(), &(&bits_a | &bits_b)));
    let both = filter_a.intersect(&filter_b).unwrap();
    assert_eq!(both.table(), table_of(layout.m(), &(&bits_a & &bits_b)));
    assert!(union.check_invariants().is_ok() && both.check_invariants().is_ok());
    let queries: Vec<_> = digests.iter().copied().chain(random_digests(!seed).take(200)).collect();
    let mut answers = vec![false; queries.len()];
    filter_a.contains_batch(&queries, &mut answers);
    for (&digest, &answer) in queries.iter().zip(&answers) {
        let expected = bits(layout, &[digest]).is_subset(&bits_a);
        assert_eq!((filter_a.contains(digest), answer), (expected, expected), "{digest:?}");
    }
    let borrowed = BitFilter::from_parts(filter_a.table(), layout, 0, None).unwrap();
    assert!(queries.iter().all(|&digest| borrowed.contains(digest) == filter_a.contains(digest)));
    if let Ok(half) = layout.halved() {
        assert!(filter_a.folded().unwrap() == filled(half, a));
    } else {
        assert!(filter_a.folded().is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spread_blocks_agree_with_the_model(blocks in 1_u64..=9, k in 1_u32..=64, left in 0_usize..60, right in 0_usize..60, seed in any::<u64>()) {
        agrees_with_the_model(BlockLayout::<Spread>::new(blocks, k).unwrap(), left, right, seed);
    }

    #[test]
    fn split_blocks_agree_with_the_model(blocks in 1_u64..=9, left in 0_usize..60, right in 0_usize..60, seed in any::<u64>()) {
        agrees_with_the_model(BlockLayout::<Split>::new(blocks, 8).unwrap(), left, right, seed);
    }

    #[test]
    fn planning_never_panics(
        target in prop_oneof![
            any::<f64>().prop_map(Target::Fpr),
            (0.0..1.0).prop_map(Target::Fpr),
            any::<f64>().prop_map(Target::BitsPerKey),
            (any::<f64>(), any::<u32>()).prop_map(|(alpha, r)| Target::Shape { alpha, r }),
            (0.01..4.0, 1_u32..=20).prop_map(|(alpha, r)| Target::Shape { alpha, r }),
        ],
        capacity in prop_oneof![0_u64..300, any::<u64>()],
    ) {
        let spec = Spec::new(target, capacity);
        for plan in [BlockedBloom::plan(&spec), SplitBlockBloom::plan(&spec)].into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&plan.fpr) && plan.table_bytes % 32 == 0 && plan.slots > 0);
            if let Target::Fpr(fpr) = target {
                prop_assert!(plan.fpr <= fpr);
            }
        }
    }
}

#[test]
fn large_batches_agree_with_single_lookups() {
    let digests = some_digests(1, 200_000);
    let queries: Vec<_> = digests.iter().copied().chain(random_digests(2).take(200_000)).collect();
    let spec = Spec::bits_per_key(60.0, digests.len() as u64);
    let mut answers = vec![false; queries.len()];
    let blocked = BlockedBloom::build(&digests, &spec).unwrap();
    blocked.contains_batch(&queries, &mut answers);
    assert!(queries.iter().zip(&answers).all(|(&digest, &answer)| blocked.contains(digest) == answer));
    let split = SplitBlockBloom::build(&digests, &spec).unwrap();
    split.contains_batch(&queries, &mut answers);
    assert!(queries.iter().zip(&answers).all(|(&digest, &answer)| split.contains(digest) == answer));
    assert!(answers[..digests.len()].iter().all(|&answer| answer));
}

#[test]
fn no_key_is_lost_whatever_the_digests() {
    let digests = hostile_digests();
    for blocks in [1, 2, 3, 7, 1_000] {
        for k in [1, 6, 7, 8, 14, 15, 64] {
            let filter = filled(BlockLayout::<Spread>::new(blocks, k).unwrap(), &digests);
            assert!(digests.iter().all(|&digest| filter.contains(digest)), "{blocks} {k}");
        }
        let filter = filled(BlockLayout::<Split>::new(blocks, 8).unwrap(), &digests);
        assert!(digests.iter().all(|&digest| filter.contains(digest)), "{blocks}");
    }
}

#[test]
fn parquets_filter_is_read_and_written_bit_by_bit() {
    let bytes = include_bytes!("data/parquet-split-block.bin");
    let positives: BTreeSet<i64> =
        include_str!("data/parquet-positives.txt").split(' ').map(|value| value.parse().unwrap()).collect();
    let digest = |value: i64| Digest::new(xxhash_rust::xxh64::xxh64(&value.to_le_bytes(), 0));
    let layout = BlockLayout::new(bytes.len() as u64 / 32, 8).unwrap();
    let theirs = SplitBlockBloom::from_parts(&bytes[..], layout, 0, None).unwrap();
    let members: Vec<i64> = (0..200).map(|i| 7 * i - 300).collect();
    assert!(positives.len() > members.len() && members.iter().all(|value| positives.contains(value)));
    for value in -1_000..3_000 {
        assert_eq!(theirs.contains(digest(value)), positives.contains(&value), "{value}");
    }
    let mut ours = SplitBlockBloom::with_layout(layout, 0).unwrap();
    for &value in &members {
        ours.insert(digest(value)).unwrap();
    }
    assert_eq!(ours.table(), bytes);
}

/// The table of the format's documentation: bits a distinct value by rate.
#[test]
fn sizes_are_those_of_parquets_documentation() {
    for (fpr, documented) in [(0.1, 6.0), (0.01, 10.5), (1e-3, 16.9), (1e-4, 26.4), (1e-5, 41.0)] {
        let plan = SplitBlockBloom::plan(&Spec::fpr(fpr, 10_000_000)).unwrap();
        let bits = plan.bits_per_key().unwrap();
        assert!((bits - documented).abs() < 0.15, "{fpr}: {bits} against {documented}");
    }
}

#[test]
fn k_is_the_best_for_blocks() {
    for (bits, k, highest) in [(10.0, 6, 0.009_70), (16.0, 9, 0.000_845), (12.0, 8, 0.004_14)] {
        let plan = BlockedBloom::plan(&Spec::bits_per_key(bits, 10_000_000)).unwrap();
        assert_eq!(plan.k, Some(k), "{bits}");
        assert!(plan.fpr <= highest && plan.bits_per_key().unwrap() <= bits, "{bits}: {}", plan.fpr);
    }
    // 512-bit blocks cost more than a filter without blocks, and less than split ones.
    let bits = |plan: Result<amq::Plan, SpecError>| plan.unwrap().bits_per_key().unwrap();
    let spec = Spec::fpr(1e-3, 1_000_000);
    let (free, spread, split) = (
        bits(amq_bloom::Bloom::plan(&spec)),
        bits(BlockedBloom::plan(&spec)),
        bits(SplitBlockBloom::plan(&spec)),
    );
    assert!(free < spread && spread < split, "{free} {spread} {split}");
}

#[test]
fn layouts_and_tables_are_checked() {
    assert_eq!(BlockLayout::<Spread>::new(0, 6).unwrap_err(), LayoutError::Positions { m: 0 });
    assert_eq!(BlockLayout::<Spread>::new(1 << 51, 6).map(Places::m), Ok(1 << 60));
    assert!(BlockLayout::<Spread>::new((1 << 51) + 1, 6).is_err());
    assert_eq!(BlockLayout::<Spread>::new(1, 65).unwrap_err(), LayoutError::HashFunctions { k: 65 });
    assert_eq!(BlockLayout::<Spread>::new(1, 0).unwrap_err(), LayoutError::HashFunctions { k: 0 });
    assert_eq!(BlockLayout::<Split>::new(1, 7).unwrap_err(), LayoutError::HashFunctions { k: 7 });
    let layout = BlockLayout::<Split>::new(2, 8).unwrap();
    let error = SplitBlockBloom::from_parts(&[0; 63][..], layout, 0, None).unwrap_err();
    assert_eq!(error, LayoutError::TableLength { bytes: 63, expected: 64 });
    let mut filter = filled(layout, &some_digests(1, 3));
    assert_eq!(filter.check_invariants(), Ok(()));
    filter = BitFilter::from_parts(filter.table().to_vec().as_slice(), layout, 0, Some(1))
        .map(|_| filled(layout, &[]))
        .unwrap();
    assert_eq!(filter.check_invariants(), Ok(()));
    assert!(matches!(
        SplitBlockBloom::plan(&Spec::shape(1.0, 7, 10)),
        Err(SpecError::Remainder { r: 7, lowest: 8, highest: 8 })
    ));
    let _: Result<(), InvariantError> = filter.check_invariants();
}

/// More blocks than 32 bits choose among are used to the end, and the block of a digest does not depend on the rest of it.
#[test]
fn huge_tables_are_used_to_the_end() {
    let layout = BlockLayout::<Split>::new(1 << 40, 8).unwrap();
    assert_eq!(layout.block(Digest::new(u64::MAX)), (1 << 40) - 1);
    assert_eq!(layout.block(Digest::new(1 << 24)), 1);
    assert!(layout.halved().is_ok());
    let layout = BlockLayout::<Split>::new((1 << 32) + 2, 8).unwrap();
    assert!(layout.halved().is_err());
    let layout = BlockLayout::<Spread>::new(1 << 50, 8).unwrap();
    assert_eq!(layout.block(Digest::new(u64::MAX)), (1 << 50) - 1);
    assert!(
        random_digests(3)
            .take(1_000)
            .all(|digest| layout.positions(digest).take(8).all(|p| p / 512 == layout.block(digest)))
    );
}

/// Planned once: that takes longer than to fill a small filter.
fn mean_rate_z<P: BitPlaces>(n: usize, spec: Spec, seeds: u64) -> (f64, f64)
where
    BitFilter<P>: Family,
{
    let plan = BitFilter::<P>::plan(&spec).unwrap();
    let layout = BitFilter::<P>::build(&[], &spec).unwrap().layout();
    let rates: Vec<f64> = (0..seeds)
        .map(|seed| filled(layout, &some_digests(seed ^ 0xABCD, n)).expected_fpr().unwrap())
        .collect();
    let (mean, error) = mean_and_error(&rates);
    ((mean - plan.fpr) / error, mean / plan.fpr - 1.0)
}

/// The planned rate is the mean over hash functions: within 1 % in tables of some blocks, and always within what chance allows.
#[test]
fn the_mean_expected_rate_is_the_planned_one() {
    for (n, seeds, limit) in [(10, 4_000, 0.1), (200, 1_024, 0.04), (3_000, 512, 0.01), (40_000, 256, 0.01)] {
        for bits in [6.0, 10.0, 16.0] {
            let spec = Spec::bits_per_key(bits, n as u64);
            for (name, (z, off)) in [
                ("spread", mean_rate_z::<BlockLayout<Spread>>(n, spec, seeds)),
                ("split", mean_rate_z::<BlockLayout<Split>>(n, spec, seeds)),
            ] {
                assert!(
                    z.abs() < 4.5 && off.abs() < limit,
                    "{name}, {n} keys at {bits} bits: z = {z:.1}, off by {off:.4}"
                );
            }
        }
    }
}

/// What the eight bits of a split block out of one 32-bit hash cost against independent ones: nothing that a million queries show at
/// 1 % and .1 %.
#[test]
fn measured_rates_are_the_expected_ones() {
    let n = 300_000;
    for bits in [10.0, 16.0, 24.0] {
        let spec = Spec::bits_per_key(bits, n);
        let digests = some_digests(77, usize::try_from(n).unwrap());
        let check = |name: &str, filter: &dyn Amq| {
            let queries = 4_000_000;
            let hits = random_digests(78).take(queries).filter(|&digest| filter.contains(digest)).count();
            let expected = filter.expected_fpr().unwrap();
            let mean = expected * queries as f64;
            let z = (hits as f64 - mean) / (mean * (1.0 - expected)).sqrt();
            assert!(z.abs() < 4.0, "{name} at {bits} bits: {hits} hits, {mean:.1} expected, z = {z:.1}");
        };
        check("spread", &BlockedBloom::build(&digests, &spec).unwrap());
        check("split", &SplitBlockBloom::build(&digests, &spec).unwrap());
    }
    assert!((blocked::split_fpr_many_blocks(25.6) - 0.012_648).abs() < 1e-6);
}

#[test]
fn the_count_is_estimated_block_by_block() {
    let n = 20_000;
    let filter = filled(BlockLayout::<Spread>::new(400, 6).unwrap(), &some_digests(5, n));
    assert!((filter.estimated_count().unwrap() / n as f64 - 1.0).abs() < 0.02);
    let filter = filled(BlockLayout::<Split>::new(800, 8).unwrap(), &some_digests(6, n));
    assert!((filter.estimated_count().unwrap() / n as f64 - 1.0).abs() < 0.02);
    assert_eq!(
        filled(BlockLayout::<Spread>::new(2, 6).unwrap(), &some_digests(6, 9_000)).estimated_count(),
        None
    );
    assert_eq!(filled(BlockLayout::<Spread>::new(2, 6).unwrap(), &[]).estimated_count(), Some(0.0));
}

#[test]
fn folding_keeps_keys_and_the_rate_below_the_wish() {
    let digests = some_digests(8, 10_000);
    let mut filter = filled(BlockLayout::<Spread>::new(4 << 10, 6).unwrap(), &digests);
    let before = filter.expected_fpr().unwrap();
    assert_eq!(filter.fold_while(1e-12), Ok(0));
    assert_eq!(filter.expected_fpr().unwrap(), before);
    let folds = filter.fold_while(0.01).unwrap();
    let rate = filter.expected_fpr().unwrap();
    assert!(folds > 0 && rate <= 0.01 && filter.folded().unwrap().expected_fpr().unwrap() > 0.01);
    assert_eq!(filter.layout().blocks(), 4 << 10 >> folds);
    assert!(digests.iter().all(|&digest| filter.contains(digest)));
}
