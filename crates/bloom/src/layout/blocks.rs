//! All positions of a key in one block, so that a key costs one cache line.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::ops::Range;

use amq::theory::{blocked, bloom};
use amq::{Digest, ResizeError, Spec, SpecError, Target};
use amq_bits::block::{SPLIT_FACTORS, Word, split_bit};

use super::sealed::Sealed;
use super::{LayoutError, MOST_POSITIONS, MOST_PROBES, Places, estimate, half_full, whole};

/// A kind of block: how many positions it has and which of them a key owns. Implemented by [`Spread`], [`Split`] and
/// [`CounterLine`] only.
pub trait BlockKind: Sealed + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// The positions of one key in one block, from a given first one on.
    type Positions: Iterator<Item = u64>;

    /// Positions in a block.
    const POSITIONS: u64;

    /// Positions in a part of a block that fills on its own: the block, or the words of a split one.
    const PART: u64;

    /// The lowest and the highest k.
    const R: (u32, u32);

    /// The bits of the digest that choose the block, where the format fixes them.
    fn index_bits(blocks: u64) -> u64;

    /// The positions of `digest` in the block whose first position is `first`.
    fn positions(digest: Digest, first: u64) -> Self::Positions;

    /// The fewest blocks for `n` keys at a mean rate of at most `fpr`, and the least k that reaches it there.
    fn smallest(n: u64, fpr: f64) -> Option<(u64, u32)>;

    /// The k with the lowest rate.
    fn best_k(n: u64, blocks: u64) -> u32;

    /// The mean rate.
    fn fpr(n: u64, blocks: u64, k: u32) -> f64;
}

/// Blocks of 512 bits, one cache line, with k free positions: the lowest rate that one line allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spread;

/// Blocks of 256 bits as eight words of 32 bits with one bit a key in each: the public layout of Apache Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split;

/// Blocks of 128 counters with k free positions: one cache line of four-bit counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterLine;

/// A number of blocks and, of the k probes of a key, all in one of them.
///
/// ```
/// use amq_bloom::{BlockLayout, Places, Spread};
///
/// let layout = BlockLayout::<Spread>::new(100, 6)?;
/// assert_eq!((layout.blocks(), layout.m(), layout.k()), (100, 51_200, 6));
/// # Ok::<(), amq_bloom::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockLayout<B> {
    /// Invariant: 1 to `MOST_POSITIONS` / `B::POSITIONS`.
    blocks: u64,
    /// Invariant: `B::index_bits(blocks)`.
    index_bits: u64,
    /// Invariant: inside `B::R`.
    k: u32,
    kind: PhantomData<B>,
}

impl<B: BlockKind> BlockLayout<B> {
    /// A layout of `blocks` blocks, of up to 2^60 positions together, and `k` probes.
    ///
    /// # Errors
    /// If one of them is out of its range.
    pub fn new(blocks: u64, k: u32) -> Result<Self, LayoutError> {
        if blocks == 0 || blocks > MOST_POSITIONS / B::POSITIONS {
            Err(LayoutError::Positions { m: blocks.saturating_mul(B::POSITIONS) })
        } else if !(B::R.0..=B::R.1).contains(&k) {
            Err(LayoutError::HashFunctions { k })
        } else {
            Ok(Self { blocks, index_bits: B::index_bits(blocks), k, kind: PhantomData })
        }
    }

    /// The blocks.
    #[inline]
    pub fn blocks(self) -> u64 {
        self.blocks
    }

    /// The positions of all blocks.
    #[inline]
    pub fn m(self) -> u64 {
        // At most 2^60, by the invariant.
        self.blocks * B::POSITIONS
    }

    /// The probes a key.
    #[inline]
    pub fn k(self) -> u32 {
        self.k
    }

    /// The block of a key.
    #[inline]
    pub fn block(self, digest: Digest) -> u64 {
        Digest::new(digest.get() & self.index_bits).scale(self.blocks)
    }

    /// The parts that fill on their own, in order.
    fn parts(self) -> impl Iterator<Item = Range<u64>> {
        (0..self.m() / B::PART).map(|part| part * B::PART..(part + 1) * B::PART)
    }
}

/// More keys than this fill any number of blocks, and would overflow the sums over the keys of one.
const MOST_KEYS: u64 = 1 << 62;

impl<B: BlockKind> Sealed for BlockLayout<B> {}

impl<B: BlockKind> Places for BlockLayout<B> {
    type Positions = B::Positions;

    const R: (u32, u32) = B::R;

    #[inline]
    fn m(self) -> u64 {
        self.m()
    }

