//! Peeling: an order of the keys in which each, when its turn comes, has a cell that no later key has.
//!
//! As long as some cell belongs to exactly one remaining key, that key is taken away with all its cells. If
//! the keys run out before the cells do, the graph has no 2-core and the order exists. It does with high
//! probability below a threshold of keys per cell, and not above it (Molloy, *Cores in random hypergraphs and
//! Boolean formulas*, 2005; Botelho, Pagh, Ziviani, *Simple and space-efficient minimal perfect hash
//! functions*, WADS 2007).
//!
//! A graph is gone through place by place. Once the keys of a place have been added, the cells before the next
//! place are final: no further key has them, and peeling may start there. What is left behind lags a few
//! places, so that the state of a *ring* of cells is enough and stays in the second-level cache, at any number
//! of keys. A graph with one place is the special case in which all keys come first.

use alloc::vec::Vec;

use amq::BuildError;

use crate::graph::{COUNT, Graph, TAG};
use crate::memory::{Raw, Words, index, out_of_memory};

/// The state of the cells in the ring, and the cells to be looked at.
///
/// One word a cell: the XOR of the words of its keys, and in their low bits, which are 0 in a key's word, the
/// number of the keys. So one touch is one cache line, and an update is a XOR and an addition.
#[derive(Debug, Default)]
pub(crate) struct Peeler {
    state: Words,
    /// A power of two, less 1: the cells of the ring.
    mask: u64,
    /// Cells, modulo 2^32, whose count has become 1.
    queue: Vec<u32>,
}

/// How far a construction has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Keys added.
    pub(crate) added: usize,
    /// Keys taken away: the length of the order.
    pub(crate) taken: usize,
}

impl Peeler {
    /// Prepares for a graph of which at most `cells` cells (at least 1) are in use at a time.
    pub(crate) fn reserve(&mut self, cells: u64) -> Result<(), BuildError> {
        let ring = ring(cells);
        self.state.reserve(ring)?;
        let entries = index(entries(ring));
        self.queue
            .try_reserve_exact(entries.saturating_sub(self.queue.len()))
            .map_err(|_| out_of_memory(ring.saturating_mul(4)))?;
        if self.queue.len() < entries {
            self.queue.resize(entries, 0);
        }
        self.mask = ring - 1;
        Ok(())
    }

    /// The bytes that it takes once it is prepared for `cells` cells.
    pub(crate) fn bytes_with(&self, cells: u64) -> u64 {
        let queue = 4 * (self.queue.capacity() as u64).max(entries(ring(cells)));
        self.state.bytes_with(ring(cells)).saturating_add(queue)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.state.bytes() + 4 * self.queue.capacity() as u64
    }

    /// Forgets all keys. Nothing to do after a complete peeling.
    pub(crate) fn clear(&mut self) {
        self.state.get_mut().fill([0; 8]);
    }

    /// Whether no key is left in these cells.
    pub(crate) fn are_empty(&self, mut cells: core::ops::Range<u64>) -> bool {
        let (state, mask) = (self.state.get(), self.mask);
        cells.all(|cell| state[index(cell & mask)] == [0; 8])
    }

    /// Adds the keys of a place. `false` if a cell has more keys than can be counted: the state is then of no
    /// use any more.
    pub(crate) fn add<G: Graph>(&mut self, graph: G, place: u64, words: &[Raw]) -> bool {
        let state = &mut self.state.get_mut()[..=index(self.mask)];
        let mask = state.len() as u64 - 1;
        let tag = graph.tag(place);
        let mut carries = 0;
        for &raw in words {
            let word = u64::from_le_bytes(raw);
            let key = word | tag;
            for cell in graph.edge(place, word) {
                let state = &mut state[index(cell & mask)];
                let before = u64::from_le_bytes(*state);
                let after = (before ^ key).wrapping_add(1);
                carries |= before ^ key ^ after;
                *state = after.to_le_bytes();
            }
        }
        carries & !COUNT == 0
    }

