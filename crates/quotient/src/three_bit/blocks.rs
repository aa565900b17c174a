//! Reading and writing from end to end, block by block.

use amq_bits::rank_select::Portable;
use amq_bits::word::low_mask;

use super::ThreeBit;
use super::block::{Place, SLOTS, STATE_BYTES, State};
use crate::blocks::{BlockRecords, Blocks};

impl Blocks for ThreeBit {
    const STORES_ENDS: bool = false;

    #[inline]
    fn block_slots(&self) -> u32 {
        SLOTS
    }

    #[inline]
    fn homes(&self, bytes: &[u8], block: u64) -> u64 {
        self.state(bytes, block).occupied
    }

    /// A run ends where what follows does not continue it.
    #[inline]
    fn ends(&self, bytes: &[u8], block: u64) -> u64 {
        let state = self.state(bytes, block);
        let next = self.state(bytes, self.after(block)).continuation & 1;
        let goes_on = state.continuation >> 1 | next << (self.size(block) - 1);
        state.used() & !goes_on
    }

    #[inline]
    fn remainder(&self, bytes: &[u8], block: u64, slot: u32) -> u64 {
        self.remainder_at(bytes, Place { block, slot })
    }

    fn wrapped(&self, bytes: &[u8]) -> u64 {
        let first = Place { block: 0, slot: 0 };
        let state = self.state(bytes, 0);
        if state.shifted & 1 == 0 { 0 } else { self.run_start(Portable, bytes, first, state).number() }
    }

    /// What the offset tells can be derived from the other bits.
    #[inline]
    fn put_homes(&self, bytes: &mut [u8], block: u64, homes: u64, _offset: u64) {
        let mut state = self.state(bytes, block);
        state.occupied |= homes;
        self.set_state(bytes, block, state);
    }

    #[inline]
    fn put_records(&self, bytes: &mut [u8], block: u64, records: &mut BlockRecords) {
        let State { occupied, continuation, shifted } = self.state(bytes, block);
        // What goes on behind the last slot does so in another block.
        let goes_on = records.followed & (self.whole(block) >> 1);
        let state = State {
            occupied,
            continuation: continuation | goes_on << 1 | records.continues,
            shifted: shifted | records.shifted,
        };
        self.set_state(bytes, block, state);
        let base = self.base(block);
        records.pack(&mut bytes[base..], STATE_BYTES * 8, SLOTS, self.geometry.r());
    }

    fn erase(&self, bytes: &mut [u8], block: u64, slots: u32) {
        let State { occupied, continuation, shifted } = self.state(bytes, block);
        let kept = !low_mask(slots);
        let state = State { occupied, continuation: continuation & kept, shifted: shifted & kept };
        self.set_state(bytes, block, state);
        for slot in 0..slots {
            self.set_remainder(bytes, Place { block, slot }, 0);
        }
    }
}
