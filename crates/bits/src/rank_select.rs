//! Rank and select within one 64-bit word.
//!
//! [`rank`] and [`select`] run everywhere. Select is several times faster with the PDEP instruction, which
//! not every processor has (or has in a fast form), and code that uses it can only be inlined into code
//! compiled for it. So hot loops are written once, generic over [`Select`], as a [`Job`], and [`dispatch`]
//! picks the version once for the whole loop:
//!
//! ```
//! use amq_bits::rank_select::{Job, Select, dispatch, rank};
//!
//! /// Where the run with the number of ones below `position` ends, for many positions.
//! struct RunEnds<'a> {
//!     occupied: u64,
//!     run_ends: u64,
//!     positions: &'a [u32],
//!     out: &'a mut [u32],
//! }
//!
//! impl Job for RunEnds<'_> {
//!     type Output = ();
//!
//!     #[inline(always)] // into the code compiled for the processor's features
//!     fn run<S: Select>(self, select: S) {
//!         for (&position, out) in self.positions.iter().zip(self.out) {
//!             *out = select.select_or_64(self.run_ends, rank(self.occupied, position));
//!         }
//!     }
//! }
//!
//! let mut out = [0; 3];
//! dispatch(RunEnds { occupied: 0b1011, run_ends: 0b1_0110, positions: &[0, 1, 3], out: &mut out });
//! assert_eq!(out, [1, 2, 4]);
//! ```

use crate::arch::Pdep;
use crate::word::low_mask;

/// Ones of `word` strictly below position `i`; for `i` of 64 and more all ones.
#[inline]
pub const fn rank(word: u64, i: u32) -> u32 {
    (word & low_mask(i)).count_ones()
}

/// The position of the `k`-th one of `word`, counted from 0; `None` if it has at most `k` ones. The portable
/// version.
#[inline]
pub fn select(word: u64, k: u32) -> Option<u32> {
    Portable.select(word, k)
}

/// A way to select that this processor has; holding the value proves it.
pub trait Select: Copy + Send + Sync + 'static {
    /// The position of the `k`-th one of `word`, counted from 0; 64 if it has at most `k` ones.
    fn select_or_64(self, word: u64, k: u32) -> u32;

    /// The position of the `k`-th one of `word`, counted from 0; `None` if it has at most `k` ones.
    #[inline]
    fn select(self, word: u64, k: u32) -> Option<u32> {
        let position = self.select_or_64(word, k);
        (position < u64::BITS).then_some(position)
    }

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it
    /// profits.
    fn run<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Work that is compiled once for each way to select.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's
/// features, and every select in it becomes a call. The answer is the same in any case.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<S: Select>(self, select: S) -> Self::Output;
}

/// Runs `job` with the fastest select of this processor.
///
/// Costs a load and a branch more than the work itself, so call it for a batch, not for a word.
#[inline]
pub fn dispatch<J: Job>(job: J) -> J::Output {
    match Pdep::detect() {
        Some(pdep) => pdep.run(
            #[inline(always)]
            || job.run(pdep),
        ),
        None => job.run(Portable),
    }
}

/// Select in plain arithmetic, for every processor.
///
/// The broadword algorithm of Vigna, "Broadword implementation of rank/select queries" (WEA 2008):
/// add up the ones of the bytes side by side, find the byte by comparing all eight sums at once, and do the
/// same with the bits of that byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portable;

/// The lowest bit of each byte.
const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGH: u64 = LOW << 7;

/// How many bytes of `sums` are at most `k`, for sums and `k` below 128.
#[inline]
const fn count_at_most(sums: u64, k: u64) -> u32 {
    // 128 + k - sum is at least 128 where sum <= k, and no byte borrows from the next.
    let at_most = (((k * LOW) | HIGH) - sums) & HIGH;
    ((at_most >> 7).wrapping_mul(LOW) >> 56) as u32
}

