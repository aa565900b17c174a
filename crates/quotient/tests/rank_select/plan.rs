//! Plans: sizes and ranges.

use amq::{Family, Spec, SpecError, theory};

use crate::Tested;

#[test]
fn blocks_are_lines_where_that_is_cheap() {
    // Slots and bytes of a block: 504 over r + 2 slots in a line, or 56 in 15 + 7r bytes.
    let blocks =
        [(1, 56, 22), (7, 56, 64), (8, 50, 64), (9, 56, 78), (10, 42, 64), (12, 36, 64), (16, 28, 64)];
    for (r, in_block, bytes) in blocks.into_iter().chain([(20, 56, 155), (57, 56, 414)]) {
        for slots in [2, in_block - 1, in_block, in_block + 1, 127] {
            let plan = Tested::plan(&Spec::shape(1.0, r, slots - 1)).unwrap();
            assert_eq!(plan.slots, slots);
            assert_eq!(plan.table_bytes, slots.div_ceil(in_block) * bytes + 7, "r {r}, m {slots}");
        }
    }
}

/// At most r + 2.3 bits for each of ceil(n/α) slots, one block and padding apart: no step at powers of two.
#[test]
fn no_steps_in_the_space() {
    for r in 1..=40 {
        for k in 7..24 {
            for n in [(1 << k) - 1, 1 << k, (1 << k) + 1, (1 << k) * 19 / 20, (1 << k) * 3 / 2] {
                let plan = Tested::plan(&Spec::shape(0.95, r, n)).unwrap();
                assert_eq!(plan.slots, theory::quotient::slots(n, 0.95).unwrap());
                let block = if [7, 8, 10, 12, 16].contains(&r) { 64 } else { 15 + 7 * u64::from(r) };
                let most = plan.slots as f64 * (f64::from(r) + 2.3) / 8.0;
                let least = plan.slots as f64 * (f64::from(r) + 2.125) / 8.0;
                assert!(plan.table_bytes as f64 <= most + (block + 7) as f64, "r {r}, n {n}: {plan:?}");
                assert!(plan.table_bytes as f64 >= least, "r {r}, n {n}: {plan:?}");
            }
        }
    }
}

#[test]
fn wishes_out_of_range_are_named() {
    for r in [0, 58, 64, u32::MAX] {
        let range = SpecError::Remainder { r, lowest: 1, highest: 57 };
        assert_eq!(Tested::plan(&Spec::shape(0.5, r, 8)), Err(range));
    }
    for capacity in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1] {
        assert_eq!(Tested::plan(&Spec::fpr(0.01, capacity)), Err(SpecError::TooLarge { capacity }));
        assert_eq!(Tested::plan(&Spec::shape(1.0, 1, capacity)), Err(SpecError::TooLarge { capacity }));
    }
    // More than any memory, and still the right numbers: 56 slots of 7 bits in a line.
    let plan = Tested::plan(&Spec::fpr(0.01, 1 << 40)).unwrap();
    let slots = theory::quotient::slots(1 << 40, 0.95).unwrap();
    assert_eq!((plan.slots, plan.r, plan.table_bytes), (slots, 7, slots.div_ceil(56) * 64 + 7));
}
