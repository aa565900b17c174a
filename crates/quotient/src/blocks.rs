//! A table as a row of blocks: what reading or writing one from end to end has to know of a layout.

use amq_bits::word::store_u64;

/// No block has more slots than a word has bits.
pub(crate) const MOST_SLOTS: usize = 64;

/// A layout as a row of blocks of S slots, the last one shorter. Bit i of a word stands for slot i of a block.
///
/// Sealed: it is what [`Layout`](crate::Layout) has to be implemented with, and cannot be named outside of this crate.
pub trait Blocks: Copy {
    /// Whether the layout stores which records end a run. Otherwise it stores which ones go on with the run before them, and which are
    /// not at home.
    const STORES_ENDS: bool;

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
    /// The slots whose record is the last of its run; nothing unless [`STORES_ENDS`](Blocks::STORES_ENDS).
    pub(crate) ends: u64,
    /// The slots whose record is followed by one of the same run; nothing if `STORES_ENDS`.
    pub(crate) followed: u64,
    /// The slots whose record is not at home; nothing if `STORES_ENDS`.
    pub(crate) shifted: u64,
    /// 1 if the record in the first slot goes on with a run of the block before, otherwise 0.
    pub(crate) continues: u64,
    /// Room to pack remainders in.
    packed: [u8; MOST_PACKED],
}

/// The widest number that can be shifted by part of a byte in a word.
const MOST_BITS: u32 = 57;

/// Bytes for 64 remainders as wide, and for the word that the last one is stored with.
const MOST_PACKED: usize = MOST_SLOTS * MOST_BITS as usize / 8 + 8;

impl BlockRecords {
    pub(crate) const fn new() -> Self {
        Self {
            remainders: [0; MOST_SLOTS],
            ends: 0,
            followed: 0,
            shifted: 0,
            continues: 0,
            packed: [0; MOST_PACKED],
        }
    }

    /// Writes the remainders of all slots side by side, r bits each, from a bit of `bytes` on that is 0 like all behind it. Leaves
    /// something else in their place.
    ///
    /// First neighbours go together, as many as a word holds, which waits for nothing. Then these go one behind the other, a word at a
    /// time, of which the last bits not yet complete are carried on in a register: a load of what has just been stored, at another
    /// address, would have to wait for the store.
    #[inline]
    pub(crate) fn pack(&mut self, bytes: &mut [u8], first_bit: u32, slots: u32, r: u32) {
        let (mut width, mut count) = (r, MOST_SLOTS);
        while 2 * width <= MOST_BITS {
            count /= 2;
            for i in 0..count {
                self.remainders[i] = self.remainders[2 * i] | self.remainders[2 * i + 1] << width;
            }
            width *= 2;
        }
        let shift = first_bit % 8;
        let (mut word, mut fill, mut at) = (0, shift, 0);
        for &packed in &self.remainders[..count] {
            word |= packed << fill;
            store_u64(&mut self.packed, at, word);
            fill += width;
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
