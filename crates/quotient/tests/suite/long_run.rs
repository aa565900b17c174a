//! Millions of operations on tables that wax and wane, with the whole table re-derived again and again.

use std::collections::BTreeMap;

use super::common::{below, empty, random};
use amq::{Amq, Count, Digest, Insert, Remove};
use amq_quotient::Geometry;
use rand_xoshiro::rand_core::Rng;

/// Operations on a table that waves between about half full and full, checked as a whole each `check_each` of them.
fn wave(seed: u64, slots: u64, r: u32, operations: u32, check_each: u32) {
    let mut rng = random(seed);
    let geometry = Geometry::new(slots, r).unwrap();
    let mut filter = empty(slots, r);
    let mut model = BTreeMap::<u64, u64>::new();
    let mut stored = Vec::<Digest>::new();
    for step in 0..operations {
        let filling =
            (step / (operations / 5)).is_multiple_of(2) || stored.len() < usize::try_from(slots / 2).unwrap();
        if below(&mut rng, 100) < if filling { 60 } else { 40 } {
            // Every fourth is one that is there already.
            let repeat = !stored.is_empty() && below(&mut rng, 4) == 0;
            let digest = if repeat {
                stored[usize::try_from(below(&mut rng, stored.len() as u64)).unwrap()]
            } else {
                Digest::new(rng.next_u64())
            };
            let full = stored.len() as u64 == slots - 1;
            assert_eq!(filter.insert(digest).is_err(), full, "step {step}, seed {seed}");
            if !full {
                *model.entry(geometry.fingerprint(digest)).or_default() += 1;
                stored.push(digest);
            }
        } else if !stored.is_empty() {
            let digest = stored.swap_remove(usize::try_from(below(&mut rng, stored.len() as u64)).unwrap());
            assert!(filter.remove(digest), "step {step}, seed {seed}");
            let fingerprint = geometry.fingerprint(digest);
            let count = model.get_mut(&fingerprint).unwrap();
            *count -= 1;
            if *count == 0 {
                model.remove(&fingerprint);
            }
        }
        let query = Digest::new(rng.next_u64());
        let count = model.get(&geometry.fingerprint(query)).copied().unwrap_or(0);
        assert_eq!(filter.count(query), count, "step {step}, seed {seed}");
        assert_eq!(filter.contains(query), count > 0, "step {step}, seed {seed}");
        if step % check_each == check_each - 1 {
            filter.check_invariants().unwrap_or_else(|error| panic!("{error}, step {step}, seed {seed}"));
            assert!(filter.fingerprints().eq(model.iter().map(|(&f, &count)| (f, count))));
            assert!(stored.iter().all(|&digest| filter.contains(digest)), "step {step}, seed {seed}");
        }
    }
}

#[test]
fn a_million_operations_on_large_tables() {
    for (seed, slots, r) in [(1, 1_000, 8), (2, 1_023, 1), (3, 257, 54), (5, 64, 3)] {
        wave(seed, slots, r, 250_000, 1_000);
    }
    wave(4, 65_537, 12, 250_000, 25_000);
}

#[test]
fn a_million_operations_on_all_small_sizes() {
    for slots in 2..=130 {
        // The widths that have a path of their own, and others.
        let r = [8, 3, 12, 1, 16, 9, 10, 7, 27][usize::try_from(slots % 9).unwrap()];
        wave(100 + slots, slots, r, 8_000, 200);
    }
}
