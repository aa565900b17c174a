//! Sorting fingerprints by their digits, in linear time.
//!
//! First by the highest digit into parts that fit a second-level cache, then each part by the other digits, the lowest first. As
//! fingerprints are spread evenly, no comparison sort comes near; if they are not, parts are uneven, and it is still linear.

/// Slices shorter than this are left to the library.
const FEW: usize = 1 << 11;
/// A part has about this many, 2^14 numbers of 8 bytes, where the highest digit can be wide enough.
const PART_BITS: u32 = 14;
/// The widest digit: its counters fit a first-level cache.
const DIGIT_BITS: u32 = 11;

/// What a digit can be. Of fixed size, so that a digit needs no check before it is counted.
type Counters = [usize; 1 << DIGIT_BITS];

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
    // No number has bits above its highest digit.
    let mut ends = [0; 1 << DIGIT_BITS];
    for &value in &*values {
        ends[digit(value, low)] += 1;
    }
    starts(&mut ends);
    scatter(values, scratch, &mut ends, low);
    let mut counters = alloc::vec![[0; 1 << DIGIT_BITS]; passes as usize];
    // Now each counter is where its part ends.
    let mut start = 0;
    for end in ends {
        let part = start..end;
        start = end;
        sort_part(&mut scratch[part.clone()], &mut values[part], &mut counters);
    }
    if passes.is_multiple_of(2) { scratch } else { values }
}

/// Sorts by as many of the lowest digits as there are counters, from one slice to the other and back, starting from `source`.
///
/// The last of these digits may overlap with the highest, which is the same in all numbers of a part.
fn sort_part(source: &mut [u64], target: &mut [u64], counters: &mut [Counters]) {
    let passes = counters.len();
    if source.len() < FEW / 8 {
        source.sort_unstable();
        if !passes.is_multiple_of(2) {
            target.copy_from_slice(source);
        }
        return;
    }
    // All digits of a number are counted while it is at hand.
    for counts in counters.iter_mut() {
        counts.fill(0);
    }
    for &value in &*source {
        for (counts, shift) in counters.iter_mut().zip((0..).step_by(DIGIT_BITS as usize)) {
            counts[digit(value, shift)] += 1;
        }
    }
    let (mut from, mut to) = (source, target);
    for (places, shift) in counters.iter_mut().zip((0..).step_by(DIGIT_BITS as usize)) {
        starts(places);
        scatter(from, to, places, shift);
        (from, to) = (to, from);
    }
}

/// Moves each number to the next place of its digit.
#[inline]
fn scatter(from: &[u64], to: &mut [u64], places: &mut Counters, shift: u32) {
    for &value in from {
        let place = &mut places[digit(value, shift)];
        to[*place] = value;
        *place += 1;
    }
}

/// The 11 bits from `shift` on.
#[inline]
fn digit(value: u64, shift: u32) -> usize {
    // At most 11 bits.
    ((value >> shift) & ((1 << DIGIT_BITS) - 1)) as usize
}

/// Makes counts into the places where the numbers of each digit start.
fn starts(counts: &mut Counters) {
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
                    let (mut sorted, mut scratch) = (values, vec![0; len]);
                    let sorted = sort(&mut sorted, &mut scratch, bits);
                    assert!(sorted == expected, "{len} numbers of {bits} bits, skew {skew}, seed {seed}");
                }
            }
        }
    }
}
