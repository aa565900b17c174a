//! Set algebra: against multisets, its laws, and what it refuses.

use std::collections::BTreeMap;

use super::common::{below, digest, digests, empty, random};
use crate::Tested;
use amq::{Amq, Count, Family, Insert, Intersect, MergeError, MultisetAlgebra, Remove, Spec, Union};
use amq_quotient::Geometry;
use proptest::prelude::*;

type Multiset = BTreeMap<u64, u64>;

/// m = `slots`·2^`doublings` over M = slots·2^r·2^`finer`.
#[derive(Clone, Debug)]
struct Operand {
    doublings: u32,
    finer: u32,
    /// A coarse range, so that operands have much in common.
    fingerprints: Vec<u16>,
}

fn operand() -> impl Strategy<Value = Operand> {
    (0_u32..3, prop_oneof![3 => Just(0_u32), 1 => 1_u32..3], prop::collection::vec(0_u16..400, 0..60))
        .prop_map(|(doublings, finer, fingerprints)| Operand { doublings, finer, fingerprints })
}

/// The filter, or what of it fits.
fn filter_of(slots: u64, r: u32, operand: &Operand) -> Tested {
    let geometry = Geometry::new(slots << operand.doublings, r + operand.finer - operand.doublings).unwrap();
    let mut filter = Tested::with_geometry(geometry, 0).unwrap();
    let all = u64::try_from(geometry.fingerprints()).unwrap();
    for &raw in &operand.fingerprints {
        if filter.remaining() > Some(0) {
            let fingerprint = (all / 400 * u64::from(raw)).min(all - 1);
            filter.insert(geometry.smallest_digest(fingerprint)).unwrap();
        }
    }
    filter
}

/// What a filter holds, in a space of `coarsest` fingerprints.
fn multiset(filter: &Tested, coarsest: u128) -> Multiset {
    let ratio = u64::try_from(filter.geometry().fingerprints() / coarsest).unwrap();
    let mut all = Multiset::new();
    for (fingerprint, multiplicity) in filter.fingerprints() {
        *all.entry(fingerprint / ratio).or_default() += multiplicity;
    }
    all
}

fn by_hand(left: &Multiset, right: &Multiset, how: fn(u64, u64) -> u64) -> Multiset {
    let count = |set: &Multiset, fingerprint| set.get(fingerprint).copied().unwrap_or(0);
    let mut all = Multiset::new();
    for fingerprint in left.keys().chain(right.keys()) {
        let result = how(count(left, fingerprint), count(right, fingerprint));
        if result > 0 {
            all.insert(*fingerprint, result);
        }
    }
    all
}

