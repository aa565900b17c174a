//! Blocked Bloom filters: a key is in one block, so that it costs one cache line.

use amq::Digest;
use amq_bits::Table;
use amq_bits::block::{Blocks, Detected, Job, SPREAD_POSITIONS, dispatch};
use amq_bits::prefetch::{prefetch_read, prefetch_write};

use crate::batch::{index, one_by_one, probes, rolling, with_probes};
use crate::family::family;
use crate::filter::{BitFilter, BitPlaces, WIDTH};
use crate::layout::{BlockKind, BlockLayout, Split, Spread, Words};

/// A blocked Bloom filter (Putze, Sanders, Singler, *Cache-, hash- and space-efficient Bloom filters*, 2007): blocks of 512 bits,
/// one cache line, with k free positions in one of them.
///
/// It costs one cache line a lookup or insert, and some space: blocks fill unevenly, and full ones answer "present" more often. At 10 bits a
/// key the rate is .966 % where a [`Bloom`](crate::Bloom) filter has .819 %. The plan accounts for it, and takes the k that is best for
/// blocks, a little lower than a Bloom filter's. From rates of 1e-4 down the cost grows quickly.
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_bloom::BlockedBloom;
///
/// let spec = Spec::bits_per_key(10.0, 100_000).with_seed(42);
/// let digests: Vec<_> = (0..100_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = BlockedBloom::build(&digests, &spec)?;
///
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert_eq!((filter.layout().blocks(), filter.layout().k()), (1_953, 6));
/// assert!((filter.expected_fpr().unwrap() - 0.00967).abs() < 0.0003);
/// # Ok::<(), amq::BuildError>(())
/// ```
pub type BlockedBloom<S = Table> = BitFilter<BlockLayout<Spread>, S>;

/// A split-block Bloom filter in the public layout of Apache Parquet: blocks of 256 bits, eight words with one bit a key in each.
///
/// The table is the bitset of a Parquet file, byte for byte: [`from_parts`](BitFilter::from_parts) over such bytes answers for digests that are
/// the XXH64 hashes, under seed 0, of the values' plain encodings. It is for exchanging filters; for all else
/// [`BlockedBloom`](crate::BlockedBloom) has a lower rate at the same size: 1.26 % against .966 % at 10 bits a key.
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_bloom::SplitBlockBloom;
///
/// let spec = Spec::fpr(0.01, 10_000);
/// let digests: Vec<_> = (0..10_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = SplitBlockBloom::build(&digests, &spec)?;
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert!(filter.expected_fpr().unwrap() < 0.011);
/// # Ok::<(), amq::BuildError>(())
/// ```
pub type SplitBlockBloom<S = Table> = BitFilter<BlockLayout<Split>, S>;

family!(BlockedBloom, BlockLayout<Spread>, WIDTH, "blocked-bloom", "Blocked Bloom": Insert, Union, Intersect);

family!(
    SplitBlockBloom, BlockLayout<Split>, WIDTH, "split-block-bloom", "Split-block Bloom": Insert, Union, Intersect
);

/// A kind of block with bits: how one block is tested and changed by `K` (or, where that is 0, `k`) bits.
pub trait BitBlock: BlockKind {
    /// The filter's name in debug output.
    const TYPE: &'static str;

    /// Whether all bits of the digest are set in block `block`.
    fn contains<const K: u32>(
        blocks: impl Blocks,
        table: &[u8],
        block: usize,
        digest: Digest,
        k: u32,
    ) -> bool;

    /// Sets the bits of the digest in block `block`.
    fn insert<const K: u32>(blocks: impl Blocks, table: &mut [u8], block: usize, digest: Digest, k: u32);
}

impl BitBlock for Spread {
    const TYPE: &'static str = "BlockedBloom";

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so that it is compiled for the processor's features where the caller is"
    )]
    fn contains<const K: u32>(
        blocks: impl Blocks,
        table: &[u8],
        block: usize,
        digest: Digest,
        k: u32,
    ) -> bool {
        let block = &table.as_chunks::<64>().0[block];
        let mut words = Words::new(digest);
        let mut left = probes::<K>(k);
        let mut all = true;
        loop {
            // No branch between the words of a key: the line is there, and the answer of one says little about the next.
            all &= blocks.spread_contains(block, words.next_word(), left);
            if left <= SPREAD_POSITIONS {
                return all;
            }
            left -= SPREAD_POSITIONS;
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so that it is compiled for the processor's features where the caller is"
    )]
    fn insert<const K: u32>(blocks: impl Blocks, table: &mut [u8], block: usize, digest: Digest, k: u32) {
        let block = &mut table.as_chunks_mut::<64>().0[block];
        let mut words = Words::new(digest);
        let mut left = probes::<K>(k);
        loop {
            blocks.spread_insert(block, words.next_word(), left);
            if left <= SPREAD_POSITIONS {
                return;
            }
            left -= SPREAD_POSITIONS;
        }
    }
}

/// The half of a digest that Parquet's layout chooses bits by.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
const fn lower(digest: Digest) -> u32 {
    digest.get() as u32
}