    #[inline]
    fn k(self) -> u32 {
        self.k
    }

    #[inline]
    fn positions(self, digest: Digest) -> B::Positions {
        B::positions(digest, self.block(digest) * B::POSITIONS)
    }

    /// The mean over the blocks: of (X/B)^k with X of the block's B positions occupied, or, in split blocks, of the product of X/32
    /// over the words.
    fn expected_fpr(self, occupied: impl Fn(Range<u64>) -> u64) -> f64 {
        let parts = B::POSITIONS / B::PART;
        // k probes over the parts of a block, evenly.
        let probes = self.k / u32::try_from(parts).unwrap_or(u32::MAX);
        let (mut sum, mut block, mut left) = (0.0, 1.0, parts);
        for part in self.parts() {
            block *= bloom::fpr_given_state(occupied(part), B::PART, probes);
            left -= 1;
            if left == 0 {
                sum += block;
                (block, left) = (1.0, parts);
            }
        }
        sum / self.blocks as f64
    }

    /// The sum over the blocks, each estimated on its own.
    fn estimated_count(self, occupied: impl Fn(Range<u64>) -> u64) -> Option<f64> {
        let parts = B::POSITIONS / B::PART;
        let probes = self.k / u32::try_from(parts).unwrap_or(u32::MAX);
        let sum =
            self.parts().try_fold(0.0, |sum, part| Some(sum + estimate(occupied(part), B::PART, probes)?))?;
        Some(sum / parts as f64)
    }

    fn predicted_fpr(self, n: u64) -> f64 {
        B::fpr(n.min(MOST_KEYS), self.blocks, self.k)
    }

    /// - `Fpr`: the fewest blocks at which some k brings the exact mean to at most ε, and the least such k.
    /// - `Shape`: k = r, and as many blocks as half-full positions at capacity/α keys take, rounded up.
    /// - `BitsPerKey`: as many whole blocks as that buys, at least one, and the best k for them.
    fn for_spec(spec: &Spec, width: u32) -> Result<(Self, f64), SpecError> {
        let n = spec.capacity().clamp(1, MOST_KEYS);
        let too_large = SpecError::TooLarge { capacity: spec.capacity() };
        let (lowest, highest) = B::R;
        let (blocks, k, alpha) = match spec.checked_target()? {
            Target::Fpr(fpr) => {
                let (blocks, k) = B::smallest(n, fpr).ok_or(too_large)?;
                (blocks, k, 1.0)
            }
            Target::Shape { alpha, r } => {
                if !(lowest..=highest).contains(&r) {
                    return Err(SpecError::Remainder { r, lowest, highest });
                }
                let positions = whole(libm::ceil(half_full(n, alpha, r))).ok_or(too_large)?;
                (positions.div_ceil(B::POSITIONS).max(1), r, alpha)
            }
            Target::BitsPerKey(bits) => {
                let positions = whole(libm::floor(bits * n as f64 / f64::from(width))).ok_or(too_large)?;
                let blocks = (positions / B::POSITIONS).max(1);
                (blocks, B::best_k(n, blocks), 1.0)
            }
        };
        let layout = Self::new(blocks, k).map_err(|_| too_large)?;
        Ok((layout, alpha))
    }

    /// Because floor(floor(x b / 2^64) / 2) = floor(x (b/2) / 2^64) for an even number b of blocks.
    fn halved(self) -> Result<Self, ResizeError> {
        let slots = self.blocks;
        if slots == 1 || B::index_bits(slots / 2) != self.index_bits {
            return Err(ResizeError::Smallest { slots });
        }
        if slots % 2 == 1 {
            return Err(ResizeError::OddSlots { slots });
        }
        Ok(Self { blocks: slots / 2, ..self })
    }

    fn fold_unit(self) -> u64 {
        B::POSITIONS
    }
}

/// Words that choose positions inside a block, a few each: from the same digest as the block, but no longer monotone in it.
///
/// The two halves of a product are folded into one another, so that each bit of a word depends on all bits of the digest: of the keys of
/// one of many blocks, the upper bits are the same.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    state: u64,
}

/// Odd, with about as many ones as zeros, and unlike the factor of the free positions.
const FACTOR: u64 = 0x9FB2_1C65_1E98_DF25;

/// 2^64 over the golden ratio: an increment whose multiples are spread evenly.
const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

impl Words {
    #[inline]
    pub(crate) const fn new(digest: Digest) -> Self {
        Self { state: digest.get() }
    }

