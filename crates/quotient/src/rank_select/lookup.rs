//! Lookups: rank the home among the occupied ones, select its run, look for the remainder in it.
//!
//! Most runs end in the block of their home (at a load of .95 all but 19 % for r = 8, 26 % for r = 12). For those one pass without
//! a branch does it, since a branch on the data would be mispredicted half the time, at the price of the whole lookup: with the
//! *starts* of runs as a bit mask (where the first may start, and behind each end), two neighbouring ones, selected together,
//! enclose the run, and their difference is the run as a mask.

use core::hint::select_unpredictable;

use amq_bits::line::{LINE, Lines};
use amq_bits::word::low_mask;

use super::place::{Place, Run};
use super::{Home, RankSelect};

/// What a block tells about a fingerprint.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// There is such a record.
    pub(super) found: bool,
    /// There is a run for it, which ends in another block: `found` means nothing.
    pub(super) leaves: bool,
}

/// A block, decoded.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) occupied: u64,
    pub(super) ends: u64,
    /// Where the k-th run of a home in this block may start: the k-th one. At most 57 bits of it are used, so that a run that ends in
    /// the last slot has one behind it.
    pub(super) starts: u64,
    /// As it is stored.
    pub(super) offset: u64,
}

impl RankSelect {
    /// The bytes in which the bit vectors of a block are, and where in them it starts. A block that is a line is taken as one, so that
    /// it is checked once and not again for each field.
    #[inline(always)]
    pub(super) fn vectors<'a>(&self, bytes: &'a [u8], block: u64) -> (&'a [u8], usize) {
        if self.shape.is_line() {
            let (lines, _) = bytes.as_chunks::<LINE>();
            // A block that is in the table has a number that is an index.
            (&lines[usize::try_from(block).unwrap_or(usize::MAX)], 0)
        } else {
            (bytes, self.base(block))
        }
    }

    /// The bit vectors of a block, once.
    #[inline(always)]
    pub(super) fn decode(&self, bytes: &[u8], block: u64) -> Decoded {
        let (bytes, base) = self.vectors(bytes, block);
        let (offset, occupied) = self.shape.head(bytes, base);
        let ends = self.shape.ends(bytes, base);
        let starts = run_starts(ends, offset);
        Decoded { occupied, ends, starts, offset }
    }

    /// Looks for a fingerprint in the block of its home.
    #[inline(always)]
    pub(super) fn probe<L: Lines>(&self, lines: L, bytes: &[u8], home: Home) -> Probe {
        let Place { block, slot } = home.place;
        let Decoded { occupied, starts, .. } = self.decode(bytes, block);
        let from_home = occupied >> slot;
        let is_there = from_home & 1;
        let rank = occupied.count_ones() - from_home.count_ones();
        let pair = lines.pair(starts, rank);
        let behind = pair & pair.wrapping_sub(1);
        let start = pair ^ behind;
        // Nothing is stored before its home, and nothing at all without one. If the run does not end here, these are any slots.
        let run = behind.wrapping_sub(start) & (is_there.wrapping_neg() << slot);
        let found = self.is_in(lines, bytes, block, run, behind != 0, home.remainder);
        // One comparison: of two, each would be a branch.
        Probe { found, leaves: behind | (is_there ^ 1) == 0 }
    }

    /// Whether the slots of a block that `run` masks, which are neighbours or none, hold a remainder; anything if not `is_run`.
    #[inline(always)]
    fn is_in<L: Lines>(
        &self,
        lines: L,
        bytes: &[u8],
        block: u64,
        run: u64,
        is_run: bool,
        remainder: u64,
    ) -> bool {
        if self.has_equal_slots::<L>() {
            return self.equal_slots(lines, bytes, block, remainder) & run != 0;
        }
        // As many remainders as a word holds, compared together.
        let run = select_unpredictable(is_run, run, 0);
        let base = self.base(block);
        let (mut slot, mut left) = (run.trailing_zeros(), run.count_ones());
        // No run: any slot will do, since nothing of it is looked at.
        slot &= 63 * u32::from(left != 0);
        let slot_limit = self.fields.count;
        loop {
            let window = self.shape.window(bytes, base, slot);
            if self.fields.any_equal(window, remainder, left) {
                return true;
            }
            if left <= slot_limit {
                return false;
            }
            left -= slot_limit;
            slot += slot_limit;
        }
    }

    /// Whether all remainders of a block are compared at once.
    #[inline(always)]
    pub(super) fn has_equal_slots<L: Lines>(&self) -> bool {
        L::WHOLE && matches!(self.shape.r, 8 | 12 | 16)
    }

    /// The slots of a block that hold a remainder, for an r of 8, 12 or 16. Bits beyond the block mean nothing.
    #[inline(always)]
    pub(super) fn equal_slots<L: Lines>(&self, lines: L, bytes: &[u8], block: u64, remainder: u64) -> u64 {
        let (all, _) = bytes.as_chunks::<LINE>();
        let line = &all[usize::try_from(block).unwrap_or(usize::MAX)];
        let [low, high, ..] = remainder.to_le_bytes();
        let half = u16::from_le_bytes([low, high]);
        match self.shape.r {
            8 => lines.equal_bytes(line, low) >> (self.shape.first / 8),
            12 => lines.equal_twelves(line, half),
            _ => u64::from(lines.equal_halves(line, half)) >> (self.shape.first / 16),
        }
    }

    /// Looks for a fingerprint whose run leaves the block of its home, in this block and the one behind it.
    #[inline(always)]
    pub(super) fn probe_next<L: Lines>(&self, lines: L, bytes: &[u8], home: Home) -> Probe {
        let Place { block, slot } = home.place;
        let (next, size) = (self.after(block), self.size(block));
        let Decoded { occupied, starts, offset, .. } = self.decode(bytes, block);
        let rank = (occupied & ((1 << slot) - 1)).count_ones();
        // How many of the runs of this block's homes before this one end in it; and where its own may start, or 0 if that is not in it.
        let ended = starts.count_ones() - 1;
        let pair = lines.pair(starts, rank);
        let start = pair & pair.wrapping_neg();
        let (next_bytes, next_base) = self.vectors(bytes, next);
        let next_ends = self.shape.ends(next_bytes, next_base);
        let next_starts = run_starts(next_ends, offset.saturating_sub(u64::from(size)));
        let pair = lines.pair(next_starts, rank - ended.min(rank));
        let behind = pair & pair.wrapping_sub(1);
        if behind == 0 {
            return Probe { found: false, leaves: true };
        }
        // From the start on, but not before the home. No branch: every other such run starts in a block behind.
        let here = start.wrapping_neg() & (u64::MAX << slot) & low_mask(size);
        let there = behind - (pair ^ behind);
        let found = self.is_in(lines, bytes, next, there, true, home.remainder)
            | self.is_in(lines, bytes, block, here, true, home.remainder);
        Probe { found, leaves: false }
    }

    /// Whether there is a record of a fingerprint whose run leaves the next block too.
    #[cold]
    #[inline(never)]
    pub(super) fn contains_far(&self, bytes: &[u8], home: Home) -> bool {
        let run = self.run(bytes, home.place);
        self.first_at_least(bytes, home, run).is_some_and(|(_, equal)| equal)
    }

    /// How many slots behind the start of the home's block the first record of a run is whose remainder is not smaller, and whether
    /// it is equal; `None` if all are smaller.
    pub(super) fn first_at_least(&self, bytes: &[u8], home: Home, run: Run) -> Option<(u64, bool)> {
        let (mut place, _) = self.advance(home.place.block, run.start);
        for at in run.start..run.end {
            let remainder = self.remainder_at(bytes, place);
            if remainder >= home.remainder {
                return Some((at, remainder == home.remainder));
            }
            place = self.next(place);
        }
        None
    }

    /// The number of records of a fingerprint.
    pub(super) fn multiplicity(&self, bytes: &[u8], home: Home) -> u64 {
        let Place { block, slot } = home.place;
        let (_, occupied) = self.shape.head(bytes, self.base(block));
        if (occupied >> slot) & 1 == 0 {
            return 0;
        }
        let run = self.run(bytes, home.place);
        let Some((first, true)) = self.first_at_least(bytes, home, run) else { return 0 };
        let (mut place, _) = self.advance(block, first);
        let equal = (first..run.end).take_while(|_| {
            let remainder = self.remainder_at(bytes, place);
            place = self.next(place);
            remainder == home.remainder
        });
        equal.count() as u64
    }
}

