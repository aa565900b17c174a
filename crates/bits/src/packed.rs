//! Integers of any width up to 57 bits, one behind the other without gaps.

use crate::word::{index, load_u64, low_mask, store_u64};

/// How integers of one width lie in a table: integer `i` in the bits `i * width .. (i + 1) * width`, lowest
/// bit first.
///
/// 57 bits are the most that one unaligned 64-bit load can hold at every bit position (57 + 7 = 64). The
/// layout does not own the table and does not know its length; it is `Copy` and meant to live in a register.
///
/// **Limit:** an index must be below 2^58, so that `i * width` fits 64 bits. That is beyond every table that
/// [`bytes_for`](Packed::bytes_for) has a size for on a machine of today; a larger index panics where debug
/// assertions are on, and otherwise panics or reaches some other element.
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
    /// Invariant: 1 to `Self::MAX_WIDTH`.
    width: u32,
    /// Invariant: `width` ones. Kept because shifts by a variable cost more than a load from a line that is
    /// in the cache.
    mask: u64,
}

impl Packed {
    /// The widest integers that one load can reach at every position.
    pub const MAX_WIDTH: u32 = 57;

    /// Bytes behind the last integer that a load may touch but that hold nothing: the word that starts in the
    /// last used byte ends seven bytes later.
    pub const PADDING: usize = 7;

    /// The layout of integers of `width` bits; `None` unless `width` is 1 to
    /// [`MAX_WIDTH`](Packed::MAX_WIDTH).
    #[inline]
    pub const fn new(width: u32) -> Option<Self> {
        if 1 <= width && width <= Self::MAX_WIDTH {
            Some(Self { width, mask: low_mask(width) })
        } else {
            None
        }
    }

    /// Bits of an integer, 1 to 57.
    #[inline]
    pub const fn width(self) -> u32 {
        self.width
    }

    /// The largest integer: `width` ones.
    #[inline]
    pub const fn mask(self) -> u64 {
        self.mask
    }

    /// Bytes of a table of `len` integers: `ceil(len * width / 8)` and [`PADDING`](Packed::PADDING). `None`
    /// if the number of bits does not fit 64 bits.
    #[inline]
    pub const fn bytes_for(self, len: u64) -> Option<u64> {
        match len.checked_mul(self.width as u64) {
            // At most 2^61 + 7: no overflow.
            Some(bits) => Some(bits.div_ceil(8) + Self::PADDING as u64),
            None => None,
        }
    }

    /// Integer `i` of `bytes`: one unaligned 64-bit load.
    ///
    /// # Panics
    ///
    /// If the load would leave `bytes`. With at least [`bytes_for(len)`](Packed::bytes_for) bytes it never
    /// does for `i < len`.
    #[inline]
    #[track_caller]
    pub fn get(self, bytes: &[u8], i: u64) -> u64 {
        let (offset, shift) = self.locate(i);
        (load_u64(bytes, offset) >> shift) & self.mask
    }

    /// Makes integer `i` of `bytes` equal to `value`: one load, one store; the neighbours stay as they are.
    ///
    /// # Panics
    ///
    /// If `value` exceeds [`mask`](Packed::mask), in release builds too: the excess would end up in a
    /// neighbour. If the word would leave `bytes`, as in [`get`](Packed::get).
    #[inline]
    #[track_caller]
    pub fn set(self, bytes: &mut [u8], i: u64, value: u64) {
        if value > self.mask {
            too_wide(value, self.width);
        }
        let (offset, shift) = self.locate(i);
        let word = load_u64(bytes, offset);
        store_u64(bytes, offset, (word & !(self.mask << shift)) | (value << shift));
    }

    /// The byte in which integer `i` starts, and its lowest bit there.
    #[inline]
    fn locate(self, i: u64) -> (usize, u32) {
        let bit = self.first_bit(i);
        (index(bit >> 3), (bit & 7) as u32)
    }

