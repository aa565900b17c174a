//! Inserting and removing one record: what moves, how far, and which offsets count it.
//!
//! A record more or less changes everything from its place to the next empty slot, or to the next record that is at home. In
//! between, remainders and run-end bits move by one slot together, block by block. Occupied bits stay. A block that starts within
//! what moves has one slot more, or less, taken by records of homes before it: its offset is stepped by one.

use amq_bits::line::{Lines, move_down, move_up};
use amq_bits::word::low_mask;

use super::lookup::Decoded;
use super::place::{Place, Run};
use super::shape::{SATURATED, Shape};
use super::{Home, RankSelect};

impl RankSelect {
    /// Adds a record behind all that are not larger in its run, and returns how many records moved. Some slot other than the one to be
    /// filled is empty. `whole` is the same layout: see [`constant`](super::jobs).
    #[inline(always)]
    pub(super) fn insert_record<L: Lines>(
        &self,
        whole: &Self,
        lines: L,
        bytes: &mut [u8],
        home: Home,
    ) -> u64 {
        let Place { block, slot } = home.place;
        let base = self.base(block);
        let Decoded { occupied, ends, starts, .. } = self.decode(bytes, block);
        let bit = 1 << slot;
        let is_there = occupied & bit != 0;
        // Where a run behind all homes up to this one may start: beyond this slot if that is full.
        let behind = lines.select_or_64(starts, (occupied & (bit | (bit - 1))).count_ones());
        if behind <= slot {
            self.shape.set_occupied(bytes, base, occupied | bit);
            self.shape.set_ends(bytes, base, ends | bit);
            self.shape.set_remainder(bytes, base, slot, home.remainder);
            return 0;
        }
        if behind >= self.size(block) {
            return whole.insert_far(lines, bytes, home);
        }
        // The run, or the place for one, is in this block.
        let mut at = behind;
        let mut is_last = true;
        if is_there {
            let start = lines.select_or_64(starts, (occupied & (bit - 1)).count_ones()).max(slot);
            at = self.first_larger(bytes, base, start, behind, home.remainder);
            is_last = at == behind;
        }
        let place = Place { block, slot: at };
        let (moved, entered) = self.push_right(lines, bytes, place, home.remainder, is_last);
        self.settle(bytes, home.place, is_there, is_last, place);
        self.raise_offsets(bytes, block, entered);
        moved
    }

    /// The first slot from `start` on and before `end` with a larger remainder; `end` if there is none.
    #[inline(always)]
    fn first_larger(&self, bytes: &[u8], base: usize, start: u32, end: u32, remainder: u64) -> u32 {
        let mut at = start;
        while at < end && self.shape.remainder(bytes, base, at) <= remainder {
            at += 1;
        }
        at
    }

    /// What an insertion does to the home, and to the record before the new one if that was the last of the run.
    #[inline(always)]
    fn settle(&self, bytes: &mut [u8], home: Place, was_there: bool, is_last: bool, at: Place) {
        if !was_there {
            let base = self.base(home.block);
            let (_, occupied) = self.shape.head(bytes, base);
            self.shape.set_occupied(bytes, base, occupied | 1 << home.slot);
        } else if is_last {
            let Place { block, slot } = self.previous(at);
            let base = self.base(block);
            let ends = self.shape.ends(bytes, base);
            self.shape.set_ends(bytes, base, ends & !(1 << slot));
        }
    }

    /// The same where the run, or the place for one, is in a later block.
    #[inline(never)]
    fn insert_far<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> u64 {
        let (_, occupied) = self.shape.head(bytes, self.base(home.place.block));
        let is_there = (occupied >> home.place.slot) & 1 == 1;
        let run = self.run(bytes, home.place);
        // In front of equal ones: which of them is the new one makes no difference.
        let at = self.first_at_least(bytes, home, run).map_or(run.end, |(at, _)| at);
        let is_last = at == run.end;
        let (place, steps) = self.advance(home.place.block, at);
        let (moved, entered) = self.push_right(lines, bytes, place, home.remainder, is_last);
        self.settle(bytes, home.place, is_there, is_last, place);
        self.raise_offsets(bytes, home.place.block, steps + entered);
        moved
    }

