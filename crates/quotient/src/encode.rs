//! Writing a whole table from its fingerprints in order.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined into code compiled for the processor's features does not use them"
)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use amq_bits::rank_select::{Job, Select, dispatch};

use crate::blocks::{BlockRecords, MOST_SLOTS};
use crate::decode::Decoder;
use crate::sorted::{AtHand, CHUNK, Sorted};
use crate::{Geometry, Layout, OutOfMemory};

/// Writes into a table of zeros: each record at home or, if that is taken, behind the one before.
///
/// Two cursors move to the right: one over homes, one over slots, the same or further. The block that each of them is in is composed in
/// registers, the remainders in an array, and written when the cursor leaves it. A record takes no branch but those.
///
/// What reaches beyond the last slot is kept back and goes to the slots from 0 on, in front of what is there. So the records at the start
/// of the table are taken out as far as they have to move, and written once more, behind what was kept back.
pub(crate) struct Encoder<'a, L> {
    layout: L,
    geometry: Geometry,
    bytes: &'a mut [u8],
    /// S.
    slots: u64,
    cursor: Cursor,
    records: BlockRecords,
    /// The last fingerprint, which is written when it is known whether the next one has the same home.
    held: Option<u64>,
    /// What there was no slot for.
    kept: Vec<u64>,
}

/// Where the cursors are.
#[derive(Clone, Copy)]
struct Cursor {
    /// Where the next record goes if its home is not further right: a slot, counted on beyond the last one.
    next: u64,
    /// The block of slots, its first one, and the one behind it.
    block: u64,
    start: u64,
    end: u64,
    /// The block of homes, its first one, and the one behind it.
    home_block: u64,
    home_start: u64,
    home_end: u64,
    /// The homes seen in it, and what its offset is.
    homes: u64,
    offset: u64,
    /// What the layout stores of the records in the block of slots.
    ends: u64,
    followed: u64,
    shifted: u64,
}

impl Cursor {
    /// What is to be stored of the record in a slot of the block.
    #[inline(always)]
    fn note<L: Layout>(&mut self, at: u64, is_followed: bool, is_shifted: bool) {
        if L::STORES_ENDS {
            self.ends |= u64::from(!is_followed) << at;
        } else {
            self.followed |= u64::from(is_followed) << at;
            self.shifted |= u64::from(is_shifted) << at;
        }
    }
}

impl<'a, L: Layout> Encoder<'a, L> {
    pub(crate) fn new(layout: L, bytes: &'a mut [u8]) -> Self {
        let (geometry, slots) = (layout.geometry(), u64::from(layout.block_slots()));
        let end = slots.min(geometry.slots());
        Self {
            layout,
            geometry,
            bytes,
            slots,
            cursor: Cursor {
                next: 0,
                block: 0,
                start: 0,
                end,
                home_block: 0,
                home_start: 0,
                home_end: end,
                homes: 0,
                offset: 0,
                ends: 0,
                followed: 0,
                shifted: 0,
            },
            records: BlockRecords::new(),
            held: None,
            kept: Vec::new(),
        }
    }

