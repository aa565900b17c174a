//! The layout of 2017: blocks of slots, each with two bit vectors and an offset, and lookups by rank and select.
//!
//! | field | of | says |
//! |---|---|---|
//! | occupied | a slot | some record has its home here, wherever it is stored |
//! | run end | a slot | the record stored here is the last one of its run |
//! | offset | a block | how many slots from its first one on are taken by records with a home before the block; 255 means 255 or more |
//!
//! The k-th occupied home in a block owns the k-th run that ends behind the offset. So a run is found without looking at what lies
//! before it: the offset, one rank and one select.
//!
//! As with three state bits, the bytes depend on the multiset of fingerprints only: slots, remainders and homes are determined in
//! the same way, and all else here is a function of them.
//!
//! # Blocks
//!
//! All of a block lies in one cache line where S slots of one cost at most r + 2.3 bits each (r = 7, 8, 10, 12, 16). The S that this
//! leaves is at most 56, so slots are found by a multiplication with the inverse of S instead of a shift, and more runs leave their
//! block than with 64 slots (19 % instead of 15 % at r = 8 and a load of .95).
//!
//! Pandey, Bender, Johnson, Patro, *A general-purpose counting filter: making every bit count*, SIGMOD 2017.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined into code compiled for the processor's features does not use them"
)]

mod across;
mod blocks;
mod check;
mod edit;
mod jobs;
mod lookup;
mod place;
mod shape;
mod view;

use amq::{Digest, InvariantError, assert_same_length};
use amq_bits::prefetch::prefetch_read;

use crate::Geometry;
use crate::layout::Layout;
use place::Place;
use shape::{PADDING, Shape};

pub(crate) use lookup::Fields;
pub use view::RankSelectView;

/// The layout with occupied and run-end bits: [`RankSelectQuotientFilter`](crate::RankSelectQuotientFilter)'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSelect {
    geometry: Geometry,
    shape: Shape,
    fields: Fields,
    /// ceil(m/S).
    blocks: u64,
    /// The slots of the last block: 1 to S.
    last_size: u32,
    /// floor(2^64/S) + 1.
    inverse: u64,
}

/// Where a fingerprint belongs, and what is stored of it.
#[derive(Clone, Copy, Debug)]
struct Home {
    place: Place,
    remainder: u64,
}

impl RankSelect {
    #[inline]
    fn home(&self, digest: Digest) -> Home {
        // As `Geometry::split` does, with an r that the compiler may know.
        let (quotient, rest) = digest.scale_with_rest(self.geometry.slots());
        Home { place: self.place(quotient), remainder: rest >> (64 - self.shape.r) }
    }

    /// The same layout, with what follows from r known to the compiler.
    #[inline(always)]
    fn with_constant_r<const R: u32>(&self) -> Self {
        let shape = const { Shape::new(R) };
        debug_assert_eq!(shape, self.shape);
        Self {
            shape,
            fields: const { Fields::new(R) },
            inverse: const { inverse(Shape::new(R).slots) },
            ..*self
        }
    }
}

/// floor(2^64/S) + 1.
const fn inverse(slots: u32) -> u64 {
    u64::MAX / slots as u64 + 1
}

impl Layout for RankSelect {
    const NAME: &'static str = "rank-select-quotient";
    const TITLE: &'static str = "Quotient (rank-select)";
    /// Up to the widest remainder that one unaligned load holds at every bit position.
    const R: (u32, u32) = (1, 57);
    const DESIGN_LOAD: f64 = 0.95;
    type View = RankSelectView;

    fn new(geometry: Geometry) -> Option<Self> {
        let r = geometry.r();
        if r < Self::R.0 || r > Self::R.1 {
            return None;
        }
        let shape = Shape::new(r);
        let slots = u64::from(shape.slots);
        let blocks = geometry.slots().div_ceil(slots);
        // All positions, in bits, fit 64.
        blocks.checked_mul(u64::from(shape.bytes))?.checked_add(PADDING)?.checked_mul(8)?;
        let last_size = u32::try_from(geometry.slots() - (blocks - 1) * slots).ok()?;
        Some(Self {
            geometry,
            shape,
            fields: Fields::new(r),
            blocks,
            last_size,
            inverse: u64::MAX / slots + 1,
        })
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn payload_bits(&self) -> u64 {
        // All but the last block whole, as what is left in them cannot be used.
        let last = 8 + self.last_size * (2 + self.shape.r);
        (self.blocks - 1) * u64::from(self.shape.bytes) * 8 + u64::from(last)
    }

    fn table_bytes(&self) -> u64 {
        self.blocks * u64::from(self.shape.bytes) + PADDING
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
        prefetch_read(bytes, self.base(self.home(digest).place.block));
    }

    fn count(&self, bytes: &[u8], digest: Digest) -> u64 {
        self.multiplicity(bytes, self.home(digest))
    }

    #[inline]
    fn insert(&self, bytes: &mut [u8], digest: Digest) -> u64 {
        jobs::insert(self, bytes, digest)
    }

    fn insert_batch(&self, bytes: &mut [u8], digests: &[Digest]) -> u64 {
        jobs::insert_batch(self, bytes, digests)
    }

    #[inline]
    fn remove(&self, bytes: &mut [u8], digest: Digest) -> bool {
        jobs::remove(self, bytes, digest)
    }

    fn remove_batch(&self, bytes: &mut [u8], digests: &[Digest]) -> u64 {
        jobs::remove_batch(self, bytes, digests)
    }

    fn view(&self, bytes: &[u8], slot: u64) -> RankSelectView {
        self.view_slot(bytes, self.place(slot))
    }

    fn check(&self, bytes: &[u8]) -> Result<u64, InvariantError> {
        self.check_table(bytes)
    }
}
