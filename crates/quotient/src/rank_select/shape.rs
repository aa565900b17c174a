//! One block: where its offset, its two bit vectors and its remainders lie, and how they are read and written.

use amq_bits::word::{load_u64, low_mask, store_u64};

/// The most slots of a block: the ones behind it in a word are room for a sentinel, and a bit vector at any bit position of a byte
/// is one load.
const MOST_SLOTS: u32 = 56;

/// Bits of a cache line.
const LINE_BITS: u32 = 512;

/// The offset of a block whose offset is at least this.
pub(super) const SATURATED: u64 = 255;

/// Bytes behind the last block that a load may touch but that hold nothing.
pub(super) const PADDING: u64 = 7;

/// What all blocks of a table have in common. From the lowest bit: the offset (8 bits), S occupied bits, S run-end bits, S
/// remainders of r bits each, ended by the last bit of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// S, at most 56.
    pub(super) slots: u32,
    /// Bytes of a block.
    pub(super) bytes: u32,
    /// r.
    pub(super) r: u32,
    /// The bit where the first remainder starts.
    pub(super) first: u32,
    /// S ones.
    mask: u64,
    /// r ones.
    remainder_mask: u64,
    /// The byte in which the run-end bits start, and their lowest bit there.
    ends: (u32, u32),
}

impl Shape {
    /// The shape for r remainder bits, 1 to 57.
    ///
    /// A cache line where S slots of one cost at most r + 2.3 bits each, which is for r = 7, 8, 10, 12 and 16; otherwise 56 slots in
    /// 15 + 7r bytes, at r + 2.14 bits a slot.
    pub(super) const fn new(r: u32) -> Self {
        let in_line = (LINE_BITS - 8) / (r + 2);
        // 512 / S ≤ r + 2.3
        let one_line = in_line > 0 && in_line <= MOST_SLOTS && 10 * LINE_BITS <= (10 * r + 23) * in_line;
        let (slots, bytes) = if one_line { (in_line, LINE_BITS / 8) } else { (MOST_SLOTS, 15 + 7 * r) };
        Self {
            slots,
            bytes,
            r,
            first: bytes * 8 - slots * r,
            mask: low_mask(slots),
            remainder_mask: low_mask(r),
            ends: ((8 + slots) / 8, (8 + slots) % 8),
        }
    }

    /// Whether a block is one cache line.
    #[inline]
    pub(super) const fn is_line(&self) -> bool {
        self.bytes == LINE_BITS / 8
    }

    /// The offset and the occupied bits.
    #[inline]
    pub(super) fn head(&self, bytes: &[u8], base: usize) -> (u64, u64) {
        let word = load_u64(bytes, base);
        (word & 0xff, (word >> 8) & self.mask)
    }

    /// The run-end bits.
    #[inline]
    pub(super) fn ends(&self, bytes: &[u8], base: usize) -> u64 {
        let (byte, shift) = self.ends;
        (load_u64(bytes, base + byte as usize) >> shift) & self.mask
    }

    /// The remainder in a slot.
    #[inline]
    pub(super) fn remainder(&self, bytes: &[u8], base: usize, slot: u32) -> u64 {
        self.window(bytes, base, slot) & self.remainder_mask
    }

    /// The remainders from a slot on, lowest first: at least 57 bits of them, and behind them whatever follows.
    #[inline]
    pub(super) fn window(&self, bytes: &[u8], base: usize, slot: u32) -> u64 {
        let bit = self.first + slot * self.r;
        load_u64(bytes, base + (bit >> 3) as usize) >> (bit & 7)
    }

    #[inline]
    pub(super) fn set_offset(bytes: &mut [u8], base: usize, offset: u64) {
        bytes[base] = u8::try_from(offset).unwrap_or(u8::MAX);
    }

    #[inline]
    pub(super) fn set_occupied(&self, bytes: &mut [u8], base: usize, occupied: u64) {
        debug_assert_eq!(occupied & !self.mask, 0);
        let word = load_u64(bytes, base);
        store_u64(bytes, base, word & !(self.mask << 8) | occupied << 8);
    }

    #[inline]
    pub(super) fn set_ends(&self, bytes: &mut [u8], base: usize, ends: u64) {
        debug_assert_eq!(ends & !self.mask, 0);
        let (byte, shift) = self.ends;
        let word = load_u64(bytes, base + byte as usize);
        store_u64(bytes, base + byte as usize, word & !(self.mask << shift) | ends << shift);
    }

