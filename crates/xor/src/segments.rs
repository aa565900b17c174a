//! The graph of a binary fuse filter: one cell in each of a few neighbouring segments.

use amq::Digest;

use crate::graph::{COUNT_BITS, Derived, Graph, TAG, Word};

/// `K` hash functions over `K` consecutive segments, the first of which is a key's place.
///
/// Segments have a power of two of cells. Dietzfelbinger, Walzer, *Dense peelable random uniform hypergraphs*,
/// ESA 2019; Graf, Lemire, *Binary fuse filters: fast and smaller than xor filters*, ACM JEA 2022.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments<const K: usize> {
    /// Segments in which a key may begin, at least 1.
    count: u64,
    /// Binary logarithm of the cells of a segment.
    bits: u32,
}

impl<const K: usize> Segments<K> {
    /// The longest segments have 2 to the power of this many cells.
    pub(crate) const MAX_BITS: u32 = 18;

    /// Segments of `2^bits` cells; `None` if there are none, they are too long, or their cells are 2^58 or
    /// more.
    pub(crate) const fn new(count: u64, bits: u32) -> Option<Self> {
        if count >= 1 && count < 1 << 39 && bits <= Self::MAX_BITS {
            Some(Self { count, bits })
        } else {
            None
        }
    }

    /// Segments in which a key may begin.
    #[inline]
    pub(crate) const fn count(self) -> u64 {
        self.count
    }

    /// Binary logarithm of the cells of a segment.
    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    /// The place and the word of a hash.
    #[inline]
    pub(crate) const fn cut(self, hash: Digest) -> (u64, Word) {
        let (place, rest) = hash.scale_with_rest(self.count);
        (place, rest & !TAG)
    }
}

impl<const K: usize> Graph for Segments<K> {
    type Edge = [u64; K];
    const ONE_PLACE: bool = false;

    #[inline]
    fn cells(&self) -> u64 {
        (self.count + K as u64 - 1) << self.bits
    }

    #[inline]
    fn locate(&self, place: u64, word: Word) -> ([u64; K], Derived) {
        let derived = Derived::new(word, 0);
        let (start, mask) = (place << self.bits, (1 << self.bits) - 1);
        let edge = core::array::from_fn(|i| {
            // 18 bits each, which do not overlap: of the word for the first, of the fold for the others. The
            // highest of the first, so that the cells of later words are not before those of earlier ones.
            let index = match i {
                0 => word >> 46 >> (Self::MAX_BITS - self.bits),
                1 => (derived.indices >> 46) & mask,
                2 => (derived.indices >> 28) & mask,
                _ => (derived.indices >> 4) & mask,
            };
            start + ((i as u64) << self.bits) + index
        });
        (edge, derived)
    }

    #[inline]
    fn side(&self, cell: u64, place: u64) -> u64 {
        (cell >> self.bits).wrapping_sub(place) & 3
    }

    /// The place modulo 4, the next power of two from `K`.
    #[inline]
    fn tag(&self, place: u64) -> u64 {
        (place & 3) << COUNT_BITS
    }

    #[inline]
    fn place(&self, cell: u64, tagged: u64) -> u64 {
        let segment = cell >> self.bits;
        // At most 3 before the cell's segment. What is no key's cell may seem to be before the first: such an
        // entry is stale, and its edge goes nowhere.
        segment.wrapping_sub(segment.wrapping_sub(tagged >> COUNT_BITS) & 3)
    }
}

#[cfg(test)]
mod tests {
    use amq::Digest;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::Segments;
    use crate::graph::Graph;

    fn check<const K: usize>(count: u64, bits: u32) {
        let graph = Segments::<K>::new(count, bits).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(count);
        for hash in (0..1_000).map(|_| rng.next_u64()).chain([0, u64::MAX]) {
            let (place, word) = graph.cut(Digest::new(hash));
            assert!(place < count);
            for (i, cell) in (0..).zip(graph.edge(place, word)) {
                assert_eq!(cell >> bits, place + i, "{hash:#x}: one cell in each segment");
                assert!(cell < graph.cells());
                // What a state keeps is enough to find the place again from any cell.
                let tagged = word | graph.tag(place) | 1;
                assert_eq!(graph.place(cell, tagged), place, "{hash:#x}");
                assert_eq!(graph.side(cell, place), i, "{hash:#x}");
            }
        }
    }

    #[test]
    fn cells_lie_in_neighbouring_segments_at_every_size() {
        for (count, bits) in [(1, 0), (1, 1), (2, 3), (7, 8), (100, 14), (1 << 33, 18)] {
            check::<3>(count, bits);
            check::<4>(count, bits);
        }
        assert_eq!(Segments::<3>::new(0, 4), None);
        assert_eq!(Segments::<3>::new(1, 19), None);
    }
}
