//! Growing and shrinking without keys.

use amq::{Amq, Family, Grow, Insert, ResizeError, Shrink, Spec};

use super::common::{digests, empty};
use crate::Tested;

#[test]
fn growing_changes_no_answer() {
    let seed = 21;
    for (alpha, r) in [(0.5, 4), (0.9, 8), (0.985, 12)] {
        let keys = digests(seed, 50_000);
        let mut filter = Tested::build(&keys, &Spec::shape(alpha, r, 50_000)).unwrap();
        let queries: Vec<_> = keys.iter().copied().chain(digests(seed + 1, 50_000)).collect();
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
