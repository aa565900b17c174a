//! The counting Bloom filter against an exact multiset, one counter at a time, and cases from the field.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use amq::{Amq, Count, Digest, Family, Insert, MergeError, Remove, Spec, Stats, Union};
use amq_bloom::{Bloom, CountingBloom, Layout, LayoutError, Probes};
use common::{hostile_digests, mean_and_error, some_digests};
use proptest::prelude::*;

fn empty(m: u64, k: u32) -> CountingBloom {
    CountingBloom::with_layout(Layout::new(m, k).unwrap(), 0).unwrap()
}

fn filled(m: u64, k: u32, digests: &[Digest]) -> CountingBloom {
    let mut filter = empty(m, k);
    filter.insert_batch(digests).unwrap();
    filter
}

/// One byte a counter, and a set of positions a key.
#[derive(Clone, Debug)]
struct Naive {
    counters: Vec<u8>,
    k: u32,
    records: u64,
}

impl Naive {
    fn new(m: u64, k: u32) -> Self {
        Self { counters: vec![0; usize::try_from(m).unwrap()], k, records: 0 }
    }

    fn positions(&self, digest: Digest) -> BTreeSet<usize> {
        Probes::new(digest, self.counters.len() as u64)
            .take(self.k as usize)
            .map(|position| usize::try_from(position).unwrap())
            .collect()
    }

    fn count(&self, digest: Digest) -> u8 {
        self.positions(digest).iter().map(|&position| self.counters[position]).min().unwrap()
    }

    fn insert(&mut self, digest: Digest) {
        for position in self.positions(digest) {
            self.counters[position] = (self.counters[position] + 1).min(15);
        }
        self.records += 1;
    }

    fn remove(&mut self, digest: Digest) -> bool {
        if self.records == 0 || self.count(digest) == 0 {
            return false;
        }
        for position in self.positions(digest) {
            if self.counters[position] < 15 {
                self.counters[position] -= 1;
            }
        }
        self.records -= 1;
        true
    }

    fn table(&self) -> Vec<u8> {
        self.counters.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |high| high << 4)).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    InsertMany(usize, usize),
    Remove(usize),
    RemoveMany(Vec<usize>),
    AddOther(Vec<usize>),
}

const KEYS: usize = 12;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..KEYS;
    let keys = || prop::collection::vec(0..KEYS, 0..8);
    let step = prop_oneof![
        4 => key().prop_map(Step::Insert),
        1 => (key(), 1_usize..20).prop_map(|(key, times)| Step::InsertMany(key, times)),
        5 => key().prop_map(Step::Remove),
        2 => keys().prop_map(Step::RemoveMany),
        1 => keys().prop_map(Step::AddOther),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Any steps, removals of absent keys included: every counter and every answer is the naive filter's.
    #[test]
    fn agrees_with_one_counter_at_a_time(m in 1_u64..=70, k in 1_u32..=20, seed in any::<u64>(), steps in steps()) {
        let keys = some_digests(seed, KEYS);
        let (mut filter, mut naive) = (empty(m, k), Naive::new(m, k));
        for step in steps {
            match step {
                Step::Insert(key) => {
                    filter.insert(keys[key]).unwrap();
                    naive.insert(keys[key]);
                }
                Step::InsertMany(key, times) => {
                    filter.insert_batch(&vec![keys[key]; times]).unwrap();
                    (0..times).for_each(|_| naive.insert(keys[key]));
                }
                Step::Remove(key) => prop_assert_eq!(filter.remove(keys[key]), naive.remove(keys[key])),
                Step::RemoveMany(some) => {
                    let digests: Vec<Digest> = some.iter().map(|&key| keys[key]).collect();
                    let removed = digests.iter().filter(|&&digest| naive.remove(digest)).count() as u64;
                    prop_assert_eq!(filter.remove_batch(&digests), removed);
                }
                Step::AddOther(some) => {
                    let digests: Vec<Digest> = some.iter().map(|&key| keys[key]).collect();
                    filter = filter.union(&filled(m, k, &digests)).unwrap();
                    for digest in digests {
                        naive.insert(digest);
                    }
                }
            }
            prop_assert_eq!(Family::table(&filter), naive.table());
            prop_assert_eq!(filter.len(), Some(naive.records));
            filter.check_invariants().unwrap();
        }
        for &key in &keys {
            prop_assert_eq!(filter.count(key), u64::from(naive.count(key)));
            prop_assert_eq!(filter.contains(key), naive.count(key) > 0);
        }
        let at = |value: u8| naive.counters.iter().map(|&counter| u64::from(counter == value)).sum::<u64>();
        prop_assert_eq!(filter.saturated(), at(15));
        prop_assert_eq!(filter.occupied(), m - at(0));
        prop_assert_eq!(&filter.histograms()[0].counts, &(0..16).map(at).collect::<Vec<_>>());
        if filter.occupied() == m {
            prop_assert_eq!(filter.estimated_count(), None);
        } else {
            prop_assert!(filter.estimated_count().unwrap() >= 0.0);
        }
    }

    /// As long as only keys are removed that are in: nothing that is in is forgotten, and counts are never too low.
    #[test]
    fn forgets_nothing_of_an_exact_multiset(m in 1_u64..=70, k in 1_u32..=8, seed in any::<u64>(), steps in steps()) {
        let keys = some_digests(seed, KEYS);
        let mut filter = empty(m, k);
        let mut exact = BTreeMap::new();
        let remove = |exact: &mut BTreeMap<usize, u64>, filter: &mut CountingBloom, key: usize| {
            if let Some(count) = exact.get_mut(&key).filter(|count| **count > 0) {
                *count -= 1;
                assert!(filter.remove(keys[key]));
            } else if !filter.contains(keys[key]) {
                let before = filter.clone();
                assert!(!filter.remove(keys[key]));
                assert_eq!((&before, before.len()), (&*filter, filter.len()));
            }
        };
        for step in steps {
            match step {
                Step::Insert(key) => {
                    filter.insert(keys[key]).unwrap();
                    *exact.entry(key).or_insert(0) += 1;
                }
                Step::InsertMany(key, times) => {
                    filter.insert_batch(&vec![keys[key]; times]).unwrap();
                    *exact.entry(key).or_insert(0) += times as u64;
                }
                Step::Remove(key) => remove(&mut exact, &mut filter, key),
                Step::RemoveMany(some) => some.iter().for_each(|&key| remove(&mut exact, &mut filter, key)),
                Step::AddOther(some) => {
                    let digests: Vec<Digest> = some.iter().map(|&key| keys[key]).collect();
                    filter = filled(m, k, &digests).union(&filter).unwrap();
                    for key in some {
                        *exact.entry(key).or_insert(0) += 1;
                    }
                }
            }
            for (&key, &count) in &exact {
                prop_assert!(filter.count(keys[key]) >= count.min(15));
                prop_assert!(count == 0 || filter.contains(keys[key]));
            }
            prop_assert_eq!(filter.len(), Some(exact.values().sum()));
        }
        if filter.saturated() == 0 {
            // Emptied, it is as new.
            for (key, count) in exact {
                (0..count).for_each(|_| assert!(filter.remove(keys[key])));
            }
            prop_assert_eq!(filter, empty(m, k));
        }
    }
}