/// Where the runs of a block's homes may start, the first of them behind what earlier homes take and each other one behind an end.
#[inline(always)]
fn run_starts(ends: u64, offset: u64) -> u64 {
    // An offset beyond the block leaves no end in it; 63 does too, and is a shift that exists.
    let from = offset.min(63);
    ((ends & (u64::MAX << from)) << 1) | (1 << from)
}

/// Remainders side by side in a word: as many as one unaligned load is sure to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    /// How many.
    pub(crate) count: u32,
    r: u32,
    /// The lowest bit of each.
    low: u64,
    /// The highest bit of each.
    high: u64,
}

impl Fields {
    /// For r bits each, 1 to 57.
    pub(crate) const fn new(r: u32) -> Self {
        let count = 57 / r;
        let mut low = 0;
        let mut i = 0;
        while i < count {
            low |= 1 << (i * r);
            i += 1;
        }
        Self { count, r, low, high: low << (r - 1) }
    }

    /// How many of the first `fields` remainders in `window`, or of all if it holds fewer, are at most `remainder`.
    #[inline(always)]
    pub(super) fn count_at_most(&self, window: u64, remainder: u64, fields: u32) -> u32 {
        let wanted = self.low.wrapping_mul(remainder);
        // Whether the lower bits of a field are at most those wanted: its highest bit, from which no borrow leaves the field.
        let lower = (wanted | self.high) - (window & (self.high - self.low));
        let at_most = (wanted & !window) | (!(wanted ^ window) & lower);
        let fields = low_mask(fields.min(self.count) * self.r);
        (at_most & self.high & fields).count_ones()
    }