fn assert_holds(filter: &Tested, expected: &Multiset, coarsest: u128) {
    filter.check_invariants().unwrap();
    assert_eq!(filter.geometry().fingerprints(), coarsest);
    assert_eq!(filter.records(), expected.values().sum::<u64>());
    assert!(filter.fingerprints().eq(expected.iter().map(|(&f, &count)| (f, count))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn operations_are_those_of_multisets(
        slots in 8_u64..=33, r in 7_u32..=9, a in operand(), b in operand(), c in operand(),
    ) {
        let [a, b, c] = [a, b, c].map(|operand| filter_of(slots, r, &operand));
        let coarsest = a.geometry().fingerprints().min(b.geometry().fingerprints());
        let (left, right) = (multiset(&a, coarsest), multiset(&b, coarsest));

        let union = a.union(&b).unwrap();
        assert_holds(&union, &by_hand(&left, &right, u64::max), coarsest);
        let intersection = a.intersect(&b).unwrap();
        assert_holds(&intersection, &by_hand(&left, &right, u64::min), coarsest);
        let sum = a.merge(&b).unwrap();
        assert_holds(&sum, &by_hand(&left, &right, |x, y| x + y), coarsest);
        let difference = a.difference(&b).unwrap();
        assert_holds(&difference, &by_hand(&left, &right, u64::saturating_sub), coarsest);

        // Commutative, to the byte.
        prop_assert_eq!(&b.union(&a).unwrap(), &union);
        prop_assert_eq!(&b.intersect(&a).unwrap(), &intersection);
        prop_assert_eq!(&b.merge(&a).unwrap(), &sum);
        // Associative, in what they hold.
        let same = |left: Tested, right: Tested| left.same_fingerprints(&right);
        // (A larger or a smaller multiplicity is another one after truncation, so the M have to agree.)
        if a.geometry().fingerprints() == coarsest && b.geometry().fingerprints() == coarsest
            && c.geometry().fingerprints() == coarsest
        {
            prop_assert!(same(union.union(&c).unwrap(), a.union(&b.union(&c).unwrap()).unwrap()));
            prop_assert!(same(intersection.intersect(&c).unwrap(), a.intersect(&b.intersect(&c).unwrap()).unwrap()));
        }
        // What ties the operations to each other.
        if a.geometry().fingerprints() == coarsest && b.geometry().fingerprints() == coarsest {
            let back = b.difference(&a).unwrap();
            prop_assert!(same(a.union(&intersection).unwrap(), a.clone()));
            prop_assert!(same(a.intersect(&union).unwrap(), a.clone()));
            prop_assert!(same(a.difference(&difference).unwrap(), intersection.clone()));
            prop_assert!(same(a.difference(&intersection).unwrap(), difference.clone()));
            prop_assert!(same(a.merge(&back).unwrap(), union.clone()));
            prop_assert!(same(union.merge(&intersection).unwrap(), sum.clone()));
        }
        let all = Tested::merge_many(&[&a, &b, &c]).unwrap();
        all.check_invariants().unwrap();
        prop_assert!(same(sum.merge(&c).unwrap(), all.clone()));
        prop_assert_eq!(&Tested::merge_many(&[&c, &a, &b]).unwrap(), &all);
        // Idempotent, and neutral or absorbing with nothing. What is full stays in its table.
        assert_eq!(a.union(&a).unwrap().bytes(), a.bytes());
        assert_eq!(a.intersect(&a).unwrap().bytes(), a.bytes());
        let nothing = Tested::with_geometry(a.geometry(), 0).unwrap();
        prop_assert_eq!(&a.merge(&nothing).unwrap(), &a);
        prop_assert_eq!(&Tested::merge_many(&[&a]).unwrap(), &a);
        prop_assert_eq!(&a.difference(&nothing).unwrap(), &a);
        prop_assert_eq!(&a.difference(&a).unwrap(), &nothing);
        assert_eq!(a.intersect(&nothing).unwrap().bytes(), nothing.bytes());
        // |A| + |B| = |A ∪ B| + |A ∩ B|, and A + B - B = A.
        prop_assert_eq!(union.records() + intersection.records(), a.records() + b.records());
        if a.geometry().fingerprints() == coarsest {
            prop_assert!(same(sum.difference(&b).unwrap(), a));
        }
    }
}

#[test]
fn the_right_operand_is_not_forgotten() {
    let spec = Spec::fpr(0.01, 50);
    let keys = digests(1, 100);
    let left = Tested::build(&keys[..50], &spec).unwrap();
    let right = Tested::build(&keys[50..], &spec).unwrap();
    for both in [left.merge(&right).unwrap(), left.union(&right).unwrap()] {
        assert_eq!(both.count_hits(&keys), 100);
        // The slots of one do not hold 100 records, twice as many do at a load of at most .95.
        assert!(left.geometry().slots() < 100, "{:?}", left.geometry());
        assert_eq!(both.geometry().slots(), 2 * left.geometry().slots());
    }
}

#[test]
fn a_difference_of_a_subset_is_the_filter_of_the_rest() {
    let spec = Spec::shape(0.9, 7, 20_000).with_seed(4);
    let keys = digests(4, 20_000);
    let all = Tested::build(&keys, &spec).unwrap();
    let part = Tested::build(&keys[5_000..], &spec).unwrap();
    let rest = all.difference(&part).unwrap();
    assert_eq!(rest, Tested::build(&keys[..5_000], &spec).unwrap());
    assert_eq!(rest.bytes(), Tested::build(&keys[..5_000], &spec).unwrap().bytes());
    assert!(rest.removal_is_safe());
}

#[test]
fn a_difference_may_lose_a_key_that_collides_with_one_of_the_right_only() {
    let geometry = Geometry::new(8, 3).unwrap();
    let ours = digest(geometry, (1, 1));
    let theirs = amq::Digest::new(ours.get() + 1);
    let mut left = empty(8, 3);
    left.insert(ours).unwrap();
    let mut right = empty(8, 3);
    right.insert(theirs).unwrap();
    assert!(!left.difference(&right).unwrap().contains(ours));
}

#[test]
fn no_false_negative_in_an_intersection() {
    let spec = Spec::fpr(0.02, 500);
    let keys = digests(9, 750);
    let left = Tested::build(&keys[..500], &spec).unwrap();
    let right = Tested::build(&keys[250..], &spec).unwrap();
    let both = left.intersect(&right).unwrap();
    assert_eq!(both.count_hits(&keys[250..500]), 250);
    // Its rate is at least that of a filter built from the intersection: pairs that collide stay.
    let built = Tested::build(&keys[250..500], &spec).unwrap();
    assert!(both.expected_fpr() >= built.expected_fpr());
}

#[test]
fn removal_is_safe_after_a_sum_and_not_after_a_union() {
    let geometry = Geometry::new(16, 3).unwrap();
    let a = digest(geometry, (3, 5));
    let b = amq::Digest::new(a.get() + 1);
    let (mut left, mut right) = (empty(16, 3), empty(16, 3));
    left.insert(a).unwrap();
    right.insert(b).unwrap();

    let mut sum = left.merge(&right).unwrap();
    assert!(sum.removal_is_safe());
    assert_eq!(sum.count(a), 2);
    assert!(sum.remove(a) && sum.contains(b));

    let mut union = left.union(&right).unwrap();
    assert!(!union.removal_is_safe());
    assert!(union.remove(a) && !union.contains(b));
    // The mark is inherited.
    assert!(!union.merge(&left).unwrap().removal_is_safe());
    assert!(!left.merge(&union).unwrap().removal_is_safe());
    assert!(!union.difference(&left).unwrap().removal_is_safe());
    // Every record of a part is found, not every one of the whole.
    let twice = left.merge(&left).unwrap();
    assert!(twice.difference(&left).unwrap().removal_is_safe());
    assert!(!left.difference(&twice).unwrap().removal_is_safe());
    assert!(!left.intersect(&right).unwrap().removal_is_safe());
}

#[test]
fn what_does_not_fit_together_is_named_and_unchanged() {
    let left = Tested::build(&digests(1, 50), &Spec::shape(0.5, 8, 50).with_seed(1)).unwrap();
    let cases = [
        (Spec::shape(0.5, 8, 50).with_seed(2), MergeError::Seed { left: 1, right: 2 }),
        // 101 slots instead of 100, and 150: no power of two between them.
        (Spec::shape(50.0 / 101.0, 8, 50).with_seed(1), MergeError::Size { left: 25_600, right: 25_856 }),
        (Spec::shape(1.0 / 3.0, 8, 50).with_seed(1), MergeError::Size { left: 25_600, right: 38_400 }),
    ];
    for (spec, expected) in cases {
        let right = Tested::build(&digests(2, 50), &spec).unwrap();
        let before = (left.clone(), right.clone());
        for result in
            [left.merge(&right), left.union(&right), left.intersect(&right), left.difference(&right)]
        {
            assert_eq!(result.unwrap_err(), expected);
        }
        assert_eq!((left.clone(), right), before);
    }
    assert_eq!(Tested::merge_many(&[]).unwrap_err(), MergeError::Empty);
}

#[test]
fn sums_grow_until_the_remainder_is_used_up() {
    let keys = digests(3, 70);
    let parts: Vec<_> =
        keys.chunks(7).map(|part| Tested::build(part, &Spec::shape(1.0, 4, 7)).unwrap()).collect();
    let all = |n: usize| Tested::merge_many(&parts.iter().take(n).collect::<Vec<_>>());
    for (n, slots, r) in [(1, 8, 4), (2, 16, 3), (4, 32, 2), (8, 64, 1)] {
        let sum = all(n).unwrap();
        assert_eq!((sum.geometry().slots(), sum.geometry().r()), (slots, r), "{n} parts");
        assert_eq!(sum.count_hits(&keys[..7 * n]), 7 * n as u64);
        sum.check_invariants().unwrap();
    }
    // 63 records fill 64 slots but one, above the load limit: there is no bit left to do better. 70 do not fit at all.
    assert_eq!(all(9).unwrap().load_factor(), 63.0 / 64.0);
    assert_eq!(all(10).unwrap_err(), MergeError::RemainderExhausted { records: 70 });
}

#[test]
fn many_operands_of_many_shapes() {
    let mut rng = random(17);
    let keys = digests(17, 6_000);
    let parts: Vec<_> = keys
        .chunks(300)
        .map(|part| {
            // M = 500·2^12 to 500·2^14, m = 500 to 2,000.
            let (doublings, finer) = (below(&mut rng, 3), below(&mut rng, 3));
            let r = u32::try_from(12 + finer - doublings).unwrap();
            let mut filter = empty(500 << doublings, r);
            filter.insert_batch(part).unwrap();
            filter
        })
        .collect();
    let sum = Tested::merge_many(&parts.iter().collect::<Vec<_>>()).unwrap();
    sum.check_invariants().unwrap();
    assert_eq!(sum.geometry().fingerprints(), 500 << 12);
    assert_eq!((sum.geometry().slots(), sum.records()), (8_000, 6_000));
    let mut built = Tested::with_geometry(sum.geometry(), 0).unwrap();
    built.insert_batch(&keys).unwrap();
    assert_eq!(sum, built);
}

#[test]
fn the_result_has_the_slots_that_are_promised() {
    let shape = |filter: &Tested| (filter.geometry().slots(), filter.geometry().r());
    let filter = |slots, r| {
        let mut filter = empty(slots, r);
        filter.insert_batch(&digests(slots, 5)).unwrap();
        filter
    };
    // The larger m, but for a difference the left one's.
    let (small, large) = (filter(8, 6), filter(32, 4));
    assert_eq!(shape(&small.merge(&large).unwrap()), (32, 4));
    assert_eq!(shape(&small.intersect(&large).unwrap()), (32, 4));
    assert_eq!(shape(&small.difference(&large).unwrap()), (8, 6));
    assert_eq!(shape(&large.difference(&small).unwrap()), (32, 4));
    // One remainder bit is kept, and that suffices.
    let narrow = filter(64, 1);
    assert_eq!(shape(&narrow.merge(&filter(64, 1)).unwrap()), (64, 1));
    assert_eq!(narrow.merge(&empty(64, 1)).unwrap(), narrow);
    // M = 128 and M = 32: of the 32 slots of the finer one, 16 can be kept.
    let (fine, coarse) = (filter(32, 2), filter(8, 2));
    for result in [fine.merge(&coarse), coarse.union(&fine), fine.difference(&coarse)] {
        let result = result.unwrap();
        assert_eq!(shape(&result), (16, 1));
        result.check_invariants().unwrap();
    }
}
