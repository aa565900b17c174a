//! Shapes that have broken quotient filters elsewhere.

use super::common::{Record, assert_is, below, digest, digests, empty, filter_of, random};
use crate::Tested;
use amq::{
    Amq, BuildError, Count, Family, Grow, Insert, InsertError, Remove, ResizeError, Spec, Stats, theory,
};
use amq_quotient::Geometry;
use rand_xoshiro::rand_core::Rng;

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
            let mut filter = Tested::build(&[], &spec).unwrap();
            assert!(filter.remaining() >= Some(n), "{spec:?}");
            let all = digests(n, usize::try_from(n).unwrap());
            filter.insert_batch(&all).unwrap();
            assert!(all.iter().all(|&digest| filter.contains(digest)));
            assert_eq!(Tested::build(&all, &spec).unwrap(), filter);
            // One at a time up to the end.
            while filter.remaining() > Some(0) {
                filter.insert(digests(7, 1)[0]).unwrap();
            }
            assert!(filter.insert(digests(8, 1)[0]).is_err());
            filter.check_invariants().unwrap();
        }
    }
    let spec = Spec::shape(1.0, 4, 10);
    let error = Tested::build(&digests(1, 11), &spec).unwrap_err();
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
    let plan = Tested::plan(&Spec::fpr(fpr, n)).unwrap();
    let half = Geometry::new(plan.slots.div_ceil(2), plan.r + 1).unwrap();
    let mut filter = Tested::with_geometry(half, seed).unwrap();
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
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        let set: Vec<_> = set.into_iter().map(amq::Digest::new).collect();
        filter.insert_batch(&set).unwrap();
        filter.check_invariants().unwrap();
        let spec = Spec::shape(1.0, 54, 999);
        assert_eq!(Tested::build(&set, &spec).unwrap(), filter);
        for &digest in &set {
            let same =
                set.iter().filter(|&&other| geometry.fingerprint(other) == geometry.fingerprint(digest));
            assert_eq!(filter.count(digest), same.count() as u64);
        }
        for &digest in set.iter().rev() {
            assert!(filter.remove(digest));
        }
        assert_eq!(filter, Tested::with_geometry(geometry, 0).unwrap());
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
        let filter = Tested::build(&keys, &spec).unwrap();
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