    #[inline]
    pub(crate) const fn next_word(&mut self) -> Word {
        let (high, low) = Digest::new(self.state).scale_with_rest(FACTOR);
        self.state = self.state.wrapping_add(INCREMENT);
        Word { seven: high ^ low, eighth: high }
    }
}

/// Positions of `WIDTH` bits each out of [`Words`]: as many as 64 bits hold, and one more.
#[derive(Clone, Debug)]
pub struct FreePositions<const WIDTH: u32> {
    words: Words,
    word: Word,
    left: u32,
    first: u64,
}

impl<const WIDTH: u32> FreePositions<WIDTH> {
    #[inline]
    fn new(digest: Digest, first: u64) -> Self {
        Self { words: Words::new(digest), word: Word { seven: 0, eighth: 0 }, left: 0, first }
    }
}

impl<const WIDTH: u32> Iterator for FreePositions<WIDTH> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            self.word = self.words.next_word();
            self.left = u64::BITS / WIDTH + 1;
        }
        self.left -= 1;
        let bits = if self.left == 0 { self.word.eighth } else { self.word.seven };
        self.word.seven >>= WIDTH;
        Some(self.first + (bits & ((1 << WIDTH) - 1)))
    }
}

/// The eight positions of a key in a split block, word by word; after that no more.
#[derive(Clone, Debug)]
pub struct SplitPositions {
    hash: u32,
    next: usize,
    first: u64,
}

impl Iterator for SplitPositions {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let i = self.next;
        self.next += 1;
        (i < SPLIT_FACTORS.len()).then(|| self.first + 32 * i as u64 + u64::from(split_bit(self.hash, i)))
    }
}

/// Whether blocks are so full, even with one probe a key, that no double tells the rate from 1: a position stays free with a probability
/// of e^-40. The sums over the keys of a block need not be made then.
fn is_overfull<B: BlockKind>(n: u64, blocks: u64) -> bool {
    n / blocks > 40 * B::POSITIONS
}

/// A kind of block with free positions.
macro_rules! free_kind {
    ($kind:ident, $positions:literal, $width:literal) => {
        impl Sealed for $kind {}

        impl BlockKind for $kind {
            type Positions = FreePositions<$width>;

            const POSITIONS: u64 = $positions;
            const PART: u64 = $positions;
            const R: (u32, u32) = (1, MOST_PROBES);

            #[inline]
            fn index_bits(_blocks: u64) -> u64 {
                u64::MAX
            }

            #[inline]
            fn positions(digest: Digest, first: u64) -> Self::Positions {
                FreePositions::new(digest, first)
            }

            fn smallest(n: u64, fpr: f64) -> Option<(u64, u32)> {
                blocked::smallest_blocks(n, fpr, Self::POSITIONS)
            }

            fn best_k(n: u64, blocks: u64) -> u32 {
                if is_overfull::<Self>(n, blocks) { 1 } else { blocked::best_k(n, blocks, Self::POSITIONS) }
            }

            fn fpr(n: u64, blocks: u64, k: u32) -> f64 {
                if is_overfull::<Self>(n, blocks) { 1.0 } else { blocked::fpr(n, blocks, Self::POSITIONS, k) }
            }
        }
    };
}

free_kind!(Spread, 512, 9);
free_kind!(CounterLine, 128, 7);

impl Sealed for Split {}

impl BlockKind for Split {
    type Positions = SplitPositions;

    const POSITIONS: u64 = (blocked::SPLIT_WORDS * blocked::SPLIT_WORD_BITS) as u64;
    const PART: u64 = blocked::SPLIT_WORD_BITS as u64;
    const R: (u32, u32) = (blocked::SPLIT_WORDS, blocked::SPLIT_WORDS);

    /// Parquet takes the upper half of the hash. More blocks than that can choose among, 128 GiB of them, are beyond its format; there the
    /// whole digest chooses.
    #[inline]
    fn index_bits(blocks: u64) -> u64 {
        if blocks <= 1 << 32 { !0 << 32 } else { !0 }
    }

    /// The lower half of the digest chooses the bits, as Parquet has it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
    fn positions(digest: Digest, first: u64) -> SplitPositions {
        SplitPositions { hash: digest.get() as u32, next: 0, first }
    }

    fn smallest(n: u64, fpr: f64) -> Option<(u64, u32)> {
        Some((blocked::smallest_split_blocks(n, fpr)?, blocked::SPLIT_WORDS))
    }

    fn best_k(_n: u64, _blocks: u64) -> u32 {
        blocked::SPLIT_WORDS
    }

    fn fpr(n: u64, blocks: u64, _k: u32) -> f64 {
        blocked::split_fpr(n, blocks)
    }
}
