//! Folding a filter of bits to half its size.

use amq::{Amq, ResizeError};
use amq_bits::{StoreMut, Table};

use crate::batch::index;
use crate::filter::{BitFilter, BitPlaces, WIDTH};

impl<P: BitPlaces> BitFilter<P> {
    /// The filter of half the size with the same keys: byte for byte the one that would have been built at that size. Linear in the
    /// table. Every key is kept; the rate rises, as [`expected_fpr`](Amq::expected_fpr) of the result tells.
    ///
    /// # Errors
    /// If the number of bits (in blocks: of blocks) is odd or 1, or the memory cannot be had.
    ///
    /// ```
    /// use amq::{Amq, Insert, Key};
    /// use amq_bloom::{Bloom, Layout};
    ///
    /// let mut large = Bloom::with_layout(Layout::new(1 << 16, 7)?, 0).unwrap();
    /// let mut small = Bloom::with_layout(Layout::new(1 << 15, 7)?, 0).unwrap();
    /// for key in 0..1_000_u64 {
    ///     large.insert(key.digest(0)).unwrap();
    ///     small.insert(key.digest(0)).unwrap();
    /// }
    /// assert!(large.folded().unwrap() == small);
    /// # Ok::<(), amq_bloom::LayoutError>(())
    /// ```
    pub fn folded(&self) -> Result<Self, ResizeError> {
        let layout = self.layout().halved()?;
        let mut table = Table::zeroed(layout.table_bytes(WIDTH))?;
        if layout.fold_unit() == 1 {
            fold_bits(self.table_view(), table.bytes_mut());
        } else {
            fold_blocks(self.table_view(), table.bytes_mut(), index(layout.fold_unit() / 8));
        }
        Ok(Self::from_valid(table, layout, self.seed(), self.len()))
    }

    /// Folds as long as the rate that the result [expects](Amq::expected_fpr) stays at or below `fpr`, and the size is even. What a
    /// filter that got fewer keys than it was planned for can give back. Returns how often it was folded.
    ///
    /// For the most folds, lay the filter out with a size that is a multiple of a power of two: a plan's is sized to the bit, and half
    /// of those are odd.
    ///
    /// # Errors
    /// If the memory for a smaller table cannot be had; the filter is then one of those on the way.
    pub fn fold_while(&mut self, fpr: f64) -> Result<u32, ResizeError> {
        let mut folds = 0;
        loop {
            let folded = match self.folded() {
                Ok(folded) => folded,
                Err(ResizeError::OddSlots { .. } | ResizeError::Smallest { .. }) => return Ok(folds),
                Err(error) => return Err(error),
            };
            // No rate is at or below one that is no number.
            if !folded.expected_fpr().is_some_and(|rate| rate <= fpr) {
                return Ok(folds);
            }
            *self = folded;
            folds += 1;
        }
    }
}

/// Bit i of `to` becomes bit 2i or bit 2i + 1 of `from`.
fn fold_bits(from: &[u8], to: &mut [u8]) {
    for (pair, to) in from.chunks(2).zip(to) {
        let high = pair.get(1).copied().unwrap_or(0);
        *to = either_of_pairs(pair[0]) | either_of_pairs(high) << 4;
    }
}

/// Four bits, each set where one of two neighbours is.
const fn either_of_pairs(byte: u8) -> u8 {
    let even = (byte | byte >> 1) & 0b0101_0101;
    let pairs = (even | even >> 1) & 0b0011_0011;
    (pairs | pairs >> 2) & 0b1111
}

/// Block i of `to` becomes the union of blocks 2i and 2i + 1 of `from`.
fn fold_blocks(from: &[u8], to: &mut [u8], block: usize) {
    for (pair, to) in from.chunks_exact(2 * block).zip(to.chunks_exact_mut(block)) {
        let (left, right) = pair.split_at(block);
        for ((to, left), right) in to.iter_mut().zip(left).zip(right) {
            *to = left | right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::either_of_pairs;

    #[test]
    fn pairs_of_every_byte() {
        for byte in 0..=u8::MAX {
            let expected = (0..4).map(|i| u8::from(byte >> (2 * i) & 0b11 != 0) << i).sum::<u8>();
            assert_eq!(either_of_pairs(byte), expected, "{byte:#b}");
        }
    }
}
