//! One cache line as a row of packed integers: find a value in it, and move a range of its bits.
//!
//! What a quotient filter does to a block that fits one line. Hot loops are written once, generic over [`Lines`], as a [`Job`],
//! and [`dispatch`] picks the version once for the whole loop:
//!
//! ```
//! use amq_bits::line::{Job, Lines, dispatch};
//!
//! /// In how many places a line holds each of these bytes.
//! struct Places<'a>(&'a [u8; 64], &'a [u8]);
//!
//! impl Job for Places<'_> {
//!     type Output = u32;
//!
//!     #[inline(always)] // into the code compiled for the processor's features
//!     fn run<L: Lines>(self, lines: L) -> u32 {
//!         self.1.iter().map(|&byte| lines.equal_bytes(self.0, byte).count_ones()).sum()
//!     }
//! }
//!
//! let mut line = [0; 64];
//! line[5] = 7;
//! assert_eq!(dispatch(Places(&line, &[7, 0, 9])), 64);
//! ```

use crate::arch::{WideLines, WiderLines};
use crate::rank_select::{Portable, Select};
use crate::word::{load_u64, low_mask, store_u64};

/// Bytes of a line.
pub const LINE: usize = 64;

/// A way to handle lines that this processor has; holding the value proves it.
pub trait Lines: Select {
    /// Whether it compares all integers of a line in a few instructions. If not, to compare only those that matter is faster.
    const WHOLE: bool;

    /// The `k`-th and the next one of `word`, counted from 0, alone; where there are fewer, fewer.
    fn pair(self, word: u64, k: u32) -> u64;

    /// The first bit i from `from` on up to which, itself included, `a` has fewer ones than `b`; 64 if there is none.
    #[inline]
    fn first_fewer(self, a: u64, b: u64, from: u32) -> u32 {
        let mut at = from.min(64);
        while at < 64 {
            // Where b has one more than a has up to here. If that is further on, so is the first bit of the kind.
            let further = self.select_or_64(b, (a & low_mask(at + 1)).count_ones());
            if further <= at {
                break;
            }
            at = further;
        }
        at
    }

    /// Bit i is set where byte i is `value`.
    fn equal_bytes(self, line: &[u8; LINE], value: u8) -> u64;

    /// Bit i is set where the little-endian integer in bytes 2i and 2i + 1 is `value`.
    fn equal_halves(self, line: &[u8; LINE], value: u16) -> u32;

    /// Bit i is set where the integer in bits 80 + 12i to 91 + 12i is the twelve lowest bits of `value`, for the 36 integers that a line ends with.
    fn equal_twelves(self, line: &[u8; LINE], value: u16) -> u64;

    /// Moves the bits `from .. to` of a line up by `by` below 64, to `from + by .. to + by` of at most 512. The lowest `by` of
    /// the bits moved keep what they had in their old place; everything else stays.
    fn move_up(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32);

    /// Moves the bits `from + by .. to + by`, of at most 512, of a line down by `by` below 64, to `from .. to`. Everything
    /// else stays.
    fn move_down(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32);
}

/// Work that is compiled once for each way to handle lines.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's features, and every
/// line in it becomes a call. The answer is the same in any case.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<L: Lines>(self, lines: L) -> Self::Output;
}

/// Runs `job` with the fastest code of this processor.
///
/// Costs a load and a branch more than the work itself, and a call.
#[inline]
pub fn dispatch<J: Job>(job: J) -> J::Output {
    if let Some(lines) = WiderLines::detect() {
        return lines.run(
            #[inline(always)]
            || job.run(lines),
        );
    }
    match WideLines::detect() {
        Some(lines) => lines.run(
            #[inline(always)]
            || job.run(lines),
        ),
        None => job.run(Portable),
    }
}

