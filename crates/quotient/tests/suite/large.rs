//! Tables so large and so full that clusters span many blocks.

use amq::{Amq, Count, Digest, Family, Insert, Remove, Spec};
use amq_quotient::Geometry;

use super::common::{below, digest, digests, random};
use crate::Tested;

/// One by one and in bulk, to a load of .9875 and back: the same bytes, and no record lost on the way.
#[test]
fn half_a_million_slots_nearly_full() {
    for (seed, slots, r) in [(1, 500_000, 8), (2, 480_007, 12), (3, 400_003, 5)] {
        let n = slots * 79 / 80;
        let keys = digests(seed, n);
        let geometry = Geometry::new(slots as u64, r).unwrap();
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        for &key in &keys {
            filter.insert(key).unwrap();
        }
        filter.check_invariants().unwrap();
        assert_eq!(filter.count_hits(&keys), n as u64, "seed {seed}");
        let built = Tested::build(&keys, &Spec::shape(n as f64 / slots as f64, r, n as u64)).unwrap();
        assert_eq!(built.geometry(), geometry);
        assert_eq!(built, filter, "seed {seed}");

        let mut batched = Tested::with_geometry(geometry, 0).unwrap();
        batched.insert_batch(&keys).unwrap();
        assert_eq!(batched, filter, "seed {seed}");

        let absent = digests(seed + 100, 100_000);
        let mut answers = vec![false; absent.len()];
        filter.contains_batch(&absent, &mut answers);
        let mut counts = vec![0; absent.len()];
        filter.count_batch(&absent, &mut counts);
        let mut fingerprints: Vec<u64> = keys.iter().map(|&key| geometry.fingerprint(key)).collect();
        fingerprints.sort_unstable();
        for ((&digest, &answer), &count) in absent.iter().zip(&answers).zip(&counts) {
            let fingerprint = geometry.fingerprint(digest);
            let first = fingerprints.partition_point(|&stored| stored < fingerprint);
            let expected = fingerprints[first..].iter().take_while(|&&stored| stored == fingerprint).count();
            assert_eq!((answer, count), (expected > 0, expected as u64), "{digest:?}, seed {seed}");
            assert_eq!(filter.contains(digest), answer);
        }

        let (out, kept) = keys.split_at(n / 3);
        assert_eq!(filter.remove_batch(&out[..out.len() / 2]), (out.len() / 2) as u64);
        for &key in &out[out.len() / 2..] {
            assert!(filter.remove(key), "seed {seed}");
        }
        filter.check_invariants().unwrap();
        assert_eq!(filter.count_hits(kept), kept.len() as u64);
        let mut rest = Tested::with_geometry(geometry, 0).unwrap();
        rest.insert_batch(kept).unwrap();
        assert_eq!(rest, filter, "seed {seed}");
    }
}

/// Every m around the sizes of blocks, filled until one slot is left, by digests at random, in a few homes, and in the last one.
#[test]
fn every_size_around_a_block_full_but_for_one_slot() {
    let mut rng = random(7);
    for slots in (2..=260_u64).chain([448, 449, 511, 512, 513, 1_023]) {
        for r in [1, 5, 7, 8, 9, 10, 12, 16, 33, Tested::R.1] {
            let geometry = Geometry::new(slots, r).unwrap_or_else(|| Geometry::new(slots, 54).unwrap());
            for homes in [slots, 3, 1] {
                let mut filter = Tested::with_geometry(geometry, 0).unwrap();
                let mut keys = Vec::new();
                while filter.remaining() > Some(0) {
                    let quotient = slots - 1 - below(&mut rng, homes.min(slots));
                    let remainder = below(&mut rng, 1 << geometry.r());
                    let key = digest(geometry, (quotient, remainder));
                    filter.insert(key).unwrap();
                    keys.push(key);
                }
                filter
                    .check_invariants()
                    .unwrap_or_else(|error| panic!("{error}: m {slots}, r {r}, {homes}"));
                let mut sorted: Vec<u64> = keys.iter().map(|&key| geometry.fingerprint(key)).collect();
                sorted.sort_unstable();
                let listed = filter.fingerprints().flat_map(|(f, times)| (0..times).map(move |_| f));
                assert!(listed.eq(sorted.iter().copied()), "m {slots}, r {r}, {homes} homes");
                assert_eq!(filter.count_hits(&keys), slots - 1);
                let spec = Spec::shape((slots - 1) as f64 / slots as f64, geometry.r(), slots - 1);
                let built = Tested::build(&keys, &spec).unwrap();
                assert_eq!(built.geometry().slots(), slots);
                assert_eq!(built.bytes(), filter.bytes(), "m {slots}, r {r}, {homes} homes");
                for _ in 0..keys.len() / 2 {
                    let key = keys.swap_remove(usize::try_from(below(&mut rng, keys.len() as u64)).unwrap());
                    assert!(filter.remove(key));
                }
                filter
                    .check_invariants()
                    .unwrap_or_else(|error| panic!("{error}: m {slots}, r {r}, {homes}"));
                assert_eq!(filter.count_hits(&keys), keys.len() as u64);
                filter.remove_batch(&keys);
                assert_eq!(filter, Tested::with_geometry(geometry, 0).unwrap());
            }
        }
    }
}

#[test]
fn all_quotients_equal() {
    let geometry = Geometry::new(3_000, 20).unwrap();
    for home in [0, 1, 55, 56, 1_500, 2_998, 2_999] {
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        let keys: Vec<Digest> = (0..2_999).map(|i| digest(geometry, (home, i * 7 % 1_000 * 1_000))).collect();
        filter.insert_batch(&keys).unwrap();
        filter.check_invariants().unwrap();
        let mut answers = vec![false; keys.len()];
        filter.contains_batch(&keys, &mut answers);
        assert!(answers.iter().all(|&answer| answer));
        assert!(keys.iter().all(|&key| filter.count(key) == 3 || filter.count(key) == 2));
        assert!(!filter.contains(digest(geometry, (home, 1))));
        assert!(!filter.contains(digest(geometry, (home / 2 + 7, 0))));
        for &key in &keys[1_000..] {
            assert!(filter.remove(key));
        }
        filter.check_invariants().unwrap();
        assert_eq!(filter.count_hits(&keys[..1_000]), 1_000);
        assert_eq!(filter.records(), 1_000);
    }
}