impl BitBlock for Split {
    const TYPE: &'static str = "SplitBlockBloom";

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so that it is compiled for the processor's features where the caller is"
    )]
    fn contains<const K: u32>(
        blocks: impl Blocks,
        table: &[u8],
        block: usize,
        digest: Digest,
        _: u32,
    ) -> bool {
        blocks.split_contains(&table.as_chunks::<32>().0[block], lower(digest))
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so that it is compiled for the processor's features where the caller is"
    )]
    fn insert<const K: u32>(blocks: impl Blocks, table: &mut [u8], block: usize, digest: Digest, _: u32) {
        blocks.split_insert(&mut table.as_chunks_mut::<32>().0[block], lower(digest));
    }
}

/// Lookups one by one.
struct CountHits<'a, B, const K: u32>(&'a [u8], BlockLayout<B>, &'a [Digest]);

impl<B: BitBlock, const K: u32> Job for CountHits<'_, B, K> {
    type Output = u64;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn run<A: Blocks>(self, blocks: A) -> u64 {
        let Self(table, layout, digests) = self;
        one_by_one(digests, |digest| {
            B::contains::<K>(blocks, table, index(layout.block(digest)), digest, layout.k())
        })
    }
}

/// Many lookups.
struct ContainsBatch<'a, B, const K: u32>(&'a [u8], BlockLayout<B>, &'a [Digest], &'a mut [bool]);

impl<B: BitBlock, const K: u32> Job for ContainsBatch<'_, B, K> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn run<A: Blocks>(self, blocks: A) {
        let Self(table, layout, digests, answers) = self;
        let bytes = table.len();
        rolling(
            table,
            bytes,
            digests,
            |table, digest| prefetch_read(table, block_start(layout, digest)),
            |table, i, digest| {
                let block = index(layout.block(digest));
                answers[i] = B::contains::<K>(blocks, table, block, digest, layout.k());
            },
        );
    }
}

/// Many inserts.
struct InsertBatch<'a, B, const K: u32>(&'a mut [u8], BlockLayout<B>, &'a [Digest]);

impl<B: BitBlock, const K: u32> Job for InsertBatch<'_, B, K> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn run<A: Blocks>(self, blocks: A) {
        let Self(table, layout, digests) = self;
        let bytes = table.len();
        rolling(
            table,
            bytes,
            digests,
            |table, digest| prefetch_write(table, block_start(layout, digest)),
            |table, _, digest| {
                let block = index(layout.block(digest));
                B::insert::<K>(blocks, table, block, digest, layout.k());
            },
        );
    }
}

/// The first byte of a key's block.
#[inline]
fn block_start<B: BlockKind>(layout: BlockLayout<B>, digest: Digest) -> usize {
    index(layout.block(digest) * (B::POSITIONS / 8))
}

/// As [`with_probes!`], but compiled once only for a kind of block with one k, which does not need it.
macro_rules! with_block_probes {
    ($kind:ident, $k:expr, $constant:ident => $body:expr) => {
        if $kind::R.0 == $kind::R.1 {
            const $constant: u32 = 0;
            $body
        } else {
            with_probes!($k, $constant => $body)
        }
    };
}

fn count_hits<const K: u32>(table: &[u8], layout: BlockLayout<impl BitBlock>, digests: &[Digest]) -> u64 {
    dispatch(CountHits::<_, K>(table, layout, digests))
}

fn contains_batch<const K: u32>(
    table: &[u8],
    layout: BlockLayout<impl BitBlock>,
    digests: &[Digest],
    answers: &mut [bool],
) {
    dispatch(ContainsBatch::<_, K>(table, layout, digests, answers));
}

/// One insert. Not inlined, so that the caller holds a jump to the code of one k and not that of all.
#[inline(never)]
fn insert<const K: u32, B: BitBlock>(table: &mut [u8], layout: BlockLayout<B>, digest: Digest) {
    B::insert::<K>(Detected, table, index(layout.block(digest)), digest, layout.k());
}

fn insert_batch<const K: u32>(table: &mut [u8], layout: BlockLayout<impl BitBlock>, digests: &[Digest]) {
    dispatch(InsertBatch::<_, K>(table, layout, digests));
}

impl<B: BitBlock> BitPlaces for BlockLayout<B> {
    const TYPE: &'static str = B::TYPE;

    /// Everything is inlined but the test of the block, which is the same code for every k.
    #[inline]
    fn contains(self, table: &[u8], digest: Digest) -> bool {
        B::contains::<0>(Detected, table, index(self.block(digest)), digest, self.k())
    }

    fn count_hits(self, table: &[u8], digests: &[Digest]) -> u64 {
        with_block_probes!(B, self.k(), K => count_hits::<K>(table, self, digests))
    }

    fn contains_batch(self, table: &[u8], digests: &[Digest], answers: &mut [bool]) {
        with_block_probes!(B, self.k(), K => contains_batch::<K>(table, self, digests, answers));
    }

    #[inline]
    fn insert(self, table: &mut [u8], digest: Digest) {
        with_block_probes!(B, self.k(), K => insert::<K, B>(table, self, digest));
    }

    fn insert_batch(self, table: &mut [u8], digests: &[Digest]) {
        with_block_probes!(B, self.k(), K => insert_batch::<K>(table, self, digests));
    }
}
