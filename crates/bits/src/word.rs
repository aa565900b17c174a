//! Unaligned little-endian words and single bits of a byte slice.
//!
//! Everything is inlined and checks its bounds once. Byte order never matters: a value stored on one machine
//! reads the same on every other.

/// A bit or byte position as an index: the one place where a position becomes a `usize`.
///
/// A position beyond the address space (only possible where `usize` has 32 bits) becomes `usize::MAX`, which
/// the bounds check of the access then refuses.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(offset: usize, len: usize) -> ! {
    panic!("eight bytes from offset {offset} leave a table of {len} bytes")
}

/// The 64-bit word in the bytes `offset .. offset + 8`.
///
/// One comparison and one unaligned load.
///
/// # Panics
///
/// If the word is not inside `bytes`.
#[inline]
#[track_caller]
pub fn load_u64(bytes: &[u8], offset: usize) -> u64 {
    // `offset + 8 <= len` in one comparison that cannot overflow and whose right side is the same for the
    // whole of a loop.
    if offset >= bytes.len().saturating_sub(7) {
        out_of_bounds(offset, bytes.len());
    }
    // SAFETY: (1) offset < max(len - 7, 0), so len >= 8 and offset + 8 <= len: the eight bytes read are
    // inside `bytes` and initialised. (2) `read_unaligned` needs no alignment, and every bit pattern is a
    // `u64`.
    u64::from_le(unsafe { bytes.as_ptr().add(offset).cast::<u64>().read_unaligned() })
}

/// Stores `value` in the bytes `offset .. offset + 8`.
///
/// One comparison and one unaligned store.
///
/// # Panics
///
/// If the word is not inside `bytes`.
#[inline]
#[track_caller]
pub fn store_u64(bytes: &mut [u8], offset: usize, value: u64) {
    if offset >= bytes.len().saturating_sub(7) {
        out_of_bounds(offset, bytes.len());
    }
    // SAFETY: (1) offset < max(len - 7, 0), so len >= 8 and offset + 8 <= len: the eight bytes written are
    // inside `bytes`, which is borrowed exclusively. (2) `write_unaligned` needs no alignment.
    unsafe { bytes.as_mut_ptr().add(offset).cast::<u64>().write_unaligned(value.to_le()) }
}

/// Bit `i`: bit `i % 8` of byte `i / 8`.
///
/// # Panics
///
/// If `i / 8` is not below the length of `bytes`.
#[inline]
#[track_caller]
pub fn get_bit(bytes: &[u8], i: u64) -> bool {
    (bytes[index(i >> 3)] >> (i & 7)) & 1 != 0
}

/// Sets bit `i` to one.
///
/// # Panics
///
/// As [`get_bit`].
#[inline]
#[track_caller]
pub fn set_bit(bytes: &mut [u8], i: u64) {
    bytes[index(i >> 3)] |= 1 << (i & 7);
}

/// Sets bit `i` to zero.
///
/// # Panics
///
/// As [`get_bit`].
#[inline]
#[track_caller]
pub fn clear_bit(bytes: &mut [u8], i: u64) {
    bytes[index(i >> 3)] &= !(1 << (i & 7));
}

/// A word whose `width` lowest bits are ones; all ones from a width of 64 on.
#[inline]
pub const fn low_mask(width: u32) -> u64 {
    if width < u64::BITS { (1 << width) - 1 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::{clear_bit, get_bit, index, load_u64, low_mask, set_bit, store_u64};

    #[test]
    fn words_at_every_offset_of_every_length() {
        for len in 0..=40_usize {
            let bytes: Vec<u8> = (1..).take(len).collect();
            for offset in
                (0..=len + 8).chain([usize::MAX - 8, usize::MAX - 7, usize::MAX, isize::MAX.cast_unsigned()])
            {
                let expected = bytes
                    .get(offset..)
                    .and_then(|tail| tail.first_chunk())
                    .map(|word| u64::from_le_bytes(*word));
                if cfg!(miri) && expected.is_none() && offset % 8 != 0 {
                    continue;
                }
                assert_eq!(
                    catch_unwind(|| load_u64(&bytes, offset)).ok(),
                    expected,
                    "offset {offset} of {len}"
                );
                let mut written = bytes.clone();
                let stored = catch_unwind(move || {
                    store_u64(&mut written, offset, 0xf1f2_f3f4_f5f6_f7f8);
                    written
                });
                let expected = expected.map(|_| {
                    let mut all = bytes.clone();
                    all[offset..offset + 8]
                        .copy_from_slice(&[0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1]);
                    all
                });
                assert_eq!(stored.ok(), expected, "offset {offset} of {len}");
            }
        }
    }

    #[test]
    fn masks_of_every_width() {
        for width in 0..=64 {
            assert_eq!(u128::from(low_mask(width)), (1_u128 << width) - 1);
        }
        assert_eq!(low_mask(65), u64::MAX);
        assert_eq!(low_mask(u32::MAX), u64::MAX);
    }

    #[test]
    fn positions_beyond_the_address_space_stay_beyond_every_slice() {
        assert_eq!(index(5), 5);
        assert_eq!(index(u64::MAX), usize::MAX);
        assert!(catch_unwind(|| get_bit(&[0; 8], 64)).is_err());
        assert!(catch_unwind(|| get_bit(&[0; 8], u64::MAX)).is_err());
        assert!(catch_unwind(|| set_bit(&mut [0; 8], 64)).is_err());
        assert!(catch_unwind(|| clear_bit(&mut [], 0)).is_err());
    }

    proptest! {
        #![proptest_config(crate::cases(500))]

        #[test]
        fn bits_behave_as_a_vector_of_bools(
            len in 1_usize..40,
            writes in prop::collection::vec((any::<u64>(), any::<bool>()), 0..200),
        ) {
            let mut bytes = std::vec![0; len];
            let mut model = std::vec![false; len * 8];
            for (i, value) in writes {
                let i = i % model.len() as u64;
                if value { set_bit(&mut bytes, i) } else { clear_bit(&mut bytes, i) }
                model[index(i)] = value;
            }
            prop_assert!((0..len as u64 * 8).map(|i| get_bit(&bytes, i)).eq(model.iter().copied()));
            // The bits of a word are the bits at its place in the table.
            for offset in 0..len.saturating_sub(7) {
                let word = load_u64(&bytes, offset);
                prop_assert!((0..64).map(|b| (word >> b) & 1 != 0).eq(model[offset * 8..][..64].iter().copied()));
            }
        }
    }
}