    /// The lowest bit of integer `i`.
    #[inline]
    pub(crate) fn first_bit(self, i: u64) -> u64 {
        debug_assert!(i < 1 << 58, "index {i} is beyond every packed table");
        // Below 2^58 * 57 < 2^64 within the limit.
        i.wrapping_mul(u64::from(self.width))
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_wide(value: u64, width: u32) -> ! {
    panic!("{value} does not fit {width} bits")
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::Packed;

    const WIDTHS: core::ops::RangeInclusive<u32> = 1..=57;

    /// The model: bit `b` of integer `i` is bit `i * width + b` of the table, one bit at a time.
    fn naive_get(bytes: &[u8], width: u32, i: u64) -> u64 {
        let first = i * u64::from(width);
        (0..u64::from(width)).map(|b| u64::from(crate::word::get_bit(bytes, first + b)) << b).sum()
    }

    fn table(layout: Packed, len: u64) -> Vec<u8> {
        vec![0; usize::try_from(layout.bytes_for(len).unwrap()).unwrap()]
    }

    #[test]
    fn widths_are_1_to_57() {
        let accepted: Vec<u32> = (0..=200).filter(|&width| Packed::new(width).is_some()).collect();
        assert_eq!(accepted, WIDTHS.collect::<Vec<_>>());
        assert_eq!(Packed::new(u32::MAX), None);
        for width in WIDTHS {
            let layout = Packed::new(width).unwrap();
            assert_eq!(layout.width(), width);
            assert_eq!(u128::from(layout.mask()), (1_u128 << width) - 1);
        }
    }

    #[test]
    fn sizes_are_exact_or_refused() {
        for width in WIDTHS {
            let layout = Packed::new(width).unwrap();
            assert_eq!(layout.bytes_for(0), Some(7));
            for len in (0..=130).chain([1 << 40, u64::MAX / 57, u64::MAX / u64::from(width)]) {
                let bits = u128::from(len) * u128::from(width);
                let bytes = layout.bytes_for(len).map(u128::from);
                assert_eq!(
                    bytes,
                    u64::try_from(bits).is_ok().then_some(bits.div_ceil(8) + 7),
                    "{len} x {width}"
                );
            }
            if width > 1 {
                assert_eq!(layout.bytes_for(u64::MAX / u64::from(width) + 1), None, "{width}");
                assert_eq!(layout.bytes_for(u64::MAX), None, "{width}");
            }
        }
        assert_eq!(Packed::new(1).unwrap().bytes_for(u64::MAX), Some((1 << 61) + 7));
    }

    #[test]
    fn every_width_and_length_reads_back_what_was_set() {
        let seed = 1;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for width in WIDTHS {
            let layout = Packed::new(width).unwrap();
            for len in 0..=if cfg!(miri) { 10 } else { 130 } {
                let mut bytes = table(layout, len);
                let values: Vec<u64> = (0..len).map(|_| rng.next_u64() & layout.mask()).collect();
                // Twice, so that the second round overwrites ones as well as zeros, and backwards once.
                for i in 0..len {
                    layout.set(&mut bytes, i, !values[usize::try_from(i).unwrap()] & layout.mask());
                }
                for i in (0..len).rev() {
                    layout.set(&mut bytes, i, values[usize::try_from(i).unwrap()]);
                }
                for (i, &value) in (0..).zip(&values) {
                    assert_eq!(
                        layout.get(&bytes, i),
                        value,
                        "width {width}, length {len}, element {i}, seed {seed}"
                    );
                    assert_eq!(
                        naive_get(&bytes, width, i),
                        value,
                        "width {width}, length {len}, element {i}"
                    );
                }
                let used = usize::try_from((len * u64::from(width)).div_ceil(8)).unwrap();
                assert!(bytes[used..].iter().all(|&byte| byte == 0), "the padding was written");
            }
        }
    }

    /// Every value into every element over every value of both neighbours, for widths where that is feasible.
    #[test]
    fn set_leaves_the_neighbours_alone() {
        for width in 1..=if cfg!(miri) { 2 } else { 4 } {
            let layout = Packed::new(width).unwrap();
            for i in 1..=16 {
                for (left, value, right) in (0..1_u64 << (3 * width))
                    .map(|x| (x >> (2 * width), (x >> width) & layout.mask(), x & layout.mask()))
                {
                    for background in [0, 0xff] {
                        let mut bytes = table(layout, 18);
                        bytes.fill(background);
                        layout.set(&mut bytes, i - 1, left);
                        layout.set(&mut bytes, i + 1, right);
                        let mut expected: Vec<u64> = (0..18).map(|j| naive_get(&bytes, width, j)).collect();
                        expected[usize::try_from(i).unwrap()] = value;
                        layout.set(&mut bytes, i, value);
                        assert!((0..18).map(|j| naive_get(&bytes, width, j)).eq(expected));
                    }
                }
            }
        }
    }

    #[test]
    fn each_element_can_be_read_from_the_exact_size_only() {
        for width in WIDTHS {
            let layout = Packed::new(width).unwrap();
            // At eight elements the last load ends at the last byte or up to seven bits before it, depending
            // on the width.
            for len in 1..=8_u64 {
                let bytes = table(layout, len);
                assert_eq!(layout.get(&bytes, len - 1), 0);
                let word_end = usize::try_from((len - 1) * u64::from(width) / 8).unwrap() + 8;
                let too_short = &bytes[..word_end - 1];
                assert!(
                    std::panic::catch_unwind(|| layout.get(too_short, len - 1)).is_err(),
                    "{len} x {width}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "8 does not fit 3 bits")]
    fn a_value_over_the_mask_is_refused() {
        Packed::new(3).unwrap().set(&mut [0; 8], 0, 8);
    }

    proptest! {
        #![proptest_config(crate::cases(500))]

        /// Random sets in random order against a plain vector.
        #[test]
        fn behaves_as_a_vector(
            width in WIDTHS,
            len in 1_u64..300,
            writes in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200),
        ) {
            let layout = Packed::new(width).unwrap();
            let mut bytes = table(layout, len);
            let mut model = vec![0; usize::try_from(len).unwrap()];
            for (i, value) in writes {
                let (i, value) = (i % len, value & layout.mask());
                layout.set(&mut bytes, i, value);
                model[usize::try_from(i).unwrap()] = value;
            }
            prop_assert!((0..len).map(|i| layout.get(&bytes, i)).eq(model));
        }
    }
}
