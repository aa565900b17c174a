//! Sorting fingerprints by their digits, in linear time.
//!
//! First by the highest digit into parts that fit a second-level cache, then each part by the other digits, the lowest first. As
//! fingerprints are spread evenly, no comparison sort comes near; if they are not, parts are uneven, and it is still linear.

use alloc::vec::Vec;

/// Slices shorter than this are left to the library.
const FEW: usize = 1 << 11;
/// A part has about this many, 2^14 numbers of 8 bytes, where the highest digit can be wide enough.
const PART_BITS: u32 = 14;
/// The widest digit: its counters fit a first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts numbers below 2^`bits`. `scratch` is as long; the sorted numbers are in the slice that is returned, one of the two.
pub(crate) fn sort<'a>(values: &'a mut [u64], scratch: &'a mut [u64], bits: u32) -> &'a [u64] {
    assert_eq!(values.len(), scratch.len(), "scratch space is as long as what is sorted");
    if values.len() < FEW || bits == 0 {
        values.sort_unstable();
        return values;
    }
    let high = (values.len().ilog2().saturating_sub(PART_BITS)).clamp(1, DIGIT_BITS).min(bits);
    let low = bits - high;
    let passes = low.div_ceil(DIGIT_BITS);
    let mut counts = Counts::of(values, low, high);
    let mut ends = counts.starts();
    scatter(values, scratch, &mut ends, low, high);
    // Now each counter is where its part ends.
    let mut start = 0;
    for end in ends {
        let part = start..end;
        start = end;
        sort_part(&mut scratch[part.clone()], &mut values[part], low, passes);
    }
    if passes.is_multiple_of(2) { scratch } else { values }
}

/// Sorts by `bits` low bits in so many passes from one slice to the other and back, starting from `source`.
fn sort_part(source: &mut [u64], target: &mut [u64], bits: u32, passes: u32) {
    if source.len() < FEW / 8 {
        source.sort_unstable();
        if !passes.is_multiple_of(2) {
            target.copy_from_slice(source);
        }
        return;
    }
    let (mut from, mut to) = (source, target);
    for pass in 0..passes {
        // Digits as equal as can be.
        let shift = bits * pass / passes;
        let width = bits * (pass + 1) / passes - shift;
        let mut starts = Counts::of(from, shift, width).starts();
        scatter(from, to, &mut starts, shift, width);
        (from, to) = (to, from);
    }
}

/// Moves each number to the next place of its digit.
fn scatter(from: &[u64], to: &mut [u64], places: &mut [usize], shift: u32, width: u32) {
    for &value in from {
        let place = &mut places[digit(value, shift, width)];
        to[*place] = value;
        *place += 1;
    }
}

#[inline]
fn digit(value: u64, shift: u32, width: u32) -> usize {
    // At most 11 bits.
    #[expect(clippy::cast_possible_truncation, reason = "the width of a digit")]
    let digit = ((value >> shift) & ((1 << width) - 1)) as usize;
    digit
}

/// How often each digit occurs.
struct Counts(Vec<usize>);

impl Counts {
    fn of(values: &[u64], shift: u32, width: u32) -> Self {
        let mut counts = alloc::vec![0; 1 << width];
        for &value in values {
            counts[digit(value, shift, width)] += 1;
        }
        Self(counts)
    }

    /// Where each digit starts.
    fn starts(&mut self) -> Vec<usize> {
        let mut start = 0;
        for count in &mut self.0 {
            start += core::mem::replace(count, start);
        }
        core::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

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
                    let (mut sorted, mut scratch) = (values, vec![0; len]);
                    let sorted = sort(&mut sorted, &mut scratch, bits);
                    assert!(sorted == expected, "{len} numbers of {bits} bits, skew {skew}, seed {seed}");
                }
            }
        }
    }
}
