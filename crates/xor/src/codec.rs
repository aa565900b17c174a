//! What the state of a cell says of its keys, and an order of the one taken from it.
//!
//! The state of a cell is the sum of one number for each of its keys, modulo 2^64. The lowest bits of such a number are
//! 1, so that those of the state count the keys; the others say which key it is, so that a cell with one key left tells
//! which. So one touch of a cell is one cache line, and an update is one addition.

use crate::graph::{COUNT_BITS, Graph, TAG, TAG_BITS, Word};
use crate::thirds::Thirds;

/// How a key is written down while a table is built.
pub(crate) trait Codec: Copy + Send + Sync {
    /// The cells of one key: an array.
    type Edge: Copy + AsRef<[u64]> + IntoIterator<Item = u64>;

    /// Whether there is one place only.
    const ONE_PLACE: bool;

    /// The bits of a state that count keys: all ones from the lowest on, and fewer than 8.
    ///
    /// A cell with half as many keys or more is refused, so that no count ever runs over.
    const COUNT: u64;

    /// The number of cells.
    fn cells(&self) -> u64;

    /// The cells of a key, and its number.
    fn encode(&self, place: u64, word: Word) -> (Self::Edge, u64);

    /// The cells of the one key that `cell` has, from its state; of a cell without keys, any cells.
    fn edge(&self, cell: u64, state: u64) -> Self::Edge;

    /// The key that was taken from `cell`, and that it was this one.
    fn entry(&self, cell: u64, state: u64) -> u64;

    /// The cells of an [`entry`](Self::entry) whose place is at most `last` and less than [`PLACES`] before it, which
    /// of them it was taken from, and what has the fingerprint in its lowest bits.
    fn equation(&self, entry: u64, last: u64) -> (Self::Edge, usize, u64);
}

/// Places are told apart modulo this in an order.
pub(crate) const PLACES: u64 = 1 << (TAG_BITS - SIDE_BITS);
const SIDE_BITS: u32 = 2;
const SIDE: u64 = (1 << SIDE_BITS) - 1;

/// A key as its word, with the count, the place or the side in the tag. Good for every graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<G>(pub(crate) G);

impl<G: Graph> Codec for Plain<G> {
    type Edge = G::Edge;
    const ONE_PLACE: bool = G::ONE_PLACE;
    const COUNT: u64 = (1 << COUNT_BITS) - 1;

    #[inline]
    fn cells(&self) -> u64 {
        self.0.cells()
    }

    #[inline]
    fn encode(&self, place: u64, word: Word) -> (G::Edge, u64) {
        (self.0.edge(place, word), word | self.0.tag(place) | 1)
    }

    #[inline]
    fn edge(&self, cell: u64, state: u64) -> G::Edge {
        self.0.edge(self.0.place(cell, state), state & !TAG)
    }

    #[inline]
    fn entry(&self, cell: u64, state: u64) -> u64 {
        let place = self.0.place(cell, state);
        (state & !TAG) | (place % PLACES) << SIDE_BITS | self.0.side(cell, place)
    }

    #[inline]
    fn equation(&self, entry: u64, last: u64) -> (G::Edge, usize, u64) {
        let place = last.wrapping_sub(last.wrapping_sub(entry >> SIDE_BITS) % PLACES);
        let (edge, derived) = self.0.locate(place, entry & !TAG);
        (edge, side(entry), derived.fingerprint(u64::MAX))
    }
}

/// A key of a shard as its three indices and its fingerprint, each in a field of its own: no product is needed to find
/// the cells again, which takes a sixth off the work on a shard. For thirds of up to `2^BITS` cells and narrow fingerprints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<const BITS: u32> {
    graph: Thirds,
    third: u64,
}

impl<const BITS: u32> Fields<BITS> {
    /// 16 keys in one cell are seen once in 10^8 cells.
    const COUNT_BITS: u32 = 5;

    /// Where the indices begin; the fingerprint lies between the count and these.
    const FROM: [u32; 3] = [64 - BITS, 64 - 2 * BITS, 64 - 3 * BITS];

    /// The widest fingerprint.
    pub(crate) const MAX_R: u32 = 64 - 3 * BITS - Self::COUNT_BITS;