    /// All before the remainders, in whole words that depend on nothing stored before.
    #[inline(always)]
    pub(super) fn set_vectors(&self, bytes: &mut [u8], base: usize, offset: u64, occupied: u64, ends: u64) {
        debug_assert_eq!((occupied | ends) & !self.mask, 0);
        // At most 120 bits.
        let all = u128::from(offset) | u128::from(occupied) << 8 | u128::from(ends) << (8 + self.slots);
        #[expect(clippy::cast_possible_truncation, reason = "64 bits of them")]
        let word = |from: u32| (all >> from) as u64;
        let (whole, rest) = (self.first / 8, self.first % 8);
        store_u64(bytes, base, word(0));
        store_u64(bytes, base + whole as usize - 8, word(whole * 8 - 64));
        if rest != 0 {
            let last = &mut bytes[base + whole as usize];
            let high = u8::MAX << rest;
            let [low, ..] = word(whole * 8).to_le_bytes();
            *last = *last & high | low & !high;
        }
    }

    #[inline]
    pub(super) fn set_remainder(&self, bytes: &mut [u8], base: usize, slot: u32, remainder: u64) {
        let bit = self.first + slot * self.r;
        // The last words of a line end with it, so that the load is of what has been stored together.
        let byte = if self.is_line() { (bit >> 3).min(LINE_BITS / 8 - 8) } else { bit >> 3 };
        let (offset, shift) = (base + byte as usize, bit - byte * 8);
        let word = load_u64(bytes, offset);
        store_u64(bytes, offset, word & !(self.remainder_mask << shift) | remainder << shift);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_slot_costs_what_is_said() {
        for r in 1..=57 {
            let shape = Shape::new(r);
            let (used, all) = (8 + shape.slots * (2 + r), shape.bytes * 8);
            assert!(used <= all && all - used < 24, "{shape:?}");
            assert_eq!(shape.is_line(), [7, 8, 10, 12, 16].contains(&r), "{shape:?}");
            assert!(f64::from(all) / f64::from(shape.slots) <= f64::from(r) + 2.3, "{shape:?}");
        }
        let of = |r| (Shape::new(r).slots, Shape::new(r).bytes);
        assert_eq!(
            [of(7), of(8), of(10), of(12), of(16)],
            [(56, 64), (50, 64), (42, 64), (36, 64), (28, 64)]
        );
        assert_eq!([of(1), of(9), of(57)], [(56, 22), (56, 78), (56, 414)]);
    }

    /// Every field of every block is written and read, over ones and over zeros, and no other changes.
    #[test]
    fn fields_do_not_touch_each_other() {
        for r in 1..=57 {
            let shape = Shape::new(r);
            let block = shape.bytes as usize;
            for background in [0, 0xff] {
                let mut bytes = vec![background; 3 * block + 7];
                let base = block;
                let pattern = |slot: u32| 0x9E37_79B9_7F4A_7C15_u64.rotate_left(slot) & shape.remainder_mask;
                Shape::set_offset(&mut bytes, base, 0xa5);
                shape.set_occupied(&mut bytes, base, 0x00aa_aaaa_aaaa_aaaa & shape.mask);
                shape.set_ends(&mut bytes, base, 0x0066_6666_6666_6666 & shape.mask);
                for slot in (0..shape.slots).rev() {
                    shape.set_remainder(&mut bytes, base, slot, pattern(slot));
                }
                if background != 0 {
                    // The vectors together, over all of them inverted.
                    let (offset, occupied) = shape.head(&bytes, base);
                    let ends = shape.ends(&bytes, base);
                    shape.set_vectors(
                        &mut bytes,
                        base,
                        !offset & 0xff,
                        !occupied & shape.mask,
                        !ends & shape.mask,
                    );
                    assert_eq!(shape.head(&bytes, base), (!offset & 0xff, !occupied & shape.mask));
                    assert_eq!(shape.ends(&bytes, base), !ends & shape.mask);
                    shape.set_vectors(&mut bytes, base, offset, occupied, ends);
                }
                assert_eq!(shape.head(&bytes, base), (0xa5, 0x00aa_aaaa_aaaa_aaaa & shape.mask));
                assert_eq!(shape.ends(&bytes, base), 0x0066_6666_6666_6666 & shape.mask);
                for slot in 0..shape.slots {
                    assert_eq!(shape.remainder(&bytes, base, slot), pattern(slot), "r {r}, slot {slot}");
                }
                assert!(bytes[..base].iter().chain(&bytes[base + block..]).all(|&byte| byte == background));
            }
        }
    }
}