impl Select for Portable {
    #[inline]
    fn select_or_64(self, word: u64, k: u32) -> u32 {
        const PAIRS: u64 = 0x5555_5555_5555_5555;
        const NIBBLES: u64 = 0x3333_3333_3333_3333;
        const BYTES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        /// Bit j of byte j.
        const DIAGONAL: u64 = 0x8040_2010_0804_0201;

        let pairs = word - ((word >> 1) & PAIRS);
        let nibbles = (pairs & NIBBLES) + ((pairs >> 2) & NIBBLES);
        let bytes = (nibbles + (nibbles >> 4)) & BYTES;
        // Byte j: the ones in the bytes 0 to j, at most 64.
        let sums = bytes.wrapping_mul(LOW);
        let k = u64::from(k);
        if k >= sums >> 56 {
            return 64;
        }
        // At most 7, as the last sum exceeds k.
        let first_bit = count_at_most(sums, k) * 8;
        let left = k - (((sums << 8) >> first_bit) & 0xff);
        // Byte j: bit j of the byte found; then, in its highest bit, whether that is one; then the ones in
        // the bits 0 to j.
        let spread = (((word >> first_bit) & 0xff) * LOW) & DIAGONAL;
        let ones = ((spread + (HIGH - LOW)) >> 7) & LOW;
        first_bit + count_at_most(ones.wrapping_mul(LOW), left)
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{Job, Portable, Select, dispatch, rank, select};
    use crate::arch::Pdep;

    /// The models: walk over the bits.
    fn naive_rank(word: u64, i: u32) -> u32 {
        (0..64).filter(|&position| position < i && (word >> position) & 1 != 0).map(|_| 1).sum()
    }

    fn naive_select(word: u64, k: u32) -> Option<u32> {
        (0..64).filter(|&position| (word >> position) & 1 != 0).nth(usize::try_from(k).unwrap())
    }

    /// All 16-bit patterns at both ends and in between, over zeros and over ones, and random words of several
    /// densities.
    fn words() -> impl Iterator<Item = u64> {
        let step = if cfg!(miri) { 4099 } else { 1 };
        let patterns = (0..=u64::from(u16::MAX)).step_by(step);
        let placed = patterns.flat_map(|pattern| {
            [0, 1, 7, 8, 13, 24, 31, 40, 47, 48]
                .into_iter()
                .flat_map(move |shift| [pattern << shift, !(pattern << shift)])
        });
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let random = core::iter::repeat_with(move || {
            let (a, b, c) = (rng.next_u64(), rng.next_u64(), rng.next_u64());
            [a, a & b, a & b & c, a | b, a | b | c]
        });
        placed.chain(random.take(if cfg!(miri) { 20 } else { 50_000 }).flatten()).chain([0, u64::MAX])
    }

    /// Every answer for one word.
    fn selects<S: Select>(select: S, word: u64) -> [u32; 66] {
        core::array::from_fn(|k| select.select_or_64(word, u32::try_from(k).unwrap()))
    }

    #[test]
    fn portable_select_agrees_with_the_model() {
        for word in words() {
            let mut positions = (0..64).filter(|&position| (word >> position) & 1 != 0);
            for (k, found) in (0..).zip(selects(Portable, word)) {
                assert_eq!(found, positions.next().unwrap_or(64), "one {k} of {word:#x}");
            }
        }
    }

    #[test]
    fn pdep_select_agrees_with_the_portable_one() {
        let Some(pdep) = Pdep::detect() else { return };
        for word in words() {
            assert_eq!(selects(pdep, word), selects(Portable, word), "{word:#x}");
            assert_eq!(pdep.run(|| selects(pdep, word)), selects(Portable, word), "{word:#x}");
        }
    }

    #[test]
    fn numbers_of_ones_beyond_the_word_are_absent() {
        for k in [64, 65, 127, 128, 255, 256, 1 << 16, u32::MAX] {
            assert_eq!(select(u64::MAX, k), None);
            if let Some(pdep) = Pdep::detect() {
                assert_eq!(pdep.select(u64::MAX, k), None);
            }
        }
        assert_eq!(select(0, 0), None);
        assert_eq!(select(1 << 63, 0), Some(63));
    }

    #[test]
    fn rank_agrees_with_the_model_and_inverts_select() {
        for word in words().step_by(37) {
            for i in 0..=64 {
                assert_eq!(rank(word, i), naive_rank(word, i), "{word:#x} below {i}");
            }
            assert_eq!(rank(word, u32::MAX), word.count_ones());
            for k in 0..word.count_ones() {
                let position = select(word, k).unwrap();
                assert_eq!(Some(position), naive_select(word, k));
                assert_eq!(rank(word, position), k);
                assert_eq!(rank(word, position + 1), k + 1);
            }
            assert_eq!(select(word, word.count_ones()), None);
        }
    }

    #[test]
    fn a_dispatched_job_gives_the_portable_answer() {
        struct Sum<'a>(&'a [u64]);

        impl Job for Sum<'_> {
            type Output = u64;

            fn run<S: Select>(self, select: S) -> u64 {
                self.0.iter().map(|&word| u64::from(select.select_or_64(word, rank(word, 32)))).sum()
            }
        }

        let words: Vec<u64> = words().step_by(101).collect();
        let portable = Sum(&words).run(Portable);
        assert_ne!(portable, 0);
        assert_eq!(dispatch(Sum(&words)), portable);
    }
}
