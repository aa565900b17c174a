//! Plans and parts: exact sizes, typed refusals, no allocation.

use amq::{BuildError, Digest, Family, Plan, Spec, SpecError, Target};
use amq_xor::{BinaryFuse3, BinaryFuse4, MAX_ATTEMPTS, PartsError, XorFilter, XorParts};

fn plan(spec: Spec) -> Plan {
    XorFilter::plan(&spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"))
}

fn refusal(spec: Spec) -> SpecError {
    XorFilter::plan(&spec).expect_err("a spec that cannot be planned")
}

#[test]
fn rates_are_met_with_the_fewest_bits() {
    for r in 1..=32_u32 {
        let exact = 0.5_f64.powi(r.cast_signed());
        assert_eq!((plan(Spec::fpr(exact, 1_000)).r, plan(Spec::fpr(exact, 1_000)).fpr), (r, exact));
        assert_eq!(plan(Spec::fpr(exact.next_up(), 1_000)).r, r);
        if r < 32 {
            assert_eq!(plan(Spec::fpr(exact.next_down(), 1_000)).r, r + 1);
        }
    }
    for (fpr, r) in [(0.999, 1), (0.5, 1), (0.393, 2), (0.05, 5), (0.01, 7), (0.001, 10), (1e-9, 30)] {
        assert_eq!(plan(Spec::fpr(fpr, 10)).r, r, "{fpr}");
    }
    let lowest = 0.5_f64.powi(32);
    for fpr in [lowest.next_down(), 1e-12, 1e-300, 1e-320, f64::from_bits(1)] {
        assert_eq!(refusal(Spec::fpr(fpr, 10)), SpecError::FprTooLow { fpr, lowest });
    }
    for fpr in [0.0, -0.0, 1.0, 1.5, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(refusal(Spec::fpr(fpr, 10)), SpecError::Fpr { .. }), "{fpr}");
    }
}

#[test]
fn default_sizes() {
    // 3 ceil((1.23 n + 32) / 3)
    for (n, cells) in [(0, 33), (1, 36), (2, 36), (100, 156), (1_000, 1_263), (1_000_000, 1_230_033)] {
        let plan = plan(Spec::fpr(0.01, n));
        assert_eq!(plan.slots, cells, "{n}");
        if n < 1_000_000 {
            assert_eq!(plan.table_bytes, (cells * 7).div_ceil(8) + 7, "{n}");
        }
        assert_eq!(plan.alpha, n as f64 / cells as f64);
        assert_eq!((plan.capacity, plan.k, plan.fpr), (n, Some(3), 1.0 / 128.0));
    }
}

/// At every size from a million keys on, up to a billion: a thousand of them a decade, none of which is round.
#[test]
fn large_sets_cost_what_is_said() {
    let sizes = || {
        core::iter::successors(Some(1_000_003_u64), |n| Some(n + n / 433)).take_while(|&n| n < 1_000_000_000)
    };
    let overheads = |plan: fn(&Spec) -> Result<Plan, SpecError>| {
        let overhead =
            |n| plan(&Spec::fpr(0.5_f64.powi(8), n)).unwrap().payload_bits() as f64 / (8.0 * n as f64);
        let all: Vec<f64> = sizes().map(overhead).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        (all.into_iter().fold(0.0, f64::max), mean)
    };
    let xor = overheads(XorFilter::plan);
    assert!(xor.0 < 1.231, "xor: {xor:?}");
    let fuse3 = overheads(BinaryFuse3::plan);
    assert!(fuse3.0 <= 1.137 && fuse3.1 <= 1.13, "fuse3: {fuse3:?}");
    let fuse4 = overheads(BinaryFuse4::plan);
    assert!(fuse4.0 <= 1.085, "fuse4: {fuse4:?}");
}

#[test]
fn explicit_loads_are_literal() {
    for (n, alpha, cells) in [
        (0, 0.8, 3),
        (1, 1.0, 3),
        (3, 1.0, 3),
        (4, 1.0, 6),
        (1_000, 0.5, 2_001),
        (100_000, 0.8, 125_001),
        (120_000, 0.8, 150_000),
    ] {
        assert_eq!(plan(Spec::shape(alpha, 8, n)).slots, cells, "{n} at {alpha}");
    }
    assert_eq!(plan(Spec::shape(1e-9, 1, 1)).slots, 1_000_000_002);
    for alpha in [1.0_f64.next_up(), 2.0, f64::MAX, 0.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(refusal(Spec::shape(alpha, 8, 10)), SpecError::Alpha { .. }), "{alpha}");
    }
    for r in [0, 33, 64, u32::MAX] {
        assert_eq!(refusal(Spec::shape(0.5, r, 10)), SpecError::Remainder { r, lowest: 1, highest: 32 });
    }
}