/// Moves the bits `from .. to` of `bytes` up by `by` below 64, as [`Lines::move_up`] does, in a table of any length.
///
/// # Panics
/// If a word of the target, counted from the start of `bytes`, is not inside it. `by` below 64 and `from <= to` are asserted.
#[inline]
pub fn move_up(bytes: &mut [u8], from: u32, to: u32, by: u32) {
    assert!(by < 64 && from <= to, "bits {from} to {to} by {by}");
    if from == to || by == 0 {
        return;
    }
    let (first, last) = (from + by, to + by - 1);
    let (first_word, last_word) = (first / 64, last / 64);
    let mut mask = u64::MAX >> (63 - last % 64);
    let mut word = load_u64(bytes, last_word as usize * 8);
    // Downwards, each word read before it is written, and each only once: no load waits for a store that it straddles.
    for at in (first_word..=last_word).rev() {
        let offset = at as usize * 8;
        let below = if at > 0 { load_u64(bytes, offset - 8) } else { 0 };
        if at == first_word {
            mask &= u64::MAX << (first % 64);
        }
        let moved = word << by | below >> (64 - by);
        store_u64(bytes, offset, word & !mask | moved & mask);
        word = below;
        mask = u64::MAX;
    }
}

/// Moves the bits `from + by .. to + by` of `bytes` down by `by` below 64, as [`Lines::move_down`] does, in a table of any length.
///
/// # Panics
/// If a word of the source, counted from the start of `bytes`, is not inside it. `by` below 64 and `from <= to` are asserted.
#[inline]
pub fn move_down(bytes: &mut [u8], from: u32, to: u32, by: u32) {
    assert!(by < 64 && from <= to, "bits {from} to {to} by {by}");
    if from == to || by == 0 {
        return;
    }
    let (first_word, last_word, source_word) = (from / 64, (to - 1) / 64, (to + by - 1) / 64);
    let mut mask = u64::MAX << (from % 64);
    let mut word = load_u64(bytes, first_word as usize * 8);
    for at in first_word..=last_word {
        let offset = at as usize * 8;
        let above = if at < source_word { load_u64(bytes, offset + 8) } else { 0 };
        if at == last_word {
            mask &= u64::MAX >> (63 - (to - 1) % 64);
        }
        let moved = word >> by | above << (64 - by);
        store_u64(bytes, offset, word & !mask | moved & mask);
        word = above;
        mask = u64::MAX;
    }
}

impl Lines for Portable {
    const WHOLE: bool = false;

    #[inline]
    fn pair(self, word: u64, k: u32) -> u64 {
        let position = self.select_or_64(word, k);
        // Without a k-th one there is nothing from it on.
        let rest = word & !low_mask(position);
        let after = rest & rest.wrapping_sub(1);
        rest & !(after & after.wrapping_sub(1))
    }

    #[inline]
    fn equal_bytes(self, line: &[u8; LINE], value: u8) -> u64 {
        const LOW: u64 = u64::MAX / 0xff;
        const LOW_SEVEN: u64 = LOW * 0x7f;
        /// Brings the lowest bits of all bytes together in the highest byte: bit 8i goes to bit 56 + i.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let (words, _) = line.as_chunks::<8>();
        let mut equal = 0;
        for (i, &word) in words.iter().enumerate() {
            let x = u64::from_le_bytes(word) ^ (LOW * u64::from(value));
            // The highest bit of a byte: not one bit of it is set. No carry leaves a byte.
            let zero = !(((x & LOW_SEVEN) + LOW_SEVEN) | x | LOW_SEVEN);
            equal |= ((zero >> 7).wrapping_mul(GATHER) >> 56) << (8 * i);
        }
        equal
    }

    #[inline]
    fn equal_halves(self, line: &[u8; LINE], value: u16) -> u32 {
        const LOW: u64 = u64::MAX / 0xffff;
        const LOW_FIFTEEN: u64 = LOW * 0x7fff;
        /// Bit 16i goes to bit 48 + i.
        const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
        let (words, _) = line.as_chunks::<8>();
        let mut equal = 0;
        for (i, &word) in words.iter().enumerate() {
            let x = u64::from_le_bytes(word) ^ (LOW * u64::from(value));
            let zero = !(((x & LOW_FIFTEEN) + LOW_FIFTEEN) | x | LOW_FIFTEEN);
            equal |= (((zero >> 15).wrapping_mul(GATHER) >> 48 & 0xf) as u32) << (4 * i);
        }
        equal
    }

