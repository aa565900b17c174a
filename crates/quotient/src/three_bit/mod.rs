//! The layout of 2012: r remainder bits and three state bits a slot.
//!
//! | bit | belongs to | says |
//! |---|---|---|
//! | occupied, O | the slot, and never moves | some record has its home here, wherever it is stored |
//! | continuation, C | the record, and moves with it | the record before it, in the slot to the left, has the same home |
//! | shifted, S | the record, and moves with it | the record is not stored in its home |
//!
//! Records with one home form a *run*, sorted by remainder; a run starts in its home, or where the run before it ends. A
//! *cluster* is an unshifted record and all shifted ones that follow it; slot 0 follows slot m - 1. O = C = S = 0 means that the
//! slot is empty, and nothing else does: a remainder of 0 is data like any other.
//!
//! # One table for a multiset
//!
//! The bytes depend on the multiset of fingerprints only, not on the order of operations. Linear probing fills the same *set*
//! of slots in whatever order the records come (Knuth, vol. 3, 6.4, theorem P): so the empty slots, of which there is always
//! one, are determined. Start behind any of them and go round: no record is stored across an empty slot, so the records
//! between two of them are those with a home there, sorted by (distance of the home, remainder), and each lies in its home or, if that is
//! taken, right behind the one before it. So every slot's remainder and home are determined, and the three bits are functions of
//! them. (Equal records are the same bits.)
//!
//! # Blocks
//!
//! A block is 64 slots: a word of O bits, a word of C bits, a word of S bits, then 64 remainders side by side. That is r + 3 bits a
//! slot, like slots of r + 3 bits one behind the other, but what a lookup decodes is whole words of bits of one kind.
//!
//! Bender, Farach-Colton, Johnson, Kraner, Kuszmaul, Medjedovic, Montes, Shetty, Spillane, Zadok, *Don't thrash: how to cache
//! your hash on flash*, PVLDB 5(11), 2012.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined into code compiled for the processor's features does not use them"
)]

mod block;
mod blocks;
mod check;
mod edit;
mod find;
mod jobs;

use amq::{Digest, InvariantError, assert_same_length};
use amq_bits::prefetch::prefetch_read;

use crate::Geometry;
use crate::layout::Layout;
use crate::rank_select::Fields;
use block::{PADDING, Place, SLOTS, STATE_BYTES};
use find::Home;

/// State bits of a slot.
const STATE_BITS: u32 = 3;

/// The layout with three state bits a slot: [`QuotientFilter`](crate::QuotientFilter)'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreeBit {
    geometry: Geometry,
    fields: Fields,
    /// ceil(m/64).
    blocks: u64,
    /// Bytes of a block.
    block_bytes: u32,
    /// The slots of the last block: 1 to 64.
    last_size: u32,
}

/// One slot, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// O: some record has its home in this slot.
    pub occupied: bool,
    /// C: the record stored here continues the run of the slot before.
    pub continuation: bool,
    /// S: the record stored here is not at home.
    pub shifted: bool,
    /// The r remainder bits; 0 in an empty slot.
    pub remainder: u64,
    /// The home of the record stored here; `None` in an empty slot.
    pub quotient: Option<u64>,
}

impl ThreeBit {
    #[inline]
    fn home(&self, digest: Digest) -> Home {
        let (quotient, remainder) = self.geometry.split(digest);
        Home { place: Place::new(quotient), remainder }
    }
}

impl Layout for ThreeBit {
    const NAME: &'static str = "quotient";
    const TITLE: &'static str = "Quotient (3 bits)";
    /// Up to 57 bits a slot.
    const R: (u32, u32) = (1, 57 - STATE_BITS);
    // A lookup goes back to the start of its cluster: at 10^6 slots and r = 8 a miss takes 14 ns at a load of .5, 18 at .75, 25 at .9 and
    // 38 at .95, and insertions slow down faster.
    const DESIGN_LOAD: f64 = 0.85;
    type View = SlotView;

    fn new(geometry: Geometry) -> Option<Self> {
        let r = geometry.r();
        if r < Self::R.0 || r > Self::R.1 {
            return None;
        }
        let blocks = geometry.slots().div_ceil(u64::from(SLOTS));
        let block_bytes = STATE_BYTES + SLOTS / 8 * r;
        // All positions, in bits, fit 64.
        blocks.checked_mul(u64::from(block_bytes))?.checked_add(PADDING)?.checked_mul(8)?;
        let last_size = u32::try_from(geometry.slots() - (blocks - 1) * u64::from(SLOTS)).ok()?;
        Some(Self { geometry, fields: Fields::new(r), blocks, block_bytes, last_size })
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn payload_bits(&self) -> u64 {
        // Less than the bits of the whole blocks, which fit 64 bits.
        self.geometry.slots() * u64::from(self.geometry.r() + STATE_BITS)
    }

    fn table_bytes(&self) -> u64 {
        self.blocks * u64::from(self.block_bytes) + PADDING
    }

    #[inline]
    fn contains(&self, bytes: &[u8], digest: Digest) -> bool {
        jobs::contains(self, bytes, digest)
    }

    fn contains_batch(&self, bytes: &[u8], digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        jobs::contains_batch(self, bytes, digests, answers);
    }

    #[inline]
    fn prefetch(&self, bytes: &[u8], digest: Digest) {
        let Home { place: Place { block, slot }, .. } = self.home(digest);
        let base = self.base(block);
        prefetch_read(bytes, base);
        // Mostly another line, which a record that is found lies in or near.
        prefetch_read(bytes, base.wrapping_add((STATE_BYTES + slot * self.geometry.r() / 8) as usize));
    }

    fn count(&self, bytes: &[u8], digest: Digest) -> u64 {
        self.multiplicity(bytes, self.home(digest))
    }

    #[inline]
    fn insert(&self, bytes: &mut [u8], digest: Digest) -> u64 {
        jobs::insert(self, bytes, digest)
    }

    #[inline]
    fn remove(&self, bytes: &mut [u8], digest: Digest) -> bool {
        jobs::remove(self, bytes, digest)
    }

    fn view(&self, bytes: &[u8], slot: u64) -> SlotView {
        let place = Place::new(slot);
        let state = self.state(bytes, place.block);
        let bit = |word: u64| (word >> place.slot) & 1 == 1;
        SlotView {
            occupied: bit(state.occupied),
            continuation: bit(state.continuation),
            shifted: bit(state.shifted),
            remainder: self.remainder_at(bytes, place),
            quotient: bit(state.used()).then(|| self.home_of(bytes, place).number()),
        }
    }

    fn check(&self, bytes: &[u8]) -> Result<u64, InvariantError> {
        self.check_table(bytes)
    }
}
