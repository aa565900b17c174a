//! Small tables, worked by hand, and shapes that have broken quotient filters elsewhere.

mod common;

use amq::{
    Amq, BuildError, Count, Family, Grow, Insert, InsertError, Remove, ResizeError, Spec, Stats, theory,
};
use amq_quotient::{Geometry, QuotientFilter, SlotView};
use common::{Record, assert_is, below, digest, digests, empty, random, views};
use rand_xoshiro::rand_core::Rng;

fn filter_of(slots: u64, r: u32, records: &[Record]) -> QuotientFilter {
    let mut filter = empty(slots, r);
    for &record in records {
        filter.insert(digest(filter.geometry(), record)).unwrap();
    }
    filter
}

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

#[test]
fn sixteen_slots_refuse_the_sixteenth_record() {
    let mut filter = empty(16, 8);
    let mut model = Vec::new();
    for i in 0..17 {
        let new = (i * 5 % 16, i * 40 % 256);
        let before = filter.clone();
        match filter.insert(digest(filter.geometry(), new)) {
            Ok(()) => model.push(new),
            Err(error) => {
                assert_eq!(error, InsertError::Full { records: 1, len: 15, limit: 15 });
                assert_eq!(filter, before);
            }
        }
        assert_is(&filter, &model);
    }
    assert_eq!(model.len(), 15);
    // A batch that does not fit as a whole leaves nothing behind.
    assert!(filter.remove(digest(filter.geometry(), model[0])));
    let before = filter.clone();
    let two = [digest(filter.geometry(), (3, 3)), digest(filter.geometry(), (3, 4))];
    assert_eq!(filter.insert_batch(&two), Err(InsertError::Full { records: 2, len: 14, limit: 15 }));
    assert_eq!(filter, before);
    assert_eq!(filter.insert_batch(&two[..1]), Ok(()));
}

#[test]
fn a_capacity_always_takes_that_many() {
    for n in 0..=40 {
        for spec in
            [Spec::shape(1.0, 4, n), Spec::shape(0.5, 1, n), Spec::fpr(0.3, n), Spec::bits_per_key(20.0, n)]
        {
            let mut filter = QuotientFilter::build(&[], &spec).unwrap();
            assert!(filter.remaining() >= Some(n), "{spec:?}");
            let all = digests(n, usize::try_from(n).unwrap());
            filter.insert_batch(&all).unwrap();
            assert!(all.iter().all(|&digest| filter.contains(digest)));
            assert_eq!(QuotientFilter::build(&all, &spec).unwrap(), filter);
            // One at a time up to the end.
            while filter.remaining() > Some(0) {
                filter.insert(digests(7, 1)[0]).unwrap();
            }
            assert!(filter.insert(digests(8, 1)[0]).is_err());
            filter.check_invariants().unwrap();
        }
    }
    let spec = Spec::shape(1.0, 4, 10);
    let error = QuotientFilter::build(&digests(1, 11), &spec).unwrap_err();
    assert_eq!(error, BuildError::Full { records: 11, limit: 10 });
}

#[test]
fn four_hundred_keys_for_128_slots() {
    let mut filter = empty(128, 9);
    let refused = digests(4, 400).into_iter().filter(|&digest| filter.insert(digest).is_err()).count();
    assert_eq!((refused, filter.records(), filter.remaining()), (400 - 127, 127, Some(0)));
    assert_eq!(filter.load_factor(), 127.0 / 128.0);
}

#[test]
fn the_rate_after_growing_is_the_one_promised_for_the_final_capacity() {
    let seed = 12;
    let (n, fpr) = (2_000, 0.05);
    // Half the slots over the same fingerprints, to be grown when half the keys are in.
    let plan = QuotientFilter::plan(&Spec::fpr(fpr, n)).unwrap();
    let half = Geometry::new(plan.slots.div_ceil(2), plan.r + 1).unwrap();
    let mut filter = QuotientFilter::with_geometry(half, seed).unwrap();
    let keys = digests(seed, 2_000);
    filter.insert_batch(&keys[..1_000]).unwrap();
    filter.grow().unwrap();
    filter.insert_batch(&keys[1_000..]).unwrap();
    assert!(keys.iter().all(|&key| filter.contains(key)));
    let expected = filter.expected_fpr().unwrap();
    assert!(expected <= fpr, "{expected}");
    let queries = digests(seed + 1, 1_000_000);
    let hits = filter.count_hits(&queries) as f64;
    let (mean, deviation) = (1e6 * expected, (1e6 * expected * (1.0 - expected)).sqrt());
    assert!((hits - mean).abs() < 4.5 * deviation, "{hits} hits, {mean} expected, seed {seed}");
}

