//! Clearing, and what a filter tells about itself.

use amq::{Amq, Family, Insert, Remove, Spec};

use super::common::{digest, digests, empty};
use crate::Tested;

#[test]
fn nothing_is_left_after_clearing() {
    let spec = Spec::shape(0.9, 8, 1_000).with_seed(3);
    let mut filter = Tested::build(&digests(3, 1_000), &spec).unwrap();
    assert!(!filter.insert_unique(digests(3, 1)[0]).unwrap());
    assert!(!filter.removal_is_safe());
    filter.clear();
    assert_eq!(filter, Tested::build(&[], &spec).unwrap());
    assert!(filter.removal_is_safe() && filter.is_empty() == Some(true));
}

#[test]
fn the_last_insertion_tells_how_many_it_moved() {
    let mut filter = empty(200, 8);
    let at = |filter: &Tested, record| digest(filter.geometry(), record);
    assert_eq!(filter.stats().moved_by_last_insert, 0);
    // 100 records of one home, each in front of all that are there.
    for i in 0..100 {
        filter.insert(at(&filter, (150, 200 - i))).unwrap();
        assert_eq!(filter.stats().moved_by_last_insert, i);
    }
    // Behind all of them, at the end of the stretch: slots 150 to 199 and 0 to 49.
    filter.insert(at(&filter, (150, 201))).unwrap();
    assert_eq!(filter.stats().moved_by_last_insert, 0);
    // An empty slot.
    filter.insert(at(&filter, (70, 1))).unwrap();
    assert_eq!(filter.stats().moved_by_last_insert, 0);
    // A home before them moves them all.
    filter.insert(at(&filter, (149, 1))).unwrap();
    filter.insert(at(&filter, (149, 0))).unwrap();
    assert_eq!(filter.stats().moved_by_last_insert, 102);
    assert!(filter.remove(at(&filter, (149, 0))));
    assert_eq!(filter.stats().moved_by_last_insert, 102);
}

#[test]
fn statistics_count_runs_and_clusters_that_wrap_around() {
    let mut filter = empty(10, 4);
    let stats = filter.stats();
    assert_eq!((stats.load_factor, stats.longest_cluster), (0.0, 0));
    assert!(stats.run_lengths.is_empty() && stats.cluster_lengths.is_empty());
    // Slots 8, 9, 0, 1: one cluster of the runs of homes 8 and 9, and one of home 0, pushed to slot 2, is part of it.
    for record in [(8, 1), (8, 2), (9, 0), (9, 1), (0, 3), (4, 4)] {
        filter.insert(digest(filter.geometry(), record)).unwrap();
    }
    let stats = filter.stats();
    assert_eq!(stats.load_factor, 0.6);
    assert_eq!(stats.run_lengths, [0, 2, 2]);
    assert_eq!(stats.cluster_lengths, [0, 1, 0, 0, 0, 1]);
    assert_eq!(stats.longest_cluster, 5);
}
