//! Bits in blocks of 64 slots, by column: parities of the selected slots, all columns at once.
//!
//! A block of c columns is c words of 64 bits, little-endian; bit s of word j is bit j of slot s. What is asked for is the XOR
//! of the selected slots of a few blocks: bit j of it is the parity of the words j, masked. This is how a lookup in a ribbon
//! filter reads (Dillinger, Walzer, *Ribbon filter: practically smaller than Bloom and xor*, 2021, section 4, "interleaved").
//!
//! Hot loops are written once, generic over [`Columns`], as a [`Job`], and [`dispatch`] picks the version once for the whole
//! loop:
//!
//! ```
//! use amq_bits::columns::{Columns, Job, dispatch};
//!
//! /// The XOR of the slots of a block that each mask selects.
//! struct Sums<'a>(&'a [u8], u32, &'a [u64]);
//!
//! impl Job for Sums<'_> {
//!     type Output = Vec<u32>;
//!
//!     #[inline(always)] // into the code compiled for the processor's features
//!     fn run<C: Columns>(self, columns: C) -> Vec<u32> {
//!         self.2.iter().map(|&mask| columns.parities(self.0, [0], [mask], self.1)).collect()
//!     }
//! }
//!
//! // Two columns: slots 0 to 3 are 0b10, 0b11, 0b01 and 0b00.
//! let block = [0b0110_u64.to_le_bytes(), 0b0011_u64.to_le_bytes()].concat();
//! assert_eq!(dispatch(Sums(&block, 2, &[0b0001, 0b0011, 0b0111, 0b1000])), [0b10, 0b01, 0b00, 0b00]);
//! ```

use crate::arch::{Popcnt, Popcnt512};
use crate::rank_select::Portable;

/// The most columns.
pub const MAX_COLUMNS: u32 = 32;

/// A way to sum columns that this processor has; holding the value proves it.
pub trait Columns: Copy + Send + Sync + 'static {
    /// Bit j is the parity of the bits that `masks[i]` selects of word j of the block at byte `blocks[i]`, over all i.
    ///
    /// # Panics
    /// If there are more than [`MAX_COLUMNS`] columns, or a block of `8 * columns` bytes leaves `bytes`.
    fn parities<const N: usize>(self, bytes: &[u8], blocks: [usize; N], masks: [u64; N], columns: u32)
    -> u32;

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it profits.
    fn run<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Work that is compiled once for each way to sum columns.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's features, and every
/// sum in it becomes a call. The answer is the same in any case.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<C: Columns>(self, columns: C) -> Self::Output;
}

/// Does the work the best way that the processor has.
#[inline]
pub fn dispatch<J: Job>(job: J) -> J::Output {
    if let Some(vectors) = Popcnt512::detect() {
        return vectors.run(
            #[inline(always)]
            || job.run(vectors),
        );
    }
    match Popcnt::detect() {
        Some(words) => words.run(
            #[inline(always)]
            || job.run(words),
        ),
        None => job.run(Portable),
    }
}

/// The words of the blocks, each as long as it must be.
#[inline]
pub(crate) fn words<const N: usize>(bytes: &[u8], blocks: [usize; N], columns: u32) -> [&[[u8; 8]]; N] {
    assert!(columns <= MAX_COLUMNS, "{columns} columns are more than {MAX_COLUMNS}");
    let columns = columns as usize;
    blocks.map(|at| &bytes[at..][..8 * columns].as_chunks().0[..columns])
}

/// The selected bits of one column, as a word of the same parity.
#[inline]
pub(crate) fn selected<const N: usize>(words: &[&[[u8; 8]]; N], masks: [u64; N], column: usize) -> u64 {
    let mut sum = 0;
    for (words, mask) in words.iter().zip(masks) {
        sum ^= u64::from_le_bytes(words[column]) & mask;
    }
    sum
}

/// Two words of two lanes each, folded into one: the low half of the result has the parities of `low`, the high half those of
/// `high`, in each lane of twice `shift` bits. `keep` selects the low halves.
#[inline]
const fn fold(low: u64, high: u64, shift: u32, keep: u64) -> u64 {
    ((low ^ low >> shift) & keep) | ((high ^ high << shift) & !keep)
}

/// The parities of eight words, word j in bit j: three rounds halve the number of words, three more the bits of each.
#[inline]
const fn parities_of_eight(words: [u64; 8]) -> u32 {
    const HALVES: u64 = 0x0000_0000_ffff_ffff;
    const QUARTERS: u64 = 0x0000_ffff_0000_ffff;
    const BYTES: u64 = 0x00ff_00ff_00ff_00ff;
    const FIRST_BITS: u64 = 0x0101_0101_0101_0101;
    /// Moves bit 0 of byte j to bit 56 + j: each product of two ones has a place of its own.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let [a, b, c, d, e, f, g, h] = words;
    let [ae, bf, cg, dh] =
        [fold(a, e, 32, HALVES), fold(b, f, 32, HALVES), fold(c, g, 32, HALVES), fold(d, h, 32, HALVES)];
    let [aceg, bdfh] = [fold(ae, cg, 16, QUARTERS), fold(bf, dh, 16, QUARTERS)];
    let mut all = fold(aceg, bdfh, 8, BYTES);
    all ^= all >> 4;
    all ^= all >> 2;
    all ^= all >> 1;
    ((all & FIRST_BITS).wrapping_mul(GATHER) >> 56) as u32
}

