//! What is planned for a wish: sizes to the bit, refusals, and rates that are the mean of what is built.

mod common;

use amq::theory::bloom::{fpr_approximate, fpr_exact};
use amq::{Amq, BuildError, Family, Spec, SpecError, Target};
use amq_bloom::{Bloom, CountingBloom};
use common::{mean_and_error, some_digests};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn planning_never_panics_and_what_is_small_can_be_built(
        number in prop_oneof![any::<f64>(), 0.0..1.5_f64, 1.0..100.0_f64, Just(1e-320), Just(0.999)],
        r in prop_oneof![0_u32..70, any::<u32>()],
        capacity in prop_oneof![0_u64..200, any::<u64>()],
        which in 0..3,
    ) {
        let target = match which {
            0 => Target::Fpr(number),
            1 => Target::Shape { alpha: number, r },
            _ => Target::BitsPerKey(number),
        };
        let spec = Spec::new(target, capacity);
        for (plan, width) in [(Bloom::plan(&spec), 1), (CountingBloom::plan(&spec), 4)] {
            let Ok(plan) = plan else { continue };
            prop_assert_eq!(plan.table_bytes, (plan.slots * width).div_ceil(8));
            prop_assert!((0.0..=1.0).contains(&plan.fpr), "{:?}", plan);
            prop_assert!(plan.k.is_some_and(|k| (1..=64).contains(&k)));
            if let Target::BitsPerKey(bits) = target {
                prop_assert!((plan.slots * width) as f64 <= bits * capacity.max(1) as f64);
            }
            if plan.table_bytes < 1 << 20 {
                let filter = Bloom::build(&[], &spec);
                prop_assert!(width == 4 || filter.is_ok_and(|filter| filter.space().payload_bits == plan.payload_bits()));
            }
        }
    }
}

#[test]
fn sizes_are_exact_to_the_bit() {
    let plan = Bloom::plan(&Spec::fpr(0.01, 1_000)).unwrap();
    assert_eq!((plan.slots, plan.k, plan.r, plan.table_bytes), (9_586, Some(7), 7, 1_199));
    assert_eq!(plan.fpr, fpr_exact(9_586, 1_000, 7));
    assert_eq!(plan.alpha, 1.0);

    let plan = Bloom::plan(&Spec::fpr(0.001, 10_000_000)).unwrap();
    assert!((143_775_870..143_775_880).contains(&plan.slots), "{plan:?}");

    // ceil(1,000/.5 · 8/ln 2): overfilled or underfilled, the load is the given one.
    let plan = Bloom::plan(&Spec::shape(0.5, 8, 1_000)).unwrap();
    assert_eq!((plan.slots, plan.k, plan.alpha), (23_084, Some(8), 0.5));
    let plan = Bloom::plan(&Spec::shape(2.0, 8, 1_000)).unwrap();
    assert_eq!((plan.slots, plan.k, plan.alpha), (5_771, Some(8), 2.0));

    let plan = Bloom::plan(&Spec::bits_per_key(10.0, 1_000)).unwrap();
    assert_eq!((plan.slots, plan.k), (10_000, Some(7)));
    let plan = CountingBloom::plan(&Spec::bits_per_key(40.0, 1_000)).unwrap();
    assert_eq!((plan.slots, plan.k, plan.table_bytes), (10_000, Some(7), 5_000));

    let plan = Bloom::plan(&Spec::fpr(0.01, 1 << 40)).unwrap();
    let expected = 9.585_058_4 * (1_u64 << 40) as f64;
    assert!((plan.slots as f64 / expected - 1.0).abs() < 1e-7 && plan.k == Some(7), "{plan:?}");
}

#[test]
fn wishes_that_make_no_filter_are_refused() {
    for fpr in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(Bloom::plan(&Spec::fpr(fpr, 10)), Err(SpecError::Fpr { .. })));
    }
    for r in [0, 65, u32::MAX] {
        assert_eq!(
            Bloom::plan(&Spec::shape(1.0, r, 10)),
            Err(SpecError::Remainder { r, lowest: 1, highest: 64 })
        );
    }
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Bloom::plan(&Spec::shape(alpha, 8, 10)), Err(SpecError::Alpha { .. })));
    }
    assert!(matches!(Bloom::plan(&Spec::bits_per_key(0.05, 10)), Err(SpecError::BitsPerKey { .. })));
    assert!(matches!(CountingBloom::plan(&Spec::bits_per_key(3.9, 1)), Err(SpecError::BitsPerKey { .. })));
    for spec in [
        Spec::fpr(0.01, u64::MAX),
        Spec::shape(1e-320, 8, 10),
        Spec::bits_per_key(1e300, 10),
        Spec::fpr(1e-300, 1 << 50),
    ] {
        let capacity = spec.capacity();
        assert_eq!(Bloom::plan(&spec), Err(SpecError::TooLarge { capacity }));
        assert_eq!(CountingBloom::plan(&spec), Err(SpecError::TooLarge { capacity }));
    }
    // A size that can be planned, but not had.
    let spec = Spec::fpr(0.01, 1 << 55);
    let bytes = Bloom::plan(&spec).unwrap().table_bytes;
    assert_eq!(Bloom::build(&[], &spec), Err(BuildError::OutOfMemory { bytes }));
}

