//! The graph of a xor filter: one cell in each third of a shard.

use crate::graph::{Derived, Graph, Word, scale_half};

/// Three hash functions, each over a third of the cells of its own, so that the cells of a key always differ.
///
/// This is one shard: there is one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thirds {
    /// Cells of one third, at least 1.
    third: u64,
    /// Which of the hash functions over a word is used.
    rotation: u32,
}

impl Thirds {
    /// The most cells of a third, so that 32 bits make an index and three thirds are numbered in 32 bits.
    pub(crate) const MAX: u64 = 1 << 30;

    /// Thirds of this many cells, 1 to [`MAX`](Self::MAX); otherwise an index may be wrong.
    #[inline]
    pub(crate) const fn new(third: u64, rotation: u32) -> Self {
        Self { third, rotation }
    }
}

impl Graph for Thirds {
    type Edge = [u64; 3];
    const ONE_PLACE: bool = true;

    #[inline]
    fn cells(&self) -> u64 {
        3 * self.third
    }

    #[inline]
    fn locate(&self, _: u64, word: Word) -> ([u64; 3], Derived) {
        let derived = Derived::new(word, self.rotation);
        let low = derived.indices & 0xFFFF_FFFF;
        let edge = [
            scale_half(word >> 32, self.third),
            self.third + scale_half(derived.indices >> 32, self.third),
            2 * self.third + scale_half(low, self.third),
        ];
        (edge, derived)
    }

    #[inline]
    fn side(&self, cell: u64, _: u64) -> u64 {
        u64::from(cell >= self.third) + u64::from(cell >= 2 * self.third)
    }

    #[inline]
    fn tag(&self, _: u64) -> u64 {
        0
    }

    #[inline]
    fn place(&self, _: u64, _: u64) -> u64 {
        0
    }
}
