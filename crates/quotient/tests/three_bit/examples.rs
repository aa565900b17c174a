//! Small tables, worked by hand.

use amq::{Amq, Count, Insert, Remove, Stats};
use amq_quotient::SlotView;

use crate::suite::common::{assert_is, digest, filter_of, views};

const EMPTY: SlotView =
    SlotView { occupied: false, continuation: false, shifted: false, remainder: 0, quotient: None };

/// Three bits O, C, S as digits, remainder, home.
fn slot(state: [u8; 3], remainder: u64, quotient: u64) -> SlotView {
    let [occupied, continuation, shifted] = state.map(|bit| bit == 1);
    SlotView { occupied, continuation, shifted, remainder, quotient: Some(quotient) }
}

#[test]
fn three_records_then_one_between_them() {
    let mut filter = filter_of(8, 3, &[(1, 1), (1, 3), (2, 2)]);
    let mut expected = [EMPTY; 8];
    expected[1..4].copy_from_slice(&[slot([1, 0, 0], 1, 1), slot([1, 1, 1], 3, 1), slot([0, 0, 1], 2, 2)]);
    assert_eq!(views(&filter), expected);

    filter.insert(digest(filter.geometry(), (1, 2))).unwrap();
    expected[1..5].copy_from_slice(&[
        slot([1, 0, 0], 1, 1),
        slot([1, 1, 1], 2, 1),
        slot([0, 1, 1], 3, 1),
        slot([0, 0, 1], 2, 2),
    ]);
    assert_eq!(views(&filter), expected);
    filter.check_invariants().unwrap();
    assert_eq!(filter.fingerprints().collect::<Vec<_>>(), [(9, 1), (10, 1), (11, 1), (18, 1)]);
    assert_eq!(filter.expected_fpr(), Some(4.0 / 64.0));
    let lengths: Vec<_> = filter.histograms().into_iter().map(|histogram| histogram.counts).collect();
    assert_eq!(lengths, [vec![0, 1, 0, 1], vec![0, 0, 0, 0, 1]]);
}

#[test]
fn a_new_first_record_of_a_run_demotes_the_old_one() {
    let filter = filter_of(8, 3, &[(1, 5), (1, 0)]);
    assert_eq!(views(&filter)[1..3], [slot([1, 0, 0], 0, 1), slot([0, 1, 1], 5, 1)]);
}

#[test]
fn records_come_home_when_what_pushed_them_goes() {
    let mut filter = filter_of(8, 3, &[(1, 1), (1, 3), (2, 2), (3, 0), (5, 5)]);
    assert!(filter.remove(digest(filter.geometry(), (1, 3))));
    let expected = [
        EMPTY,
        slot([1, 0, 0], 1, 1),
        slot([1, 0, 0], 2, 2),
        slot([1, 0, 0], 0, 3),
        EMPTY,
        slot([1, 0, 0], 5, 5),
    ];
    assert_eq!(views(&filter)[..6], expected);
    assert!(!filter.remove(digest(filter.geometry(), (1, 3))));
}

#[test]
fn a_cluster_passes_the_last_slot() {
    let records = [(7, 1), (7, 2), (7, 3), (6, 1), (6, 2)];
    let filter = filter_of(8, 3, &records);
    assert_is(&filter, &records);
    let expected = [slot([0, 0, 1], 1, 7), slot([0, 1, 1], 2, 7), slot([0, 1, 1], 3, 7)];
    assert_eq!(views(&filter)[..3], expected);
    for record in records {
        assert_eq!(filter.count(digest(filter.geometry(), record)), 1, "{record:?}");
    }
    // In order of the fingerprint, not of the slot.
    let listed: Vec<_> = filter.fingerprints().map(|(f, _)| filter.geometry().parts(f)).collect();
    assert_eq!(listed, [(6, 1), (6, 2), (7, 1), (7, 2), (7, 3)]);
}

#[test]
fn the_order_of_insertion_leaves_no_trace() {
    let orders = [[3, 2, 1], [1, 2, 3], [2, 1, 3]];
    let filters = orders.map(|order| filter_of(8, 3, &order.map(|remainder| (4, remainder))));
    assert_eq!(filters[0], filters[1]);
    assert_eq!(filters[0], filters[2]);
    let heads = views(&filters[0]).into_iter().filter(|slot| slot.quotient.is_some() && !slot.continuation);
    assert_eq!(heads.count(), 1);
}
