//! Plans and parts: exact sizes, typed refusals, no allocation.

use amq::{BuildError, Digest, Family, Plan, Spec, SpecError, Target};
use amq_ribbon::{MAX_ATTEMPTS, PartsError, RibbonFilter, RibbonParts, WideRibbonFilter};

fn plan(spec: Spec) -> Plan {
    RibbonFilter::plan(&spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"))
}

fn wide_plan(spec: Spec) -> Plan {
    WideRibbonFilter::plan(&spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"))
}

fn refusal(spec: Spec) -> SpecError {
    RibbonFilter::plan(&spec).expect_err("a spec that cannot be planned")
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

/// The table of the README.
#[test]
fn space_over_the_bound() {
    for (n, narrow, wide) in [
        (10, 540.0, 1180.0),
        (100, 28.0, 28.0),
        (1_000, 9.00, 15.3),
        (10_000, 1.95, 1.81),
        (100_000, 0.61, 0.53),
        (1_000_000, 0.37, 0.25),
        (10_000_000, 0.32, 0.18),
    ] {
        let over = |plan: Plan| (plan.bits_per_key().unwrap() / 8.0 - 1.0) * 100.0;
        let spec = Spec::fpr(1.0 / 256.0, n);
        for (over, stated) in [(over(plan(spec)), narrow), (over(wide_plan(spec)), wide)] {
            println!("n = {n}: {over:.3} %, {stated} stated");
            assert!((over - stated).abs() <= 0.006, "n = {n}: {over} %, {stated} stated");
        }
    }
}

/// Under 1 % over r bits a key, thresholds included, from a million keys on.
#[test]
fn overheads_of_large_tables() {
    for n in [1_000_000, 1_383_864, 10_000_000, 123_456_789, 1 << 33, 1 << 40] {
        for r in 1..=32_u32 {
            let spec = Spec::fpr(0.5_f64.powi(r.cast_signed()), n);
            let over = |plan: Plan| plan.bits_per_key().unwrap() / f64::from(r) - 1.0;
            assert!(r < 2 || over(plan(spec)) < 0.01, "n = {n}, r = {r}: {}", over(plan(spec)));
            assert!(over(wide_plan(spec)) < 0.01, "n = {n}, r = {r}: {}", over(wide_plan(spec)));
        }
    }
}

#[test]
fn default_sizes() {
    // One layer: n + n/16 + 4, in whole blocks. From 480 keys on n + n/1024 + 3/4 sqrt(n) + 44.
    for (n, slots) in
        [(0, 64), (1, 64), (56, 64), (57, 64), (58, 128), (100, 128), (479, 512), (480, 576), (1_000, 1_088)]
    {
        let plan = plan(Spec::fpr(0.01, n));
        assert_eq!(plan.slots, slots, "{n}");
        assert_eq!(plan.alpha, n as f64 / slots as f64);
        assert_eq!((plan.capacity, plan.k, plan.fpr), (n, None, 1.0 / 128.0));
    }
    assert_eq!(plan(Spec::fpr(0.01, 100)).table_bytes, 2 * 7 * 8);
    // 960 and 128 slots; 8 buckets.
    assert_eq!(plan(Spec::fpr(0.01, 1_000)).table_bytes, (15 + 2) * 7 * 8 + 2);
    for n in 1..20_000 {
        let (less, more) = (plan(Spec::fpr(0.01, n - 1)), plan(Spec::fpr(0.01, n)));
        assert!(less.slots <= more.slots && more.slots % 64 == 0, "{n}");
    }
}

#[test]
fn explicit_loads_are_literal() {
    for (n, alpha, slots) in [
        (0, 0.8, 64),
        (1, 1.0, 64),
        (65, 1.0, 65),
        (1_000, 0.5, 2_000),
        (100_000, 0.8, 125_000),
        (120_001, 0.8, 150_002),
    ] {
        assert_eq!(plan(Spec::shape(alpha, 8, n)).slots, slots, "{n} at {alpha}");
        assert_eq!(wide_plan(Spec::shape(alpha, 8, n)).slots, slots.max(128), "{n} at {alpha}");
    }
    assert_eq!(plan(Spec::shape(1e-9, 1, 1)).slots, 1_000_000_000);
    for alpha in [1.0_f64.next_up(), 2.0, f64::MAX, 0.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(refusal(Spec::shape(alpha, 8, 10)), SpecError::Alpha { .. }), "{alpha}");
    }
    for r in [0, 33, 64, u32::MAX] {
        assert_eq!(refusal(Spec::shape(0.5, r, 10)), SpecError::Remainder { r, lowest: 1, highest: 32 });
    }
}

#[test]
fn bits_per_key_buy_the_widest_slots_that_fit() {
    for n in [1, 10, 100, 10_000, 1 << 40] {
        for r in 1..=32_u32 {
            let exact = plan(Spec::fpr(0.5_f64.powi(r.cast_signed()), n)).bits_per_key().unwrap();
            assert_eq!(plan(Spec::bits_per_key(exact * (1.0 + 1e-12), n)).r, r, "{n} keys");
            let less = exact * (1.0 - 1e-12);
            if r == 1 {
                let highest = f64::INFINITY;
                let error = SpecError::BitsPerKey { bits: less, lowest: exact, highest };
                assert_eq!(refusal(Spec::bits_per_key(less, n)), error);
            } else {
                assert_eq!(plan(Spec::bits_per_key(less, n)).r, r - 1, "{n} keys");
            }
        }
        assert_eq!(plan(Spec::bits_per_key(1e300, n)).r, 32);
    }
    assert_eq!(plan(Spec::bits_per_key(8.05, 1_000_000)).r, 8);
    for (bits, r) in [(1e-300, 1), (1.01, 1), (10.0, 9), (1e300, 16)] {
        assert_eq!(plan(Spec::bits_per_key(bits, 0)).r, r);
    }
    for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refusal(Spec::bits_per_key(bits, 10)), SpecError::BitsPerKey { .. }), "{bits}");
    }
}

