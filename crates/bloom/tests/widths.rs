//! Counters of 2, 4 and 8 bits, anywhere and in cache lines, against counters of unlimited size.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use amq::theory::bloom::counter_tail;
use amq::{Amq, Count, Digest, Family, Insert, Remove, Spec, Stats, Union};
use amq_bloom::{
    BlockLayout, BlockedCountingBloom, CounterLine, CountingFilter, EightBitCountingBloom, Layout, Places,
    TwoBitCountingBloom,
};
use common::{mean_and_error, random_digests, some_digests};
use proptest::prelude::*;

/// Counters one at a time, which stick at the largest number.
struct Naive<P> {
    layout: P,
    stuck: u64,
    counters: BTreeMap<u64, u64>,
}

impl<P: Places> Naive<P> {
    fn new(layout: P, bits: u32) -> Self {
        Self { layout, stuck: (1 << bits) - 1, counters: BTreeMap::new() }
    }

    fn positions(&self, digest: Digest) -> BTreeSet<u64> {
        self.layout.positions(digest).take(self.layout.k() as usize).collect()
    }

    fn count(&self, digest: Digest) -> u64 {
        let counter = |position| self.counters.get(&position).copied().unwrap_or(0);
        self.positions(digest).into_iter().map(counter).min().unwrap_or(0)
    }

    fn insert(&mut self, digest: Digest) {
        for position in self.positions(digest) {
            let counter = self.counters.entry(position).or_default();
            *counter = self.stuck.min(*counter + 1);
        }
    }

    fn remove(&mut self, digest: Digest) -> bool {
        let present = self.count(digest) > 0;
        for position in self.positions(digest).into_iter().filter(|_| present) {
            let counter = self.counters.entry(position).or_default();
            *counter -= u64::from(*counter < self.stuck);
        }
        present
    }
}

