//! What the suite has to know of the bytes of a table with occupied and run-end bits; and damage that only they can have.

use amq::{Insert, InvariantError};
use amq_quotient::{Geometry, PartsError, Records};

use crate::Tested;
use crate::suite::common::digest;

/// Bytes of a table of eight slots with r = 3: an offset, twice 56 bits, 56 remainders, and padding.
pub(crate) const EIGHT_SLOTS: usize = 15 + 21 + 7;

/// (byte, bits) of padding in it: an occupied, a run-end and two remainder bits behind the last slot, and a bit behind the block.
pub(crate) const PADDING: [(usize, u8); 5] = [(2, 1), (9, 1), (18, 1), (36, 128), (42, 1)];

/// All tables of up to seven slots with r = 1 whose offset is less than the number of slots, damaged ones included.
pub(crate) fn candidates(slots: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..slots << (3 * slots)).map(move |pattern| {
        let mut bytes = vec![0; 15 + 7 + 7];
        for (field, at) in [1, 8, 15].into_iter().enumerate() {
            let bits = pattern >> (field as u64 * slots) & ((1 << slots) - 1);
            bytes[at] = u8::try_from(bits).unwrap();
        }
        bytes[0] = u8::try_from(pattern >> (3 * slots)).unwrap();
        bytes
    })
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
