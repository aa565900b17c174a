//! Reading and writing from end to end, block by block.

use amq_bits::word::low_mask;

use super::RankSelect;
use super::shape::Shape;
use crate::blocks::{BlockRecords, Blocks};

impl Blocks for RankSelect {
    const STORES_ENDS: bool = true;

    #[inline]
    fn block_slots(&self) -> u32 {
        self.shape.slots
    }

    #[inline]
    fn homes(&self, bytes: &[u8], block: u64) -> u64 {
        self.shape.head(bytes, self.base(block)).1
    }

    #[inline]
    fn ends(&self, bytes: &[u8], block: u64) -> u64 {
        self.shape.ends(bytes, self.base(block))
    }

    #[inline]
    fn remainder(&self, bytes: &[u8], block: u64, slot: u32) -> u64 {
        self.shape.remainder(bytes, self.base(block), slot)
    }

    fn wrapped(&self, bytes: &[u8]) -> u64 {
        self.exact_offset(bytes, 0)
    }

    #[inline]
    fn put_homes(&self, bytes: &mut [u8], block: u64, homes: u64, offset: u64) {
        let base = self.base(block);
        let (_, occupied) = self.shape.head(bytes, base);
        self.shape.set_occupied(bytes, base, occupied | homes);
        Shape::set_offset(bytes, base, offset);
    }

    #[inline]
    fn put_records(&self, bytes: &mut [u8], block: u64, records: &mut BlockRecords) {
        let base = self.base(block);
        let ends = self.shape.ends(bytes, base);
        self.shape.set_ends(bytes, base, ends | records.ends);
        records.pack(&mut bytes[base..], self.shape.first, self.shape.slots, self.shape.r);
    }

    fn erase(&self, bytes: &mut [u8], block: u64, slots: u32) {
        let base = self.base(block);
        let ends = self.shape.ends(bytes, base);
        self.shape.set_ends(bytes, base, ends & !low_mask(slots));
        for slot in 0..slots {
            self.shape.set_remainder(bytes, base, slot, 0);
        }
    }
}
