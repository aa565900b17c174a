//! Plans: sizes, ranges, and wishes that no table can meet.

use crate::Tested;
use amq::{BuildError, Family, Plan, Spec, SpecError, theory};
use amq_quotient::Geometry;

fn plan(spec: &Spec) -> Result<Plan, SpecError> {
    Tested::plan(spec)
}

#[test]
fn a_shape_is_taken_literally() {
    for (n, alpha, r, slots) in
        [(90, 0.9, 8, 100), (0, 0.5, 1, 2), (1, 1.0, 54, 2), (100, 1.0, 7, 101), (596, 0.596, 8, 1_000)]
    {
        let plan = plan(&Spec::shape(alpha, r, n)).unwrap();
        assert_eq!((plan.slots, plan.r, plan.k, plan.capacity), (slots, r, None, n));
        assert_eq!(plan.table_bytes, slots.div_ceil(64) * 8 * u64::from(r + 3) + 7);
        assert_eq!(plan.alpha, n as f64 / slots as f64);
        assert_eq!(plan.fpr, theory::quotient::fpr(n, slots, r));
    }
}

#[test]
fn wishes_out_of_range_are_named() {
    let range = |r| SpecError::Remainder { r, lowest: 1, highest: 54 };
    for r in [0, 55, 64, u32::MAX] {
        assert_eq!(plan(&Spec::shape(0.5, r, 8)), Err(range(r)));
        assert_eq!(plan(&Spec::shape(0.5, r, u64::MAX)), Err(range(r)));
    }
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(plan(&Spec::shape(alpha, 8, 8)), Err(SpecError::Alpha { .. })), "{alpha}");
    }
    assert_eq!(
        plan(&Spec::shape(1.01, 8, 8)),
        Err(SpecError::Alpha { alpha: 1.01, lowest: 0.0, highest: 1.0 })
    );
    for fpr in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(plan(&Spec::fpr(fpr, 100)), Err(SpecError::Fpr { .. })), "{fpr}");
    }
    // Below what 2^64 fingerprints can do.
    for fpr in [5e-324, 1e-320, f64::MIN_POSITIVE, 1e-300, 1e-18] {
        let error = plan(&Spec::fpr(fpr, 100)).unwrap_err();
        let SpecError::FprTooLow { lowest, .. } = error else { panic!("{error}") };
        assert!((lowest / (100.0 / 2_f64.powi(64)) - 1.0).abs() < 1e-12);
        // And just above it there is one.
        assert!(plan(&Spec::fpr(lowest * 1.01, 100)).is_ok());
    }
    for bits in [0.0, -3.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(plan(&Spec::bits_per_key(bits, 100)), Err(SpecError::BitsPerKey { .. })), "{bits}");
    }
    let error = plan(&Spec::bits_per_key(4.0, 1_000)).unwrap_err();
    // 1,177 slots of four bits.
    assert_eq!(error, SpecError::BitsPerKey { bits: 4.0, lowest: 4.708, highest: f64::INFINITY });
    assert_eq!(plan(&Spec::bits_per_key(4.708, 1_000)).unwrap().r, 1);
}

#[test]
fn sizes_that_overflow_are_too_large() {
    for capacity in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 62] {
        for spec in [
            Spec::fpr(0.01, capacity),
            Spec::fpr(0.999, capacity),
            Spec::shape(1.0, 1, capacity),
            Spec::bits_per_key(10.0, capacity),
        ] {
            assert_eq!(plan(&spec), Err(SpecError::TooLarge { capacity }), "{spec:?}");
        }
    }
    assert!(matches!(plan(&Spec::shape(1e-300, 1, 10)), Err(SpecError::TooLarge { .. })));
    // 2^34 slots leave 30 bits.
    assert_eq!(
        plan(&Spec::shape(1.0, 54, (1 << 34) - 1)),
        Err(SpecError::Remainder { r: 54, lowest: 1, highest: 30 })
    );
    let largest = plan(&Spec::shape(1.0, 30, (1 << 34) - 1)).unwrap();
    assert_eq!((largest.slots, largest.r, largest.table_bytes), (1 << 34, 30, (33 << 31) + 7));
    // More than any memory, and still the right numbers.
    let plan = plan(&Spec::fpr(0.01, 1 << 40)).unwrap();
    assert_eq!((plan.slots, plan.r), (theory::quotient::slots(1 << 40, 0.85).unwrap(), 7));
    assert!(matches!(Tested::build(&[], &Spec::fpr(0.01, 1 << 55)), Err(BuildError::OutOfMemory { .. })));
}

#[test]
fn a_rate_gets_the_fewest_bits() {
    for n in (0..=100).chain([1_000]) {
        for fpr in [0.999, 0.7, 0.5, 0.3, 0.1, 0.05, 1.0 / 64.0, 0.01, 0.007, 1e-3] {
            let plan = plan(&Spec::fpr(fpr, n)).unwrap();
            assert!(plan.fpr <= fpr, "{n} {fpr} {plan:?}");
            assert!(plan.alpha <= 0.85, "{n} {fpr} {plan:?}");
            let bits = plan.slots * u64::from(plan.r + 3);
            // At each r, the largest table that would be preferred is too small or misses the rate: a cheaper one, or at a smaller r,
            // hence a lower load, one as cheap.
            for r in 1..=54 {
                let slots = if r < plan.r { bits } else { bits - 1 } / u64::from(r + 3);
                let too_small = slots < theory::quotient::slots(n, 0.85).unwrap();
                assert!(too_small || theory::quotient::fpr(n, slots, r) > fpr, "{n} {fpr} r {r}: {plan:?}");
            }
        }
    }
}

/// The plan with the slots that a wish for bits a key gets too.
fn plan_of_shape(n: u64, r: u32) -> Plan {
    plan(&Spec::shape(0.85, r, n)).unwrap()
}

#[test]
fn bits_per_key_get_the_widest_remainder() {
    for n in [1, 2, 10, 1_000, 12_345_678] {
        for bits in [9.0, 10.0, 12.5, 20.0, 57.0, 1e9] {
            let plan = plan(&Spec::bits_per_key(bits, n)).unwrap();
            let needs = |r: u32| plan.slots as f64 * f64::from(r + 3);
            assert!(needs(plan.r) <= bits * n as f64, "{n} {bits} {plan:?}");
            let wider_exists = plan.r < 54 && Geometry::new(plan.slots, plan.r + 1).is_some();
            // In a table of few slots, what a block has beyond them counts too.
            let whole = |r| plan_of_shape(n, r).table_bytes as f64 * 8.0;
            assert!(whole(plan.r) <= bits * n as f64 + 1_024.0, "{n} {bits} {plan:?}");
            let is_too_wide = |r| needs(r) > bits * n as f64 || whole(r) > bits * n as f64 + 1_024.0;
            assert!(!wider_exists || is_too_wide(plan.r + 1), "{n} {bits} {plan:?}");
        }
    }
    assert_eq!(plan(&Spec::bits_per_key(12.0, 0)).unwrap().r, 7);
}