    /// Writes more fingerprints. All of them together are at most m - 1.
    ///
    /// # Errors
    /// If there is no memory for records that wrap around.
    pub(crate) fn put(&mut self, sorted: &[u64]) -> Result<(), OutOfMemory> {
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Ok(()) };
        if let Some(held) = self.held.replace(last) {
            self.put_all(&[held, first])?;
        }
        self.put_all(sorted)
    }

    /// Writes all but the last of these.
    fn put_all(&mut self, sorted: &[u64]) -> Result<(), OutOfMemory> {
        dispatch(PutAll { encoder: self, sorted })
    }

    #[inline(always)]
    fn put_each(&mut self, sorted: &[u64]) -> Result<(), OutOfMemory> {
        let (r, mask) = (self.geometry.r(), self.geometry.join(1, 0) - 1);
        let mut cursor = self.cursor;
        for pair in sorted.windows(2) {
            let (fingerprint, following) = (pair[0], pair[1]);
            let home = fingerprint >> r;
            if home >= cursor.home_end {
                self.enter(&mut cursor, home);
            }
            cursor.homes |= 1 << (home - cursor.home_start);
            let slot = cursor.next.max(home);
            cursor.next = slot + 1;
            if slot >= cursor.end {
                if slot >= self.geometry.slots() {
                    self.keep(fingerprint)?;
                    continue;
                }
                self.turn(&mut cursor, slot);
            }
            let at = slot - cursor.start;
            self.records.remainders[(at & 63) as usize] = fingerprint & mask;
            cursor.note::<L>(at, following >> r == home, slot != home);
        }
        self.cursor = cursor;
        Ok(())
    }

    /// Moves the cursor over homes to the block of one, once all records of earlier homes lie where they belong.
    #[inline(always)]
    fn enter(&mut self, cursor: &mut Cursor, home: u64) {
        while home >= cursor.home_end {
            self.layout.put_homes(self.bytes, cursor.home_block, cursor.homes, cursor.offset);
            cursor.home_block += 1;
            cursor.home_start = cursor.home_end;
            cursor.home_end = (cursor.home_end + self.slots).min(self.geometry.slots());
            cursor.homes = 0;
            cursor.offset = cursor.next.saturating_sub(cursor.home_start);
        }
    }

    /// Moves the cursor over slots to the block of one.
    #[inline(always)]
    fn turn(&mut self, cursor: &mut Cursor, slot: u64) {
        self.flush(cursor);
        while slot >= cursor.end {
            cursor.block += 1;
            cursor.start = cursor.end;
            cursor.end = (cursor.end + self.slots).min(self.geometry.slots());
        }
    }

    /// Writes the records of a block.
    #[inline(always)]
    fn flush(&mut self, cursor: &mut Cursor) {
        let records = &mut self.records;
        (records.ends, records.followed, records.shifted) = (cursor.ends, cursor.followed, cursor.shifted);
        self.layout.put_records(self.bytes, cursor.block, records);
        records.continues = (cursor.followed >> (cursor.end - 1 - cursor.start)) & 1;
        records.remainders = [0; MOST_SLOTS];
        (cursor.ends, cursor.followed, cursor.shifted) = (0, 0, 0);
    }

    fn keep(&mut self, fingerprint: u64) -> Result<(), OutOfMemory> {
        self.kept.try_reserve(1).map_err(|_| out_of_memory(self.kept.len()))?;
        self.kept.push(fingerprint);
        Ok(())
    }

    /// Writes what is still on the way.
    ///
    /// # Errors
    /// If there is no memory for the records that have to make room for those that wrap around.
    pub(crate) fn finish(mut self) -> Result<(), OutOfMemory> {
        self.close()?;
        if self.kept.is_empty() {
            Ok(())
        } else {
            wrap(self.layout, self.bytes, &self.kept, self.records.continues)
        }
    }

    fn close(&mut self) -> Result<(), OutOfMemory> {
        if let Some(held) = self.held.take() {
            // Nobody else has the same home.
            self.put_all(&[held, !held])?;
        }
        let mut cursor = self.cursor;
        let Some(last) = cursor.next.min(self.geometry.slots()).checked_sub(1) else { return Ok(()) };
        self.flush(&mut cursor);
        // The last records may reach into blocks without homes, which have offsets.
        self.enter(&mut cursor, last);
        self.layout.put_homes(self.bytes, cursor.home_block, cursor.homes, cursor.offset);
        Ok(())
    }

    /// Writes records that have wrapped around to the first slots.
    fn put_wrapped(&mut self, sorted: &[u64]) {
        let r = self.geometry.r();
        let mut cursor = self.cursor;
        for (i, &fingerprint) in sorted.iter().enumerate() {
            let slot = cursor.next;
            cursor.next += 1;
            if slot >= cursor.end {
                self.turn(&mut cursor, slot);
            }
            let at = slot - cursor.start;
            let (_, remainder) = self.geometry.parts(fingerprint);
            self.records.remainders[(at & 63) as usize] = remainder;
            let goes_on = sorted.get(i + 1).is_some_and(|&following| (following ^ fingerprint) >> r == 0);
            cursor.note::<L>(at, goes_on, true);
        }
        cursor.offset = cursor.next;
        self.cursor = cursor;
    }
}

/// Compiled for the processor's shifts by a variable distance too, which take half as long.
struct PutAll<'a, 'b, L> {
    encoder: &'a mut Encoder<'b, L>,
    sorted: &'a [u64],
}

impl<L: Layout> Job for PutAll<'_, '_, L> {
    type Output = Result<(), OutOfMemory>;

    #[inline(always)]
    fn run<S: Select>(self, _: S) -> Self::Output {
        self.encoder.put_each(self.sorted)
    }
}

/// Writes what was kept back to the start of a table, and moves what is there. `continues` is 1 if the first record
/// kept back goes on with the run in the last slot.
fn wrap<L: Layout>(layout: L, bytes: &mut [u8], kept: &[u64], continues: u64) -> Result<(), OutOfMemory> {
    let (geometry, slots) = (layout.geometry(), u64::from(layout.block_slots()));
    // Records whose place changes, from the left up to the first whose does not; and behind them the next slot, before and after.
    let mut moved: Vec<u64> = Vec::new();
    let (mut old, mut new) = (0, kept.len() as u64);
    let mut stored = AtHand::new(Decoder::behind(layout, bytes, 0));
    while let Some(&fingerprint) = stored.rest().first() {
        let (home, _) = geometry.parts(fingerprint);
        if old.max(home) == new.max(home) {
            break;
        }
        moved.try_reserve(1).map_err(|_| out_of_memory(moved.len()))?;
        moved.push(fingerprint);
        (old, new) = (old.max(home) + 1, new.max(home) + 1);
        stored.skip(1);
    }
    for block in 0..old.div_ceil(slots) {
        #[expect(clippy::cast_possible_truncation, reason = "at most S")]
        let here = slots.min(old - block * slots) as u32;
        layout.erase(bytes, block, here);
    }
    let mut encoder = Encoder::new(layout, bytes);
    encoder.records.continues = continues;
    encoder.put_wrapped(kept);
    encoder.put(&moved)?;
    encoder.close()
}

/// Writes all of a stream, and returns how many fingerprints it had.
///
/// # Errors
/// If there is no memory for records that wrap around.
pub(crate) fn load<L: Layout>(
    layout: L,
    bytes: &mut [u8],
    source: &mut impl Sorted,
) -> Result<u64, OutOfMemory> {
    let mut encoder = Encoder::new(layout, bytes);
    let mut chunk = Box::new([0; CHUNK]);
    let mut records = 0;
    loop {
        let len = source.fill(&mut chunk);
        if len == 0 {
            break;
        }
        encoder.put(&chunk[..len])?;
        records += len as u64;
    }
    encoder.finish()?;
    Ok(records)
}

fn out_of_memory(len: usize) -> OutOfMemory {
    OutOfMemory { bytes: (len as u64 + 1).saturating_mul(8) }
}