/// What a plan states is the exact mean of what it builds, from one key on, and how far that may lie above the wish.
#[test]
fn plans_for_one_to_a_thousand_keys_state_the_exact_mean() {
    for n in 1..=1_000 {
        for fpr in [0.5, 0.05, 0.01, 1e-3, 1e-6] {
            let plan = Bloom::plan(&Spec::fpr(fpr, n)).unwrap();
            let exact = fpr_exact(plan.slots, n, plan.r);
            let excess = plan.fpr / fpr;
            let most = 1.04 * (f64::from(plan.r + 2) / (8.0 * n as f64)).exp();
            assert!((plan.fpr / exact - 1.0).abs() < 1e-12, "{n} keys at {fpr}: {} and {exact}", plan.fpr);
            assert!(excess < most, "{n} keys at {fpr}: {} is {excess} times the wish", plan.fpr);
            assert!(n < 1_000 || excess < 1.04, "{n} keys at {fpr}: {excess}");
        }
    }
}

/// The rate of one filter given its bits, averaged over filters: from the table alone, without queries.
#[test]
fn the_mean_expected_rate_is_the_planned_one() {
    for (n, fpr) in [(10_u64, 0.05), (100, 0.01), (1_000, 0.02)] {
        let spec = Spec::fpr(fpr, n);
        let rates: Vec<f64> = (0..512)
            .map(|seed| {
                let digests = some_digests(n * 10_000 + seed, usize::try_from(n).unwrap());
                Bloom::build(&digests, &spec).unwrap().expected_fpr().unwrap()
            })
            .collect();
        let (mean, error) = mean_and_error(&rates);
        let planned = Bloom::plan(&spec).unwrap().fpr;
        assert!((mean - planned).abs() < 4.0 * error, "n {n}: {mean} +- {error}, planned {planned}");
        assert!(planned > fpr / 2.0);
    }
}

/// The formulas of design against what they design: within 1 % of the mean over many seeds, for every target, of bits and of counters.
#[test]
fn design_formulas_are_within_one_per_cent_of_the_mean() {
    for (n, seeds) in [(1_000_u64, 2_048), (10_000, 256), (50_000, 256)] {
        for spec in
            [Spec::fpr(0.01, n), Spec::fpr(0.1, n), Spec::bits_per_key(8.0, n), Spec::shape(1.0, 7, n)]
        {
            let plan = Bloom::plan(&spec).unwrap();
            let rates: Vec<f64> = (0..seeds)
                .map(|seed| some_digests(n << 32 | seed, usize::try_from(n).unwrap()))
                .map(|digests| Bloom::build(&digests, &spec).unwrap().expected_fpr().unwrap())
                .collect();
            let (mean, error) = mean_and_error(&rates);
            let (off, z) = (mean / plan.fpr - 1.0, (mean - plan.fpr) / error);
            assert!(off.abs() < 0.01 && z.abs() < 4.5, "{spec:?}: off by {off:.4}, z = {z:.1}");
            let usual = fpr_approximate(plan.slots, n, plan.r);
            assert!((mean / usual - 1.0).abs() < 0.01, "{spec:?}: {mean}, by the usual formula {usual}");
        }
    }
}

/// A counting filter's plan is that of the filter of bits whose positions it has, and so is its rate.
#[test]
fn counters_are_planned_as_bits() {
    for n in [10, 1_000, 100_000] {
        for target in [Target::Fpr(0.01), Target::Shape { alpha: 1.0, r: 7 }] {
            let (counters, bits) =
                (CountingBloom::plan(&Spec::new(target, n)), Bloom::plan(&Spec::new(target, n)));
            let (counters, bits) = (counters.unwrap(), bits.unwrap());
            assert_eq!((counters.slots, counters.k, counters.fpr), (bits.slots, bits.k, bits.fpr));
        }
    }
}