#[test]
fn a_counter_sticks_at_fifteen() {
    let key = some_digests(1, 1)[0];
    let mut filter = empty(1_000, 7);
    filter.insert_batch(&[key; 16]).unwrap();
    assert_eq!((filter.count(key), filter.saturated(), filter.len()), (15, 7, Some(16)));
    let before = filter.clone();
    // All 16 records can be taken out, though the counters do not move, and not one more.
    assert_eq!(filter.remove_batch(&[key; 20]), 16);
    assert_eq!(filter, before);
    assert!(filter.contains(key) && filter.is_empty() == Some(true) && !filter.remove(key));
}

#[test]
fn sums_stick_too_and_forget_no_one() {
    let digests = some_digests(2, 200);
    let (key, others) = digests.split_first().unwrap();
    let half = |others: &[Digest]| {
        let mut filter = filled(2_000, 5, &[*key; 10]);
        filter.insert_batch(others).unwrap();
        filter
    };
    let mut sum = half(&others[..100]).union(&half(&others[100..])).unwrap();
    assert_eq!((sum.len(), sum.count(*key)), (Some(219), 15));
    assert_eq!(sum.remove_batch(&[*key; 20]), 20);
    assert_eq!(sum.count_hits(&digests), 200);
}

#[test]
fn two_inserts_take_two_removals() {
    let key = some_digests(3, 1)[0];
    let mut filter = filled(100, 4, &[key, key]);
    assert!(filter.remove(key) && filter.contains(key));
    assert!(filter.remove(key) && !filter.contains(key));
    assert_eq!(filter, empty(100, 4));
    assert!(!filter.remove(key));
}

#[test]
fn saved_counts_survive() {
    let key = some_digests(4, 1)[0];
    let filter = filled(101, 4, &[key, key]);
    let mut bytes = filter.table().to_vec();
    assert_eq!(bytes.len(), 51);
    let mut view = CountingBloom::from_parts(&mut bytes[..], filter.layout(), 0, filter.len()).unwrap();
    assert_eq!(view, filter);
    assert!(view.remove(key) && view.contains(key) && view.len() == Some(1));
    bytes[50] |= 0x10;
    let last = bytes[50];
    let error = CountingBloom::from_parts(&bytes[..], filter.layout(), 0, None).unwrap_err();
    assert_eq!(error, LayoutError::Padding { last });
    assert!(CountingBloom::from_parts(&bytes[..50], filter.layout(), 0, None).is_err());
}

