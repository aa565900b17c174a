//! Whole tables: folded, and filled by large batches.

mod common;

use amq::{Amq, Insert, Remove, ResizeError};
use amq_bloom::{Bloom, CountingBloom, Layout, Probes};
use common::some_digests;

fn filled(m: u64, k: u32, keys: usize) -> Bloom {
    let mut filter = Bloom::with_layout(Layout::new(m, k).unwrap(), 5).unwrap();
    filter.insert_batch(&some_digests(1, keys)).unwrap();
    filter
}

#[test]
fn a_folded_filter_is_the_one_of_half_the_size() {
    for m in (2..=140).step_by(2).chain([9_586, 1 << 16]) {
        for keys in [0, 1, 5, 40] {
            let folded = filled(m, 5, keys).folded().unwrap();
            assert!(folded == filled(m / 2, 5, keys), "{m} {keys}");
            assert_eq!((folded.len(), folded.seed()), (Some(keys as u64), 5));
        }
    }
    assert_eq!(filled(1, 5, 1).folded().unwrap_err(), ResizeError::Smallest { slots: 1 });
    assert_eq!(filled(9, 5, 1).folded().unwrap_err(), ResizeError::OddSlots { slots: 9 });
}

#[test]
fn folding_stops_at_the_rate_and_at_odd_sizes() {
    let mut filter = filled(1 << 20, 7, 5_000);
    let folds = filter.fold_while(0.01).unwrap();
    let rate = filter.expected_fpr().unwrap();
    assert!(
        folds == 4 && rate <= 0.01 && filter.folded().unwrap().expected_fpr().unwrap() > 0.01,
        "{folds} {rate}"
    );
    assert!(some_digests(1, 5_000).iter().all(|&digest| filter.contains(digest)));
    assert_eq!(filled(12, 2, 0).fold_while(0.5), Ok(2));
    assert_eq!(filled(12, 2, 0).fold_while(f64::NAN), Ok(0));
    assert_eq!(filled(64, 2, 0).fold_while(0.5), Ok(6));
    assert_eq!(filled(64, 2, 60).fold_while(1e-9), Ok(0));
}

/// A batch that is sorted by region before it is written sets the bits that single inserts set, in a table with a part of a region at its end.
#[test]
fn large_batches_into_large_tables_are_single_inserts() {
    for (m, k) in [((32 << 23) + 77, 7), ((36 << 23) - 5, 1), (33 << 23, 17)] {
        let keys = 1_000_000 / k as usize;
        let digests = some_digests(1, keys);
        let batch = filled(m, k, keys);
        let mut single = Bloom::with_layout(Layout::new(m, k).unwrap(), 5).unwrap();
        for &digest in &digests {
            single.insert(digest).unwrap();
        }
        assert!(batch == single, "{m} {k}");
        let mut answers = vec![false; keys];
        batch.contains_batch(&digests, &mut answers);
        assert!(answers.iter().all(|&answer| answer), "{m} {k}");
    }
}

/// The sizes around which 32 bits of position, or of signed offset, would no longer do. The tables are borrowed: of memory that nobody has
/// written to, only the pages that are used exist.
#[test]
fn tables_of_more_than_32_bits_of_positions_are_used_to_the_end() {
    let keys = some_digests(2, 128);
    let (members, absent) = keys.split_at(64);
    for m in [(1_u64 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 33) + 77, (1 << 34) + 9] {
        let layout = Layout::new(m, 7).unwrap();
        let mut bytes = vec![0_u8; usize::try_from(m.div_ceil(8)).unwrap()];
        let mut filter = Bloom::from_parts(&mut bytes[..], layout, 0, Some(0)).unwrap();
        filter.insert_batch(&members[..32]).unwrap();
        members[32..].iter().for_each(|&digest| filter.insert(digest).unwrap());
        let mut answers = vec![false; keys.len()];
        filter.contains_batch(&keys, &mut answers);
        for (i, (&digest, &answer)) in keys.iter().zip(&answers).enumerate() {
            assert_eq!((answer, filter.contains(digest)), (i < 64, i < 64), "m {m}, key {i}");
        }
        assert_eq!((filter.count_hits(members), filter.count_hits(absent)), (64, 0), "m {m}");
        let positions: Vec<u64> = members.iter().flat_map(|&digest| Probes::new(digest, m).take(7)).collect();
        let is_set =
            |&position: &u64| bytes[usize::try_from(position / 8).unwrap()] >> (position % 8) & 1 == 1;
        assert!(positions.iter().all(is_set), "m {m}");
        assert!(positions.iter().any(|&position| position > m - m / 32), "m {m}");
    }
}

/// As above, of counters: 4 bits each.
#[test]
fn counters_of_more_than_32_bits_of_positions_are_used_to_the_end() {
    let keys = some_digests(3, 64);
    for m in [(1_u64 << 31) + 1, (1 << 32) - 1, (1 << 33) + 7] {
        let layout = Layout::new(m, 7).unwrap();
        let mut bytes = vec![0_u8; usize::try_from(m.div_ceil(2)).unwrap()];
        let mut filter = CountingBloom::from_parts(&mut bytes[..], layout, 0, Some(0)).unwrap();
        filter.insert_batch(&keys[..32]).unwrap();
        assert_eq!((filter.count_hits(&keys[..32]), filter.count_hits(&keys[32..])), (32, 0), "m {m}");
        assert_eq!(filter.remove_batch(&keys[16..]), 16, "m {m}");
        assert!(keys.iter().enumerate().all(|(i, &key)| filter.contains(key) == (i < 16)), "m {m}");
    }
}
