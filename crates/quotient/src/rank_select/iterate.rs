//! Everything in order: one cursor over homes, one over records.

use core::iter::FusedIterator;

use super::RankSelect;
use super::place::Place;

/// (fingerprint, multiplicity), ascending.
#[derive(Clone)]
pub(super) struct Iter<'a> {
    layout: RankSelect,
    bytes: &'a [u8],
    /// The home cursor's block, its first slot, and the homes in it that are still to come.
    block: u64,
    block_start: u64,
    homes: u64,
    /// The record cursor, counted on beyond the last slot, where it means the slots from 0 on.
    next: u64,
    /// The same as a place; where its block starts, how many slots it has, and its run ends.
    place: Place,
    base: usize,
    size: u32,
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
        let (block, block_start, base, size, ends) = (0, 0, 0, 0, 0);
        let mut iter = Iter {
            layout: *self,
            bytes,
            block,
            block_start,
            homes,
            next,
            place,
            base,
            size,
            ends,
            run: None,
        };
        iter.enter(place);
        iter
    }
}

impl Iter<'_> {
    /// Puts the record cursor into another block.
    #[inline]
    fn enter(&mut self, place: Place) {
        self.place = place;
        self.base = self.layout.base(place.block);
        self.size = self.layout.size(place.block);
        self.ends = self.layout.shape.ends(self.bytes, self.base);
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
            if self.block == self.place.block {
                self.place.slot = slot;
            } else {
                self.enter(Place { block: self.block, slot });
            }
        }
        Some(self.layout.geometry.join(home, 0))
    }

    /// The record cursor's remainder.
    #[inline]
    fn remainder(&self) -> u64 {
        self.layout.shape.remainder(self.bytes, self.base, self.place.slot)
    }

    /// Moves the record cursor on, and says whether it was at the end of a run.
    #[inline]
    fn step(&mut self) -> bool {
        let is_end = (self.ends >> self.place.slot) & 1 == 1;
        self.next += 1;
        self.place.slot += 1;
        if self.place.slot == self.size {
            self.enter(Place { block: self.layout.after(self.place.block), slot: 0 });
        }
        is_end
    }
}

impl Iterator for Iter<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let run = match self.run.take() {
            Some(run) => run,
            None => self.open_run()?,
        };
        let remainder = self.remainder();
        let mut multiplicity = 1;
        while !self.step() {
            if self.remainder() != remainder {
                self.run = Some(run);
                break;
            }
            multiplicity += 1;
        }
        Some((run | remainder, multiplicity))
    }
}

impl FusedIterator for Iter<'_> {}