/// In one or two counters the probes of a key must meet.
#[test]
fn probes_that_meet_count_once() {
    for key in hostile_digests() {
        for (m, k) in [(1, 3), (2, 64), (3, 8)] {
            let mut filter = filled(m, k, &[key]);
            assert_eq!(filter.count(key), 1, "{key:?}");
            assert!(filter.remove(key));
            assert_eq!(filter, empty(m, k));
        }
    }
}

#[test]
fn overfull_is_not_saturated() {
    let digests = some_digests(5, 10_000);
    let filter = CountingBloom::build(&digests[..150], &Spec::fpr(0.01, 75)).unwrap();
    assert!(filter.fill() > 0.7 && filter.saturated() == 0, "{}", filter.fill());
    let filter = CountingBloom::build(&digests, &Spec::fpr(0.01, 75)).unwrap();
    assert_eq!(filter.saturated(), filter.layout().m());
    assert_eq!(filter.expected_fpr(), Some(1.0));
}

/// Of a Bloom filter of the same layout it differs only in the width of a position.
#[test]
fn it_answers_as_the_bloom_filter_of_its_size() {
    for k in 1..=20 {
        let digests = some_digests(k.into(), 2_000);
        let spec = Spec::shape(1.0, k, 100);
        let counting = CountingBloom::build(&digests[..100], &spec).unwrap();
        let plain = Bloom::build(&digests[..100], &spec).unwrap();
        assert_eq!(counting.layout(), plain.layout());
        assert_eq!((counting.occupied(), counting.expected_fpr()), (plain.set_bits(), plain.expected_fpr()));
        assert!(digests.iter().all(|&digest| counting.contains(digest) == plain.contains(digest)));
        let plan = CountingBloom::plan(&spec).unwrap();
        assert_eq!(plan.payload_bits(), counting.space().payload_bits);
    }
}

#[test]
fn batches_do_what_single_calls_do() {
    for m in [1_000, (4 << 20) + 1] {
        for k in [1, 7, 16, 17, 64] {
            let digests = some_digests(m + u64::from(k), 200);
            let mut batch = filled(m, k, &digests[..100]);
            let mut single = empty(m, k);
            for &digest in &digests[..100] {
                single.insert(digest).unwrap();
            }
            assert_eq!(batch, single);
            let mut answers = vec![false; 200];
            batch.contains_batch(&digests, &mut answers);
            let expected: Vec<bool> = digests.iter().map(|&digest| single.contains(digest)).collect();
            assert_eq!(answers, expected);
            let hits = expected.iter().filter(|&&hit| hit).count() as u64;
            assert_eq!((batch.count_hits(&digests), batch.count_hits_chained(&digests)), (hits, hits));
            let removed = digests[50..150].iter().filter(|&&digest| single.remove(digest)).count() as u64;
            assert_eq!(batch.remove_batch(&digests[50..150]), removed);
            assert_eq!((&batch, batch.len()), (&single, single.len()));
            assert!(m == 1_000 || batch.count_hits(&digests[..50]) == 50);
        }
    }
}

/// A removal of a key that was never inserted, but is taken for a member, may lose another: documented, and so it is.
#[test]
fn removing_a_stranger_can_lose_a_member() {
    let keys = some_digests(6, 2_000);
    let members = filled(100, 2, &keys[..30]);
    let lost = keys[30..].iter().any(|&stranger| {
        let mut filter = members.clone();
        filter.remove(stranger) && filter.count_hits(&keys[..30]) < 30
    });
    assert!(lost);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let with = |m, k, seed| CountingBloom::with_layout(Layout::new(m, k).unwrap(), seed).unwrap();
    let filter = with(64, 3, 1);
    assert_eq!(filter.union(&with(64, 3, 2)), Err(MergeError::Seed { left: 1, right: 2 }));
    assert_eq!(filter.union(&with(65, 3, 1)), Err(MergeError::Size { left: 64, right: 65 }));
    assert_eq!(filter.union(&with(64, 2, 1)), Err(MergeError::HashFunctions { left: 3, right: 2 }));
    assert_eq!(
        format!("{filter:?}"),
        "CountingFilter { bits: 4, m: 64, k: 3, seed: 1, records: Some(0), .. }"
    );
}

#[test]
fn the_count_is_estimated() {
    let estimates: Vec<f64> =
        (0..64).map(|seed| filled(2_000, 4, &some_digests(seed, 300)).estimated_count().unwrap()).collect();
    let (mean, error) = mean_and_error(&estimates);
    assert!((mean - 300.0).abs() < 4.0 * error + 1.0, "{mean} +- {error}");
}
