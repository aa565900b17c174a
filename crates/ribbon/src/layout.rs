//! Where slots and thresholds lie in the table.
//!
//! Slots come in blocks of 64, by column: a block is r words of 64 bits, word j the bits j of its 64 slots. A window
//! then lies in two or three neighbouring blocks, and a column of it is the parity of a few words and masks, whatever
//! r is. The thresholds follow behind the last block, two bits for each bucket: one byte for some hundreds of keys, so
//! that they stay in the caches near the core.

use crate::geometry::Geometry;

/// Bytes of a word.
const WORD: u64 = 8;

/// A position as an index: the one place where a `u64` becomes a `usize`. What does not fit (only where `usize` has 32
/// bits) is beyond every table, and the bounds check of the access refuses it.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// The layout of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bits of a slot, 1 to 32.
    r: u32,
    /// Where the thresholds begin.
    thresholds_at: u64,
    bytes: u64,
}

impl Layout {
    /// The layout of slots of `r` bits, 1 to 32.
    pub(crate) fn new(geometry: &Geometry, r: u32) -> Self {
        // At most 2^50 slots of 32 bits and fewer blocks of them than that: far below 2^63.
        let thresholds_at = geometry.blocks() * u64::from(r) * WORD;
        Self { r, thresholds_at, bytes: thresholds_at + geometry.buckets().div_ceil(4) }
    }

    /// Bits of a slot.
    #[inline]
    pub(crate) fn r(&self) -> u32 {
        self.r
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where a block begins.
    #[inline]
    pub(crate) fn block_at(&self, block: u64) -> usize {
        index(block * (u64::from(self.r) * WORD))
    }

    /// Bytes of a block.
    #[inline]
    pub(crate) fn block_bytes(&self) -> usize {
        index(u64::from(self.r) * WORD)
    }

    /// Which of the four thresholds a bucket has.
    #[inline]
    pub(crate) fn threshold(&self, bytes: &[u8], bucket: u64) -> usize {
        usize::from(bytes[index(self.thresholds_at + (bucket >> 2))] >> ((bucket & 3) << 1) & 3)
    }

    /// The bytes of the blocks, and of the thresholds.
    pub(crate) fn split<'a>(&self, table: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        table.split_at_mut(index(self.thresholds_at))
    }
}

/// Buckets of a byte of thresholds.
pub(crate) const BUCKETS_PER_BYTE: u64 = 4;

/// Sets the threshold of a bucket that has threshold 0.
pub(crate) fn set_threshold(thresholds: &mut [u8], bucket: u64, threshold: u8) {
    thresholds[index(bucket / BUCKETS_PER_BYTE)] |= threshold << ((bucket % BUCKETS_PER_BYTE) << 1);
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::{Layout, set_threshold};
    use crate::geometry::Geometry;
    use crate::width::W64;

    #[test]
    fn thresholds_read_back_and_touch_no_slot() {
        let geometry = Geometry::new::<W64>(100_000).unwrap();
        let layout = Layout::new(&geometry, 3);
        assert_eq!(layout.bytes(), 24 * geometry.blocks() + geometry.buckets().div_ceil(4));
        let mut bytes = vec![0; usize::try_from(layout.bytes()).unwrap()];
        let value = |bucket: u64| u8::try_from(bucket * 7 % 4).unwrap();
        for bucket in 0..geometry.buckets() {
            assert_eq!(layout.threshold(&bytes, bucket), 0);
            set_threshold(layout.split(&mut bytes).1, bucket, value(bucket));
        }
        assert!((0..geometry.buckets()).all(|b| layout.threshold(&bytes, b) == usize::from(value(b))));
        assert!(bytes[..layout.block_at(geometry.blocks())].iter().all(|&byte| byte == 0));
    }
}
