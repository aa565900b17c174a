//! The bits of one key within one small block, tested or set together.
//!
//! Two kinds of block:
//!
//! - *Split*: 256 bits as eight words of 32 bits, one bit in each, all chosen by 32 bits of hash. This is the public layout of
//!   Apache Parquet's Bloom filter (its format's specification gives the eight constants), after Putze, Sanders, Singler,
//!   *Cache-, hash- and space-efficient Bloom filters* (2007).
//! - *Spread*: 512 bits, one cache line, with up to eight free positions of nine bits each out of a [`Word`].
//!
//! Hot loops are written once, generic over [`Blocks`], as a [`Job`], and [`dispatch`] picks the version once for the whole
//! loop:
//!
//! ```
//! use amq_bits::block::{Blocks, Job, dispatch};
//!
//! /// How many hashes are in one split block.
//! struct Count<'a>(&'a [u8; 32], &'a [u32]);
//!
//! impl Job for Count<'_> {
//!     type Output = usize;
//!
//!     #[inline(always)] // into the code compiled for the processor's features
//!     fn run<A: Blocks>(self, blocks: A) -> usize {
//!         self.1.iter().filter(|&&hash| blocks.split_contains(self.0, hash)).count()
//!     }
//! }
//!
//! let mut block = [0; 32];
//! amq_bits::Portable.split_insert(&mut block, 7);
//! assert_eq!(dispatch(Count(&block, &[7, 8, 9])), 1);
//! ```

use crate::arch::{Avx2, Avx512};
use crate::rank_select::Portable;

/// The odd factors that choose a bit in each word of a split block: part of Parquet's format.
pub const SPLIT_FACTORS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Positions that one [`Word`] chooses in a spread block.
pub const SPREAD_POSITIONS: u32 = 8;

/// What chooses up to eight positions of nine bits: seven in 64 bits, and one more. Eight is the most that vectors of eight words
/// test at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Position i, 0 to 6, is `seven >> 9i & 511`.
    pub seven: u64,
    /// Position 7 is `eighth & 511`.
    pub eighth: u64,
}

/// Bits of a word that choose one position of a spread block.
pub const SPREAD_WIDTH: u32 = 9;

/// The bit, 0 to 31, that `hash` chooses in word `i`, 0 to 7, of a split block.
///
/// # Panics
/// If `i` is above 7.
#[inline]
pub const fn split_bit(hash: u32, i: usize) -> u32 {
    hash.wrapping_mul(SPLIT_FACTORS[i]) >> 27
}

/// A way to test and set bits of a block that this processor has; holding the value proves it.
pub trait Blocks: Copy + Send + Sync + 'static {
    /// Whether the eight bits of `hash` are set.
    fn split_contains(self, block: &[u8; 32], hash: u32) -> bool;

    /// Sets the eight bits of `hash`: [`split_bit`] of each word.
    fn split_insert(self, block: &mut [u8; 32], hash: u32);

    /// Whether the bits at the first `count` positions of `word` are set.
    ///
    /// Bit p is bit p % 8 of byte p / 8. A `count` above [`SPREAD_POSITIONS`] is as many.
    fn spread_contains(self, block: &[u8; 64], word: Word, count: u32) -> bool;

    /// Sets the bits at the first `count` positions of `word`, as in [`spread_contains`](Blocks::spread_contains).
    fn spread_insert(self, block: &mut [u8; 64], word: Word, count: u32);

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it profits.
    fn run<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Chooses the processor's code anew for each block: for single operations, where everything around the block is inlined, and
/// only the block and what chooses its bits cross a call, in registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detected;

/// The portable code, which is longer, out of the way of the other.
#[cold]
#[inline(never)]
fn split_contains_cold(block: &[u8; 32], hash: u32) -> bool {
    Portable.split_contains(block, hash)
}

#[cold]
#[inline(never)]
fn split_insert_cold(block: &mut [u8; 32], hash: u32) {
    Portable.split_insert(block, hash);
}

#[cold]
#[inline(never)]
fn spread_contains_cold(block: &[u8; 64], word: Word, count: u32) -> bool {
    spread_contains(block, word, count)
}

