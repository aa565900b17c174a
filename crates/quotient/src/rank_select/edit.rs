//! Inserting and removing one record within a block.
//!
//! A record more or less changes everything from its place to the next empty slot, or to the next record that is at home. In
//! between, remainders and run-end bits move by one slot together. Occupied bits stay. At low loads and medium ones that is nearly
//! always within the block of the home, and that is the only thing here that is a branch: how long a run is, how far it is from
//! home, and whether anything moves at all are too random to be predicted. What leaves the block is [elsewhere](super::across).

use amq_bits::line::{Lines, move_down, move_up};
use amq_bits::word::low_mask;

use super::lookup::Decoded;
use super::place::Place;
use super::{Home, RankSelect};

impl RankSelect {
    /// Adds a record behind all that are not larger in its run, and returns how many records moved; `None`, and nothing changed, if
    /// that does not end in the block of its home.
    #[inline(always)]
    pub(super) fn insert_here<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> Option<u32> {
        let Place { block, slot } = home.place;
        let Decoded { occupied, ends, starts, offset } = self.decode(bytes, block);
        let is_there = (occupied >> slot) & 1;
        let (first, behind) = run_here(lines, slot, occupied, starts);
        let base = self.base(block);
        // The home is empty if it has no run, and the runs before it end before it. Worth a branch, as all else is much more work.
        if first + u32::from(is_there != 0) * 64 <= slot {
            self.shape.set_remainder(bytes, base, slot, home.remainder);
            self.shape.set_vectors(bytes, base, offset, occupied | 1 << slot, ends | 1 << slot);
            return Some(0);
        }
        // No slot from the home up to it is empty, wherever in between the record goes. A slot is empty if all runs of homes up to
        // it end before it: then one more of them may have started.
        let empty = lines.first_fewer(occupied, starts, slot);
        if empty >= self.size(block) {
            return None;
        }
        let start = first.max(slot);
        // A run that is not there is an empty one.
        let count = behind.wrapping_sub(start) & u32::from(is_there != 0).wrapping_neg();
        let at = self.first_larger(bytes, base, start, start + count, home.remainder);
        // Where in its run the record is does not show in the run ends, so let it be at the start; that is the end of a new run.
        let moved = ends & ((1 << empty) - 1) & (u64::MAX << start);
        let ends = ends + moved + ((is_there ^ 1) << start);
        self.move_slots_up(lines, bytes, base, at, empty);
        self.shape.set_remainder(bytes, base, at, home.remainder);
        self.shape.set_vectors(bytes, base, offset, occupied | 1 << slot, ends);
        Some(empty - at)
    }

    /// Takes one record of a fingerprint out; `false` if there is none, and `None` if that does not end in the block of its home.
    #[inline(always)]
    pub(super) fn remove_here<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> Option<bool> {
        let Place { block, slot } = home.place;
        let Decoded { occupied, ends, starts, offset } = self.decode(bytes, block);
        if (occupied >> slot) & 1 == 0 {
            return Some(false);
        }
        let (first, behind) = run_here(lines, slot, occupied, starts);
        let start = first.max(slot);
        // The first slot whose record, if it has one, is at home: all runs of homes before it end before it.
        let settled = lines.first_fewer(occupied << 1, starts, start + 1);
        if settled > self.size(block) {
            return None;
        }
        let base = self.base(block);
        let Some(at) = self.first_equal(lines, bytes, block, start, behind, home.remainder) else {
            return Some(false);
        };
        let vacated = settled - 1;
        // As if the first of the run had been taken out, as with an insertion.
        let moved = ends & ((1 << settled) - 1) & (u64::MAX << start);
        let ends = ends ^ moved | (moved & !(1 << start)) >> 1;
        let is_single = u64::from(behind - start == 1);
        self.move_slots_down(lines, bytes, base, at, vacated);
        self.shape.set_remainder(bytes, base, vacated, 0);
        self.shape.set_vectors(bytes, base, offset, occupied ^ is_single << slot, ends);
        Some(true)
    }

    /// The first slot from `start` on and before `end` with a larger remainder; `end` if there is none.
    #[inline(always)]
    pub(super) fn first_larger(
        &self,
        bytes: &[u8],
        base: usize,
        start: u32,
        end: u32,
        remainder: u64,
    ) -> u32 {
        let mut at = start;
        loop {
            let window = self.shape.window(bytes, base, at);
            let passed = self.fields.count_at_most(window, remainder, end - at);
            at += passed;
            // Nearly always: few runs are longer than a window.
            if passed < self.fields.count || at == end {
                return at;
            }
        }
    }

    /// The first slot from `start` on and before `end` with this remainder.
    #[inline(always)]
    fn first_equal<L: Lines>(
        &self,
        lines: L,
        bytes: &[u8],
        block: u64,
        start: u32,
        end: u32,
        remainder: u64,
    ) -> Option<u32> {
        if self.has_equal_slots::<L>() {
            let run = low_mask(end) & !low_mask(start);
            let equal = self.equal_slots(lines, bytes, block, remainder) & run;
            return (equal != 0).then_some(equal.trailing_zeros());
        }
        let base = self.base(block);
        (start..end).find(|&at| self.shape.remainder(bytes, base, at) == remainder)
    }

    /// Moves the remainders in the slots `from .. to` of a block right by one.
    #[inline(always)]
    pub(super) fn move_slots_up<L: Lines>(
        &self,
        lines: L,
        bytes: &mut [u8],
        base: usize,
        from: u32,
        to: u32,
    ) {
        let (from, to) = (self.shape.first + from * self.shape.r, self.shape.first + to * self.shape.r);
        match bytes.get_mut(base..).and_then(|tail| tail.first_chunk_mut()) {
            Some(line) if self.shape.is_line() => lines.move_up(line, from, to, self.shape.r),
            _ => move_up(&mut bytes[base..], from, to, self.shape.r),
        }
    }

    /// Moves the remainders in the slots `from + 1 ..= to` of a block left by one.
    #[inline(always)]
    pub(super) fn move_slots_down<L: Lines>(
        &self,
        lines: L,
        bytes: &mut [u8],
        base: usize,
        from: u32,
        to: u32,
    ) {
        let (from, to) = (self.shape.first + from * self.shape.r, self.shape.first + to * self.shape.r);
        match bytes.get_mut(base..).and_then(|tail| tail.first_chunk_mut()) {
            Some(line) if self.shape.is_line() => lines.move_down(line, from, to, self.shape.r),
            _ => move_down(&mut bytes[base..], from, to, self.shape.r),
        }
    }
}

/// Where the run of a slot starts or would, if not before that slot, and the slot behind it; for a run that is not there, any further
/// one. 64 for what is not in the block.
#[inline(always)]
pub(super) fn run_here<L: Lines>(lines: L, slot: u32, occupied: u64, starts: u64) -> (u32, u32) {
    let pair = lines.pair(starts, (occupied & low_mask(slot)).count_ones());
    let behind = pair & pair.wrapping_sub(1);
    ((pair ^ behind).trailing_zeros(), behind.trailing_zeros())
}
