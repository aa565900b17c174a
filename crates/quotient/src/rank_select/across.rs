//! Inserting and removing one record where that goes beyond the block of its home.
//!
//! What moves, moves block by block. A block that starts within what moves has one slot more, or less, taken by records of homes
//! before it: its offset is stepped by one.

use amq_bits::line::Lines;
use amq_bits::word::low_mask;

use super::edit::run_here;
use super::lookup::Decoded;
use super::place::Place;
use super::shape::{SATURATED, Shape};
use super::{Home, RankSelect};

/// What an insertion does to the vectors of the block where the record goes, beside making room.
#[derive(Clone, Copy, Default)]
struct Change {
    /// The home of the record, if it is new and in this block.
    new_home: u64,
    /// The end of its run up to now, if that changes and is in this block.
    old_end: u64,
}

impl RankSelect {
    /// Adds a record to its run, and returns how many records moved. Some slot other than the one to be filled is empty.
    #[inline(always)]
    pub(super) fn insert_across<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> u64 {
        let Place { block, slot } = home.place;
        let Decoded { occupied, starts, .. } = self.decode(bytes, block);
        let is_there = (occupied >> slot) & 1 == 1;
        let (first, behind) = run_here(lines, slot, occupied, starts);
        let start = first.max(slot);
        let size = self.size(block);
        let (at, end) = if is_there && behind <= size {
            let at = self.first_larger(bytes, self.base(block), start, behind, home.remainder);
            (u64::from(at), u64::from(behind))
        } else if !is_there && start < size {
            (u64::from(start), u64::from(start))
        } else {
            let run = self.run(bytes, home.place);
            // In front of equal ones: which of them is the new one makes no difference.
            (self.first_at_least(bytes, home, run).map_or(run.end, |(at, _)| at), run.end)
        };
        let is_last = at == end;
        let (place, steps) = self.advance(block, at);
        let mut change = Change::default();
        if !is_there {
            if steps == 0 {
                change.new_home = 1 << slot;
            } else {
                self.shape.set_occupied(bytes, self.base(block), occupied | 1 << slot);
            }
        } else if is_last {
            // The record before was the last of the run.
            let before = self.previous(place);
            if before.block == place.block && before.slot < place.slot {
                change.old_end = 1 << before.slot;
            } else {
                let base = self.base(before.block);
                let ends = self.shape.ends(bytes, base);
                self.shape.set_ends(bytes, base, ends & !(1 << before.slot));
            }
        }
        let moved = self.push_right(lines, bytes, place, home.remainder, is_last, change);
        self.raise_offsets(bytes, block, steps);
        moved
    }

    /// Puts a record into a slot and moves what is there, and so on, right by one up to an empty slot. Returns how many records
    /// moved.
    #[inline(always)]
    fn push_right<L: Lines>(
        &self,
        lines: L,
        bytes: &mut [u8],
        at: Place,
        mut remainder: u64,
        mut is_end: bool,
        mut change: Change,
    ) -> u64 {
        let Place { mut block, mut slot } = at;
        let mut moved = 0;
        let mut entered = 0;
        loop {
            let base = self.base(block);
            let size = self.size(block);
            let Decoded { occupied, ends, starts, offset } = self.decode(bytes, block);
            let empty = lines.first_fewer(occupied, starts, slot);
            // The slot that is filled, or the last one, whose record leaves the block.
            let to = empty.min(size - 1);
            let leaving = self.shape.remainder(bytes, base, to);
            self.move_slots_up(lines, bytes, base, slot, to);
            self.shape.set_remainder(bytes, base, slot, remainder);
            let (before, up_to) = (low_mask(slot), low_mask(to));
            let shifted = (ends & up_to & !before) << 1;
            let kept = ends & !((up_to << 1 | 1) & !before);
            let occupied = occupied | change.new_home;
            let new_ends = (kept | shifted | u64::from(is_end) << slot) & !change.old_end;
            self.shape.set_vectors(bytes, base, (offset + entered).min(SATURATED), occupied, new_ends);
            change = Change::default();
            moved += u64::from(to - slot);
            if empty < size {
                return moved;
            }
            moved += 1;
            entered = 1;
            remainder = leaving;
            is_end = (ends >> to) & 1 == 1;
            block = self.after(block);
            slot = 0;
        }
    }