    #[inline]
    fn equal_twelves(self, line: &[u8; LINE], value: u16) -> u64 {
        let (_, fields) = line.split_at(10);
        let (pairs, _) = fields.as_chunks::<3>();
        let (mut equal, value) = (0, value & 0xfff);
        for (i, &[low, middle, high]) in pairs.iter().enumerate() {
            let first = u16::from_le_bytes([low, middle & 0xf]);
            let second = u16::from_le_bytes([middle, high]) >> 4;
            equal |= (u64::from(first == value) | u64::from(second == value) << 1) << (2 * i);
        }
        equal
    }

    #[inline]
    fn move_up(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        move_up(line, from, to, by);
    }

    #[inline]
    fn move_down(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        move_down(line, from, to, by);
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{LINE, Lines, move_down, move_up};
    use crate::arch::{WideLines, WiderLines};
    use crate::rank_select::Portable;
    use crate::word::{clear_bit, get_bit, low_mask, set_bit};

    const SEED: u64 = 11;

    fn random_line(rng: &mut Xoshiro256PlusPlus) -> [u8; LINE] {
        core::array::from_fn(|_| rng.next_u64().to_le_bytes()[7])
    }

    fn copy_bit(from: &[u8], i: u32, to: &mut [u8], j: u32) {
        if get_bit(from, i.into()) { set_bit(to, j.into()) } else { clear_bit(to, j.into()) }
    }

    fn moved_up(line: &[u8], from: u32, to: u32, by: u32) -> Vec<u8> {
        let mut moved = line.to_vec();
        (from..to).for_each(|i| copy_bit(line, i, &mut moved, i + by));
        moved
    }

    fn moved_down(line: &[u8], from: u32, to: u32, by: u32) -> Vec<u8> {
        let mut moved = line.to_vec();
        (from..to).for_each(|i| copy_bit(line, i + by, &mut moved, i));
        moved
    }

    fn moves(lines: impl Lines, by: u32, ranges: impl Iterator<Item = (u32, u32)>) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for (from, to) in ranges {
            let line = random_line(&mut rng);
            let mut up = line;
            lines.move_up(&mut up, from, to, by);
            assert_eq!(up[..], moved_up(&line, from, to, by)[..], "{from} to {to} up by {by}, seed {SEED}");
            let mut down = line;
            lines.move_down(&mut down, from, to, by);
            assert_eq!(
                down[..],
                moved_down(&line, from, to, by)[..],
                "{from} to {to} down by {by}, seed {SEED}"
            );
        }
    }

