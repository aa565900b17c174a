//! The banded linear system of a layer, kept in echelon form while rows are added.

use alloc::vec::Vec;

use amq::BuildError;

use crate::hashes::filled;
use crate::width::Row;

/// The system: slot i has at most one row, whose first coefficient is that of the slot.
///
/// A row is never changed once it is in. So the rows added last can be taken out again, and the others are what they would
/// be without them.
#[derive(Debug)]
pub(crate) struct Band<R> {
    /// The coefficients of each slot's row, from the slot on; zero without a row.
    rows: Vec<R>,
    /// What the selected slots sum to.
    values: Vec<u32>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in, with this slot.
    At(usize),
    /// It follows from others that are in.
    Implied,
    /// It contradicts the others.
    Contradiction,
}

impl<R: Row> Band<R> {
    /// A system of as many slots, without rows.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn new(slots: usize) -> Result<Self, BuildError> {
        Ok(Self { rows: filled(R::default(), slots)?, values: filled(0, slots)? })
    }

    /// The bytes that a system of as many slots takes.
    pub(crate) fn bytes(slots: u64) -> u64 {
        slots.saturating_mul((size_of::<R>() + size_of::<u32>()) as u64)
    }

    /// Removes all rows, and makes it one of `slots` slots: allocates nothing up to the number that it was made with.
    pub(crate) fn reset(&mut self, slots: usize) {
        self.rows.clear();
        self.rows.resize(slots, R::default());
        self.values.clear();
        self.values.resize(slots, 0);
    }

    /// Adds the equation "the slots from `start` on that `row` selects sum to `value`", `row` not zero.
    #[inline]
    pub(crate) fn add(&mut self, start: usize, mut row: R, mut value: u32) -> Added {
        let mut slot = start;
        loop {
            let present = self.rows[slot];
            if present.is_zero() {
                self.rows[slot] = row;
                self.values[slot] = value;
                return Added::At(slot);
            }
            row = row.add(present);
            value ^= self.values[slot];
            if row.is_zero() {
                return if value == 0 { Added::Implied } else { Added::Contradiction };
            }
            let zeros = row.leading();
            row = row.skip(zeros);
            slot += zeros as usize;
        }
    }

    /// Takes out the row of a slot: the one added last of those that are in.
    pub(crate) fn remove(&mut self, slot: usize) {
        self.rows[slot] = R::default();
        self.values[slot] = 0;
    }

    /// Slots.
    pub(crate) fn slots(&self) -> usize {
        self.rows.len()
    }

    /// The row of a slot, and its value.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> (R, u32) {
        (self.rows[slot], self.values[slot])
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec::Vec;

    use super::{Added, Band};

    #[test]
    fn a_system_by_hand() {
        let mut band = Band::<u64>::new(70).unwrap();
        assert_eq!(band.add(0, 0b11, 5), Added::At(0));
        // Slots 0 and 2: the first row leaves slots 1 and 2.
        assert_eq!(band.add(0, 0b101, 6), Added::At(1));
        assert_eq!(band.get(1), (0b11, 3));
        // The sum of both.
        assert_eq!(band.add(1, 0b11, 3), Added::Implied);
        assert_eq!(band.add(1, 0b11, 2), Added::Contradiction);
        assert_eq!(band.add(6, 1 << 63 | 1, 1), Added::At(6));
        assert_eq!(band.add(6, 1, 1), Added::At(69));
        band.remove(1);
        assert_eq!(band.add(1, 1, 9), Added::At(1));
        band.reset(69);
        assert_eq!((band.slots(), band.get(0)), (69, (0, 0)));
    }

    /// What elimination says of each row is what the span of the rows before it says, found by trying all sums.
    #[test]
    fn rows_are_implied_or_contradict_as_all_sums_say() {
        for seed in 0..300 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut band = Band::<u64>::new(64).unwrap();
            let mut rows: Vec<(u64, u32)> = Vec::new();
            for _ in 0..10 {
                let start = rng.next_u64() % 6;
                let row = (rng.next_u64() % 15) | 1;
                let value = u32::try_from(rng.next_u64() % 2).unwrap();
                let spanned = (0..1_u32 << rows.len()).find_map(|set| {
                    let sum = rows.iter().enumerate().fold((0, 0), |sum, (i, row)| {
                        if set >> i & 1 == 1 { (sum.0 ^ row.0, sum.1 ^ row.1) } else { sum }
                    });
                    (sum.0 == row << start).then_some(sum.1)
                });
                let added = band.add(usize::try_from(start).unwrap(), row, value);
                match spanned {
                    None => {
                        assert!(matches!(added, Added::At(_)), "seed {seed}: {added:?}");
                        rows.push((row << start, value));
                    }
                    Some(sum) if sum == value => assert_eq!(added, Added::Implied, "seed {seed}"),
                    Some(_) => assert_eq!(added, Added::Contradiction, "seed {seed}"),
                }
            }
        }
    }
}
