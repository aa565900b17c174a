//! Everything in order: one cursor over homes, one over records.

use core::iter::FusedIterator;

use super::RankSelect;
use super::place::Place;

/// (fingerprint, multiplicity), ascending.
#[derive(Clone)]
pub(super) struct Iter<'a> {
    layout: RankSelect,
    bytes: &'a [u8],
    /// The block of the home cursor.
    block: u64,
    /// The first slot of that block.
    block_start: u64,
    /// The homes in that block that are still to come.
    homes: u64,
    /// The record cursor, counted on beyond the last slot, where it means the slots from 0 on.
    next: u64,
    /// The same as a place, and the run ends of its block.
    place: Place,
    ends: u64,
    /// The home of the run that has begun, as a fingerprint with remainder 0.
    run: Option<u64>,
}

impl RankSelect {
    /// All fingerprints in order.
    pub(super) fn iterate<'a>(&self, bytes: &'a [u8]) -> Iter<'a> {
        let (_, homes) = self.shape.head(bytes, 0);
        // Records that wrapped around come last in the order: begin behind them.
        let next = self.exact_offset(bytes, 0);
        let (place, _) = self.advance(0, next);
        let ends = self.shape.ends(bytes, self.base(place.block));
        Iter { layout: *self, bytes, block: 0, block_start: 0, homes, next, place, ends, run: None }
    }
}

impl Iter<'_> {
    #[inline]
    fn go_to(&mut self, place: Place) {
        if place.block != self.place.block {
            self.ends = self.layout.shape.ends(self.bytes, self.layout.base(place.block));
        }
        self.place = place;
    }

    /// The next home, and the record cursor at its run.
    #[inline]
    fn open_run(&mut self) -> Option<u64> {
        while self.homes == 0 {
            if self.block + 1 == self.layout.blocks {
                return None;
            }
            self.block += 1;
            self.block_start += u64::from(self.layout.shape.slots);
            (_, self.homes) = self.layout.shape.head(self.bytes, self.layout.base(self.block));
        }
        let slot = self.homes.trailing_zeros();
        self.homes &= self.homes - 1;
        let home = self.block_start + u64::from(slot);
        if home > self.next {
            self.next = home;
            self.go_to(Place { block: self.block, slot });
        }
        Some(self.layout.geometry.join(home, 0))
    }
}

impl Iterator for Iter<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let base = match self.run.take() {
            Some(base) => base,
            None => self.open_run()?,
        };
        let remainder = self.layout.remainder_at(self.bytes, self.place);
        let mut multiplicity = 1;
        loop {
            let is_end = (self.ends >> self.place.slot) & 1 == 1;
            self.next += 1;
            self.go_to(self.layout.next(self.place));
            if is_end {
                break;
            }
            if self.layout.remainder_at(self.bytes, self.place) != remainder {
                self.run = Some(base);
                break;
            }
            multiplicity += 1;
        }
        Some((base | remainder, multiplicity))
    }
}

impl FusedIterator for Iter<'_> {}
