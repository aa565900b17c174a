//! Reading a whole table: all fingerprints in order, a chunk at a time.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined into code compiled for the processor's features does not use them"
)]

use amq_bits::rank_select::{Job, Select, dispatch};
use amq_bits::word::low_mask;

use crate::blocks::MOST_SLOTS;
use crate::sorted::{CHUNK, Chunk, Sorted};
use crate::{Geometry, Layout};

/// Room for the homes of a block, in front of them as many that are still waiting, and a mark behind.
const QUEUE: usize = 4 * MOST_SLOTS;

/// All fingerprints of a table in ascending order, each as often as it is stored.
///
/// Runs come in the order of their homes. So homes queue up, and the one in front owns the records up to the next run end. As
/// a run starts as far left as it can, a slot is empty if the home in front lies behind it. This takes no branch in a slot: each one
/// appends a fingerprint, which counts if the slot is not empty, and takes a home from the queue, if a run ends.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<'a, L> {
    layout: L,
    geometry: Geometry,
    bytes: &'a [u8],
    /// S, and the number of blocks.
    slots: u32,
    blocks: u64,
    /// Homes that wait for their run, as fingerprints with remainder 0, from `front` on, and behind them a mark that is larger than
    /// any home.
    queue: [u64; QUEUE],
    front: usize,
    back: usize,
    /// The next block to look for homes in.
    home_block: u64,
    /// The next block to read records from. Those that wrapped around come last: blocks from the first one on once more.
    block: u64,
    /// The slots before this one have been read.
    from: u32,
    /// How many slots of the table hold records that wrapped around.
    wrapped: u64,
}

impl<'a, L: Layout> Decoder<'a, L> {
    pub(crate) fn new(layout: L, bytes: &'a [u8]) -> Self {
        Self::behind(layout, bytes, layout.wrapped(bytes))
    }

    /// As if nothing had wrapped around but the records in the first `wrapped` slots.
    pub(crate) fn behind(layout: L, bytes: &'a [u8], wrapped: u64) -> Self {
        let (geometry, slots) = (layout.geometry(), layout.block_slots());
        let size = u64::from(slots);
        #[expect(clippy::cast_possible_truncation, reason = "below S")]
        let from = (wrapped % size) as u32;
        Self {
            layout,
            geometry,
            bytes,
            slots,
            blocks: geometry.slots().div_ceil(size),
            queue: [u64::MAX; QUEUE],
            front: 0,
            back: 0,
            home_block: 0,
            block: wrapped / size,
            from,
            wrapped,
        }
    }

    /// Makes sure that more than `wanted` homes wait, or all up to a block.
    #[inline]
    fn queue_homes(&mut self, up_to: u64, wanted: usize) {
        if self.back - self.front > wanted || self.home_block > up_to {
            return;
        }
        self.queue.copy_within(self.front..self.back, 0);
        (self.front, self.back) = (0, self.back - self.front);
        while self.back <= wanted && self.home_block <= up_to {
            let mut homes = self.layout.homes(self.bytes, self.home_block);
            let first = self.home_block * u64::from(self.slots);
            while homes != 0 {
                let home = first + u64::from(homes.trailing_zeros());
                self.queue[self.back % QUEUE] = self.geometry.join(home, 0);
                self.back += 1;
                homes &= homes - 1;
            }
            self.home_block += 1;
        }
        self.queue[self.back % QUEUE] = u64::MAX;
    }

    /// Appends what the next block holds; `None` behind the last one.
    #[inline(always)]
    fn read_block(&mut self, chunk: &mut Chunk, len: usize) -> Option<usize> {
        let size = u64::from(self.slots);
        let has_wrapped = self.block >= self.blocks;
        let (block, limit) = if has_wrapped {
            (self.block - self.blocks, self.wrapped)
        } else {
            (self.block, self.geometry.slots())
        };
        let first = block * size;
        if has_wrapped && first >= limit {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most S")]
        let to = size.min(limit - first) as u32;
        let ends = self.layout.ends(self.bytes, block) & low_mask(to) & !low_mask(self.from);
        self.queue_homes(if has_wrapped { self.blocks - 1 } else { block }, ends.count_ones() as usize);
        // The fingerprint that a slot would be home of, and the step to the next slot's. All homes lie before what wrapped around.
        let (mut at, step) = if has_wrapped {
            (u64::MAX, 0)
        } else {
            (self.geometry.join(first + u64::from(self.from), 0), self.geometry.join(1, 0))
        };
        let (mut front, mut len) = (self.front, len);
        let layout = self.layout;
        for slot in self.from..to {
            let home = self.queue[front % QUEUE];
            chunk[len % CHUNK] = home | layout.remainder(self.bytes, block, slot);
            len += usize::from(home <= at);
            front += usize::from((ends >> slot) & 1 == 1);
            // Behind the very last slot there may be no number.
            at = at.wrapping_add(step);
        }
        self.front = front;
        self.from = 0;
        self.block += 1;
        Some(len)
    }
}

impl<L: Layout> Sorted for Decoder<'_, L> {
    fn fill(&mut self, chunk: &mut Chunk) -> usize {
        dispatch(Fill { decoder: self, chunk })
    }
}

/// Compiled for the processor's shifts by a variable distance too, which take half as long.
struct Fill<'a, 'b, L> {
    decoder: &'a mut Decoder<'b, L>,
    chunk: &'a mut Chunk,
}

impl<L: Layout> Job for Fill<'_, '_, L> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Select>(self, _: S) -> usize {
        let mut len = 0;
        while len + MOST_SLOTS <= CHUNK {
            match self.decoder.read_block(self.chunk, len) {
                Some(longer) => len = longer,
                None => break,
            }
        }
        len
    }
}
