//! Slots as places, and distances between them: the walks over several blocks that most operations do without.

use super::RankSelect;
use super::shape::SATURATED;
use amq_bits::word::low_mask;

/// A slot: its block, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: u64,
    pub(super) slot: u32,
}

/// The run of a home, in slots from the start of the home's block on, which count on across blocks and round the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    /// Behind its last record; equal to `start` for a run that is not there.
    pub(super) end: u64,
}

impl RankSelect {
    /// The place of a slot given by its number: a division by S, done by a multiplication.
    #[inline]
    pub(super) fn place(&self, slot: u64) -> Place {
        // S·inverse exceeds 2^64 by at most S, so slot·inverse/2^64 exceeds slot/S by at most slot/2^64, and that is too little to
        // reach the next whole number, 1/S further, as long as slot·S < 2^64. Tables in memory have fewer slots.
        let block = ((u128::from(slot) * u128::from(self.inverse)) >> 64) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "less than S")]
        let slot = (slot - block * u64::from(self.shape.slots)) as u32;
        Place { block, slot }
    }

    /// Where a block starts in the table.
    #[inline]
    pub(super) fn base(&self, block: u64) -> usize {
        // A block that is in the table has an address.
        usize::try_from(block * u64::from(self.shape.bytes)).unwrap_or(usize::MAX)
    }

    /// The number of slots of a block: S, but for the last one.
    #[inline]
    pub(super) fn size(&self, block: u64) -> u32 {
        if block + 1 == self.blocks { self.last_size } else { self.shape.slots }
    }

    /// The block to the right, which for the last one is the first.
    #[inline]
    pub(super) fn after(&self, block: u64) -> u64 {
        if block + 1 == self.blocks { 0 } else { block + 1 }
    }

    /// The block to the left, which for the first one is the last.
    #[inline]
    pub(super) fn before(&self, block: u64) -> u64 {
        block.checked_sub(1).unwrap_or(self.blocks - 1)
    }

    /// The slot to the right.
    #[inline]
    pub(super) fn next(&self, place: Place) -> Place {
        if place.slot + 1 < self.size(place.block) {
            Place { slot: place.slot + 1, ..place }
        } else {
            Place { block: self.after(place.block), slot: 0 }
        }
    }

    /// The slot to the left.
    #[inline]
    pub(super) fn previous(&self, place: Place) -> Place {
        if let Some(slot) = place.slot.checked_sub(1) {
            return Place { slot, ..place };
        }
        let block = self.before(place.block);
        Place { block, slot: self.size(block) - 1 }
    }

    /// The place `distance` slots from the start of a block, and how many blocks further that is.
    #[inline]
    pub(super) fn advance(&self, mut block: u64, mut distance: u64) -> (Place, u64) {
        let mut steps = 0;
        loop {
            let size = u64::from(self.size(block));
            if distance < size {
                #[expect(clippy::cast_possible_truncation, reason = "below the size of a block")]
                return (Place { block, slot: distance as u32 }, steps);
            }
            distance -= size;
            block = self.after(block);
            steps += 1;
        }
    }

    #[inline]
    pub(super) fn remainder_at(&self, bytes: &[u8], place: Place) -> u64 {
        self.shape.remainder(bytes, self.base(place.block), place.slot)
    }

    #[inline]
    pub(super) fn is_end(&self, bytes: &[u8], place: Place) -> bool {
        (self.shape.ends(bytes, self.base(place.block)) >> place.slot) & 1 == 1
    }

    /// The slots from the start of a block on that records with a home before it take: the offset, beyond saturation too.
    ///
    /// Where it is saturated, back to a block that is not, counting homes, and forward over as many runs. There is one: the
    /// offset of the block that the empty slot is in is smaller than a block.
    pub(super) fn exact_offset(&self, bytes: &[u8], block: u64) -> u64 {
        let stored = |block| self.shape.head(bytes, self.base(block));
        let (offset, _) = stored(block);
        if offset < SATURATED {
            return offset;
        }
        let (mut start, mut homes, mut distance) = (block, 0, 0);
        loop {
            start = self.before(start);
            let (offset, occupied) = stored(start);
            homes += occupied.count_ones();
            distance += u64::from(self.size(start));
            if offset < SATURATED {
                return self.behind_runs(bytes, start, offset, homes).saturating_sub(distance);
            }
            debug_assert!(distance < self.geometry.slots(), "every offset is saturated");
        }
    }

    /// Where the `runs`-th run that ends at or behind the slot `from` ends, in slots from the start of a block: just behind it, or
    /// `from` itself for no run.
    pub(super) fn behind_runs(&self, bytes: &[u8], block: u64, from: u64, mut runs: u32) -> u64 {
        if runs == 0 {
            return from;
        }
        let (Place { mut block, slot }, _) = self.advance(block, from);
        let mut start = from - u64::from(slot);
        let mut ends = self.shape.ends(bytes, self.base(block)) & !low_mask(slot);
        loop {
            let here = ends.count_ones();
            if runs <= here {
                // The last of them, by clearing those before it.
                for _ in 1..runs {
                    ends &= ends - 1;
                }
                return start + u64::from(ends.trailing_zeros()) + 1;
            }
            runs -= here;
            start += u64::from(self.size(block));
            block = self.after(block);
            ends = self.shape.ends(bytes, self.base(block));
        }
    }

    /// The run of a home, or where it would be: by walks, however long the way.
    pub(super) fn run(&self, bytes: &[u8], home: Place) -> Run {
        let (_, occupied) = self.shape.head(bytes, self.base(home.block));
        let offset = self.exact_offset(bytes, home.block);
        let earlier = (occupied & low_mask(home.slot)).count_ones();
        let behind_earlier = self.behind_runs(bytes, home.block, offset, earlier);
        let start = behind_earlier.max(u64::from(home.slot));
        let is_there = (occupied >> home.slot) & 1 == 1;
        let end = if is_there { self.behind_runs(bytes, home.block, start, 1) } else { start };
        Run { start, end }
    }
}
