//! Unaligned little-endian words and single bits of a byte slice.
//!
//! Everything is inlined and checks its bounds once. Byte order never matters: a value stored on one machine reads the same on
//! every other.

/// A bit or byte position as an index: the one place where a position becomes a `usize`.
///
/// A position beyond the address space (only possible where `usize` has 32 bits) becomes `usize::MAX`, which the bounds check
/// of the access then refuses.
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
    // `offset + 8 <= len` in one comparison that cannot overflow and whose right side is the same for the whole of a loop.
    if offset >= bytes.len().saturating_sub(7) {
        out_of_bounds(offset, bytes.len());
    }
    // SAFETY: (1) offset < max(len - 7, 0), so len >= 8 and offset + 8 <= len: the eight bytes read are inside `bytes` and
    // initialised. (2) `read_unaligned` needs no alignment, and every bit pattern is a `u64`.
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
    // SAFETY: (1) offset < max(len - 7, 0), so len >= 8 and offset + 8 <= len: the eight bytes written are inside `bytes`, which
    // is borrowed exclusively. (2) `write_unaligned` needs no alignment.
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