/// Random steps over few keys, so that counters meet and stick.
fn agrees_with_the_model<P: Places, const BITS: u32>(layout: P, steps: &[(u8, bool)], seed: u64) {
    let keys = some_digests(seed, 8);
    let mut filter = CountingFilter::<P, BITS>::with_layout(layout, 0).unwrap();
    let mut model = Naive::new(layout, BITS);
    let mut held = BTreeMap::<usize, u64>::new();
    let mut records = 0_u64;
    for &(key, insert) in steps {
        let key = usize::from(key % 8);
        let digest = keys[key];
        if insert {
            filter.insert(digest).unwrap();
            model.insert(digest);
            *held.entry(key).or_default() += 1;
            records += 1;
        } else if held.get(&key).is_some_and(|&times| times > 0) {
            assert!(filter.remove(digest) && model.remove(digest));
            *held.entry(key).or_default() -= 1;
            records -= 1;
        }
        assert_eq!(filter.len(), Some(records));
        for (key, &times) in &held {
            assert_eq!(filter.count(keys[*key]), model.count(keys[*key]));
            assert!(times == 0 || filter.contains(keys[*key]), "a key that is in {times} times is lost");
        }
    }
    let occupied = model.counters.values().filter(|&&counter| counter > 0).count() as u64;
    let stuck = model.counters.values().filter(|&&counter| counter == model.stuck).count() as u64;
    assert_eq!((filter.occupied(), filter.saturated()), (occupied, stuck));
    let histogram = &filter.histograms()[0].counts;
    assert_eq!(histogram.len() as u64, model.stuck + 1);
    assert_eq!(histogram.iter().sum::<u64>(), layout.m());
    assert_eq!(histogram.last(), Some(&stuck));
    let twice = filter.union(&filter).unwrap();
    for &key in &keys {
        assert_eq!(twice.count(key), (2 * model.count(key)).min(model.stuck));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_width_agrees_with_the_model(
        m in 1_u64..=40, k in 1_u32..=18, seed in any::<u64>(), steps in prop::collection::vec((any::<u8>(), prop::bool::weighted(0.7)), 0..80),
    ) {
        let layout = Layout::new(m, k).unwrap();
        agrees_with_the_model::<_, 2>(layout, &steps, seed);
        agrees_with_the_model::<_, 4>(layout, &steps, seed);
        agrees_with_the_model::<_, 8>(layout, &steps, seed);
    }

    #[test]
    fn lines_of_counters_agree_with_the_model(
        lines in 1_u64..=3, k in 1_u32..=24, seed in any::<u64>(), steps in prop::collection::vec((any::<u8>(), prop::bool::weighted(0.7)), 0..80),
    ) {
        agrees_with_the_model::<_, 4>(BlockLayout::<CounterLine>::new(lines, k).unwrap(), &steps, seed);
    }
}

/// Inserted once more than a counter can say, a key stays whatever is removed.
#[test]
fn stuck_counters_keep_their_keys() {
    fn check<const BITS: u32>(stuck: u64) {
        let mut filter = CountingFilter::<_, BITS>::with_layout(Layout::new(1_000, 5).unwrap(), 0).unwrap();
        let [key, other] = [1 << 60, 3 << 59].map(Digest::new);
        filter.insert(other).unwrap();
        for _ in 0..=stuck {
            filter.insert(key).unwrap();
        }
        assert_eq!((filter.count(key), filter.saturated()), (stuck, 5));
        for _ in 0..=stuck {
            assert!(filter.remove(key));
        }
        assert!(filter.contains(key) && filter.contains(other));
    }
    check::<2>(3);
    check::<4>(15);
    check::<8>(255);
}

#[test]
fn batches_do_what_single_calls_do() {
    let digests = some_digests(1, 60_000);
    let layout = BlockLayout::<CounterLine>::new(60_000, 6).unwrap();
    let mut batch = BlockedCountingBloom::with_layout(layout, 0).unwrap();
    let mut single = BlockedCountingBloom::with_layout(layout, 0).unwrap();
    batch.insert_batch(&digests).unwrap();
    for &digest in &digests {
        single.insert(digest).unwrap();
    }
    assert!(batch == single);
    let mut answers = vec![false; digests.len()];
    batch.contains_batch(&digests, &mut answers);
    assert!(answers.iter().all(|&answer| answer));
    assert_eq!(batch.remove_batch(&digests[..30_000]), 30_000);
    assert!(digests[..30_000].iter().all(|&digest| single.remove(digest)));
    assert!(batch == single && digests[30_000..].iter().all(|&digest| batch.contains(digest)));
    batch.remove_batch(&digests[30_000..]);
    assert_eq!((batch.len(), batch.occupied()), (Some(0), 0));
}

#[test]
fn small_and_large_counters_answer_alike() {
    let digests = some_digests(2, 2_000);
    let layout = Layout::new(20_000, 7).unwrap();
    let mut two = TwoBitCountingBloom::with_layout(layout, 0).unwrap();
    let mut eight = EightBitCountingBloom::with_layout(layout, 0).unwrap();
    two.insert_batch(&digests).unwrap();
    eight.insert_batch(&digests).unwrap();
    assert!(random_digests(3).take(20_000).all(|digest| two.contains(digest) == eight.contains(digest)));
    assert_eq!((two.occupied(), two.expected_fpr()), (eight.occupied(), eight.expected_fpr()));
    assert!(two.saturated() > 0 && eight.saturated() == 0);
    assert_eq!((two.space().payload_bits, eight.space().payload_bits), (40_000, 160_000));
}

#[test]
fn the_planned_rate_of_lines_is_the_mean() {
    for (n, seeds) in [(10, 3_000), (1_000, 300), (20_000, 256)] {
        let spec = Spec::bits_per_key(40.0, n as u64);
        let plan = BlockedCountingBloom::plan(&spec).unwrap();
        let rates: Vec<f64> = (0..seeds)
            .map(|seed| BlockedCountingBloom::build(&some_digests(seed ^ 0x5A5A, n), &spec).unwrap())
            .map(|filter| filter.expected_fpr().unwrap())
            .collect();
        let (mean, error) = mean_and_error(&rates);
        assert!((mean - plan.fpr).abs() < 4.0 * error, "{n}: {mean} ± {error}, planned {}", plan.fpr);
        assert!(n < 20_000 || (mean / plan.fpr - 1.0).abs() < 0.01, "{n}: {mean}, planned {}", plan.fpr);
    }
}

/// At the design point a counter has a Poisson law of mean ln 2: so many reach each value, the last of which is where they stick.
#[test]
fn counters_have_the_law_that_overflow_is_reckoned_by() {
    fn tails<const BITS: u32>(layout: Layout, digests: &[Digest]) -> Vec<u64> {
        let mut filter = CountingFilter::<_, BITS>::with_layout(layout, 0).unwrap();
        filter.insert_batch(digests).unwrap();
        let counts = &filter.histograms()[0].counts;
        assert_eq!(counts.last(), Some(&filter.saturated()));
        (0..counts.len()).map(|value| counts[value..].iter().sum()).collect()
    }
    const K: u32 = 7;
    let digests = some_digests(0x1A3, 200_000);
    // 7 · 200,000/ln 2, rounded up.
    let m = 2_019_774;
    let mean_count = f64::from(K) * digests.len() as f64 / m as f64;
    let layout = Layout::new(m, K).unwrap();
    let (two, four, eight) =
        (tails::<2>(layout, &digests), tails::<4>(layout, &digests), tails::<8>(layout, &digests));
    for (value, &seen) in (0..8).zip(&four).skip(1) {
        let tail = counter_tail(mean_count, value);
        let mean = tail * m as f64;
        let z = (seen as f64 - mean) / (mean * (1.0 - tail)).sqrt();
        assert!(z.abs() <= 4.0, "{seen} counters at {value} or more, {mean:.1} expected, z = {z:.1}");
    }
    // However wide, counters below their largest number count alike.
    assert!(two == four[..4] && four == eight[..16]);
    // The documented figures: what sticks in two bits, and in four.
    assert!((two[3] as f64 / m as f64 - 0.033_3).abs() < 0.000_5, "{} of {m}", two[3]);
    assert!((1e-15..2e-15).contains(&counter_tail(std::f64::consts::LN_2, 15)));
}
