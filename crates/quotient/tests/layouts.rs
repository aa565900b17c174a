//! Both layouts side by side: after the same operations they hold the same multiset.

use amq::{Amq, Count, Digest, Grow, Insert, MultisetAlgebra, Remove, Union};
use amq_quotient::{Geometry, QuotientFilter, RankSelectQuotientFilter};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

#[test]
fn both_layouts_decode_to_the_same_multiset() {
    for (seed, slots, r) in
        [(1, 2, 5), (2, 63, 8), (3, 64, 12), (4, 65, 1), (5, 128, 16), (6, 1_000, 9), (7, 10_007, 8)]
    {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let geometry = Geometry::new(slots, r).unwrap();
        let mut three_bit = QuotientFilter::with_geometry(geometry, 0).unwrap();
        let mut rank_select = RankSelectQuotientFilter::with_geometry(geometry, 0).unwrap();
        let mut stored = Vec::new();
        for step in 0..slots * 4 {
            let digest = Digest::new(rng.next_u64());
            // A quarter of the steps takes one out, so that the tables fill up.
            if step % 4 == 3 && !stored.is_empty() {
                let at = usize::try_from(digest.scale(stored.len() as u64)).unwrap();
                let out = stored.swap_remove(at);
                assert!(three_bit.remove(out) && rank_select.remove(out), "step {step}, seed {seed}");
            } else {
                assert_eq!(three_bit.insert(digest), rank_select.insert(digest), "step {step}, seed {seed}");
                if three_bit.records() > stored.len() as u64 {
                    stored.push(digest);
                }
            }
            let query = Digest::new(rng.next_u64());
            assert_eq!(three_bit.count(query), rank_select.count(query), "step {step}, seed {seed}");
            assert_eq!(three_bit.contains(query), rank_select.contains(query), "step {step}, seed {seed}");
        }
        let same = |three_bit: &QuotientFilter, rank_select: &RankSelectQuotientFilter| {
            assert!(three_bit.fingerprints().eq(rank_select.fingerprints()), "seed {seed}");
            assert_eq!(three_bit.expected_fpr(), rank_select.expected_fpr(), "seed {seed}");
            for slot in (0..three_bit.geometry().slots()).step_by(usize::try_from(slots / 50 + 1).unwrap()) {
                let (one, other) = (three_bit.slot(slot), rank_select.slot(slot));
                assert_eq!(
                    (one.occupied, one.remainder, one.quotient),
                    (other.occupied, other.remainder, other.quotient),
                    "slot {slot}, seed {seed}"
                );
            }
        };
        same(&three_bit, &rank_select);
        if r > 1 {
            let (mut grown, mut other) = (three_bit.clone(), rank_select.clone());
            grown.grow().unwrap();
            other.grow().unwrap();
            same(&grown, &other);
            same(&three_bit.merge(&three_bit).unwrap(), &rank_select.merge(&rank_select).unwrap());
            same(&grown.union(&three_bit).unwrap(), &other.union(&rank_select).unwrap());
        }
    }
}
