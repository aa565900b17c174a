//! Bytes that are no table, and all that are.

use amq::{Insert, InvariantError};
use amq_quotient::{Geometry, PartsError, Records};

use crate::Tested;
use crate::suite::common::empty;

#[test]
fn wrong_parts_are_named() {
    let geometry = Geometry::new(8, 3).unwrap();
    let view = |geometry, bytes| Tested::from_parts(geometry, 0, Records::Shared, bytes).map(|_| ());
    assert_eq!(view(geometry, &[0_u8; 13][..]), Ok(()));
    for bytes in [&[][..], &[0; 12], &[0; 14]] {
        assert_eq!(
            view(geometry, bytes),
            Err(PartsError::Length { bytes: bytes.len() as u64, expected: 13 })
        );
    }
    assert_eq!(view(Geometry::new(8, 55).unwrap(), &[0; 13]), Err(PartsError::Geometry { slots: 8, r: 55 }));
    // 2^62 slots of four bits fit into no count of bits.
    let huge = Geometry::new(1 << 62, 1).unwrap();
    assert_eq!(view(huge, &[0; 13]), Err(PartsError::Geometry { slots: 1 << 62, r: 1 }));
    let mut padding = [0_u8; 13];
    padding[6] = 1;
    let what = InvariantError { what: "a padding bit is set", at: 6 };
    assert_eq!(view(geometry, &padding), Err(PartsError::Table(what)));
}

/// The binomial coefficient.
fn choose(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |product, i| product * (n - k + i) / i)
}

/// All tables that there are: as many pass the check as there are multisets, and each of them is the one that its own
/// fingerprints are laid out as. So the check accepts nothing else, and a multiset has one table.
#[test]
fn exactly_the_tables_of_multisets_pass() {
    for slots in 2..=5_u64 {
        let geometry = Geometry::new(slots, 1).unwrap();
        let mut sound = 0;
        for pattern in 0..1_u32 << (4 * slots) {
            let mut bytes = pattern.to_le_bytes().to_vec();
            bytes.truncate(usize::try_from((4 * slots).div_ceil(8)).unwrap());
            bytes.extend([0; 7]);
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
