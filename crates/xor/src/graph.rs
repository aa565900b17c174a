//! Where a key goes: the hypergraph whose vertices are the cells and whose edges are the keys.
//!
//! A digest, [hashed](hash) under the seed of the attempt, is cut in two. Its high part says where in the table the
//! key belongs: a *shard* of a xor filter, a *segment* of a fuse filter. The rest is the key's [`Word`], all
//! that is kept of it in a construction. Hashing is a bijection, so that distinct digests stay distinct; what
//! is dropped at the low end to make room for a [tag](TAG) is less than the high part has, except in small
//! tables, where two keys still share a place and a word with a probability below 2^-37.

use amq::Digest;
use amq_bits::lanes::Lanes;

/// A key within its place: the rest of its hash with [`TAG`] bits of 0 at the low end.
pub(crate) type Word = u64;

/// Low bits of a word that belong to the construction: counts and sides are kept there.
pub(crate) const TAG: u64 = (1 << TAG_BITS) - 1;
pub(crate) const TAG_BITS: u32 = 9;

/// How the tag is divided in the state of a cell: the number of its keys, then the lowest bits of the sum of
/// their places.
pub(crate) const COUNT_BITS: u32 = 6;

/// A rule that gives each key the cells whose XOR is its fingerprint.
///
/// Places are numbered from 0. The cells of a key in a later place are not before those of a key in an earlier
/// one, so that a construction can go through the places in order.
pub(crate) trait Graph: Copy + Send + Sync {
    /// The cells of one key: an array.
    type Edge: Copy + AsRef<[u64]> + IntoIterator<Item = u64>;

    /// Whether there is one place only.
    const ONE_PLACE: bool;

    /// The number of cells.
    fn cells(&self) -> u64;

    /// The cells of a key, pairwise different and each below [`cells`](Self::cells), and what its fingerprint
    /// comes from.
    fn locate(&self, place: u64, word: Word) -> (Self::Edge, Derived);

    /// The cells alone.
    #[inline]
    fn edge(&self, place: u64, word: Word) -> Self::Edge {
        self.locate(place, word).0
    }

    /// Which of the cells of a key in `place` is `cell`, which is one of them.
    fn side(&self, cell: u64, place: u64) -> u64;

    /// What a state carries of a key's place, within the tag and above the count.
    fn tag(&self, place: u64) -> u64;

    /// The place of the key that `cell` belongs to and whose word, tag included, is `tagged`.
    fn place(&self, cell: u64, tagged: u64) -> u64;
}

/// The first 64 fractional bits of the square root of 3: odd, and with no pattern to it.
const ROOT_3: u64 = 0xBB67_AE85_84CA_A73B;

/// Everything that is derived from a word beyond the first index: two halves of a 128-bit product, whose fold
/// gives the other indices, and whose high half the fingerprint.
///
/// Why a product: three indices and a fingerprint of up to 32 bits need more bits than a word has. Each bit of
/// the fold depends on all bits of the word: the low half carries upwards, the high half carries the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Derived {
    pub(crate) indices: u64,
    high: u64,
}

impl Derived {
    /// Of a word. Other rotations are other hash functions over the same words, for free.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
    pub(crate) const fn new(word: Word, rotation: u32) -> Self {
        let product = word.rotate_left(rotation) as u128 * ROOT_3 as u128;
        let high = (product >> 64) as u64;
        Self { indices: high ^ product as u64, high }
    }

    /// The fingerprint: `mask` is at most 32 ones. Every value is ordinary data, 0 too.
    ///
    /// Bits from the middle of the high half, which depend on nearly all of the word.
    #[inline]
    pub(crate) const fn fingerprint(self, mask: u64) -> u64 {
        self.print() & mask
    }

    /// What has the fingerprint, of whatever width, in its lowest bits.
    #[inline]
    pub(crate) const fn print(self) -> u64 {
        self.high >> PRINT_SHIFT
    }
}

/// The high half of the product from this bit on is the fingerprint.
const PRINT_SHIFT: u32 = 8;

/// [`Derived`] of eight words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DerivedLanes<L: Lanes> {
    pub(crate) indices: L::Vector,
    pub(crate) print: L::Vector,
}

impl<L: Lanes> DerivedLanes<L> {
    /// Of words that are rotated already.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    pub(crate) fn new(lanes: L, words: L::Vector) -> Self {
        let (high, low) = lanes.wide_product(words, lanes.splat(ROOT_3));
        Self { indices: lanes.xor(high, low), print: lanes.shr(high, PRINT_SHIFT) }
    }
}

/// The hash of a digest under the seed of an attempt: a bijection.
///
/// Digests are hashes already, so that one multiplication is enough, which a lookup feels less than the two of
/// [`Digest::remix`]: the high bits of the product depend on all bits of the digest, the shift brings them down
/// to the low ones, and the product of [`Derived`] mixes once more what the place leaves. Regular digests, as
/// consecutive numbers, become as good as random.
#[inline]
pub(crate) const fn hash(digest: Digest, hash_seed: u64) -> Digest {
    let product = (digest.get() ^ hash_seed).wrapping_mul(GOLDEN);
    Digest::new(product ^ (product >> 32))
}

/// The first 64 fractional bits of the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// [`hash`] of eight digests.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
pub(crate) fn hash_lanes<L: Lanes>(lanes: L, digests: L::Vector, hash_seed: u64) -> L::Vector {
    let product = lanes.low_product(lanes.xor(digests, lanes.splat(hash_seed)), lanes.splat(GOLDEN));
    lanes.xor(product, lanes.shr(product, 32))
}

/// `floor(half · n / 2^32)` for a number of 32 bits: an index below `n`, which is at most 2^32.
#[inline]
pub(crate) const fn scale_half(half: u64, n: u64) -> u64 {
    (half * n) >> 32
}