    /// One more slot is taken in each of the `steps` blocks behind `block`.
    #[inline(always)]
    fn raise_offsets(&self, bytes: &mut [u8], mut block: u64, steps: u64) {
        for _ in 0..steps {
            block = self.after(block);
            let base = self.base(block);
            let (offset, _) = self.shape.head(bytes, base);
            Shape::set_offset(bytes, base, offset + 1);
        }
    }

    /// Takes one record of a fingerprint out, of which there is a run; `false` if there is none.
    #[inline(always)]
    pub(super) fn remove_across<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> bool {
        let Place { block, slot } = home.place;
        let run = self.run(bytes, home.place);
        let Some((at, true)) = self.first_at_least(bytes, home, run) else { return false };
        let (place, steps) = self.advance(block, at);
        let entered = self.pull_left(lines, bytes, place);
        if run.end - run.start == 1 {
            let base = self.base(block);
            let (_, occupied) = self.shape.head(bytes, base);
            self.shape.set_occupied(bytes, base, occupied & !(1 << slot));
        } else if at + 1 == run.end {
            let Place { block, slot } = self.previous(place);
            let base = self.base(block);
            let ends = self.shape.ends(bytes, base);
            self.shape.set_ends(bytes, base, ends | 1 << slot);
        }
        self.lower_offsets(bytes, block, steps + entered);
        true
    }

    /// Moves what is right of a slot left by one, up to an empty slot or a record that is at home. Returns how many blocks further
    /// that was.
    #[inline(always)]
    fn pull_left<L: Lines>(&self, lines: L, bytes: &mut [u8], at: Place) -> u64 {
        let Place { mut block, mut slot } = at;
        let mut entered = 0;
        // Where to look from for the first slot that stays.
        let mut from = slot + 1;
        loop {
            let base = self.base(block);
            let size = self.size(block);
            let Decoded { occupied, ends, starts, offset } = self.decode(bytes, block);
            if entered > 0 {
                // What records of earlier homes take moves at least.
                from = starts.trailing_zeros();
            }
            let stays = lines.first_fewer(occupied << 1, starts, from);
            let vacated = stays.min(size) - 1;
            self.move_slots_down(lines, bytes, base, slot, vacated);
            let (before, up_to) = (low_mask(slot), low_mask(vacated));
            let shifted = (ends >> 1) & up_to & !before;
            let kept = ends & (before | !(up_to << 1 | 1));
            if stays <= size {
                self.shape.set_remainder(bytes, base, vacated, 0);
                self.shape.set_vectors(bytes, base, offset, occupied, kept | shifted);
                return entered;
            }
            block = self.after(block);
            let first = Place { block, slot: 0 };
            let (remainder, is_end) = (self.remainder_at(bytes, first), self.is_end(bytes, first));
            self.shape.set_remainder(bytes, base, vacated, remainder);
            let new_ends = kept | shifted | u64::from(is_end) << vacated;
            self.shape.set_vectors(bytes, base, offset, occupied, new_ends);
            entered += 1;
            slot = 0;
        }
    }

    /// One slot less is taken in each of the `steps` blocks behind `block`.
    ///
    /// A saturated offset may or may not stay so. It is re-derived: the first from an earlier block, those that follow each from
    /// the one before, as otherwise each would walk back over all of them.
    #[inline(always)]
    fn lower_offsets(&self, bytes: &mut [u8], mut block: u64, steps: u64) {
        let mut exact_before = None;
        for _ in 0..steps {
            let earlier = block;
            block = self.after(block);
            let base = self.base(block);
            let (offset, _) = self.shape.head(bytes, base);
            if offset < SATURATED {
                Shape::set_offset(bytes, base, offset - 1);
                exact_before = None;
                continue;
            }
            let exact = if let Some(before) = exact_before {
                let (_, occupied) = self.shape.head(bytes, self.base(earlier));
                let behind = self.behind_runs(bytes, earlier, before, occupied.count_ones());
                behind.saturating_sub(u64::from(self.size(earlier)))
            } else {
                self.exact_offset(bytes, block)
            };
            Shape::set_offset(bytes, base, exact);
            exact_before = Some(exact);
        }
    }
}