#[test]
fn a_run_of_94_records() {
    for quotient in [0, 50, 127] {
        let records: Vec<Record> = (0..94).map(|i| (quotient, i * 37 % 256)).collect();
        let filter = filter_of(128, 8, &records);
        assert_is(&filter, &records);
        let present = |remainder| filter.contains(digest(filter.geometry(), (quotient, remainder)));
        assert_eq!((0..256).filter(|&remainder| present(remainder)).count(), 94);
        assert_eq!(filter.histograms()[0].counts[94], 1);
    }
}

#[test]
fn two_growths_from_three_bits_and_no_more() {
    let mut filter = filter_of(8, 3, &[(1, 1), (7, 7), (7, 7), (0, 0)]);
    let geometry = filter.geometry();
    let listed: Vec<_> = filter.fingerprints().collect();
    for (slots, r) in [(16, 2), (32, 1)] {
        filter.grow().unwrap();
        assert_eq!((filter.geometry().slots(), filter.geometry().r()), (slots, r));
        assert!(filter.fingerprints().eq(listed.iter().copied()));
        filter.check_invariants().unwrap();
    }
    let before = filter.clone();
    for _ in 0..2 {
        assert_eq!(filter.grow(), Err(ResizeError::RemainderExhausted));
        assert_eq!(filter, before);
    }
    assert_eq!(filter.count(digest(geometry, (7, 7))), 2);
}

#[test]
fn hostile_digests_stay_correct() {
    let geometry = Geometry::new(1_000, 54).unwrap();
    let sets: [Vec<u64>; 4] = [
        vec![u64::MAX; 500],
        vec![0; 500],
        (0..500).collect(),
        (0..500).map(|i| u64::MAX - i * i).chain(0..400).collect(),
    ];
    for set in sets {
        let mut filter = QuotientFilter::with_geometry(geometry, 0).unwrap();
        let set: Vec<_> = set.into_iter().map(amq::Digest::new).collect();
        filter.insert_batch(&set).unwrap();
        filter.check_invariants().unwrap();
        let spec = Spec::shape(1.0, 54, 999);
        assert_eq!(QuotientFilter::build(&set, &spec).unwrap(), filter);
        for &digest in &set {
            let same =
                set.iter().filter(|&&other| geometry.fingerprint(other) == geometry.fingerprint(digest));
            assert_eq!(filter.count(digest), same.count() as u64);
        }
        for &digest in set.iter().rev() {
            assert!(filter.remove(digest));
        }
        assert_eq!(filter, QuotientFilter::with_geometry(geometry, 0).unwrap());
    }
}

#[test]
fn insert_unique_says_when_a_key_got_no_record() {
    let mut filter = empty(8, 3);
    let (a, b) = (digest(filter.geometry(), (1, 1)), digest(filter.geometry(), (1, 2)));
    assert_eq!(filter.insert_unique(a), Ok(true));
    assert_eq!(filter.insert_unique(b), Ok(true));
    assert!(filter.removal_is_safe());
    assert_eq!(filter.insert_unique(a), Ok(false));
    assert!(!filter.removal_is_safe());
    assert_eq!(filter.records(), 2);
}

/// Run and cluster lengths of a random table against the formulas, and batches against single lookups.
#[test]
fn a_large_table_is_what_theory_says() {
    for (seed, alpha) in [(1, 0.5), (2, 0.75), (3, 0.9)] {
        let n = 400_000;
        let spec = Spec::shape(alpha, 20, n).with_seed(seed);
        let keys = digests(seed, 400_000);
        let filter = QuotientFilter::build(&keys, &spec).unwrap();
        filter.check_invariants().unwrap();
        let mean = |counts: &[u64]| {
            let records: u64 = (0..).zip(counts).map(|(length, count)| length * count).sum();
            assert_eq!(records, n);
            records as f64 / counts.iter().sum::<u64>() as f64
        };
        let [runs, clusters] = <[_; 2]>::try_from(filter.histograms()).unwrap();
        let (run, cluster) = (theory::quotient::mean_run(alpha), theory::quotient::mean_cluster(alpha));
        assert!((mean(&runs.counts) / run - 1.0).abs() < 0.01, "alpha {alpha}, seed {seed}");
        assert!((mean(&clusters.counts) / cluster - 1.0).abs() < 0.04, "alpha {alpha}, seed {seed}");

        let mut rng = random(seed + 100);
        let mixed: Vec<_> = (0..100_001)
            .map(|i| {
                if i % 2 == 0 {
                    keys[usize::try_from(below(&mut rng, n)).unwrap()]
                } else {
                    amq::Digest::new(rng.next_u64())
                }
            })
            .collect();
        let mut answers = vec![false; mixed.len()];
        filter.contains_batch(&mixed, &mut answers);
        assert!(mixed.iter().map(|&digest| filter.contains(digest)).eq(answers.iter().copied()));
        assert!(answers.iter().step_by(2).all(|&answer| answer));
        assert!(filter.table().len() > 1 << 20, "large enough to be prefetched");
    }
}