impl Blocks for Detected {
    #[inline]
    fn split_contains(self, block: &[u8; 32], hash: u32) -> bool {
        match Avx2::detect() {
            Some(avx2) => avx2.split_contains(block, hash),
            None => split_contains_cold(block, hash),
        }
    }

    #[inline]
    fn split_insert(self, block: &mut [u8; 32], hash: u32) {
        match Avx2::detect() {
            Some(avx2) => avx2.split_insert(block, hash),
            None => split_insert_cold(block, hash),
        }
    }

    #[inline]
    fn spread_contains(self, block: &[u8; 64], word: Word, count: u32) -> bool {
        match Avx512::detect() {
            Some(avx512) => avx512.spread_contains(block, word, count),
            None => spread_contains_cold(block, word, count),
        }
    }

    #[inline]
    fn spread_insert(self, block: &mut [u8; 64], word: Word, count: u32) {
        spread_insert(block, word, count);
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// Work that is compiled once for each way to handle blocks.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's features, and every
/// block in it becomes a call. The answer is the same in any case.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<A: Blocks>(self, blocks: A) -> Self::Output;
}

/// Runs `job` with the fastest code of this processor.
///
/// Costs a load and a branch more than the work itself, and a call.
#[inline]
pub fn dispatch<J: Job>(job: J) -> J::Output {
    if let Some(avx512) = Avx512::detect() {
        return avx512.run(
            #[inline(always)]
            || job.run(avx512),
        );
    }
    match Avx2::detect() {
        Some(avx2) => avx2.run(
            #[inline(always)]
            || job.run(avx2),
        ),
        None => job.run(Portable),
    }
}

/// Position `i`, 0 to 7, of a spread block in its nine lowest bits; the others mean nothing.
#[inline]
const fn spread_position(word: Word, i: u32) -> u64 {
    if i < 7 { word.seven >> (SPREAD_WIDTH * i) } else { word.eighth }
}

/// [`Blocks::spread_insert`] without vectors, for every processor: writing few words is faster than making a mask of all, also by
/// AVX-512 (8.6 against 6.9 ns a key in the second-level cache), and than writing bytes, which fewer positions share.
#[inline]
pub(crate) fn spread_insert(block: &mut [u8; 64], word: Word, count: u32) {
    let (words, _) = block.as_chunks_mut::<8>();
    for i in 0..count.min(SPREAD_POSITIONS) {
        let position = spread_position(word, i);
        let word = &mut words[(position >> 6 & 7) as usize];
        *word = (u64::from_le_bytes(*word) | 1 << (position & 63)).to_le_bytes();
    }
}

/// [`Blocks::spread_contains`] without vectors: no branch until all bits are read, since each of them is a coin toss.
#[inline]
pub(crate) fn spread_contains(block: &[u8; 64], word: Word, count: u32) -> bool {
    let (words, _) = block.as_chunks::<8>();
    let mut all = 1;
    for i in 0..count.min(SPREAD_POSITIONS) {
        let position = spread_position(word, i);
        all &= u64::from_le_bytes(words[(position >> 6 & 7) as usize]) >> (position & 63);
    }
    all != 0
}

impl Blocks for Portable {
    #[inline]
    fn split_contains(self, block: &[u8; 32], hash: u32) -> bool {
        let (words, _) = block.as_chunks::<4>();
        let mut all = 1;
        for (i, &word) in words.iter().enumerate() {
            all &= u32::from_le_bytes(word) >> split_bit(hash, i);
        }
        all != 0
    }

    #[inline]
    fn split_insert(self, block: &mut [u8; 32], hash: u32) {
        let (words, _) = block.as_chunks_mut::<4>();
        for (i, word) in words.iter_mut().enumerate() {
            *word = (u32::from_le_bytes(*word) | 1 << split_bit(hash, i)).to_le_bytes();
        }
    }

    #[inline]
    fn spread_contains(self, block: &[u8; 64], word: Word, count: u32) -> bool {
        spread_contains(block, word, count)
    }

