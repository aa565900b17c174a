//! Counters of 2, 4 or 8 bits that stick at the largest number: counter i is the (i mod c)-th, the lowest first, of the c in byte i / c.

use crate::batch::index;

/// Counters of `BITS` bits each, 2, 4 or 8. Never made: a place for constants and functions.
pub(crate) enum Counters<const BITS: u32> {}

impl<const BITS: u32> Counters<BITS> {
    /// Where a counter stops: from then on nobody knows how much it stands for, and it never changes again.
    pub(crate) const STUCK: u8 = {
        assert!(BITS == 2 || BITS == 4 || BITS == 8, "counters have 2, 4 or 8 bits");
        u8::MAX >> (8 - BITS)
    };

    /// The lowest bit of each counter of a word.
    const LOWEST: u64 = u64::MAX / Self::STUCK as u64;

    /// The base-2 logarithm of the counters in a byte.
    const LOG: u32 = (8 / BITS).ilog2();

    /// The byte of a counter.
    #[inline]
    pub(crate) const fn byte(i: u64) -> u64 {
        i >> Self::LOG
    }

    /// The lowest bit of a counter in its byte.
    #[inline]
    const fn shift(i: u64) -> u64 {
        (i << (3 - Self::LOG)) & 7
    }

    /// Counter `i`.
    ///
    /// # Panics
    /// If it is not in `table`.
    #[inline]
    pub(crate) fn get(table: &[u8], i: u64) -> u8 {
        table[index(Self::byte(i))] >> Self::shift(i) & Self::STUCK
    }

    /// Makes counter `i` equal to `value`.
    ///
    /// # Panics
    /// If it is not in `table`.
    #[inline]
    pub(crate) fn set(table: &mut [u8], i: u64, value: u8) {
        debug_assert!(value <= Self::STUCK, "{value} does not fit {BITS} bits");
        let byte = &mut table[index(Self::byte(i))];
        *byte = *byte & !(Self::STUCK << Self::shift(i)) | value << Self::shift(i);
    }

    /// One more, or stuck.
    #[inline]
    pub(crate) const fn up(counter: u8) -> u8 {
        if counter == Self::STUCK { counter } else { counter + 1 }
    }

    /// One less, unless stuck. `counter` is not 0.
    #[inline]
    pub(crate) const fn down(counter: u8) -> u8 {
        if counter == Self::STUCK { counter } else { counter - 1 }
    }

    /// The sums of the counters of two bytes, each stuck where it reaches the largest number.
    #[inline]
    pub(crate) fn add_byte(left: u8, right: u8) -> u8 {
        let mut sums = 0;
        for i in 0..u64::from(8 / BITS) {
            let (left, right) = (Self::get(&[left], i), Self::get(&[right], i));
            sums |= left.saturating_add(right).min(Self::STUCK) << Self::shift(i);
        }
        sums
    }

    /// The counters of a table that are not 0.
    pub(crate) fn count_occupied(table: &[u8]) -> u64 {
        Self::count(table, |word, shifted| word | shifted)
    }

    /// The counters of a table that are stuck.
    pub(crate) fn count_stuck(table: &[u8]) -> u64 {
        Self::count(table, |word, shifted| word & shifted)
    }

    /// The counters whose lowest bit is set after `fold` has combined all bits of each into it.
    fn count(table: &[u8], fold: impl Fn(u64, u64) -> u64) -> u64 {
        let combine = |word: u64| {
            let mut word = word;
            let mut shift = 1;
            while shift < BITS {
                word = fold(word, word >> shift);
                shift *= 2;
            }
            u64::from((word & Self::LOWEST).count_ones())
        };
        let (words, rest) = table.as_chunks::<8>();
        words.iter().map(|&word| combine(u64::from_ne_bytes(word))).sum::<u64>()
            + rest.iter().map(|&byte| combine(byte.into())).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_counter_leaves_its_neighbours_alone<const BITS: u32>() {
        for i in 0..18 {
            for background in [0, 0x55, 0xff] {
                for value in 0..=Counters::<BITS>::STUCK {
                    let mut table = [background; 20];
                    Counters::<BITS>::set(&mut table, i, value);
                    for j in 0..20 {
                        let expected = if i == j { value } else { background & Counters::<BITS>::STUCK };
                        assert_eq!(Counters::<BITS>::get(&table, j), expected, "{BITS} {i} {value} {j}");
                    }
                }
            }
        }
    }

    fn counters_stick<const BITS: u32>() {
        let stuck = Counters::<BITS>::STUCK;
        assert_eq!((0..300).fold(0, |counter, _| Counters::<BITS>::up(counter)), stuck);
        let up = Counters::<BITS>::up;
        assert_eq!((up(0), up(stuck - 2), up(stuck - 1), up(stuck)), (1, stuck - 1, stuck, stuck));
        let down = Counters::<BITS>::down;
        assert_eq!((down(1), down(stuck - 1), down(stuck)), (0, stuck - 2, stuck));
    }

    fn sums_and_counts_agree_with_one_counter_at_a_time<const BITS: u32>() {
        let stuck = Counters::<BITS>::STUCK;
        let get = |table: &[u8], i| Counters::<BITS>::get(table, i);
        for left in 0..=u8::MAX {
            for right in 0..=u8::MAX {
                let sum = [Counters::<BITS>::add_byte(left, right)];
                for i in 0..u64::from(8 / BITS) {
                    assert_eq!(get(&sum, i), get(&[left], i).saturating_add(get(&[right], i)).min(stuck));
                }
            }
            for length in 0..20 {
                let table: std::vec::Vec<u8> = (0..length).map(|i| left.wrapping_mul(i + 1)).collect();
                let counters = || (0..u64::from(length) * u64::from(8 / BITS)).map(|i| get(&table, i));
                let occupied = counters().filter(|&counter| counter != 0).count() as u64;
                assert_eq!(Counters::<BITS>::count_occupied(&table), occupied);
                let full = counters().filter(|&counter| counter == stuck).count() as u64;
                assert_eq!(Counters::<BITS>::count_stuck(&table), full);
            }
        }
    }

    #[test]
    fn all_widths() {
        a_counter_leaves_its_neighbours_alone::<2>();
        a_counter_leaves_its_neighbours_alone::<4>();
        a_counter_leaves_its_neighbours_alone::<8>();
        counters_stick::<2>();
        counters_stick::<4>();
        counters_stick::<8>();
        sums_and_counts_agree_with_one_counter_at_a_time::<2>();
        sums_and_counts_agree_with_one_counter_at_a_time::<4>();
        sums_and_counts_agree_with_one_counter_at_a_time::<8>();
    }
}
