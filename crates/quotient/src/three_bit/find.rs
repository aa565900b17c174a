//! Finding: where a run is, whether a remainder is in it.
//!
//! The homes of a cluster, from left to right, are its slots with O; its runs, from left to right, start at its records
//! without C. The k-th run belongs to the k-th home. So two cursors decode everything, one over homes and one over records: and both
//! move over 64 slots at a time, since the bits of a kind lie together. How many homes there are up to a slot is a count of ones, and where
//! the k-th run starts is a selection. The first slot without C behind a run is where the next run starts, or empty: so with that one
//! selected too, the run is what lies between.

use amq_bits::line::Lines;
use amq_bits::rank_select::{Portable, Select};
use amq_bits::word::low_mask;

use super::ThreeBit;
use super::block::{Place, SLOTS, STATE_BYTES, State};

/// Where a fingerprint belongs, and what is stored of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) place: Place,
    pub(super) remainder: u64,
}

/// Runs before a home: where to count from, and how many to pass.
#[derive(Clone, Copy)]
struct Rank {
    /// Slots of the home's block from the cluster's first one on.
    cluster: u64,
    /// Runs of earlier homes that start there.
    earlier: u32,
}

impl ThreeBit {
    /// Whether there is a record of a fingerprint.
    #[inline(always)]
    pub(super) fn find<L: Lines>(&self, lines: L, bytes: &[u8], home: Home) -> bool {
        let Place { block, slot } = home.place;
        let state = self.state(bytes, block);
        if (state.occupied >> slot) & 1 == 0 {
            return false;
        }
        let (block, starts, earlier) = self.seek(bytes, home.place, state);
        let pair = lines.pair(starts, earlier);
        let behind = pair & pair.wrapping_sub(1);
        if behind == 0 {
            let run = self.whole(block) & !pair.wrapping_sub(1);
            return self.is_in(lines, bytes, block, run, home.remainder)
                || self.is_in_rest(lines, bytes, self.after(block), home.remainder);
        }
        self.is_in(lines, bytes, block, behind - (pair ^ behind), home.remainder)
    }

    /// Whether the part of a run in the blocks from one on, at the start of which it goes on if it does, holds a remainder.
    #[cold]
    #[inline(never)]
    fn is_in_rest<L: Lines>(&self, lines: L, bytes: &[u8], mut block: u64, remainder: u64) -> bool {
        loop {
            let size = self.size(block);
            let len = self.state(bytes, block).continuation.trailing_ones().min(size);
            if len > 0 && self.is_in(lines, bytes, block, low_mask(len), remainder) {
                return true;
            }
            if len < size {
                return false;
            }
            block = self.after(block);
        }
    }

    /// The block in which the run of a home starts, or would start, the slots without C in it that count, and how many of these the run's
    /// start is behind. The home's slot is not empty.
    #[inline(always)]
    fn seek(&self, bytes: &[u8], home: Place, state: State) -> (u64, u64, u32) {
        let mut block = home.block;
        let Rank { cluster, mut earlier } = self.rank(bytes, home, state);
        let mut starts = !state.continuation & cluster & self.whole(block);
        let mut here = starts.count_ones();
        while earlier >= here {
            earlier -= here;
            block = self.after(block);
            starts = !self.state(bytes, block).continuation & self.whole(block);
            here = starts.count_ones();
        }
        (block, starts, earlier)
    }

    /// How many runs of earlier homes lie between the start of the cluster, or of the block, and that of a home. The home's slot is
    /// not empty.
    #[inline(always)]
    fn rank(&self, bytes: &[u8], home: Place, state: State) -> Rank {
        let Place { block, slot } = home;
        // The last record up to here that is at home starts the cluster.
        let at_home = !state.shifted & low_mask(slot + 1);
        let (cluster, open) = match at_home.checked_ilog2() {
            Some(first) => (u64::MAX << first, 0),
            None => (u64::MAX, self.open_runs(bytes, block)),
        };
        Rank { cluster, earlier: open + (state.occupied & cluster & low_mask(slot)).count_ones() }
    }

