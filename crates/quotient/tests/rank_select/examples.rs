//! Small tables, worked by hand.

use amq::{Amq, Count, Insert, Remove, Stats};
use amq_quotient::RankSelectView;

use crate::suite::common::{assert_is, digest, filter_of, views};

const EMPTY: RankSelectView =
    RankSelectView { occupied: false, run_end: false, remainder: 0, quotient: None };

/// The occupied and the run-end bit as digits, remainder, home.
fn slot(bits: [u8; 2], remainder: u64, quotient: u64) -> RankSelectView {
    let [occupied, run_end] = bits.map(|bit| bit == 1);
    RankSelectView { occupied, run_end, remainder, quotient: Some(quotient) }
}

#[test]
fn three_records_then_one_between_them() {
    let mut filter = filter_of(8, 3, &[(1, 1), (1, 3), (2, 2)]);
    let mut expected = [EMPTY; 8];
    expected[1..4].copy_from_slice(&[slot([1, 0], 1, 1), slot([1, 1], 3, 1), slot([0, 1], 2, 2)]);
    assert_eq!(views(&filter), expected);
    filter.insert(digest(filter.geometry(), (1, 2))).unwrap();
    expected[1..5].copy_from_slice(&[
        slot([1, 0], 1, 1),
        slot([1, 0], 2, 1),
        slot([0, 1], 3, 1),
        slot([0, 1], 2, 2),
    ]);
    assert_eq!(views(&filter), expected);
    // The offset, eight occupied bits of 56, eight run-end bits of 56, and remainders of three bits: 1, 2, 3, 2 in slots 1 to 4.
    let bytes = filter.bytes();
    assert_eq!(bytes.len(), 15 + 21 + 7);
    assert_eq!((bytes[0], bytes[1], bytes[8]), (0, 0b110, 0b11000));
    assert_eq!(u16::from_le_bytes([bytes[15], bytes[16]]), 0b010_011_010_001_000);
    assert_eq!(filter.fingerprints().collect::<Vec<_>>(), [(9, 1), (10, 1), (11, 1), (18, 1)]);
    assert_eq!(filter.expected_fpr(), Some(4.0 / 64.0));
    let lengths: Vec<_> = filter.histograms().into_iter().map(|histogram| histogram.counts).collect();
    assert_eq!(lengths, [vec![0, 1, 0, 1], vec![0, 0, 0, 0, 1]]);
}

#[test]
fn a_cluster_passes_the_last_slot() {
    let records = [(7, 1), (7, 2), (7, 3), (6, 1), (6, 2)];
    let mut filter = filter_of(8, 3, &records);
    assert_is(&filter, &records);
    let expected = [slot([0, 0], 1, 7), slot([0, 0], 2, 7), slot([0, 1], 3, 7)];
    assert_eq!(views(&filter)[..3], expected);
    // Three slots of the only block are taken from behind.
    assert_eq!(filter.bytes()[0], 3);
    for record in records {
        assert_eq!(filter.count(digest(filter.geometry(), record)), 1, "{record:?}");
    }
    let listed: Vec<_> = filter.fingerprints().map(|(f, _)| filter.geometry().parts(f)).collect();
    assert_eq!(listed, [(6, 1), (6, 2), (7, 1), (7, 2), (7, 3)]);
    assert!(filter.remove(digest(filter.geometry(), (6, 1))));
    assert_eq!(filter.bytes()[0], 2);
    filter.check_invariants().unwrap();
}
