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

use crate::codec::Codec;
use crate::memory::{Raw, Words, index, out_of_memory};

/// The state of the cells in the ring, as a [`Codec`] says, and the cells to be looked at.
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

    /// The states, all 0 if no key is there: memory for something else in between, which leaves it so.
    pub(crate) fn scratch(&mut self) -> &mut [Raw] {
        &mut self.state.get_mut()[..=index(self.mask)]
    }

    /// Adds the keys of a place. `false` if a cell has more keys than can be counted: the state is then of no
    /// use any more.
    pub(crate) fn add<C: Codec>(&mut self, codec: C, place: u64, words: &[Raw]) -> bool {
        let state = &mut self.state.get_mut()[..=index(self.mask)];
        let mask = state.len() as u64 - 1;
        let mut all = 0;
        for &raw in words {
            let (edge, key) = codec.encode(place, u64::from_le_bytes(raw));
            for cell in edge {
                let state = &mut state[index(cell & mask)];
                let sum = u64::from_le_bytes(*state).wrapping_add(key);
                all |= sum;
                *state = sum.to_le_bytes();
            }
        }
        // A count grows by one at a time: it cannot have got past the highest bit without having it.
        all & (C::COUNT ^ C::COUNT >> 1) == 0
    }

    /// Takes keys away as long as there is a final cell with only one: at first one of `cells`, which have just
    /// become final; then all before the end of `cells` are. First in, first out.
    ///
    /// The order, of [entries](Codec::entry), is written to the front of `order`, which has room for one more.
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
    pub(crate) fn take_away<C: Codec>(
        &mut self,
        codec: C,
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
            let count = u64::from_le_bytes(state[index(cell & mask)]) & C::COUNT;
            tail += usize::from(count == 1);
        }
        let mut head = 0;
        let Progress { added, mut taken } = *progress;
        while head < tail && (C::ONE_PLACE || taken < added) {
            let cell = if C::ONE_PLACE {
                u64::from(queue[head])
            } else {
                // The full number: at most 2^32 before the end.
                end - 1 - u64::from(low_half(end - 1).wrapping_sub(queue[head]))
            };
            head += 1;
            let key = u64::from_le_bytes(state[index(cell & mask)]);
            let count = key & C::COUNT;
            debug_assert!(count == 1 || key == 0, "cell {cell} has the state {key:#x}");
            // What a count has to become for its cell to enter the queue: 1, or nothing that it can be.
            let one = count | (count ^ 1) << 8;
            for other in codec.edge(cell, key) {
                let state = &mut state[index(other & mask)];
                let left = u64::from_le_bytes(*state).wrapping_sub(key);
                *state = left.to_le_bytes();
                queue[tail] = low_half(other);
                let is_final = C::ONE_PLACE || other < end;
                // Conditions joined as such: of a condition and a number, the compiler makes a branch.
                tail += usize::from((left & C::COUNT == one) & is_final);
            }
            order[taken] = codec.entry(cell, key).to_le_bytes();
            taken += usize::from(count == 1);
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
