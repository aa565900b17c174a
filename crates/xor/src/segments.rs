//! The graph of a binary fuse filter: one cell in each of a few neighbouring segments.

use amq::Digest;
use amq_bits::lanes::Lanes;

use crate::graph::{COUNT_BITS, Derived, DerivedLanes, Graph, TAG, Word};

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
    /// `1 << bits`
    length: u64,
    /// Cells in which a key may begin, `count << bits`: kept, as `length` is, because shifts by a variable cost a lookup more
    /// than loads.
    begin: u64,
}

/// The bits of the fold that are the index within each segment but the first: 18 each, which do not overlap.
const INDEX_FROM: [u32; 3] = [46, 28, 4];

impl<const K: usize> Segments<K> {
    /// The longest segments have 2 to the power of this many cells.
    pub(crate) const MAX_BITS: u32 = 18;

    /// Segments of `2^bits` cells; `None` if there are none, they are too long, or their cells are 2^58 or
    /// more.
    pub(crate) const fn new(count: u64, bits: u32) -> Option<Self> {
        if count >= 1 && count < 1 << 39 && bits <= Self::MAX_BITS {
            Some(Self { count, bits, length: 1 << bits, begin: count << bits })
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

    /// The cells of a hash, and what its fingerprint comes from: as [`cut`](Self::cut) and [`Graph::locate`] say, with no
    /// shift by a variable.
    #[inline]
    pub(crate) fn find(self, hash: Digest) -> ([u64; K], Derived) {
        // The place and the highest bits of the rest are the place and the highest bits of a finer one.
        let first = hash.scale(self.begin);
        let derived = Derived::new(hash.get().wrapping_mul(self.count) & !TAG, 0);
        let mask = self.length - 1;
        let mut start = first & !mask;
        let mut edge = [first; K];
        for (cell, from) in edge[1..].iter_mut().zip(INDEX_FROM) {
            start += self.length;
            *cell = start + ((derived.indices >> from) & mask);
        }
        (edge, derived)
    }

    /// [`find`](Self::find) for eight hashes, and their fingerprints, where there are fewer than 2^32 places.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    pub(crate) fn find_lanes<L: Lanes>(self, lanes: L, hashes: L::Vector) -> ([L::Vector; K], L::Vector) {
        let count = lanes.splat(self.count);
        let (high, low) = (lanes.product(lanes.shr(hashes, 32), count), lanes.product(hashes, count));
        let place = lanes.shr(lanes.add(high, lanes.shr(low, 32)), 32);
        let rest = lanes.add(lanes.shl(high, 32), low);
        let words = lanes.and(rest, lanes.splat(!TAG));
        let DerivedLanes { indices, print } = DerivedLanes::new(lanes, words);
        let (length, mask) = (lanes.splat(self.length), lanes.splat(self.length - 1));
        let mut start = lanes.shl(place, self.bits);
        let mut edge = [lanes.add(start, lanes.shr(words, 64 - self.bits)); K];
        for (cell, from) in edge[1..].iter_mut().zip(INDEX_FROM) {
            start = lanes.add(start, length);
            *cell = lanes.add(start, lanes.and(lanes.shr(indices, from), mask));
        }
        (edge, print)
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
            // The highest bits of the word for the first, so that the cells of later words are not before those of
            // earlier ones.
            let index = match i.checked_sub(1) {
                None => word >> 46 >> (Self::MAX_BITS - self.bits),
                Some(i) => (derived.indices >> INDEX_FROM[i]) & mask,
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
            let (edge, derived) = graph.find(Digest::new(hash));
            assert_eq!(edge, graph.edge(place, word), "{hash:#x}");
            assert_eq!(derived.print(), graph.locate(place, word).1.print());
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
