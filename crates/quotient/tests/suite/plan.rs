//! Plans that no layout may get wrong.

use amq::{Amq, Family, Insert, MultisetAlgebra, Spec, Target};
use amq_quotient::Geometry;

use super::common::digests;
use crate::Tested;

#[test]
fn no_wish_panics() {
    let floats = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        -1.0,
        5e-324,
        1e-320,
        f64::MIN_POSITIVE,
        1e-19,
        1e-9,
        0.5,
        0.95,
        0.999,
        f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        1.0,
        1.5,
        4.0,
        57.0,
        64.0,
        1e19,
        f64::MAX,
    ];
    let capacities = [0, 1, 2, 3, 1 << 10, (1 << 53) + 1, 1 << 57, 1 << 62, u64::MAX - 1, u64::MAX];
    for capacity in capacities {
        for x in floats {
            for r in [0, 1, 2, 30, 54, 55, 63, 64, u32::MAX] {
                for target in [Target::Shape { alpha: x, r }, Target::Fpr(x), Target::BitsPerKey(x)] {
                    if let Ok(plan) = Tested::plan(&Spec::new(target, capacity)) {
                        assert!(plan.slots > capacity && plan.slots >= 2, "{target:?} {capacity}");
                        assert!(Geometry::new(plan.slots, plan.r).is_some(), "{target:?} {capacity}");
                        assert!(plan.fpr >= 0.0 && plan.fpr < 1.0, "{target:?} {capacity}");
                    }
                }
            }
        }
    }
}

/// M = 2^64 needs 65 bits: ten bits of quotient, 54 of remainder.
#[test]
fn as_many_fingerprints_as_digests() {
    let spec = Spec::shape(1.0, 54, 1_023).with_seed(5);
    let keys = digests(5, 1_800);
    let left = Tested::build(&keys[..900], &spec).unwrap();
    let right = Tested::build(&keys[900..], &spec).unwrap();
    assert_eq!(left.geometry().fingerprints(), 1 << 64);
    // A fingerprint is then the digest itself, and nothing else is found.
    assert!(left.fingerprints().all(|(fingerprint, _)| keys.contains(&amq::Digest::new(fingerprint))));
    assert_eq!(left.expected_fpr(), Some(900.0 / 2_f64.powi(64)));
    assert_eq!(left.count_hits(&keys), 900);
    assert_eq!(left.count_hits(&digests(6, 100_000)), 0);

    let both = left.merge(&right).unwrap();
    both.check_invariants().unwrap();
    assert_eq!((both.geometry().slots(), both.geometry().r(), both.records()), (1 << 11, 53, 1_800));
    assert_eq!(both.count_hits(&keys), 1_800);
    let mut grown = both.clone();
    assert_eq!(grown.insert(amq::Digest::new(u64::MAX)), Ok(()));
    assert!(grown.contains(amq::Digest::new(u64::MAX)) && !both.contains(amq::Digest::new(u64::MAX)));
}
