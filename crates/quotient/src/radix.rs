//! Sorting fingerprints by their digits, in linear time.
//!
//! First by the highest digit into parts that fit a first-level cache or nearly, then each part by the other digits, the lowest
//! first. As fingerprints are spread evenly, no comparison sort comes near; if they are not, parts are uneven, and it is still linear.

use alloc::vec::Vec;

use crate::OutOfMemory;

/// Slices shorter than this are left to the library.
const FEW: usize = 1 << 8;
/// A part has about this many, 2^12 numbers of 8 bytes, where the highest digit can be wide enough.
const PART_BITS: u32 = 12;
/// The widest digit: its counters fit a first-level cache.
const DIGIT_BITS: u32 = 11;

/// A number as eight bytes, so that the room for them may be any bytes. In this order neither is it sorted nor does it matter.
type Word = [u8; 8];

/// What a digit can be. Of fixed size, so that a digit needs no check before it is counted.
type Counters = [usize; 1 << DIGIT_BITS];

/// One digit of a number.
#[derive(Clone, Copy)]
struct Digit {
    /// The lowest bit.
    shift: u32,
    /// As many ones as it has bits.
    mask: u64,
}

/// Sorts numbers below 2^`bits` in `room`, which has place for eight bytes each, and hands them on in order, some at a time.
///
/// # Errors
/// The first error of `take`, or if there is no memory for the largest part once more.
pub(crate) fn sort(
    values: impl ExactSizeIterator<Item = u64> + Clone,
    room: &mut [u8],
    bits: u32,
    mut take: impl FnMut(&[u64]) -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    let (room, _) = room.as_chunks_mut::<8>();
    assert_eq!(values.len(), room.len(), "as many places as numbers");
    let high = if room.len() < FEW { 0 } else { room.len().ilog2().saturating_sub(PART_BITS) };
    let high = high.min(DIGIT_BITS).min(bits);
    let low = bits - high;
    // No number has bits above its highest digit.
    let highest = Digit { shift: low.min(63), mask: (1 << high) - 1 };
    let mut ends = [0; 1 << DIGIT_BITS];
    for value in values.clone() {
        ends[highest.of(value)] += 1;
    }
    starts(&mut ends[..1 << high]);
    for value in values {
        put(room, &mut ends, highest, value);
    }
    // Digits as wide as each other.
    let passes = low.div_ceil(DIGIT_BITS).max(1);
    let width = low.div_ceil(passes);
    let digits: Vec<_> =
        (0..passes).map(|i| Digit { shift: (i * width).min(63), mask: (1 << width) - 1 }).collect();
    let mut counters = alloc::vec![[0; 1 << DIGIT_BITS]; digits.len()];
    let mut scratch = Vec::new();
    let mut sorted = Vec::with_capacity(1 << PART_BITS);
    // Now each counter is where its part ends.
    let mut start = 0;
    for &end in &ends[..1 << high] {
        let part = &mut room[start..end];
        sort_part(part, &mut scratch, &digits, &mut counters)?;
        for words in part.chunks(1 << PART_BITS) {
            sorted.clear();
            sorted.extend(words.iter().map(|&word| u64::from_ne_bytes(word)));
            take(&sorted)?;
        }
        start = end;
    }
    Ok(())
}

/// Sorts by digits, from one slice to the other and back.
fn sort_part(
    part: &mut [Word],
    scratch: &mut Vec<Word>,
    digits: &[Digit],
    counters: &mut [Counters],
) -> Result<(), OutOfMemory> {
    if part.len() < FEW {
        part.sort_unstable_by_key(|&word| u64::from_ne_bytes(word));
        return Ok(());
    }
    let more = part.len().saturating_sub(scratch.len());
    scratch.try_reserve(more).map_err(|_| OutOfMemory { bytes: (part.len() as u64).saturating_mul(8) })?;
    scratch.resize(scratch.len().max(part.len()), [0; 8]);
    // All digits of a number are counted while it is at hand.
    for (counts, digit) in counters.iter_mut().zip(digits) {
        counts[..=digit.of(u64::MAX)].fill(0);
    }
    for &word in &*part {
        for (counts, digit) in counters.iter_mut().zip(digits) {
            counts[digit.of(u64::from_ne_bytes(word))] += 1;
        }
    }
    let scratch = &mut scratch[..part.len()];
    let (mut from, mut to) = (part, scratch);
    for (places, &digit) in counters.iter_mut().zip(digits) {
        starts(&mut places[..=digit.of(u64::MAX)]);
        for &word in &*from {
            put(to, places, digit, u64::from_ne_bytes(word));
        }
        (from, to) = (to, from);
    }
    if !digits.len().is_multiple_of(2) {
        to.copy_from_slice(from);
    }
    Ok(())
}

/// Puts a number at the next place of its digit.
#[inline]
fn put(to: &mut [Word], places: &mut Counters, digit: Digit, value: u64) {
    let place = &mut places[digit.of(value)];
    to[*place] = value.to_ne_bytes();
    *place += 1;
}

impl Digit {
    #[inline]
    fn of(self, value: u64) -> usize {
        // At most 11 bits.
        ((value >> self.shift) & self.mask & ((1 << DIGIT_BITS) - 1)) as usize
    }
}

/// Makes counts into the places where the numbers of each digit start.
fn starts(counts: &mut [usize]) {
    let mut start = 0;
    for count in counts {
        start += core::mem::replace(count, start);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn sorts_as_the_library_does() {
        let seed = 5;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for len in [0, 1, 2, FEW - 1, FEW, FEW + 1, 5_000, 40_000, 300_000] {
            for bits in [1, 2, 5, 11, 12, 22, 23, 28, 33, 50, 64] {
                for skew in 0..4 {
                    let mut value = || match (rng.next_u64() >> (64 - bits), skew) {
                        (value, 0) => value,
                        // Few values, all high digits equal, nearly all numbers equal.
                        (value, 1) => value & 0x11,
                        (value, 2) => value >> (bits / 2),
                        (value, _) => {
                            if value.is_multiple_of(64) {
                                value
                            } else {
                                0
                            }
                        }
                    };
                    let values: Vec<u64> = (0..len).map(|_| value()).collect();
                    let mut expected = values.clone();
                    expected.sort_unstable();
                    let mut room = vec![0; len * 8];
                    let mut sorted = Vec::new();
                    sort(values.iter().copied(), &mut room, bits, |some| {
                        sorted.extend_from_slice(some);
                        Ok(())
                    })
                    .unwrap();
                    assert!(sorted == expected, "{len} numbers of {bits} bits, skew {skew}, seed {seed}");
                }
            }
        }
    }
}
