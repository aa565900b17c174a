//! The width of the ribbon: how many consecutive slots belong to a key, and what else is chosen with it.
//!
//! Everything about a key in one layer derives from one 64-bit hash, a bijection of the digest, so that two
//! distinct digests never have the same hash, at any number of keys. Its high bits say where the window of the
//! key starts; which slots of the window count and the fingerprint are products of the whole hash with three
//! constants, each folded to one word, so that neither is a linear function of the other or of the start.

use core::fmt::Debug;

use amq_bits::columns::Columns;

use crate::builder::Lends;
use crate::reduced::Reduced;

/// A width, as a type: [`W64`] or [`W128`]. Sealed.
pub trait Width: Window + Lends + Debug + Send + Sync + Sized + 'static {
    /// The short name of the family of this width.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// Slots of a window.
    const BITS: u32;
}

/// Windows of 64 slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum W64 {}

/// Windows of 128 slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum W128 {}

/// The most 64-slot blocks that a window touches, of any width.
pub(crate) const MAX_BLOCKS: usize = 3;

/// What a width is made of.
pub trait Window: Copy {
    /// One bit for each slot of a window, the first slot lowest.
    type Row: Row<Reduced = Self::Reduced>;

    /// The same in the linear system.
    type Reduced: Reduced;

    /// log2 of the slots of a bucket, the unit of bumping.
    const BUCKET_BITS: u32;

    /// The thresholds that two bits of a bucket can say: keys that start at a lower offset in it are bumped. The first is 0,
    /// the last the whole bucket.
    ///
    /// These, the bucket and the share came out of a search for the fewest bits a key at r from 4 to 16: empty slots and
    /// thresholds together.
    const THRESHOLDS: [u32; 4];

    /// One of how many slots is left to the later layers.
    const SHARE: u64;

    /// Blocks of 64 slots that a window can touch.
    const BLOCKS: usize;

    /// The XOR of the slots, of `r` bits, that the masks select of the blocks.
    fn parities(
        columns: impl Columns,
        bytes: &[u8],
        blocks: [usize; MAX_BLOCKS],
        masks: [u64; MAX_BLOCKS],
        r: u32,
    ) -> u32;

    /// What the default size has to spare. Found by counting first attempts that succeed, at r = 32, where no key is implied
    /// by others: at least 19 of 20 at every size, 99 of 100 at most sizes.
    const SPARE: Spare;
}

/// Slots beyond one a key.
#[derive(Clone, Copy, Debug)]
pub struct Spare {
    /// Where there is one layer only: one of so many, and 4.
    pub one_layer: u64,
    /// Else one of 1,024, which stay empty in all layers; so many eighths of the square root, because their number scatters;
    pub root: u64,
    /// and so many for the last layer.
    pub some: u64,
}

/// The coefficients of a key: a window of slots, the first one lowest.
pub trait Row: Copy + Debug + Send + Sync {
    /// The same in the form that elimination has use for.
    type Reduced: Reduced;

    /// The coefficients of a hash. The first is one, so that no row is empty.
    fn of(hash: u64) -> Self;

    /// The row of the linear system.
    fn reduced(self) -> Self::Reduced;

    /// The coefficients by block, for a window that starts at slot `shift` (below 64) of the first.
    fn masks(self, shift: u32) -> [u64; MAX_BLOCKS];
}

impl Width for W64 {
    const NAME: &'static str = "ribbon";
    const TITLE: &'static str = "Bumped ribbon";
    const BITS: u32 = 64;
}

impl Window for W64 {
    type Row = u64;
    type Reduced = u64;
    const BUCKET_BITS: u32 = 7;
    const THRESHOLDS: [u32; 4] = [0, 20, 40, 128];
    const SHARE: u64 = 24;
    const BLOCKS: usize = 2;
    const SPARE: Spare = Spare { one_layer: 16, root: 6, some: 44 };

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn parities(
        columns: impl Columns,
        bytes: &[u8],
        [a, b, _]: [usize; MAX_BLOCKS],
        [for_a, for_b, _]: [u64; MAX_BLOCKS],
        r: u32,
    ) -> u32 {
        columns.parities(bytes, [a, b], [for_a, for_b], r)
    }
}

impl Width for W128 {
    const NAME: &'static str = "ribbon-128";
    const TITLE: &'static str = "Bumped ribbon, 128 wide";
    const BITS: u32 = 128;
}

impl Window for W128 {
    type Row = u128;
    type Reduced = u128;
    const BUCKET_BITS: u32 = 9;
    const THRESHOLDS: [u32; 4] = [0, 48, 96, 512];
    const SHARE: u64 = 48;
    const BLOCKS: usize = 3;
    const SPARE: Spare = Spare { one_layer: 32, root: 8, some: 64 };

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn parities(
        columns: impl Columns,
        bytes: &[u8],
        blocks: [usize; MAX_BLOCKS],
        masks: [u64; MAX_BLOCKS],
        r: u32,
    ) -> u32 {
        columns.parities(bytes, blocks, masks, r)
    }
}

/// The first 64 fractional bits of the square roots of 3, 5 and 7: odd, and with no pattern to them.
const ROOT_3: u64 = 0xBB67_AE85_84CA_A73B;
const ROOT_5: u64 = 0x3C6E_F372_FE94_F82B;
const ROOT_7: u64 = 0xA54F_F53A_5F1D_36F1;

/// The two halves of a 128-bit product, folded: each bit depends on all bits of the hash.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
const fn fold(hash: u64, factor: u64) -> u64 {
    let product = hash as u128 * factor as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The fingerprint of a hash: its `r` lowest bits, `r` at most 32. Every value is ordinary data, 0 too.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 32 bits are kept")]
pub(crate) const fn fingerprint(hash: u64, r: u32) -> u32 {
    (fold(hash, ROOT_5) & amq_bits::word::low_mask(r)) as u32
}

impl Row for u64 {
    type Reduced = Self;

    #[inline]
    fn of(hash: u64) -> Self {
        fold(hash, ROOT_3) | 1
    }

    #[inline]
    fn reduced(self) -> Self {
        self.reverse_bits()
    }

    #[inline]
    fn masks(self, shift: u32) -> [u64; MAX_BLOCKS] {
        let wide = u128::from(self) << (shift & 63);
        let [low, high] = halves(wide);
        [low, high, 0]
    }
}

impl Row for u128 {
    type Reduced = Self;

    #[inline]
    fn of(hash: u64) -> Self {
        Self::from(fold(hash, ROOT_7)) << 64 | Self::from(fold(hash, ROOT_3) | 1)
    }

    #[inline]
    fn reduced(self) -> Self {
        self.reverse_bits()
    }

    #[inline]
    fn masks(self, shift: u32) -> [u64; MAX_BLOCKS] {
        let shift = shift & 63;
        let [low, high] = halves(self << shift);
        // In two steps: a shift by 64 is none.
        let spill = halves(self)[1] >> (63 - shift) >> 1;
        [low, high, spill]
    }
}

/// The low and the high word.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit number")]
pub(crate) const fn halves(wide: u128) -> [u64; 2] {
    [wide as u64, (wide >> 64) as u64]
}
