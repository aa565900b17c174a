//! Integers of any width up to 57 bits, one behind the other without gaps.

use crate::word::{index, load_u64, low_mask, store_u64};

/// How integers of one width lie in a table: integer `i` in the bits `i * width .. (i + 1) * width`, lowest bit first.
///
/// 57 bits are the most that one unaligned 64-bit load can hold at every bit position (57 + 7 = 64). The layout does not own
/// the table and does not know its length; it is `Copy` and meant to live in a register.
///
/// **Limit:** an index must be below 2^58, so that `i * width` fits 64 bits. That is beyond every table that
/// [`bytes_for`](Packed::bytes_for) has a size for on a machine of today; a larger index panics where debug assertions are on,
/// and otherwise panics or reaches some other element.
///
/// ```
/// use amq_bits::{Packed, StoreMut, Store, Table};
///
/// let layout = Packed::new(13).expect("1 to 57 bits");
/// let mut table = Table::zeroed(layout.bytes_for(1000).expect("a small table"))?;
/// layout.set(table.bytes_mut(), 999, 0x1abc);
/// assert_eq!(layout.get(table.bytes(), 999), 0x1abc);
/// assert_eq!(layout.get(table.bytes(), 998), 0);
/// # Ok::<(), amq_bits::AllocError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed {
    /// Invariant: 1 to `MAX_WIDTH`.
    width: u32,
}

/// Bytes behind the last integer that a load may touch but that hold nothing: the word that starts in the last used byte ends
/// seven bytes later.
pub const PADDING: usize = 7;

/// The widest integers that one load can reach at every position.
pub const MAX_WIDTH: u32 = 57;

impl Packed {
    /// The layout of integers of `width` bits; `None` unless `width` is 1 to [`MAX_WIDTH`].
    #[inline]
    pub const fn new(width: u32) -> Option<Self> {
        if 1 <= width && width <= MAX_WIDTH { Some(Self { width }) } else { None }
    }

    /// Bits of an integer, 1 to 57.
    #[inline]
    pub const fn width(self) -> u32 {
        self.width
    }

    /// The largest integer: `width` ones.
    #[inline]
    pub const fn mask(self) -> u64 {
        low_mask(self.width)
    }

    /// Bytes of a table of `len` integers: `ceil(len * width / 8)` and [`PADDING`]. `None` if the number of bits does not fit 64
    /// bits.
    #[inline]
    pub const fn bytes_for(self, len: u64) -> Option<u64> {
        match len.checked_mul(self.width as u64) {
            // At most 2^61 + 7: no overflow.
            Some(bits) => Some(bits.div_ceil(8) + PADDING as u64),
            None => None,
        }
    }

    /// Integer `i` of `bytes`: one unaligned 64-bit load.
    ///
    /// # Panics
    ///
    /// If the load would leave `bytes`. With at least [`bytes_for(len)`](Packed::bytes_for) bytes it never does for `i < len`.
    #[inline]
    #[track_caller]
    pub fn get(self, bytes: &[u8], i: u64) -> u64 {
        let (offset, shift) = self.locate(i);
        (load_u64(bytes, offset) >> shift) & self.mask()
    }

    /// Makes integer `i` of `bytes` equal to `value`: one load, one store; the neighbours stay as they are.
    ///
    /// # Panics
    ///
    /// If `value` exceeds [`mask`](Packed::mask), in release builds too: the excess would end up in a neighbour. If the word
    /// would leave `bytes`, as in [`get`](Packed::get).
    #[inline]
    #[track_caller]
    pub fn set(self, bytes: &mut [u8], i: u64, value: u64) {
        if value > self.mask() {
            too_wide(value, self.width);
        }
        let (offset, shift) = self.locate(i);
        let word = load_u64(bytes, offset);
        store_u64(bytes, offset, (word & !(self.mask() << shift)) | (value << shift));
    }

    /// The byte in which integer `i` starts, and its lowest bit there.
    #[inline]
    fn locate(self, i: u64) -> (usize, u32) {
        debug_assert!(i < 1 << 58, "index {i} is beyond every packed table");
        // Below 2^58 * 57 < 2^64 within the limit.
        let bit = i.wrapping_mul(u64::from(self.width));
        (index(bit >> 3), (bit & 7) as u32)
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_wide(value: u64, width: u32) -> ! {
    panic!("{value} does not fit {width} bits")
}
