//! Rank and select within one 64-bit word.
//!
//! [`rank`] and [`select`] run everywhere. Select is several times faster with the PDEP instruction, which not every processor
//! has (or has in a fast form), and code that uses it can only be inlined into code compiled for it. So hot loops are written
//! once, generic over [`Select`], as a [`Job`], and [`dispatch`] picks the version once for the whole loop:
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

/// The position of the `k`-th one of `word`, counted from 0; `None` if it has at most `k` ones. The portable version.
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

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it profits.
    fn run<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Work that is compiled once for each way to select.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's features, and every
/// select in it becomes a call. The answer is the same in any case.
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
/// The broadword algorithm of Vigna, "Broadword implementation of rank/select queries" (WEA 2008), section 4: add up the ones
/// of the bytes side by side, find the byte by comparing all eight sums at once, and do the same with the bits of that byte.
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
        // Byte j: bit j of the byte found; then, in its highest bit, whether that is one; then the ones in the bits 0 to j.
        let spread = (((word >> first_bit) & 0xff) * LOW) & DIAGONAL;
        let ones = ((spread + (HIGH - LOW)) >> 7) & LOW;
        first_bit + count_at_most(ones.wrapping_mul(LOW), left)
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}