impl Columns for Portable {
    #[inline]
    fn parities<const N: usize>(
        self,
        bytes: &[u8],
        blocks: [usize; N],
        masks: [u64; N],
        columns: u32,
    ) -> u32 {
        let words = words(bytes, blocks, columns);
        let mut parities = 0;
        for first in (0..columns as usize).step_by(8) {
            let mut eight = [0; 8];
            for (column, sum) in (first..columns as usize).zip(&mut eight) {
                *sum = selected(&words, masks, column);
            }
            parities |= parities_of_eight(eight) << first;
        }
        parities
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

    use super::{Columns, Job, MAX_COLUMNS, dispatch, parities_of_eight};
    use crate::arch::{Popcnt, Popcnt512};
    use crate::rank_select::Portable;
    use crate::word::get_bit;

    /// One slot and one column at a time.
    fn naive<const N: usize>(bytes: &[u8], blocks: [usize; N], masks: [u64; N], columns: u32) -> u32 {
        let mut sum = 0;
        for (at, mask) in blocks.into_iter().zip(masks) {
            for slot in (0..64).filter(|slot| mask >> slot & 1 == 1) {
                for column in 0..columns {
                    sum ^= u32::from(get_bit(&bytes[at..], u64::from(column) * 64 + slot)) << column;
                }
            }
        }
        sum
    }

    #[test]
    fn each_of_eight_words_has_its_bit() {
        for word in 0..8 {
            for bit in 0..64 {
                let mut words = [0; 8];
                words[word] = 1 << bit;
                assert_eq!(parities_of_eight(words), 1 << word, "bit {bit} of word {word}");
            }
        }
        assert_eq!(parities_of_eight([0b111; 8]), 0xff);
        assert_eq!(parities_of_eight([u64::MAX; 8]), 0);
    }

    fn check<C: Columns, const N: usize>(ways: C, seed: u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for columns in 0..=MAX_COLUMNS {
            let size = 8 * columns as usize;
            for spare in [0, 1, 7, 130] {
                let mut bytes: Vec<u8> = (0..size + spare).map(|_| 0).collect();
                rng.fill_bytes(&mut bytes);
                // The last place is exactly at the end.
                let blocks: [usize; N] =
                    core::array::from_fn(|i| if i == 0 { spare } else { spare / (i + 1) });
                let masks: [u64; N] = core::array::from_fn(|i| match (columns as usize + i) % 4 {
                    0 => 0,
                    1 => u64::MAX,
                    _ => rng.next_u64(),
                });
                let expected = naive(&bytes, blocks, masks, columns);
                assert_eq!(
                    ways.parities(&bytes, blocks, masks, columns),
                    expected,
                    "{columns} columns, {N} blocks, {spare} spare bytes, seed {seed}"
                );
                assert_eq!(ways.run(|| ways.parities(&bytes, blocks, masks, columns)), expected);
            }
        }
    }

    fn check_all<C: Columns>(ways: C) {
        for seed in 0..if cfg!(miri) { 1 } else { 20 } {
            check::<C, 0>(ways, seed);
            check::<C, 1>(ways, seed);
            check::<C, 2>(ways, seed);
            check::<C, 3>(ways, seed);
        }
    }

    #[test]
    fn every_way_gives_what_the_naive_one_gives() {
        check_all(Portable);
        if let Some(words) = Popcnt::detect() {
            check_all(words);
        }
        if let Some(vectors) = Popcnt512::detect() {
            check_all(vectors);
        }
    }

    fn refuses<C: Columns + core::panic::RefUnwindSafe>(ways: C) {
        let bytes = [0; 80];
        for (blocks, columns) in [
            ([0, 17], 8),
            ([17, 0], 8),
            ([0, 80], 1),
            ([0, usize::MAX], 1),
            ([0, usize::MAX - 7], 1),
            ([0, 0], 33),
        ] {
            let asked = std::panic::catch_unwind(|| ways.parities(&bytes, blocks, [1, 1], columns));
            assert!(asked.is_err(), "{columns} columns at {blocks:?}");
        }
        assert_eq!(ways.parities(&bytes, [0, 16], [1, 1], 8), 0);
    }

    #[test]
    fn no_way_leaves_the_bytes() {
        refuses(Portable);
        if let Some(words) = Popcnt::detect() {
            refuses(words);
        }
        if let Some(vectors) = Popcnt512::detect() {
            refuses(vectors);
        }
    }

    #[test]
    fn dispatch_runs_the_job() {
        struct One;
        impl Job for One {
            type Output = u32;
            fn run<C: Columns>(self, columns: C) -> u32 {
                columns.parities(&[0xff; 8], [0], [0b10110], 1)
            }
        }
        assert_eq!(dispatch(One), 1);
    }
}