    /// Puts a record into a slot and moves what is there, and so on, right by one up to an empty slot. Returns how many records
    /// moved, and how many blocks further the empty slot was.
    #[inline(always)]
    fn push_right<L: Lines>(
        &self,
        lines: L,
        bytes: &mut [u8],
        at: Place,
        mut remainder: u64,
        mut is_end: bool,
    ) -> (u64, u64) {
        let Place { mut block, mut slot } = at;
        let (mut moved, mut entered) = (0, 0);
        loop {
            let base = self.base(block);
            let size = self.size(block);
            let decoded = self.decode(bytes, block);
            let empty = first_empty(lines, decoded, slot);
            // The slot that is filled, or the last one, whose record leaves the block.
            let to = empty.min(size - 1);
            let leaving = self.shape.remainder(bytes, base, to);
            self.move_slots_up(lines, bytes, base, slot, to);
            self.shape.set_remainder(bytes, base, slot, remainder);
            let (before, up_to) = (low_mask(slot), low_mask(to));
            let shifted = (decoded.ends & up_to & !before) << 1;
            let kept = decoded.ends & !((up_to << 1 | 1) & !before);
            self.shape.set_ends(bytes, base, kept | shifted | u64::from(is_end) << slot);
            moved += u64::from(to - slot);
            if empty < size {
                return (moved, entered);
            }
            moved += 1;
            entered += 1;
            remainder = leaving;
            is_end = (decoded.ends >> to) & 1 == 1;
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

    /// Takes one record of a fingerprint out; `false` if there is none.
    #[inline(always)]
    pub(super) fn remove_record<L: Lines>(
        &self,
        whole: &Self,
        lines: L,
        bytes: &mut [u8],
        home: Home,
    ) -> bool {
        let Place { block, slot } = home.place;
        let base = self.base(block);
        let Decoded { occupied, starts, .. } = self.decode(bytes, block);
        if (occupied >> slot) & 1 == 0 {
            return false;
        }
        let pair = lines.pair(starts, (occupied & low_mask(slot)).count_ones());
        let behind = pair & pair.wrapping_sub(1);
        if behind == 0 {
            return whole.remove_far(lines, bytes, home);
        }
        let start = (pair ^ behind).trailing_zeros().max(slot);
        let end = behind.trailing_zeros();
        let Some(at) = (start..end).find(|&at| self.shape.remainder(bytes, base, at) == home.remainder)
        else {
            return false;
        };
        let run = Run { start: u64::from(start), end: u64::from(end) };
        self.take_out(lines, bytes, home, run, u64::from(at));
        true
    }

    /// The same for a run that leaves its block.
    #[inline(never)]
    fn remove_far<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> bool {
        let run = self.run(bytes, home.place);
        let Some((at, true)) = self.first_at_least(bytes, home, run) else { return false };
        self.take_out(lines, bytes, home, run, at);
        true
    }

    /// Takes out the record `at` slots behind the start of the home's block.
    #[inline(always)]
    fn take_out<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home, run: Run, at: u64) {
        let (place, steps) = self.advance(home.place.block, at);
        let entered = self.pull_left(lines, bytes, place);
        if run.end - run.start == 1 {
            let base = self.base(home.place.block);
            let (_, occupied) = self.shape.head(bytes, base);
            self.shape.set_occupied(bytes, base, occupied & !(1 << home.place.slot));
        } else if at + 1 == run.end {
            let Place { block, slot } = self.previous(place);
            let base = self.base(block);
            let ends = self.shape.ends(bytes, base);
            self.shape.set_ends(bytes, base, ends | 1 << slot);
        }
        self.lower_offsets(bytes, home.place.block, steps + entered);
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
            let decoded = self.decode(bytes, block);
            if entered > 0 {
                // What records of earlier homes take moves at least.
                from = decoded.starts.trailing_zeros();
            }
            let stays = first_settled(lines, decoded, from);
            let vacated = stays.min(size) - 1;
            self.move_slots_down(lines, bytes, base, slot, vacated);
            let (before, up_to) = (low_mask(slot), low_mask(vacated));
            let shifted = (decoded.ends >> 1) & up_to & !before;
            let kept = decoded.ends & (before | !(up_to << 1 | 1));
            if stays <= size {
                self.shape.set_ends(bytes, base, kept | shifted);
                self.shape.set_remainder(bytes, base, vacated, 0);
                return entered;
            }
            block = self.after(block);
            let first = Place { block, slot: 0 };
            let (remainder, is_end) = (self.remainder_at(bytes, first), self.is_end(bytes, first));
            self.shape.set_ends(bytes, base, kept | shifted | u64::from(is_end) << vacated);
            self.shape.set_remainder(bytes, base, vacated, remainder);
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

    /// Moves the remainders in the slots `from .. to` of a block right by one.
    #[inline(always)]
    fn move_slots_up<L: Lines>(&self, lines: L, bytes: &mut [u8], base: usize, from: u32, to: u32) {
        let (from, to) = (self.shape.first + from * self.shape.r, self.shape.first + to * self.shape.r);
        match bytes.get_mut(base..).and_then(|tail| tail.first_chunk_mut()) {
            Some(line) if self.shape.is_line() => lines.move_up(line, from, to, self.shape.r),
            _ => move_up(&mut bytes[base..], from, to, self.shape.r),
        }
    }

    /// Moves the remainders in the slots `from + 1 ..= to` of a block left by one.
    #[inline(always)]
    fn move_slots_down<L: Lines>(&self, lines: L, bytes: &mut [u8], base: usize, from: u32, to: u32) {
        let (from, to) = (self.shape.first + from * self.shape.r, self.shape.first + to * self.shape.r);
        match bytes.get_mut(base..).and_then(|tail| tail.first_chunk_mut()) {
            Some(line) if self.shape.is_line() => lines.move_down(line, from, to, self.shape.r),
            _ => move_down(&mut bytes[base..], from, to, self.shape.r),
        }
    }
}

/// The first empty slot from `slot` on; the size of the block or more if it has none.
///
/// A slot is empty if all runs of homes up to it end before it. If they do not, the next one to try is where they do.
#[inline(always)]
fn first_empty<L: Lines>(lines: L, block: Decoded, mut slot: u32) -> u32 {
    loop {
        let behind = lines.select_or_64(block.starts, (block.occupied & low_mask(slot + 1)).count_ones());
        if behind <= slot {
            return slot;
        }
        slot = behind;
    }
}

/// The first slot from `slot` on before which all runs of homes before it end: what is stored from there on is at home, or
/// nothing. More than the size of the block if it has none.
#[inline(always)]
fn first_settled<L: Lines>(lines: L, block: Decoded, mut slot: u32) -> u32 {
    loop {
        let behind = lines.select_or_64(block.starts, (block.occupied & low_mask(slot)).count_ones());
        if behind <= slot {
            return slot;
        }
        slot = behind;
    }
}