#[test]
fn bits_per_key_buy_the_widest_cells_that_fit() {
    for n in [1, 10, 100, 10_000, 1 << 40] {
        let cells = plan(Spec::fpr(0.5, n)).slots as f64;
        for r in 1..=32_u32 {
            // Cells, and a directory if there are several shards, which are smaller where a key would not fit one word.
            let third = if (15..=17).contains(&r) { 15_000.0 } else { 28_000.0 };
            let shards = (cells / 3.0 / third).ceil().log2().ceil().exp2();
            let directory = if shards > 1.0 { 64.0 * (shards + 1.0) } else { 0.0 };
            let exact = (cells * f64::from(r) + directory) / n as f64;
            assert_eq!(plan(Spec::bits_per_key(exact * (1.0 + 1e-12), n)).r, r, "{n} keys");
            let less = exact * (1.0 - 1e-12);
            if r == 1 {
                let highest = f64::INFINITY;
                assert_eq!(
                    refusal(Spec::bits_per_key(less, n)),
                    SpecError::BitsPerKey { bits: less, lowest: exact, highest }
                );
            } else {
                assert_eq!(plan(Spec::bits_per_key(less, n)).r, r - 1, "{n} keys");
            }
        }
        assert_eq!(plan(Spec::bits_per_key(1e300, n)).r, 32);
    }
    assert_eq!(plan(Spec::bits_per_key(9.85, 1_000_000)).r, 8);
    for (bits, r) in [(1e-300, 1), (1.23, 1), (10.0, 8), (1e300, 32)] {
        assert_eq!(plan(Spec::bits_per_key(bits, 0)).r, r);
    }
    for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refusal(Spec::bits_per_key(bits, 10)), SpecError::BitsPerKey { .. }), "{bits}");
    }
}

/// Sizes beyond 32 bits, from arbitrary-precision arithmetic.
#[test]
fn large_capacities_are_planned_in_64_bits() {
    for (n, cells) in [
        (1_u64 << 32, 5_282_809_809_u64),
        (1 << 33, 10_565_619_582),
        (1 << 40, 1_352_399_302_197),
        (4_177_066_232, 5_137_791_498),
    ] {
        let plan = plan(Spec::fpr(1.0 / 256.0, n));
        // Behind the cells a directory: 8 bytes for a shard of at most 28,000 cells a third, and for the end.
        let shards = (cells / 3).div_ceil(28_000).next_power_of_two();
        let directory = 8 * (shards + 1);
        assert_eq!(
            (plan.slots, plan.table_bytes),
            (cells, (cells + 7).next_multiple_of(8) + directory),
            "{n}"
        );
        assert!((plan.bits_per_key().unwrap() - 9.84).abs() < 2e-3);
    }
    assert_eq!(plan(Spec::shape(0.8, 32, 1 << 40)).slots, 1_374_389_534_721);
}

#[test]
fn absurd_wishes_are_refused_at_once() {
    for capacity in [u64::MAX, u64::MAX / 2, 1 << 60, (1 << 58) / 5 * 5] {
        let targets = [Target::Fpr(0.01), Target::Shape { alpha: 0.8, r: 8 }, Target::BitsPerKey(10.0)];
        for target in targets {
            assert_eq!(refusal(Spec::new(target, capacity)), SpecError::TooLarge { capacity }, "{target:?}");
        }
    }
    let capacity = 10;
    assert_eq!(refusal(Spec::shape(1e-300, 8, capacity)), SpecError::TooLarge { capacity });
    assert_eq!(refusal(Spec::shape(f64::from_bits(1), 8, capacity)), SpecError::TooLarge { capacity });
    // A valid plan that no machine can hold.
    let error = XorFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1 << 55)).unwrap_err();
    assert!(matches!(error, BuildError::OutOfMemory { bytes } if bytes > 1 << 55), "{error}");
    let error = XorFilter::build(&[], &Spec::fpr(2.0, 1)).unwrap_err();
    assert_eq!(error, BuildError::Spec(SpecError::Fpr { fpr: 2.0 }));
}

#[test]
fn parts_are_validated() {
    let digests: Vec<_> = (0..500).map(Digest::new).collect();
    let filter = XorFilter::build(&digests, &Spec::fpr(0.01, 500).with_seed(9)).unwrap();
    let parts = filter.parts();
    assert_eq!((parts.seed, parts.len, parts.r), (9, 500, 7));
    let table = filter.table();
    assert!(XorFilter::from_parts(parts, table).unwrap() == filter);

    let refused = |parts| XorFilter::from_parts(parts, table).unwrap_err();
    for (cells_per_third, r) in
        [(0, 7), (u64::MAX, 7), (1 << 58, 7), (parts.cells_per_third, 0), (parts.cells_per_third, 33)]
    {
        let wrong = XorParts { cells_per_third, r, ..parts };
        assert_eq!(refused(wrong), PartsError::Size { cells_per_third, r });
    }
    for attempts in [0, MAX_ATTEMPTS + 1, u32::MAX] {
        assert_eq!(refused(XorParts { attempts, ..parts }), PartsError::Attempts { attempts });
    }
    let cells = filter.cells();
    assert_eq!(refused(XorParts { len: cells + 1, ..parts }), PartsError::Len { len: cells + 1, cells });
    for cells_per_third in [parts.cells_per_third - 3, parts.cells_per_third + 3] {
        let error = refused(XorParts { cells_per_third, ..parts });
        assert!(matches!(error, PartsError::Bytes { bytes, .. } if bytes == table.len() as u64), "{error}");
    }
    for len in 0..table.len() {
        let (bytes, expected) = (len as u64, table.len() as u64);
        let error = XorFilter::from_parts(parts, &table[..len]).unwrap_err();
        assert_eq!(error, PartsError::Bytes { bytes, expected });
        assert_eq!(error.to_string(), format!("the table has {len} bytes instead of {expected}"));
    }
}

#[test]
fn debug_is_short() {
    let filter = XorFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1)).unwrap();
    assert_eq!(format!("{filter:?}"), "XorFilter { len: 1, cells: 36, r: 7, seed: 0, attempts: 1, .. }");
    assert_eq!(filter.clone(), filter);
}
