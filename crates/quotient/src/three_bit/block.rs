//! One block of 64 slots: three words of state bits, then the remainders.

use amq_bits::word::{load_u64, low_mask, store_u64};

use super::ThreeBit;

/// Slots of a block: bits of a word.
pub(super) const SLOTS: u32 = u64::BITS;

/// Bytes of the state bits of a block.
pub(super) const STATE_BYTES: u32 = 24;

/// Bytes behind the last block that a load may touch but that hold nothing.
pub(super) const PADDING: u64 = 7;

/// The state bits of a block: bit i is that of slot i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// O.
    pub(super) occupied: u64,
    /// C.
    pub(super) continuation: u64,
    /// S.
    pub(super) shifted: u64,
}

impl State {
    /// The slots that hold something.
    #[inline]
    pub(super) const fn used(self) -> u64 {
        self.occupied | self.continuation | self.shifted
    }
}

/// A slot: its block, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: u64,
    pub(super) slot: u32,
}

impl Place {
    /// Of a slot given by its number.
    #[inline]
    pub(super) const fn new(slot: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        let place = Self { block: slot / SLOTS as u64, slot: (slot % SLOTS as u64) as u32 };
        place
    }

    /// The number of the slot.
    #[inline]
    pub(super) const fn number(self) -> u64 {
        self.block * SLOTS as u64 + self.slot as u64
    }
}

impl ThreeBit {
    /// Where a block starts in the table.
    #[inline]
    pub(super) fn base(&self, block: u64) -> usize {
        // A block that is in the table has an address.
        usize::try_from(block * u64::from(self.block_bytes)).unwrap_or(usize::MAX)
    }

    /// The slots that a block has: all 64, but for the last one.
    #[inline]
    pub(super) fn size(&self, block: u64) -> u32 {
        if block + 1 == self.blocks { self.last_size } else { SLOTS }
    }

    /// The same as a mask.
    #[inline]
    pub(super) fn whole(&self, block: u64) -> u64 {
        low_mask(self.size(block))
    }

    /// The block to the right, which for the last one is the first.
    #[inline]
    pub(super) fn after(&self, block: u64) -> u64 {
        if block + 1 == self.blocks { 0 } else { block + 1 }
    }

    /// The block to the left, which for the first one is the last.
    #[inline]
    pub(super) fn before(&self, block: u64) -> u64 {
        block.checked_sub(1).unwrap_or(self.blocks - 1)
    }

    /// The slot to the right.
    #[inline]
    pub(super) fn next(&self, place: Place) -> Place {
        if place.slot + 1 < self.size(place.block) {
            Place { slot: place.slot + 1, ..place }
        } else {
            Place { block: self.after(place.block), slot: 0 }
        }
    }

    /// The slot to the left.
    #[inline]
    pub(super) fn previous(&self, place: Place) -> Place {
        if let Some(slot) = place.slot.checked_sub(1) {
            return Place { slot, ..place };
        }
        let block = self.before(place.block);
        Place { block, slot: self.size(block) - 1 }
    }

    #[inline]
    pub(super) fn state(&self, bytes: &[u8], block: u64) -> State {
        let base = self.base(block);
        State {
            occupied: load_u64(bytes, base),
            continuation: load_u64(bytes, base + 8),
            shifted: load_u64(bytes, base + 16),
        }
    }

    #[inline]
    pub(super) fn set_state(&self, bytes: &mut [u8], block: u64, state: State) {
        let base = self.base(block);
        store_u64(bytes, base, state.occupied);
        store_u64(bytes, base + 8, state.continuation);
        store_u64(bytes, base + 16, state.shifted);
    }

    /// The remainders of a block, from that of a slot on: at least 57 bits of them, and behind them whatever follows.
    #[inline]
    pub(super) fn window(&self, bytes: &[u8], block: u64, slot: u32) -> u64 {
        let bit = slot * self.geometry.r();
        load_u64(bytes, self.base(block) + STATE_BYTES as usize + (bit / 8) as usize) >> (bit % 8)
    }

    #[inline]
    pub(super) fn remainder_at(&self, bytes: &[u8], place: Place) -> u64 {
        self.window(bytes, place.block, place.slot) & low_mask(self.geometry.r())
    }

    #[inline]
    pub(super) fn set_remainder(&self, bytes: &mut [u8], place: Place, remainder: u64) {
        let bit = place.slot * self.geometry.r();
        let (at, shift) = (self.base(place.block) + (STATE_BYTES + bit / 8) as usize, bit % 8);
        let word = load_u64(bytes, at);
        store_u64(bytes, at, word & !(low_mask(self.geometry.r()) << shift) | remainder << shift);
    }

    /// The bytes of the remainders of a block, 8r.
    #[inline]
    pub(super) fn remainders<'a>(&self, bytes: &'a mut [u8], block: u64) -> &'a mut [u8] {
        let base = self.base(block);
        &mut bytes[base + STATE_BYTES as usize..base + self.block_bytes as usize]
    }
}