    /// How many runs of homes before a block start in it or behind it. Its first slot holds a record that is not at home.
    fn open_runs(&self, bytes: &[u8], mut block: u64) -> u32 {
        // Homes that have been passed, less the runs that have begun: never negative in a whole cluster.
        let mut open = 0_u32;
        loop {
            block = self.before(block);
            let State { occupied, continuation, shifted } = self.state(bytes, block);
            let whole = self.whole(block);
            let at_home = !shifted & whole;
            let cluster = at_home.checked_ilog2().map_or(u64::MAX, |first| u64::MAX << first);
            let (homes, starts) = (occupied & cluster, !continuation & cluster & whole);
            open = open.wrapping_add(homes.count_ones()).wrapping_sub(starts.count_ones());
            if at_home != 0 {
                return open;
            }
        }
    }

    /// Where the run of a home starts; where it would start if it has none. The home's slot is not empty.
    #[inline(always)]
    pub(super) fn run_start<S: Select>(&self, select: S, bytes: &[u8], home: Place, state: State) -> Place {
        let (block, starts, earlier) = self.seek(bytes, home, state);
        Place { block, slot: select.select_or_64(starts, earlier) }
    }

    /// The first record of a run whose remainder is not smaller, and whether it is equal; `None` if all are smaller.
    pub(super) fn first_at_least(&self, bytes: &[u8], start: Place, remainder: u64) -> Option<(Place, bool)> {
        let mut at = start;
        loop {
            let stored = self.remainder_at(bytes, at);
            if stored >= remainder {
                return Some((at, stored == remainder));
            }
            at = self.next(at);
            if !self.is_continuation(bytes, at) {
                return None;
            }
        }
    }

    #[inline]
    pub(super) fn is_continuation(&self, bytes: &[u8], place: Place) -> bool {
        (self.state(bytes, place.block).continuation >> place.slot) & 1 == 1
    }

    /// Whether the slots of a block that `run` masks, which are neighbours, hold a remainder.
    #[inline(always)]
    fn is_in<L: Lines>(&self, lines: L, bytes: &[u8], block: u64, run: u64, remainder: u64) -> bool {
        let r = self.geometry.r();
        if r == 8
            && let Some(line) =
                bytes.get(self.base(block) + STATE_BYTES as usize..).and_then(|tail| tail.first_chunk())
        {
            let [low, ..] = remainder.to_le_bytes();
            return lines.equal_bytes(line, low) & run != 0;
        }
        // As many remainders as a word holds, compared together.
        let (mut slot, mut left) = (run.trailing_zeros(), run.count_ones());
        loop {
            if self.fields.any_equal(self.window(bytes, block, slot), remainder, left) {
                return true;
            }
            if left <= self.fields.count {
                return false;
            }
            left -= self.fields.count;
            slot += self.fields.count;
        }
    }

    /// The number of records of a fingerprint.
    pub(super) fn multiplicity(&self, bytes: &[u8], home: Home) -> u64 {
        let state = self.state(bytes, home.place.block);
        if (state.occupied >> home.place.slot) & 1 == 0 {
            return 0;
        }
        let start = self.run_start(Portable, bytes, home.place, state);
        let Some((mut at, true)) = self.first_at_least(bytes, start, home.remainder) else { return 0 };
        let mut records = 1;
        loop {
            at = self.next(at);
            if !self.is_continuation(bytes, at) || self.remainder_at(bytes, at) != home.remainder {
                return records;
            }
            records += 1;
        }
    }

    /// The next home to the right of one, of which there is one.
    pub(super) fn next_home(&self, bytes: &[u8], home: Place) -> Place {
        let mut block = home.block;
        let mut homes = self.state(bytes, block).occupied & !low_mask(home.slot + 1);
        while homes == 0 {
            block = self.after(block);
            homes = self.state(bytes, block).occupied;
        }
        Place { block, slot: homes.trailing_zeros() }
    }

    /// The home of the record in a slot that is not empty.
    pub(super) fn home_of(&self, bytes: &[u8], place: Place) -> Place {
        let bit = |word: u64, at: Place| (word >> at.slot) & 1 == 1;
        let (mut at, mut later_runs) = (place, 0_u64);
        loop {
            let state = self.state(bytes, at.block);
            if !bit(state.shifted, at) {
                // The first record of a cluster is at home.
                return (0..later_runs).fold(at, |home, _| self.next_home(bytes, home));
            }
            later_runs += u64::from(!bit(state.continuation, at));
            at = self.previous(at);
        }
    }
}

const _: () = assert!(SLOTS == 64, "a compare of 64 remainders is one line at r = 8");