    /// The longest thirds.
    pub(crate) const MAX_THIRD: u64 = 1 << BITS;

    /// For a graph of thirds that are not too long.
    pub(crate) fn new(graph: Thirds) -> Self {
        let third = graph.cells() / 3;
        debug_assert!(third <= Self::MAX_THIRD, "{third} cells");
        Self { graph, third }
    }
}

impl<const BITS: u32> Codec for Fields<BITS> {
    type Edge = [u64; 3];
    const ONE_PLACE: bool = true;
    const COUNT: u64 = (1 << Self::COUNT_BITS) - 1;

    #[inline]
    fn cells(&self) -> u64 {
        self.graph.cells()
    }

    #[inline]
    fn encode(&self, place: u64, word: Word) -> ([u64; 3], u64) {
        let (edge, derived) = self.graph.locate(place, word);
        let print = derived.fingerprint((1 << Self::MAX_R) - 1);
        let fields = (0..3).zip(edge).zip(Self::FROM);
        let key = fields.fold(print << Self::COUNT_BITS | 1, |key, ((i, cell), from)| {
            key | (cell - i * self.third) << from
        });
        (edge, key)
    }

    #[inline]
    fn edge(&self, _: u64, state: u64) -> [u64; 3] {
        let index = Self::FROM.map(|from| (state >> from) & ((1 << BITS) - 1));
        [index[0], self.third + index[1], 2 * self.third + index[2]]
    }

    #[inline]
    fn entry(&self, cell: u64, state: u64) -> u64 {
        (state & !Self::COUNT) | self.graph.side(cell, 0)
    }

    #[inline]
    fn equation(&self, entry: u64, _: u64) -> ([u64; 3], usize, u64) {
        // The bits above the fingerprint are masked by who asks.
        (self.edge(0, entry), side(entry), entry >> Self::COUNT_BITS)
    }
}

#[inline]
const fn side(entry: u64) -> usize {
    (entry & SIDE) as usize
}

#[cfg(test)]
mod tests {
    use amq::Digest;

    use super::{Codec, Fields, PLACES, Plain};
    use crate::graph::{Graph, TAG};
    use crate::segments::Segments;
    use crate::thirds::Thirds;

    /// From each of its cells, a key is found again: its cells, the one it was taken from and its fingerprint.
    fn check<G: Graph, C: Codec<Edge = G::Edge>>(graph: G, codec: C, places: u64, mask: u64)
    where
        G::Edge: PartialEq + core::fmt::Debug,
    {
        for i in 0..1_000 {
            let (place, word) = (Digest::new(i).scale(places), Digest::new(i).remix(places).get() & !TAG);
            let (edge, derived) = graph.locate(place, word);
            let (encoded, state) = codec.encode(place, word);
            assert_eq!((encoded, state & C::COUNT), (edge, 1));
            for (side, cell) in edge.into_iter().enumerate() {
                assert_eq!(codec.edge(cell, state), edge);
                let entry = codec.entry(cell, state);
                for later in [0, 1, PLACES - 1] {
                    let (found, own, print) = codec.equation(entry, place + later);
                    assert_eq!((found, own, print & mask), (edge, side, derived.fingerprint(mask)));
                }
            }
        }
    }

    #[test]
    fn keys_are_found_again_from_each_of_their_cells() {
        for rotation in [0, 17] {
            for third in [1, 8, 16_384] {
                let graph = Thirds::new(third, rotation);
                check(graph, Plain(graph), 1, u64::from(u32::MAX));
                check(graph, Fields::<15>::new(graph), 1, (1 << 14) - 1);
                check(graph, Fields::<14>::new(graph), 1, (1 << 17) - 1);
            }
            let graph = Thirds::new(32_768, rotation);
            check(graph, Fields::<15>::new(graph), 1, (1 << 14) - 1);
        }
        for bits in [1, 11, 14, 18] {
            for places in [1, 5, 1_000] {
                let graph = Segments::<3>::new(places, bits).unwrap();
                check(graph, Plain(graph), places, u64::from(u32::MAX));
                let graph = Segments::<4>::new(places, bits).unwrap();
                check(graph, Plain(graph), places, u64::from(u32::MAX));
            }
        }
    }
}