    /// Whether one of the first `fields` remainders in `window`, or of all if it holds fewer, is `remainder`.
    #[inline(always)]
    pub(crate) fn any_equal(&self, window: u64, remainder: u64, fields: u32) -> bool {
        let differences = window ^ self.low.wrapping_mul(remainder);
        let others = self.high - self.low;
        // The highest bit of a field becomes one if any bit of it is: no carry leaves it.
        let unequal = ((differences & others) + others) | differences;
        let fields = low_mask(fields.min(self.count) * self.r);
        !unequal & self.high & fields != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_compared_one_by_one() {
        for r in 1..=57 {
            let fields = Fields::new(r);
            let all = low_mask(r);
            let mut word = 0x0123_4567_89AB_CDEF_u64;
            for _ in 0..2_000 {
                word = word.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ 0xff;
                // Half of them with many zeros.
                let window = if word.is_multiple_of(2) { word } else { word & word.rotate_left(17) };
                let at = |i: u32| (window >> (i * r)) & all;
                for remainder in [at(0), at(fields.count - 1), word & all, 0, all] {
                    for count in 0..=fields.count + 1 {
                        let expected = (0..count.min(fields.count)).any(|i| at(i) == remainder);
                        assert_eq!(fields.any_equal(window, remainder, count), expected, "{window:#x} {r}");
                        let at_most = (0..count.min(fields.count)).filter(|&i| at(i) <= remainder).count();
                        let counted = fields.count_at_most(window, remainder, count);
                        assert_eq!(counted as usize, at_most, "{window:#x} {r}");
                    }
                }
            }
        }
    }
}