/// Sizes beyond 32 bits.
#[test]
fn large_capacities_are_planned_in_64_bits() {
    for (n, spare) in [
        (1_u64 << 32, (1 << 22) + 49_152 + 44),
        (1 << 33, (1 << 23) + 92_681 * 6 / 8 + 44),
        (1 << 40, (1 << 30) + 786_432 + 44),
    ] {
        let plan = plan(Spec::fpr(1.0 / 256.0, n));
        assert_eq!(plan.slots, (n + spare).next_multiple_of(64), "{n}");
        assert!((8.01..8.03).contains(&plan.bits_per_key().unwrap()), "{n}");
    }
    assert_eq!(plan(Spec::shape(0.8, 32, 1 << 40)).slots, 1_374_389_534_720);
}

#[test]
fn absurd_wishes_are_refused_at_once() {
    for capacity in [u64::MAX, u64::MAX / 2, 1 << 60, 1 << 50] {
        let targets = [Target::Fpr(0.01), Target::Shape { alpha: 0.8, r: 8 }, Target::BitsPerKey(10.0)];
        for target in targets {
            assert_eq!(refusal(Spec::new(target, capacity)), SpecError::TooLarge { capacity }, "{target:?}");
        }
    }
    let capacity = 10;
    assert_eq!(refusal(Spec::shape(1e-300, 8, capacity)), SpecError::TooLarge { capacity });
    assert_eq!(refusal(Spec::shape(f64::from_bits(1), 8, capacity)), SpecError::TooLarge { capacity });
    // A valid plan that no machine can hold.
    let error = RibbonFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1 << 49)).unwrap_err();
    assert!(matches!(error, BuildError::OutOfMemory { bytes } if bytes > 7 << 46), "{error}");
    let error = RibbonFilter::build(&[], &Spec::fpr(2.0, 1)).unwrap_err();
    assert_eq!(error, BuildError::Spec(SpecError::Fpr { fpr: 2.0 }));
}

#[test]
fn parts_are_validated() {
    let digests: Vec<_> = (0..2_000).map(Digest::new).collect();
    let filter = RibbonFilter::build(&digests, &Spec::fpr(0.01, 2_000).with_seed(9)).unwrap();
    let parts = filter.parts();
    assert_eq!((parts.seed, parts.len, parts.r, filter.layers()), (9, 2_000, 7, 2));
    let table = filter.table();
    assert!(RibbonFilter::from_parts(parts, table).unwrap() == filter);

    let refused = |parts| RibbonFilter::from_parts(parts, table).unwrap_err();
    for (slots, r) in [(0, 7), (63, 7), (u64::MAX, 7), (1 << 51, 7), (parts.slots, 0), (parts.slots, 33)] {
        assert_eq!(refused(RibbonParts { slots, r, ..parts }), PartsError::Size { slots, r });
    }
    for attempts in [0, MAX_ATTEMPTS + 1, u32::MAX] {
        assert_eq!(refused(RibbonParts { attempts, ..parts }), PartsError::Attempts { attempts });
    }
    let slots = filter.slots();
    assert_eq!(refused(RibbonParts { len: slots + 1, ..parts }), PartsError::Len { len: slots + 1, slots });
    for slots in [slots - 64, slots + 64] {
        let error = refused(RibbonParts { slots, ..parts });
        assert!(matches!(error, PartsError::Bytes { bytes, .. } if bytes == table.len() as u64), "{error}");
    }
    for len in 0..table.len() {
        let (bytes, expected) = (len as u64, table.len() as u64);
        let error = RibbonFilter::from_parts(parts, &table[..len]).unwrap_err();
        assert_eq!(error, PartsError::Bytes { bytes, expected });
        assert_eq!(error.to_string(), format!("the table has {len} bytes instead of {expected}"));
    }
}

/// Whatever is in a table of the right length, a lookup ends and stays inside it.
#[test]
fn any_table_can_be_asked() {
    for slots in [64, 65, 127, 128, 600, 5_000, 100_000] {
        for r in [1, 7, 32] {
            for byte in [0, 0x55, 0xaa, 0xff] {
                let parts = RibbonParts { slots, r, seed: 1, attempts: 1, len: 1 };
                let Err(PartsError::Bytes { expected, .. }) = RibbonFilter::from_parts(parts, &[][..]) else {
                    panic!("no table is empty");
                };
                let table = vec![byte; usize::try_from(expected).unwrap()];
                let filter = RibbonFilter::from_parts(parts, &table[..]).unwrap();
                let queries: Vec<_> = (0..2_000).map(|i| Digest::new(i).remix(4)).collect();
                let mut answers = vec![false; queries.len()];
                amq::Amq::contains_batch(&filter, &queries, &mut answers);
                let hits = answers.iter().filter(|&&answer| answer).count() as u64;
                assert_eq!(amq::Amq::count_hits(&filter, &queries), hits);
            }
        }
    }
}

#[test]
fn debug_is_short() {
    let filter = RibbonFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1)).unwrap();
    assert_eq!(
        format!("{filter:?}"),
        "BumpedRibbon { width: 64, len: 1, slots: 64, layers: 1, r: 7, seed: 0, attempts: 1, .. }"
    );
    assert_eq!(filter.clone(), filter);
}