    /// Takes keys away as long as there is a final cell with only one: at first one of `cells`, which have just
    /// become final; then all before the end of `cells` are. First in, first out.
    ///
    /// The order is written to the front of `order`. Its entries are the words with [`entry`] in the tag.
    ///
    /// There is no branch on what a cell holds: many entries of the queue are stale when their turn comes, in no
    /// order that a processor could learn. Instead, the steps for a stale entry take zero keys, and what is
    /// written for it is overwritten by the next.
    ///
    /// - Counts are exact, so a cell with the count 1 holds one key and a cell with the count 0 holds 0. A final
    ///   cell enters the queue when its count *becomes* 1, which happens once as counts only fall. So every entry
    ///   has a count of 1 or 0 when it is read, no cell enters twice, and the loop ends.
    /// - Once as many keys have been taken as were added, all entries left are stale, and the loop ends before one
    ///   of them writes behind the order, where keys not added yet may be.
    pub(crate) fn take_away<G: Graph>(
        &mut self,
        graph: G,
        cells: core::ops::Range<u64>,
        order: &mut [Raw],
        progress: &mut Progress,
    ) {
        let (state, queue) = (&mut self.state.get_mut()[..=index(self.mask)], self.queue.as_mut_slice());
        // So that the compiler sees that no slot is beyond the ring.
        let mask = state.len() as u64 - 1;
        let mut tail = 0;
        let end = cells.end;
        for cell in cells {
            // Modulo 2^32: enough to find the slot, and the place next to the end.
            queue[tail] = low_half(cell);
            let count = u64::from_le_bytes(state[index(cell & mask)]) & COUNT;
            tail += usize::from(count == 1);
        }
        let mut head = 0;
        let Progress { added, mut taken } = *progress;
        while head < tail && taken < added {
            let cell = if G::ONE_PLACE {
                u64::from(queue[head])
            } else {
                // The full number: at most 2^32 before the end.
                end - 1 - u64::from(low_half(end - 1).wrapping_sub(queue[head]))
            };
            head += 1;
            let tagged = u64::from_le_bytes(state[index(cell & mask)]);
            let count = tagged & COUNT;
            debug_assert!(count == 1 || tagged == 0, "cell {cell} has the state {tagged:#x}");
            let is_key = count == 1;
            let key = tagged ^ count;
            let word = tagged & !TAG;
            let place = graph.place(cell, tagged);
            for other in graph.edge(place, word) {
                let state = &mut state[index(other & mask)];
                let left = (u64::from_le_bytes(*state) ^ key).wrapping_sub(count);
                *state = left.to_le_bytes();
                queue[tail] = low_half(other);
                let is_final = G::ONE_PLACE || other < end;
                // Conditions joined as such: of a condition and a number, the compiler makes a branch.
                tail += usize::from((left & COUNT == 1) & is_key & is_final);
            }
            order[taken] = entry(word, place, graph.side(cell, place)).to_le_bytes();
            taken += usize::from(is_key);
        }
        progress.taken = taken;
    }
}

/// The ring for so many cells.
fn ring(cells: u64) -> u64 {
    cells.checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Entries of the queue: one for each cell of the ring, which enters at most once, and one that is written before
/// it is known whether it counts.
fn entries(ring: u64) -> u64 {
    ring + 1
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
const fn low_half(x: u64) -> u32 {
    x as u32
}

/// Places are told apart modulo this in an order.
pub(crate) const PLACES: u64 = 1 << (crate::graph::TAG_BITS - SIDE_BITS);
const SIDE_BITS: u32 = 2;

/// A key in the order: its word, which of its cells no later key has, and its place modulo [`PLACES`].
#[inline]
const fn entry(word: u64, place: u64, side: u64) -> u64 {
    word | (place % PLACES) << SIDE_BITS | side
}

/// The word, the place and the side of an [`entry`] whose place is at most `last` and less than [`PLACES`]
/// before it.
#[inline]
pub(crate) const fn read_entry(entry: u64, last: u64) -> (u64, u64, usize) {
    let place = last.wrapping_sub(last.wrapping_sub(entry >> SIDE_BITS) % PLACES);
    (entry & !TAG, place, (entry & 3) as usize)
}