    fn agrees_with_the_model(lines: impl Lines) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for by in 1..64 {
            let top = 512 - by;
            // Every start with a few ends, every end with a few starts, and no bit at all.
            let step = if cfg!(miri) { 97 } else { 1 };
            moves(lines, by, (0..=top).step_by(step).map(|from| (from, top)));
            moves(lines, by, (0..=top).step_by(step).map(|to| (0, to)));
            moves(lines, by, (0..=top).step_by(step).map(|from| (from, from)));
            moves(lines, by, (0..=top).step_by(step).map(|from| (from, (from + 1).min(top))));
            let mut range = || {
                let mut bit = || u32::try_from(rng.next_u64() % u64::from(top + 1)).unwrap();
                let (a, b) = (bit(), bit());
                (a.min(b), a.max(b))
            };
            let random: Vec<_> = (0..300 / step).map(|_| range()).collect();
            moves(lines, by, random.into_iter());
        }
        for round in 0..if cfg!(miri) { 10 } else { 2_000 } {
            // Few different values, so that many are equal.
            let narrow = if round % 2 == 0 { 0x81 } else { 0xff };
            let line = random_line(&mut rng).map(|byte| byte & narrow);
            let byte = rng.next_u64().to_le_bytes()[0] & narrow;
            let expected = (0..64).filter(|&i| line[i] == byte).map(|i| 1_u64 << i).sum::<u64>();
            assert_eq!(lines.equal_bytes(&line, byte), expected, "{line:?} {byte}");
            let at = usize::from(rng.next_u64().to_le_bytes()[0] % 32) * 2;
            let half = u16::from_le_bytes([line[at], line[at + 1]]);
            let expected = (0..32)
                .filter(|&i| [line[2 * i], line[2 * i + 1]] == half.to_le_bytes())
                .map(|i| 1_u32 << i)
                .sum::<u32>();
            assert_eq!(lines.equal_halves(&line, half), expected, "{line:?} {half}");
            assert_ne!(expected, 0);
            let twelve =
                |i: usize| (0..12).map(|j| u16::from(get_bit(&line, (80 + 12 * i + j) as u64)) << j).sum();
            let value: u16 = twelve(at / 2 + round % 5);
            let expected = (0..36).filter(|&i| twelve(i) == value).map(|i| 1_u64 << i).sum::<u64>();
            assert_eq!(lines.equal_twelves(&line, value), expected, "{line:?} {value}");
            assert_eq!(lines.equal_twelves(&line, value | 0xa000), expected, "{line:?} {value}");
            assert_ne!(expected, 0);
        }
        for round in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let word = match round % 4 {
                0 => rng.next_u64(),
                1 => rng.next_u64() & rng.next_u64() & rng.next_u64(),
                2 => rng.next_u64() | rng.next_u64() | rng.next_u64(),
                _ => [0, 1, 1 << 63, u64::MAX][round / 4 % 4],
            };
            let other = rng.next_u64() & rng.next_u64() >> (round % 64);
            for k in 0..=65 {
                for (a, b) in [(word, other), (other, word)] {
                    let fewer = |i| (a & low_mask(i + 1)).count_ones() < (b & low_mask(i + 1)).count_ones();
                    let expected = (k..64).find(|&i| fewer(i)).unwrap_or(64);
                    assert_eq!(lines.first_fewer(a, b, k), expected, "{a:#x} {b:#x} {k}");
                }
                let ones = (0..64).filter(|&i| word >> i & 1 == 1);
                let expected: u64 = ones.skip(k as usize).take(2).map(|i| 1 << i).sum();
                assert_eq!(lines.pair(word, k), expected, "{word:#x} {k}");
            }
        }
    }

    #[test]
    fn every_version_agrees_with_one_bit_at_a_time() {
        agrees_with_the_model(Portable);
        if let Some(wide) = WideLines::detect() {
            agrees_with_the_model(wide);
        }
        if let Some(wider) = WiderLines::detect() {
            agrees_with_the_model(wider);
        }
    }

    #[test]
    fn tables_of_any_length_move_like_lines() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for words in 1..=12_usize {
            for _ in 0..if cfg!(miri) { 5 } else { 2_000 } {
                let bytes: Vec<u8> = (0..words * 8).map(|_| rng.next_u64().to_le_bytes()[3]).collect();
                let bits = u32::try_from(words * 64).unwrap();
                let by = u32::try_from(rng.next_u64() % 64).unwrap();
                let mut bit = || u32::try_from(rng.next_u64() % u64::from(bits - by + 1)).unwrap();
                let (a, b) = (bit(), bit());
                let (from, to) = (a.min(b), a.max(b));
                let mut up = bytes.clone();
                move_up(&mut up, from, to, by);
                assert_eq!(up, moved_up(&bytes, from, to, by), "{from} to {to} by {by}");
                let mut down = bytes.clone();
                move_down(&mut down, from, to, by);
                assert_eq!(down, moved_down(&bytes, from, to, by), "{from} to {to} by {by}");
            }
        }
    }
}
