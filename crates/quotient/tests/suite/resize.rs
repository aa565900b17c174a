//! Growing and shrinking without keys.

use amq::{Amq, Family, Grow, Insert, InsertError, Remove, ResizeError, Shrink, Spec};
use amq_quotient::GrowingFilter;

use super::common::{digests, empty};
use crate::Tested;

#[test]
fn growing_changes_no_answer() {
    let seed = 21;
    for (alpha, r) in [(0.5, 4), (0.9, 8), (0.985, 12)] {
        let keys = digests(seed, 170_000);
        let mut filter = Tested::build(&keys, &Spec::shape(alpha, r, 170_000)).unwrap();
        let queries: Vec<_> = keys.iter().copied().chain(digests(seed + 1, 170_000)).collect();
        let answers: Vec<_> = queries.iter().map(|&query| filter.contains(query)).collect();
        let (original, rate) = (filter.clone(), filter.expected_fpr());
        filter.grow().unwrap();
        filter.check_invariants().unwrap();
        assert!(queries.iter().map(|&query| filter.contains(query)).eq(answers));
        assert_eq!(filter.expected_fpr(), rate);
        assert!(filter.same_fingerprints(&original));
        filter.grow().unwrap();
        filter.shrink().unwrap();
        filter.shrink().unwrap();
        assert_eq!(filter, original, "alpha {alpha}, r {r}, seed {seed}");
    }
}

#[test]
fn what_cannot_shrink_says_why() {
    let mut odd = empty(7, 3);
    assert_eq!(odd.shrink(), Err(ResizeError::OddSlots { slots: 7 }));
    let highest = Tested::R.1;
    let mut wide = empty(16, highest);
    assert_eq!(wide.shrink(), Err(ResizeError::RemainderFull { highest }));
    let mut small = empty(2, 3);
    assert_eq!(small.shrink(), Err(ResizeError::Smallest { slots: 2 }));
    let mut full = empty(8, 3);
    full.insert_batch(&digests(1, 4)).unwrap();
    let before = full.clone();
    assert_eq!(full.shrink(), Err(ResizeError::Full { records: 4, limit: 3 }));
    assert_eq!(full, before);
}

#[test]
fn shrinking_to_fit_stops_at_the_load_limit() {
    let keys = digests(8, 300);
    let mut filter = empty(1_024, 8);
    filter.insert_batch(&keys).unwrap();
    let original = filter.clone();
    // 512 slots hold 486 at a load of .95, 256 would hold 243.
    filter.shrink_to_fit().unwrap();
    assert_eq!((filter.geometry().slots(), filter.geometry().r()), (512, 9));
    filter.check_invariants().unwrap();
    assert!(filter.same_fingerprints(&original));
    let once = filter.clone();
    filter.shrink_to_fit().unwrap();
    assert_eq!(filter, once);

    // To the last even m, and not below 2 slots; and as far as a remainder can be stored.
    let shrunk = |slots, r| {
        let mut filter = empty(slots, r);
        filter.shrink_to_fit().unwrap();
        (filter.geometry().slots(), filter.geometry().r())
    };
    assert_eq!(shrunk(24, 3), (3, 6));
    assert_eq!(shrunk(16, 3), (2, 6));
    assert_eq!(shrunk(64, Tested::R.1 - 2), (16, Tested::R.1));
}

#[test]
fn a_growing_filter_takes_what_there_are_fingerprints_for() {
    let keys = digests(9, 1_100);
    let start = empty(16, 7);
    let fingerprints = start.geometry().fingerprints();
    let mut filter = GrowingFilter::new(start, 0.75).unwrap();
    assert_eq!(filter.remaining(), Some(1_023));
    for (i, &key) in (1..).zip(&keys[..1_023]) {
        filter.insert(key).unwrap();
        let geometry = filter.filter().geometry();
        assert!(geometry.r() == 1 || f64::from(i) <= 0.75 * geometry.slots() as f64, "{i}: {geometry:?}");
        assert!(
            geometry.slots() == 16 || f64::from(i) > 0.375 * geometry.slots() as f64,
            "{i}: {geometry:?}"
        );
        assert_eq!(geometry.fingerprints(), fingerprints);
    }
    assert_eq!((filter.filter().geometry().slots(), filter.remaining()), (1_024, Some(0)));
    assert_eq!(filter.count_hits(&keys[..1_023]), 1_023);
    filter.filter().check_invariants().unwrap();
    let before = filter.clone();
    assert_eq!(filter.insert(keys[1_023]), Err(InsertError::Full { records: 1, len: 1_023, limit: 1_023 }));
    assert_eq!(filter, before);
    assert!(filter.remove(keys[0]));
    assert_eq!(filter.insert_batch(&keys[1_023..1_024]), Ok(()));

    // A batch grows once for all.
    let mut batched = GrowingFilter::new(empty(16, 7), 0.75).unwrap();
    batched.insert_batch(&keys[..500]).unwrap();
    assert_eq!(batched.filter().geometry().slots(), 1_024);
    // A limit of 1 grows when the table is full, one by one and for a batch that ends with the last slot.
    let mut full = GrowingFilter::new(empty(16, 7), 1.0).unwrap();
    for &key in &keys[..40] {
        full.insert(key).unwrap();
    }
    assert_eq!(full.filter().geometry().slots(), 64);
    full.insert_batch(&keys[40..64]).unwrap();
    assert_eq!((full.filter().geometry().slots(), full.len()), (128, Some(64)));
    // One that fits no table does not grow it.
    let mut refusing = GrowingFilter::new(empty(16, 7), 0.75).unwrap();
    let before = refusing.clone();
    assert!(refusing.insert_batch(&keys[..1_024]).is_err());
    assert_eq!(refusing, before);
    for limit in [0.0, -1.0, 1.01, f64::NAN] {
        assert!(GrowingFilter::new(empty(16, 7), limit).is_err(), "{limit}");
    }
}
