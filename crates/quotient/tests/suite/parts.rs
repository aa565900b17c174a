//! Filters over bytes made earlier, sound or damaged.

use super::common::{below, digests, empty, random};
use crate::Tested;
use crate::parts::{EIGHT_SLOTS, PADDING, candidates};
use amq::{Amq, Count, Family, Insert, InvariantError, Remove, Spec};
use amq_bits::{Store, StoreMut, Table};
use amq_quotient::{Geometry, PartsError, Records};

#[test]
fn a_borrowed_table_answers_like_the_owned_one() {
    let keys = digests(3, 1_000);
    let filter = Tested::build(&keys, &Spec::fpr(0.01, 1_000).with_seed(3)).unwrap();
    let mut bytes = filter.bytes().to_vec();
    let view = Tested::from_parts(filter.geometry(), 3, Records::OnePerInsertion, &bytes[..]).unwrap();
    assert_eq!((view.records(), view.seed(), view.space().heap_bytes), (1_000, 3, 0));
    assert!(keys.iter().all(|&key| view.contains(key) && view.count(key) == filter.count(key)));
    assert!(view.same_fingerprints(&filter));
    // And one that may be written to.
    let mut view =
        Tested::from_parts(filter.geometry(), 3, Records::OnePerInsertion, &mut bytes[..]).unwrap();
    assert!(view.remove(keys[0]));
    view.insert(keys[0]).unwrap();
    assert_eq!(view.bytes(), filter.bytes());
}

#[test]
fn wrong_parts_are_named() {
    fn view(geometry: Geometry, bytes: &[u8]) -> Result<(), PartsError> {
        Tested::from_parts(geometry, 0, Records::Shared, bytes).map(|_| ())
    }
    let geometry = Geometry::new(8, 3).unwrap();
    let zeros = [0; EIGHT_SLOTS + 1];
    assert_eq!(view(geometry, &zeros[..EIGHT_SLOTS]), Ok(()));
    for bytes in [&[][..], &zeros[..EIGHT_SLOTS - 1], &zeros] {
        let expected = EIGHT_SLOTS as u64;
        assert_eq!(view(geometry, bytes), Err(PartsError::Length { bytes: bytes.len() as u64, expected }));
    }
    let r = Tested::R.1 + 1;
    assert_eq!(view(Geometry::new(8, r).unwrap(), &zeros), Err(PartsError::Geometry { slots: 8, r }));
    // 2^63 slots of more than three bits fit into no count of bits.
    let huge = Geometry::new(1 << 63, 1).unwrap();
    assert_eq!(view(huge, &zeros), Err(PartsError::Geometry { slots: 1 << 63, r: 1 }));
    for (at, bits) in PADDING {
        let mut padding = [0; EIGHT_SLOTS];
        padding[at] = bits;
        let what = InvariantError { what: "a padding bit is set", at: at as u64 };
        assert_eq!(view(geometry, &padding), Err(PartsError::Table(what)));
    }
}

/// The binomial coefficient.
fn choose(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |product, i| product * (n - k + i) / i)
}

/// All tables that there are: as many pass the check as there are multisets, and each of them is the one that its own fingerprints are
/// laid out as. So the check accepts nothing else, and a multiset has one table.
#[test]
fn exactly_the_tables_of_multisets_pass() {
    for slots in 2..=5_u64 {
        let geometry = Geometry::new(slots, 1).unwrap();
        let mut sound = 0;
        for bytes in candidates(slots) {
            let Ok(filter) = Tested::from_parts(geometry, 0, Records::OnePerInsertion, &bytes[..]) else {
                continue;
            };
            sound += 1;
            let mut rebuilt = empty(slots, 1);
            for (fingerprint, multiplicity) in filter.fingerprints() {
                for _ in 0..multiplicity {
                    rebuilt.insert(geometry.smallest_digest(fingerprint)).unwrap();
                }
            }
            assert_eq!(rebuilt.bytes(), bytes);
            assert_eq!(rebuilt.records(), filter.records());
        }
        // Multisets of k out of 2·slots fingerprints, for k up to slots - 1.
        let multisets: u64 = (0..slots).map(|k| choose(2 * slots + k - 1, k)).sum();
        assert_eq!(sound, multisets, "{slots} slots");
    }
}

/// Random damage to larger tables: an error or the sound table of another multiset, never a panic or an endless loop.
#[test]
fn damage_is_found_or_makes_another_sound_table() {
    let seed = 99;
    let mut rng = random(seed);
    let mut found = 0;
    for round in 0..20_000 {
        let geometry =
            Geometry::new(2 + below(&mut rng, 40), 1 + u32::try_from(below(&mut rng, 8)).unwrap()).unwrap();
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        let records = usize::try_from(below(&mut rng, geometry.slots())).unwrap();
        filter.insert_batch(&digests(round, records)).unwrap();
        let mut table = Table::zeroed(filter.bytes().len() as u64).unwrap();
        table.bytes_mut().copy_from_slice(filter.bytes());
        for _ in 0..=below(&mut rng, 3) {
            let bit = below(&mut rng, table.bytes().len() as u64 * 8);
            table.bytes_mut()[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
        }
        match Tested::from_parts(geometry, 0, Records::OnePerInsertion, table) {
            Err(PartsError::Table(_)) => found += 1,
            Err(error) => panic!("{error}, seed {seed}"),
            Ok(damaged) => {
                let mut rebuilt = Tested::with_geometry(geometry, 0).unwrap();
                for (fingerprint, multiplicity) in damaged.fingerprints() {
                    for _ in 0..multiplicity {
                        rebuilt.insert(geometry.smallest_digest(fingerprint)).unwrap();
                    }
                }
                assert_eq!(rebuilt, damaged, "round {round}, seed {seed}");
            }
        }
    }
    assert!(found > 10_000, "{found} of 20,000");
}
