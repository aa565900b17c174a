//! The banded linear system of a range of slots, kept in echelon form while rows are added.

use alloc::vec::Vec;

use amq::BuildError;

use crate::memory::reserve;
use crate::reduced::Reduced;

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

impl<R> Default for Band<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), values: Vec::new() }
    }
}

impl<R: Reduced> Band<R> {
    /// Slots of a window.
    const WIDTH: usize = 8 * size_of::<R>();

    /// The bytes that a system of as many slots takes.
    pub(crate) const fn bytes(slots: usize) -> u64 {
        (slots as u64 + Self::WIDTH as u64) * (size_of::<R>() + size_of::<u32>()) as u64
    }

    /// Slots that there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.values.capacity().saturating_sub(Self::WIDTH)
    }

    /// Makes room for as many slots.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn reserve(&mut self, slots: usize) -> Result<(), BuildError> {
        // Windows that end behind the last slot begin before it.
        reserve(&mut self.rows, slots + Self::WIDTH)?;
        reserve(&mut self.values, slots + Self::WIDTH)
    }

    /// Removes all rows, and makes it a system of `slots` slots, for which there must be room.
    pub(crate) fn reset(&mut self, slots: usize) {
        self.rows.clear();
        self.rows.resize(slots + Self::WIDTH, R::default());
        self.values.clear();
        self.values.resize(slots + Self::WIDTH, 0);
    }

    /// Adds the equation "the slots from `start` on that `row` selects sum to `value`". No slot behind the last may be selected.
    #[inline]
    pub(crate) fn add(&mut self, start: usize, mut row: R, mut value: u32) -> Added {
        /// Slots between two looks at whether anything is left of the row.
        const STRETCH: usize = 32;
        let mut from = start;
        loop {
            let slots = from..from + STRETCH;
            for (i, (&present, &sum)) in self.rows[slots.clone()].iter().zip(&self.values[slots]).enumerate()
            {
                if row.leads_without(present) {
                    self.rows[from + i] = row;
                    self.values[from + i] = value;
                    return Added::At(from + i);
                }
                value ^= sum & row.leading_mask();
                row = row.step(present);
            }
            if row == R::default() {
                return if value == 0 { Added::Implied } else { Added::Contradiction };
            }
            from += STRETCH;
        }
    }

    /// Takes out the row of a slot: the one added last of those that are in.
    pub(crate) fn remove(&mut self, slot: usize) {
        self.rows[slot] = R::default();
        self.values[slot] = 0;
    }

    /// The rows of all slots, and their values.
    #[inline]
    pub(crate) fn get(&self) -> (&[R], &[u32]) {
        let slots = self.rows.len() - Self::WIDTH;
        (&self.rows[..slots], &self.values[..slots])
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec::Vec;

    use super::{Added, Band};
    use crate::width::Row;

    fn band(slots: usize) -> Band<u64> {
        let mut band = Band::default();
        band.reserve(slots).unwrap();
        band.reset(slots);
        band
    }

    #[test]
    fn a_system_by_hand() {
        let mut band = band(70);
        let row = |bits: u64| bits.reduced();
        assert_eq!(band.add(0, row(0b11), 5), Added::At(0));
        // Slots 0 and 2: the first row leaves slots 1 and 2.
        assert_eq!(band.add(0, row(0b101), 6), Added::At(1));
        assert_eq!((band.get().0[1], band.get().1[1]), (row(0b11), 3));
        // The sum of both.
        assert_eq!(band.add(1, row(0b11), 3), Added::Implied);
        assert_eq!(band.add(1, row(0b11), 2), Added::Contradiction);
        assert_eq!(band.add(6, row(1 << 63 | 1), 1), Added::At(6));
        assert_eq!(band.add(6, row(1), 1), Added::At(69));
        // A window that selects nothing any more.
        assert_eq!(band.add(69, 0, 0), Added::Implied);
        assert_eq!(band.add(69, 0, 1), Added::Contradiction);
        band.remove(1);
        assert_eq!(band.add(1, row(1), 9), Added::At(1));
        band.reset(69);
        assert_eq!((band.get().0.len(), band.get().0[0], band.get().1[0]), (69, 0, 0));
    }

    /// What elimination says of each row is what the span of the rows before it says, found by trying all sums.
    #[test]
    fn rows_are_implied_or_contradict_as_all_sums_say() {
        for seed in 0..300 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut band = band(64);
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
                let added = band.add(usize::try_from(start).unwrap(), row.reduced(), value);
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
