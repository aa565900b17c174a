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
//! Bender, Farach-Colton, Johnson, Kraner, Kuszmaul, Medjedovic, Montes, Shetty, Spillane, Zadok, *Don't thrash: how to cache
//! your hash on flash*, PVLDB 5(11), 2012.

mod check;
mod decode;
mod edit;
mod load;

use amq::{Digest, InvariantError};
use amq_bits::{Packed, prefetch::prefetch_read};

use crate::Geometry;
use crate::layout::{Layout, OutOfMemory, sealed::Sealed};

/// The layout with three state bits a slot: [`QuotientFilter`](crate::QuotientFilter)'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreeBit {
    geometry: Geometry,
    slots: Packed,
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

/// The packed value of one slot: the state bits below, the remainder above them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    const OCCUPIED: u64 = 1;
    const CONTINUATION: u64 = 2;
    const SHIFTED: u64 = 4;
    const STATE_BITS: u32 = 3;
    const STATE: u64 = (1 << Self::STATE_BITS) - 1;

    const EMPTY: Self = Self(0);

    /// A record with the given state bits.
    #[inline]
    const fn record(remainder: u64, state: u64) -> Self {
        Self((remainder << Self::STATE_BITS) | state)
    }

    #[inline]
    const fn is_empty(self) -> bool {
        self.0 & Self::STATE == 0
    }

    #[inline]
    const fn is_occupied(self) -> bool {
        self.0 & Self::OCCUPIED != 0
    }

    #[inline]
    const fn is_continuation(self) -> bool {
        self.0 & Self::CONTINUATION != 0
    }

    #[inline]
    const fn is_shifted(self) -> bool {
        self.0 & Self::SHIFTED != 0
    }

    #[inline]
    const fn remainder(self) -> u64 {
        self.0 >> Self::STATE_BITS
    }

    #[inline]
    const fn with(self, state: u64) -> Self {
        Self(self.0 | state)
    }

    #[inline]
    const fn without(self, state: u64) -> Self {
        Self(self.0 & !state)
    }

    /// This slot, home of the same records as before, with what `record` holds of a record.
    #[inline]
    const fn holding(self, record: Self) -> Self {
        Self((self.0 & Self::OCCUPIED) | (record.0 & !Self::OCCUPIED))
    }
}

impl ThreeBit {
    #[inline]
    fn read(&self, bytes: &[u8], slot: u64) -> Slot {
        Slot(self.slots.get(bytes, slot))
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], slot: u64, value: Slot) {
        self.slots.set(bytes, slot, value.0);
    }

    /// The slot to the right, which for the last one is the first.
    #[inline]
    fn after(&self, slot: u64) -> u64 {
        let next = slot + 1;
        if next == self.geometry.slots() { 0 } else { next }
    }

    /// The slot to the left, which for the first one is the last.
    #[inline]
    fn before(&self, slot: u64) -> u64 {
        slot.checked_sub(1).unwrap_or(self.geometry.slots() - 1)
    }
}

impl Sealed for ThreeBit {}

impl Layout for ThreeBit {
    const NAME: &'static str = "quotient";
    const TITLE: &'static str = "Quotient (3 bits)";
    /// Up to the widest slot that one unaligned load holds at every bit position.
    const R: (u32, u32) = (1, Packed::MAX_WIDTH - Slot::STATE_BITS);
    // A lookup walks its cluster: at 10^6 keys and r = 8 a hit takes 45 ns at a load of .75, 94 at .85, 204 at .9 and 743 at .95.
    const DESIGN_LOAD: f64 = 0.85;
    type View = SlotView;

    fn new(geometry: Geometry) -> Option<Self> {
        let slots = Packed::new(geometry.r() + Slot::STATE_BITS)?;
        slots.bytes_for(geometry.slots())?;
        Some(Self { geometry, slots })
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn payload_bits(&self) -> u64 {
        // Fits 64 bits: `new` has made sure that the number of bytes does.
        self.geometry.slots() * u64::from(self.slots.width())
    }

    fn table_bytes(&self) -> u64 {
        self.slots.bytes_for(self.geometry.slots()).expect("checked by `new`")
    }

    #[inline]
    fn contains(&self, bytes: &[u8], digest: Digest) -> bool {
        let (quotient, remainder) = self.geometry.split(digest);
        self.find(bytes, quotient, remainder).is_some()
    }

    #[inline]
    fn prefetch(&self, bytes: &[u8], digest: Digest) {
        let bit = self.geometry.split(digest).0 * u64::from(self.slots.width());
        // An offset out of range cannot be: the slot is in the table. If it were, nothing would be fetched.
        prefetch_read(bytes, usize::try_from(bit >> 3).unwrap_or(usize::MAX));
    }

    fn count(&self, bytes: &[u8], digest: Digest) -> u64 {
        let (quotient, remainder) = self.geometry.split(digest);
        self.multiplicity(bytes, quotient, remainder)
    }

    fn insert(&self, bytes: &mut [u8], digest: Digest) -> u64 {
        let (quotient, remainder) = self.geometry.split(digest);
        self.insert_record(bytes, quotient, remainder)
    }

    fn remove(&self, bytes: &mut [u8], digest: Digest) -> bool {
        let (quotient, remainder) = self.geometry.split(digest);
        self.remove_record(bytes, quotient, remainder)
    }

    fn sorted<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        self.iterate(bytes)
    }

    fn load(&self, bytes: &mut [u8], sorted: impl Iterator<Item = (u64, u64)>) -> Result<(), OutOfMemory> {
        self.load_sorted(bytes, sorted)
    }

    fn view(&self, bytes: &[u8], slot: u64) -> SlotView {
        let value = self.read(bytes, slot);
        SlotView {
            occupied: value.is_occupied(),
            continuation: value.is_continuation(),
            shifted: value.is_shifted(),
            remainder: value.remainder(),
            quotient: (!value.is_empty()).then(|| self.home(bytes, slot)),
        }
    }

    fn check(&self, bytes: &[u8]) -> Result<u64, InvariantError> {
        self.check_table(bytes)
    }
}
