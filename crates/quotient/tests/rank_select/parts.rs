//! Bytes that are no table, and all that are.

use amq::{Insert, InvariantError};
use amq_quotient::{Geometry, PartsError, Records};

use crate::Tested;
use crate::suite::common::{digest, empty};

#[test]
fn wrong_parts_are_named() {
    fn view(geometry: Geometry, bytes: &[u8]) -> Result<(), PartsError> {
        Tested::from_parts(geometry, 0, Records::Shared, bytes).map(|_| ())
    }
    let geometry = Geometry::new(8, 3).unwrap();
    let expected = 15 + 21 + 7;
    assert_eq!(view(geometry, &[0_u8; 43][..]), Ok(()));
    for bytes in [&[][..], &[0; 42], &[0; 44]] {
        assert_eq!(view(geometry, bytes), Err(PartsError::Length { bytes: bytes.len() as u64, expected }));
    }
    assert_eq!(view(Geometry::new(8, 58).unwrap(), &[0; 43]), Err(PartsError::Geometry { slots: 8, r: 58 }));
    // 2^63 slots of more than three bits fit into no count of bits.
    let huge = Geometry::new(1 << 63, 1).unwrap();
    assert_eq!(view(huge, &[0; 43]), Err(PartsError::Geometry { slots: 1 << 63, r: 1 }));
    // An occupied bit, a run-end bit and a remainder bit behind the last slot, and a byte behind the block.
    for (at, bit) in [(2, 1), (9, 1), (18, 1), (36, 128), (42, 1)] {
        let mut padding = [0_u8; 43];
        padding[at] = bit;
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
        // Occupied bits, run-end bits and remainders of one bit, and an offset below the number of slots.
        for pattern in 0..1_u64 << (3 * slots) {
            for offset in 0..u8::try_from(slots).unwrap() {
                let mut bytes = [0; 29];
                let field = |i: u64| u8::try_from(pattern >> (i * slots) & ((1 << slots) - 1)).unwrap();
                (bytes[0], bytes[1], bytes[8], bytes[15]) = (offset, field(0), field(1), field(2));
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
        }
        // Multisets of k out of 2·slots fingerprints, for k up to slots - 1.
        let multisets: u64 = (0..slots).map(|k| choose(2 * slots + k - 1, k)).sum();
        assert_eq!(sound, multisets, "{slots} slots");
    }
}

#[test]
fn a_wrong_offset_is_found() {
    let geometry = Geometry::new(120, 8).unwrap();
    let mut filter = Tested::with_geometry(geometry, 0).unwrap();
    for i in 0..60 {
        filter.insert(digest(geometry, (40, i))).unwrap();
    }
    for (block, right) in [(0, 0), (1, 50), (2, 0)] {
        for wrong in [0, 1, 49, 50, 51, 255] {
            let mut bytes = filter.bytes().to_vec();
            assert_eq!(bytes[block * 64], right);
            bytes[block * 64] = wrong;
            let result = Tested::from_parts(geometry, 0, Records::OnePerInsertion, &bytes[..]).map(|_| ());
            let error = InvariantError { what: "the offset is wrong in block", at: block as u64 };
            let expected = if wrong == right { Ok(()) } else { Err(PartsError::Table(error)) };
            assert_eq!(result, expected);
        }
    }
}
