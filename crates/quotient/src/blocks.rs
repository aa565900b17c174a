//! A table as a row of blocks: what reading or writing one from end to end has to know of a layout.

use amq_bits::word::store_u64;

/// No block has more slots than a word has bits.
pub(crate) const MOST_SLOTS: usize = 64;

/// A layout as a row of blocks of S slots, the last one shorter. Bit i of a word stands for slot i of a block.
///
/// Sealed: it is what [`Layout`](crate::Layout) has to be implemented with, and cannot be named outside of this crate.
pub trait Blocks: Copy {
    /// S, at most 64.
    fn block_slots(&self) -> u32;

    /// The slots that are the home of some record.
    fn homes(&self, bytes: &[u8], block: u64) -> u64;

    /// The slots that hold the last record of a run.
    fn ends(&self, bytes: &[u8], block: u64) -> u64;

    /// What a slot holds, r bits.
    fn remainder(&self, bytes: &[u8], block: u64, slot: u32) -> u64;

    /// How many slots from the first one on hold records whose home lies at the end of the table.
    fn wrapped(&self, bytes: &[u8]) -> u64;

    /// Adds homes to a block, where `offset` slots from its first one on are taken by records with a home before it.
    fn put_homes(&self, bytes: &mut [u8], block: u64, homes: u64, offset: u64);

    /// Puts records into slots of a block that are zeros.
    fn put_records(&self, bytes: &mut [u8], block: u64, records: &mut BlockRecords);

    /// Makes the first few slots of a block zeros, but for what they tell as homes.
    fn erase(&self, bytes: &mut [u8], block: u64, slots: u32);
}

/// Records for the slots of one block.
#[derive(Clone, Debug)]
pub struct BlockRecords {
    /// By slot; 0 where there is no record.
    pub(crate) remainders: [u64; MOST_SLOTS],
    /// The slots with a record.
    pub(crate) used: u64,
    /// Those whose record is the last of its run.
    pub(crate) ends: u64,
    /// Those whose record is not at home.
    pub(crate) shifted: u64,
    /// 1 if the record in the first slot continues a run of the block before, otherwise 0.
    pub(crate) continues: u64,
    /// Room to pack remainders in.
    packed: [u8; MOST_PACKED],
}

/// Bytes for 64 remainders of 57 bits, and for the word that the last one is stored with.
const MOST_PACKED: usize = MOST_SLOTS * 57 / 8 + 8;

impl BlockRecords {
    pub(crate) const fn new() -> Self {
        Self {
            remainders: [0; MOST_SLOTS],
            used: 0,
            ends: 0,
            shifted: 0,
            continues: 0,
            packed: [0; MOST_PACKED],
        }
    }

    /// Starts with the next block.
    #[inline]
    pub(crate) fn clear(&mut self, slots: u32) {
        self.continues = ((self.used & !self.ends) >> (slots - 1)) & 1;
        (self.used, self.ends, self.shifted) = (0, 0, 0);
        self.remainders = [0; MOST_SLOTS];
    }

    /// Writes the remainders of all slots side by side, r bits each, from a bit of `bytes` on that is 0 like all behind it.
    ///
    /// A word at a time, of which the last bits not yet complete are carried on in a register: a load of what has just been stored,
    /// at another address, would have to wait for the store.
    #[inline]
    pub(crate) fn pack(&mut self, bytes: &mut [u8], first_bit: u32, slots: u32, r: u32) {
        let shift = first_bit % 8;
        let (mut word, mut fill, mut at) = (0, shift, 0);
        for &remainder in &self.remainders[..slots as usize] {
            word |= remainder << fill;
            store_u64(&mut self.packed, at, word);
            fill += r;
            word = word.checked_shr(fill & !7).unwrap_or(0);
            at += (fill >> 3) as usize;
            fill &= 7;
        }
        let len = (shift + slots * r).div_ceil(8) as usize;
        let target = &mut bytes[first_bit as usize / 8..][..len];
        for (byte, packed) in target.iter_mut().zip(&self.packed) {
            *byte |= packed;
        }
    }
}
