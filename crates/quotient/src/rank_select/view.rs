//! One slot, decoded.

use amq_bits::word::low_mask;

use super::RankSelect;
use super::place::Place;

/// One slot of a rank-select table, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSelectView {
    /// Some record has its home in this slot.
    pub occupied: bool,
    /// The record stored here is the last one of its run.
    pub run_end: bool,
    /// The r remainder bits; 0 in an empty slot.
    pub remainder: u64,
    /// The home of the record stored here; `None` in an empty slot.
    pub quotient: Option<u64>,
}

impl RankSelect {
    /// Linear in the cluster of the slot.
    pub(super) fn view_slot(&self, bytes: &[u8], place: Place) -> RankSelectView {
        let base = self.base(place.block);
        let (_, occupied) = self.shape.head(bytes, base);
        RankSelectView {
            occupied: (occupied >> place.slot) & 1 == 1,
            run_end: self.is_end(bytes, place),
            remainder: self.remainder_at(bytes, place),
            quotient: self.quotient_at(bytes, place),
        }
    }

    /// The home of what is stored in a slot: as many homes back as runs are open there.
    fn quotient_at(&self, bytes: &[u8], place: Place) -> Option<u64> {
        let Place { mut block, slot } = place;
        // Runs of earlier homes that end in or behind this block, then those of this one up to the slot, less those that have ended.
        let mut open = self.ends_in_offset(bytes, block);
        let (_, occupied) = self.shape.head(bytes, self.base(block));
        let mut homes = occupied & low_mask(slot + 1);
        open += u64::from(homes.count_ones());
        open -= u64::from((self.shape.ends(bytes, self.base(block)) & low_mask(slot)).count_ones());
        if open == 0 {
            return None;
        }
        loop {
            let here = u64::from(homes.count_ones());
            if open <= here {
                // The open-th from above.
                for _ in 1..open {
                    homes &= !(1 << homes.ilog2());
                }
                let home = homes.ilog2();
                return Some(block * u64::from(self.shape.slots) + u64::from(home));
            }
            open -= here;
            block = self.before(block);
            (_, homes) = self.shape.head(bytes, self.base(block));
        }
    }

    /// How many runs end in the slots from the start of a block on that records of earlier homes take.
    fn ends_in_offset(&self, bytes: &[u8], mut block: u64) -> u64 {
        let mut left = self.exact_offset(bytes, block);
        let mut runs = 0;
        while left > 0 {
            let here = left.min(u64::from(self.size(block)));
            // At most the size of a block, below 64.
            let mask = low_mask(u32::try_from(here).unwrap_or(u32::MAX));
            runs += u64::from((self.shape.ends(bytes, self.base(block)) & mask).count_ones());
            left -= here;
            block = self.after(block);
        }
        runs
    }
}
