//! Four-bit counters that stick at 15: counter i is nibble i % 2, the low one first, of byte i / 2.

use crate::batch::index;

/// Bits of a counter.
pub(crate) const WIDTH: u32 = 4;

/// Where a counter stops: from then on nobody knows how much it stands for, and it never changes again.
pub(crate) const STUCK: u8 = 15;

/// The lowest bit of each counter of a word.
const LOWEST: u64 = 0x1111_1111_1111_1111;

#[inline]
const fn shift(i: u64) -> u32 {
    if i & 1 == 0 { 0 } else { WIDTH }
}

/// Counter `i`, 0 to 15.
///
/// # Panics
/// If it is not in `table`.
#[inline]
pub(crate) fn get(table: &[u8], i: u64) -> u8 {
    table[index(i >> 1)] >> shift(i) & STUCK
}

/// Makes counter `i` equal to `value`, 0 to 15.
///
/// # Panics
/// If it is not in `table`.
#[inline]
pub(crate) fn set(table: &mut [u8], i: u64, value: u8) {
    debug_assert!(value <= STUCK, "{value} does not fit four bits");
    let byte = &mut table[index(i >> 1)];
    *byte = *byte & !(STUCK << shift(i)) | value << shift(i);
}

/// One more, or stuck.
#[inline]
pub(crate) const fn up(counter: u8) -> u8 {
    if counter == STUCK { STUCK } else { counter + 1 }
}

/// One less, unless stuck. `counter` is not 0.
#[inline]
pub(crate) const fn down(counter: u8) -> u8 {
    if counter == STUCK { STUCK } else { counter - 1 }
}

/// The sums of the two counters of a byte, each stuck where it reaches 15.
#[inline]
pub(crate) fn add_byte(left: u8, right: u8) -> u8 {
    let low = (left & STUCK) + (right & STUCK);
    let high = (left >> WIDTH) + (right >> WIDTH);
    low.min(STUCK) | high.min(STUCK) << WIDTH
}

/// The counters of a table that are not 0.
pub(crate) fn count_occupied(table: &[u8]) -> u64 {
    count(table, |word| word | word >> 1 | word >> 2 | word >> 3)
}

/// The counters of a table that are stuck.
pub(crate) fn count_stuck(table: &[u8]) -> u64 {
    count(table, |word| word & word >> 1 & word >> 2 & word >> 3)
}

/// The counters whose lowest bit is set after `fold` has combined the four bits of each into it.
fn count(table: &[u8], fold: impl Fn(u64) -> u64) -> u64 {
    let (words, rest) = table.as_chunks::<8>();
    let words = words.iter().map(|&word| u64::from_ne_bytes(word));
    words
        .chain(rest.iter().map(|&byte| u64::from(byte)))
        .map(|word| u64::from((fold(word) & LOWEST).count_ones()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_leaves_its_neighbours_alone() {
        for i in 0..9 {
            for background in [0, 0x55, 0xff] {
                for value in 0..=STUCK {
                    let mut table = [background; 5];
                    set(&mut table, i, value);
                    for j in 0..10 {
                        let expected = if i == j { value } else { background & STUCK };
                        assert_eq!(get(&table, j), expected, "{i} {value} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn counters_stick() {
        assert_eq!((0..20).fold(0, |counter, _| up(counter)), STUCK);
        assert_eq!((up(0), up(13), up(14), up(15)), (1, 14, 15, 15));
        assert_eq!((down(1), down(14), down(15)), (0, 13, 15));
    }

    #[test]
    fn sums_and_counts_agree_with_one_counter_at_a_time() {
        for left in 0..=u8::MAX {
            for right in 0..=u8::MAX {
                let sum = [add_byte(left, right)];
                for i in 0..2 {
                    assert_eq!(get(&sum, i), (get(&[left], i) + get(&[right], i)).min(STUCK));
                }
            }
            for length in 0..20 {
                let table: std::vec::Vec<u8> = (0..length).map(|i| left.wrapping_mul(i + 1)).collect();
                let counters = || (0..u64::from(length) * 2).map(|i| get(&table, i));
                assert_eq!(count_occupied(&table), counters().filter(|&counter| counter != 0).count() as u64);
                assert_eq!(
                    count_stuck(&table),
                    counters().filter(|&counter| counter == STUCK).count() as u64
                );
            }
        }
    }
}
