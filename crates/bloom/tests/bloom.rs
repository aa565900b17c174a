//! The Bloom filter against a naive model, the formulas, and cases from the field.

mod common;

use amq::theory::bloom::{fpr_exact, fpr_given_state};
use amq::{Amq, Digest, Family, Insert, Intersect, Key, MergeError, Spec, Union};
use amq_bits::Store;
use amq_bloom::{Bloom, Layout, LayoutError, Probes};
use common::{hostile_digests, mean_and_error, random_digests, some_digests};
use proptest::prelude::*;

fn empty(m: u64, k: u32) -> Bloom {
    Bloom::with_layout(Layout::new(m, k).unwrap(), 0).unwrap()
}

fn filled(m: u64, k: u32, digests: &[Digest]) -> Bloom {
    let mut filter = empty(m, k);
    filter.insert_batch(digests).unwrap();
    filter
}

/// The filter as one `bool` a bit.
#[derive(Clone, Debug, PartialEq)]
struct Naive {
    bits: Vec<bool>,
    k: u32,
}

impl Naive {
    fn of(m: u64, k: u32, digests: &[Digest]) -> Self {
        let mut naive = Self { bits: vec![false; usize::try_from(m).unwrap()], k };
        for &digest in digests {
            naive.positions(digest).for_each(|position| naive.bits[position] = true);
        }
        naive
    }

    fn positions(&self, digest: Digest) -> impl Iterator<Item = usize> + use<> {
        Probes::new(digest, self.bits.len() as u64)
            .take(self.k as usize)
            .map(|position| usize::try_from(position).unwrap())
    }

    fn contains(&self, digest: Digest) -> bool {
        self.positions(digest).all(|position| self.bits[position])
    }