    #[inline]
    fn spread_insert(self, block: &mut [u8; 64], word: Word, count: u32) {
        spread_insert(block, word, count);
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{Blocks, Detected, Job, SPREAD_POSITIONS, Word, dispatch, split_bit};
    use crate::arch::{Avx2, Avx512};
    use crate::rank_select::Portable;
    use crate::word::get_bit;

    const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

    /// The other half of a word, as an independent hash.
    fn high(word: u64) -> u32 {
        u32::try_from(word >> 32).unwrap()
    }

    fn ones(block: &[u8]) -> BTreeSet<u64> {
        (0..block.len() as u64 * 8).filter(|&i| get_bit(block, i)).collect()
    }

    /// The bits of a key, one at a time: the model.
    fn split_bits(hash: u32) -> BTreeSet<u64> {
        (0..8).map(|i| i as u64 * 32 + u64::from(split_bit(hash, i))).collect()
    }

    fn spread_bits(word: Word, count: u32) -> BTreeSet<u64> {
        let position = |i| if i == 7 { word.eighth & 511 } else { word.seven >> (9 * i) & 511 };
        (0..count.min(SPREAD_POSITIONS)).map(position).collect()
    }

    /// Blocks from empty to nearly full, hashes at random and at the ends.
    fn agrees_with_the_model(blocks: impl Blocks) {
        let seed = 3;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut split, mut spread) = ([0; 32], [0; 64]);
        for round in 0..ROUNDS {
            let [seven, eighth] = match round % 100 {
                0 => [0; 2],
                1 => [u64::MAX; 2],
                _ => [rng.next_u64(), rng.next_u64()],
            };
            let word = Word { seven, eighth };
            let hash = high(seven);
            let count = rng.next_u32() % 10;
            if round % 40 == 0 {
                (split, spread) = ([0; 32], [0; 64]);
            }
            assert_eq!(
                blocks.split_contains(&split, hash),
                split_bits(hash).is_subset(&ones(&split)),
                "seed {seed}, round {round}, hash {hash:#x}"
            );
            assert_eq!(
                blocks.spread_contains(&spread, word, count),
                spread_bits(word, count).is_subset(&ones(&spread)),
                "seed {seed}, round {round}, word {word:x?}, {count}"
            );
            let expected = &ones(&split) | &split_bits(hash);
            blocks.split_insert(&mut split, hash);
            assert_eq!(ones(&split), expected, "seed {seed}, round {round}, hash {hash:#x}");
            let expected = &ones(&spread) | &spread_bits(word, count);
            blocks.spread_insert(&mut spread, word, count);
            assert_eq!(ones(&spread), expected, "seed {seed}, round {round}, word {word:x?}, {count}");
            assert!(blocks.split_contains(&split, hash) && blocks.spread_contains(&spread, word, count));
        }
    }

    #[test]
    fn every_version_agrees_with_one_bit_at_a_time() {
        agrees_with_the_model(Portable);
        agrees_with_the_model(Detected);
        if let Some(avx2) = Avx2::detect() {
            agrees_with_the_model(avx2);
        }
        if let Some(avx512) = Avx512::detect() {
            agrees_with_the_model(avx512);
        }
    }

    /// Each bit that a key needs is needed: a block with all bits but one.
    #[test]
    fn one_missing_bit_is_noticed_by_every_version() {
        struct Check(Vec<(Word, u32)>);
        impl Job for Check {
            type Output = ();

            #[inline]
            fn run<A: Blocks>(self, blocks: A) {
                for (word, count) in self.0 {
                    for missing in spread_bits(word, count) {
                        let mut block = [0xff; 64];
                        block[usize::try_from(missing / 8).unwrap()] ^= 1 << (missing % 8);
                        assert!(!blocks.spread_contains(&block, word, count), "{word:x?} {count} {missing}");
                    }
                    for missing in split_bits(high(word.seven)) {
                        let mut block = [0xff; 32];
                        block[usize::try_from(missing / 8).unwrap()] ^= 1 << (missing % 8);
                        assert!(!blocks.split_contains(&block, high(word.seven)), "{word:x?} {missing}");
                    }
                    assert!(blocks.spread_contains(&[0xff; 64], word, count));
                }
            }
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut word = || Word { seven: rng.next_u64(), eighth: rng.next_u64() };
        let keys: Vec<_> = (0..).map(|i| (word(), i % 10)).take(ROUNDS / 10).collect();
        Check(keys.clone()).run(Portable);
        dispatch(Check(keys));
    }
}