    fn table(&self) -> Vec<u8> {
        self.bits
            .chunks(8)
            .map(|bits| bits.iter().enumerate().map(|(i, &bit)| u8::from(bit) << i).sum())
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn agrees_with_the_naive_filter(m in 1_u64..=70, k in 1_u32..=64, left in 0_usize..12, right in 0_usize..12, seed in any::<u64>()) {
        let digests = some_digests(seed, 200);
        let (a, rest) = digests.split_at(left);
        let (b, absent) = rest.split_at(right);
        let naive = Naive::of(m, k, a);
        let filter = filled(m, k, a);
        prop_assert_eq!(Family::table(&filter), naive.table());
        filter.check_invariants().unwrap();
        for &digest in a.iter().chain(absent) {
            prop_assert_eq!(filter.contains(digest), naive.contains(digest));
        }
        let set = naive.bits.iter().filter(|&&bit| bit).count() as u64;
        prop_assert_eq!(filter.set_bits(), set);
        prop_assert_eq!(filter.expected_fpr(), Some(fpr_given_state(set, m, k)));

        let other = filled(m, k, b);
        let both = filter.union(&other).unwrap();
        prop_assert_eq!(&both, &filled(m, k, &digests[..left + right]));
        prop_assert_eq!(both.len(), Some((left + right) as u64));
        prop_assert_eq!(&both, &other.union(&filter).unwrap());
        prop_assert_eq!(&filter, &filter.union(&filter).unwrap());

        let common = both.intersect(&filter).unwrap();
        prop_assert_eq!(&common, &filter);
        prop_assert_eq!(common.len(), None);
        let meet = filter.intersect(&other).unwrap();
        prop_assert_eq!(&meet, &other.intersect(&filter).unwrap());
        for &digest in absent {
            prop_assert_eq!(meet.contains(digest), filter.contains(digest) && other.contains(digest));
        }
        for filter in [&both, &common, &meet] {
            filter.check_invariants().unwrap();
        }
    }
}

#[test]
fn layouts_and_tables_are_checked() {
    assert_eq!(Layout::new(0, 1), Err(LayoutError::Positions { m: 0 }));
    assert_eq!(Layout::new(u64::MAX, 1), Err(LayoutError::Positions { m: u64::MAX }));
    assert_eq!(Layout::new(64, 0), Err(LayoutError::HashFunctions { k: 0 }));
    assert_eq!(Layout::new(64, 65), Err(LayoutError::HashFunctions { k: 65 }));

    let bytes = [0xff_u8; 9];
    let at = |m, length| Bloom::from_parts(&bytes[..length], Layout::new(m, 3).unwrap(), 0, None).map(|_| ());
    assert_eq!(at(64, 8), Ok(()));
    assert_eq!(at(65, 8), Err(LayoutError::TableLength { bytes: 8, expected: 9 }));
    assert_eq!(at(64, 9), Err(LayoutError::TableLength { bytes: 9, expected: 8 }));
    assert_eq!(at(63, 8), Err(LayoutError::Padding { last: 0xff }));
    assert_eq!(at(1, 0), Err(LayoutError::TableLength { bytes: 0, expected: 1 }));

    let messages = [
        (LayoutError::Positions { m: 0 }, "0 positions are not in 1 to 1152921504606846976"),
        (LayoutError::HashFunctions { k: 65 }, "65 hash functions are not in 1 to 64"),
        (LayoutError::TableLength { bytes: 8, expected: 9 }, "the table has 8 bytes, the positions take 9"),
        (LayoutError::Padding { last: 255 }, "the last byte, 0xff, has bits behind the last position"),
    ];
    for (error, message) in messages {
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_borrowed_table_answers_alike() {
    let digests = some_digests(5, 500);
    let filter = Bloom::build(&digests[..100], &Spec::fpr(0.05, 100).with_seed(3)).unwrap();
    let bytes = filter.table().to_vec();
    let view = Bloom::from_parts(&bytes[..], filter.layout(), filter.seed(), filter.len()).unwrap();
    assert_eq!(view, filter);
    assert_eq!(view.space().heap_bytes, 0);
    assert!(digests.iter().all(|&digest| view.contains(digest) == filter.contains(digest)));

    let mut bytes = bytes;
    let mut writable = Bloom::from_parts(&mut bytes[..], filter.layout(), 3, None).unwrap();
    writable.insert(digests[200]).unwrap();
    assert!(writable.contains(digests[200]));
    assert_eq!(writable.len(), None);
}

#[test]
fn no_key_is_lost_whatever_the_digests_and_the_layout() {
    let digests = hostile_digests();
    for k in 1..=64 {
        for m in [1, 2, 3, 63, 64, 65, 1_000, 8 << 20] {
            if m > 1_000 && k % 7 != 0 {
                continue;
            }
            let batch = filled(m, k, &digests);
            let mut single = empty(m, k);
            for &digest in &digests {
                single.insert(digest).unwrap();
            }
            assert_eq!(batch, single);
            assert!(digests.iter().all(|&digest| batch.contains(digest)), "m {m} k {k}");
            assert_eq!(batch.count_hits(&digests), digests.len() as u64);
        }
    }
}

/// Below and above the size from which memory is fetched ahead.
#[test]
fn batches_answer_as_single_lookups_do() {
    for m in [1_000, (16 << 20) + 3] {
        for k in [1, 2, 7, 16, 17, 64] {
            let digests = some_digests(m + u64::from(k), 300);
            let filter = filled(m, k, &digests[..20]);
            for length in [0, 1, 15, 16, 17, 33, 300] {
                let mut answers = vec![true; length];
                filter.contains_batch(&digests[..length], &mut answers);
                let single: Vec<bool> = digests[..length].iter().map(|&d| filter.contains(d)).collect();
                assert_eq!(answers, single, "m {m} k {k}");
                let hits = single.iter().filter(|&&hit| hit).count() as u64;
                assert_eq!(filter.count_hits(&digests[..length]), hits);
                assert_eq!(filter.count_hits_chained(&digests[..length]), hits);
            }
        }
    }
}

#[test]
#[should_panic(expected = "one answer for each digest")]
fn a_batch_takes_one_answer_a_digest() {
    empty(64, 3).contains_batch(&some_digests(1, 3), &mut [false; 2]);
}

#[test]
fn capacity_zero_and_tiny_capacities_make_usable_filters() {
    for capacity in [0, 1, 2, 4, 8] {
        for spec in
            [Spec::fpr(0.001, capacity), Spec::shape(0.9, 5, capacity), Spec::bits_per_key(10.0, capacity)]
        {
            let mut filter = Bloom::build(&[], &spec).unwrap();
            assert!((1..=64).contains(&filter.layout().k()));
            assert_eq!((filter.is_empty(), filter.expected_fpr()), (Some(true), Some(0.0)));
            assert_eq!(filter.count_hits(&some_digests(9, 100)), 0);
            let key = "key".digest(spec.seed());
            filter.insert(key).unwrap();
            assert!(filter.contains(key) && filter.len() == Some(1));
            let plan = Bloom::plan(&spec).unwrap();
            assert_eq!(plan.alpha == 0.0, capacity == 0);
            assert_eq!(plan.fpr == 0.0, capacity == 0);
            assert_eq!(plan.bits_per_key().is_none(), capacity == 0);
        }
    }
}

#[test]
fn a_very_low_rate_takes_every_key() {
    let digests = some_digests(11, 1_000);
    let filter = Bloom::build(&digests, &Spec::fpr(1e-9, 1_000)).unwrap();
    assert_eq!(filter.count_hits(&digests), 1_000);
    assert_eq!(filter.count_hits(&some_digests(12, 100_000)), 0);
    assert_eq!(Bloom::build(&digests[..1], &Spec::fpr(0.01, 1_000)).unwrap().count_hits(&digests[1..]), 0);
}

#[test]
fn ten_thousand_keys_at_ten_bits_keep_the_rate() {
    let mut digests = random_digests(0x0e16);
    let keys: Vec<Digest> = digests.by_ref().take(10_000).collect();
    let filter = Bloom::build(&keys, &Spec::bits_per_key(10.0, 10_000)).unwrap();
    let queries: Vec<Digest> = digests.take(1_000_000).collect();
    let hits = filter.count_hits(&queries) as f64;
    let expected = filter.expected_fpr().unwrap() * 1e6;
    assert!((hits - expected).abs() < 4.0 * expected.sqrt(), "{hits} {expected}");
    assert!(hits < 1.05e6 * fpr_exact(100_000, 10_000, 7), "{hits}");
}

/// No size is worse than its neighbours.
#[test]
fn two_hundred_sizes_in_a_row_keep_their_rates() {
    let (mut lowest, mut highest) = (f64::INFINITY, 0.0_f64);
    for m in 1_000..1_200 {
        let mut hits = 0;
        for seed in 0..16 {
            let digests = some_digests(m * 100 + seed, 20_100);
            hits += filled(m, 7, &digests[..100]).count_hits(&digests[100..]);
        }
        let ratio = hits as f64 / (16.0 * 20_000.0) / fpr_exact(m, 100, 7);
        lowest = lowest.min(ratio);
        highest = highest.max(ratio);
    }
    assert!(highest / lowest < 1.5 && lowest < 1.0 && highest > 1.0, "{lowest} to {highest}");
}

/// Hashes of too few bits lose the rate, and the test of the rate shows it.
#[test]
fn truncated_digests_are_noticed() {
    let rate = |mask: u64| {
        let digests: Vec<Digest> =
            random_digests(77).take(60_000).map(|d| Digest::new(d.get() & mask)).collect();
        let filter = Bloom::build(&digests[..20_000], &Spec::fpr(0.01, 20_000)).unwrap();
        filter.count_hits(&digests[20_000..]) as f64 / 40_000.0
    };
    assert!(rate(u64::MAX) < 0.012);
    assert!(rate(0xffff) > 0.2);
    assert!(rate(0x00ff_ffff << 40) < 0.02 && rate(0xffff << 48) > 0.2);
}

#[test]
fn seeds_make_different_false_positives() {
    let positives = |seed: u64| -> Vec<u64> {
        let spec = Spec::fpr(0.05, 1_000).with_seed(seed);
        let digests: Vec<Digest> = (0..1_000_u64).map(|key| key.digest(seed)).collect();
        let filter = Bloom::build(&digests, &spec).unwrap();
        assert_eq!(filter.seed(), seed);
        (1_000..11_000).filter(|key| filter.contains(key.digest(seed))).collect()
    };
    let (left, right) = (positives(1), positives(2));
    let common = left.iter().filter(|key| right.contains(key)).count();
    // 25 by chance.
    assert!(left.len() > 350 && common < 60, "{} {common}", left.len());
}

#[test]
fn overfilling_shows_in_the_expected_rate() {
    let digests = some_digests(31, 3_000);
    let mut filter = Bloom::build(&digests[..1_000], &Spec::fpr(0.01, 1_000)).unwrap();
    let mut last = filter.expected_fpr().unwrap();
    for chunk in digests[1_000..].chunks(50) {
        filter.insert_batch(chunk).unwrap();
        let rate = filter.expected_fpr().unwrap();
        assert!(rate > last);
        last = rate;
    }
    assert!(last > 0.3 && filter.remaining().is_none());
    assert_eq!(filter.count_hits(&digests), 3_000);
}

#[test]
fn the_count_is_estimated_and_never_absurd() {
    for n in [0_usize, 1, 10, 100, 1_000] {
        let estimates: Vec<f64> = (0..64)
            .map(|seed| filled(2_000, 3, &some_digests(seed * 7 + n as u64, n)).estimated_count().unwrap())
            .collect();
        let (mean, error) = mean_and_error(&estimates);
        // The logarithm of a random number adds a little to the mean.
        assert!((mean - n as f64).abs() <= 4.0 * error + 0.01 * n as f64, "{n}: {mean} +- {error}");
    }
    let full = Bloom::from_parts(&[0xff_u8; 8][..], Layout::new(64, 3).unwrap(), 0, None).unwrap();
    assert_eq!((full.estimated_count(), full.expected_fpr(), full.fill()), (None, Some(1.0), 1.0));
    assert_eq!(full.estimated_intersection(&full), Ok(None));
    // One set bit of two, one probe: exactly one key. Of three with two set: ln(1/3)/ln(2/3).
    let with = |m, byte: u8| {
        let bytes = [byte];
        Bloom::from_parts(&bytes[..], Layout::new(m, 1).unwrap(), 0, None).unwrap().estimated_count().unwrap()
    };
    assert!((with(2, 0b01) - 1.0).abs() < 1e-14);
    assert!((with(3, 0b101) - 2.709_511_291_351_454_6).abs() < 1e-14);
    let one = filled(1, 3, &some_digests(1, 1));
    assert_eq!((one.estimated_count(), empty(1, 3).estimated_count()), (None, Some(0.0)));
}

#[test]
fn the_common_part_is_estimated_and_never_negative() {
    let digests = some_digests(8, 1_500);
    let (a, b) = (filled(20_000, 5, &digests[..1_000]), filled(20_000, 5, &digests[500..]));
    let common = a.estimated_intersection(&b).unwrap().unwrap();
    assert!((common - 500.0).abs() < 60.0, "{common}");
    for seed in 0..200 {
        let digests = some_digests(seed, 20);
        let (a, b) = (filled(200, 3, &digests[..10]), filled(200, 3, &digests[10..]));
        let common = a.estimated_intersection(&b).unwrap().unwrap();
        assert!((0.0..20.0).contains(&common), "seed {seed}: {common}");
    }
}

#[test]
fn an_intersection_keeps_every_common_key_at_a_higher_rate() {
    let digests = some_digests(781, 100_750);
    let spec = Spec::fpr(0.01, 500);
    let a = Bloom::build(&digests[..500], &spec).unwrap();
    let b = Bloom::build(&digests[250..750], &spec).unwrap();
    let both = a.intersect(&b).unwrap();
    assert_eq!(both.count_hits(&digests[250..500]), 250);
    let built = Bloom::build(&digests[250..500], &spec).unwrap();
    assert!(both.expected_fpr() > built.expected_fpr());
    assert!(both.expected_fpr() < a.expected_fpr() && both.expected_fpr() < b.expected_fpr());
    assert_eq!((both.len(), both.is_empty()), (None, None));
}

#[test]
fn what_does_not_fit_together_is_refused_and_left_alone() {
    let seeded = |m, k, seed| {
        let mut filter = Bloom::with_layout(Layout::new(m, k).unwrap(), seed).unwrap();
        filter.insert_batch(&some_digests(1, 5)).unwrap();
        filter
    };
    for (other, error) in [
        (seeded(64, 3, 2), MergeError::Seed { left: 1, right: 2 }),
        (seeded(65, 3, 1), MergeError::Size { left: 64, right: 65 }),
        (seeded(63, 3, 1), MergeError::Size { left: 64, right: 63 }),
        (seeded(64, 4, 1), MergeError::HashFunctions { left: 3, right: 4 }),
    ] {
        let filter = seeded(64, 3, 1);
        assert_eq!(filter.union(&other), Err(error));
        assert_eq!(filter.intersect(&other), Err(error));
        assert_eq!(filter.estimated_intersection(&other), Err(error));
        assert_ne!(filter, other);
        assert_eq!(filter, seeded(64, 3, 1));
    }
}

#[test]
fn a_clone_is_equal_and_independent() {
    let digests = some_digests(4, 20);
    let filter = filled(500, 4, &digests[..10]);
    let mut clone = filter.clone();
    assert_eq!(clone, filter);
    clone.insert_batch(&digests[10..]).unwrap();
    assert_ne!(clone, filter);
    assert_eq!(filter, filled(500, 4, &digests[..10]));
    assert_eq!(format!("{filter:?}"), "Bloom { m: 500, k: 4, seed: 0, inserts: Some(10), .. }");
}

#[test]
fn the_order_of_keys_and_duplicates_leave_no_trace() {
    let mut digests = some_digests(6, 400);
    let spec = Spec::fpr(0.01, 400);
    let filter = Bloom::build(&digests, &spec).unwrap();
    digests.reverse();
    digests.extend_from_within(..100);
    let again = Bloom::build(&digests, &spec).unwrap();
    assert_eq!(filter, again);
    assert_eq!(again.len(), Some(500));
}

#[test]
fn a_contradictory_table_is_noticed() {
    let layout = Layout::new(64, 2).unwrap();
    let mut filter = filled(64, 2, &some_digests(3, 3));
    filter.check_invariants().unwrap();
    let bytes = [0xff; 8];
    let mut table = amq_bits::Table::zeroed(8).unwrap();
    amq_bits::StoreMut::bytes_mut(&mut table).copy_from_slice(&bytes);
    filter = Bloom::from_parts(table, layout, 0, Some(3)).unwrap();
    assert!(filter.check_invariants().is_err());
    assert_eq!(Store::bytes(&&bytes[..]), filter.table());
}
