//! Writing a whole table from its sorted fingerprints.

use alloc::vec::Vec;

use super::RankSelect;
use super::place::Place;
use super::shape::Shape;
use crate::layout::OutOfMemory;

/// A record kept back: (fingerprint, whether it ends its run).
type Kept = (u64, bool);

/// Where a table is written.
///
/// The bit vectors that are being written are kept in registers: a load of bytes that have just been stored, at another address, would
/// have to wait for the store.
struct Writer<'a> {
    layout: &'a RankSelect,
    bytes: &'a mut [u8],
    /// Where the next record would go if its home were not further right: a slot, counted on beyond the last one.
    next: u64,
    /// The same as a place; meaningless beyond the last slot.
    place: Place,
    /// The place of the record before.
    last: Place,
    /// The run ends of its block.
    ends: u64,
    /// The block up to which offsets are known: that of the last home; and its first slot and its occupied bits.
    block: u64,
    block_start: u64,
    occupied: u64,
}

impl<'a> Writer<'a> {
    /// At slot 0, whose block is as it is.
    fn new(layout: &'a RankSelect, bytes: &'a mut [u8]) -> Self {
        let start = Place { block: 0, slot: 0 };
        let (_, occupied) = layout.shape.head(bytes, 0);
        let ends = layout.shape.ends(bytes, 0);
        Self { layout, bytes, next: 0, place: start, last: start, ends, block: 0, block_start: 0, occupied }
    }

    /// The offsets up to the block of a home, once all records of earlier homes lie where they belong.
    #[inline]
    fn enter(&mut self, block: u64) {
        let layout = self.layout;
        while self.block < block {
            layout.shape.set_occupied(self.bytes, layout.base(self.block), self.occupied);
            self.block += 1;
            self.block_start += u64::from(layout.shape.slots);
            let base = layout.base(self.block);
            (_, self.occupied) = layout.shape.head(self.bytes, base);
            Shape::set_offset(self.bytes, base, self.next.saturating_sub(self.block_start));
        }
    }

    /// Says that a home is one, and that its run goes there or as soon behind as there is room.
    #[inline]
    fn open(&mut self, home: u64) {
        let place = if home - self.block_start < u64::from(self.layout.shape.slots) {
            #[expect(clippy::cast_possible_truncation, reason = "less than S")]
            let slot = (home - self.block_start) as u32;
            Place { block: self.block, slot }
        } else {
            self.layout.place(home)
        };
        self.enter(place.block);
        self.occupied |= 1 << place.slot;
        if home > self.next {
            self.next = home;
            self.place = place;
        }
    }

    /// The next record of the run, into a slot that is all zeros, as are all behind it up to the next block.
    #[inline]
    fn put_last(&mut self, remainder: u64) {
        let Place { block, slot } = self.place;
        self.layout.shape.append_remainder(self.bytes, self.layout.base(block), slot, remainder);
        self.step();
    }

    /// The next record of the run, into a slot that is all zeros.
    #[inline]
    fn put_between(&mut self, remainder: u64) {
        let Place { block, slot } = self.place;
        self.layout.shape.set_remainder(self.bytes, self.layout.base(block), slot, remainder);
        self.step();
    }

    #[inline]
    fn step(&mut self) {
        let layout = self.layout;
        if self.place.block != self.last.block {
            layout.shape.set_ends(self.bytes, layout.base(self.last.block), self.ends);
            self.ends = layout.shape.ends(self.bytes, layout.base(self.place.block));
        }
        self.last = self.place;
        self.next += 1;
        self.place = layout.next(self.place);
    }

    /// Ends the run at the record before.
    #[inline]
    fn close(&mut self) {
        self.ends |= 1 << self.last.slot;
    }

    /// What is still in registers, and the offsets of all blocks that the last records reach into.
    fn finish(mut self) {
        let layout = self.layout;
        let last = self.next.min(layout.geometry.slots()) - 1;
        self.enter(layout.place(last).block);
        layout.shape.set_occupied(self.bytes, layout.base(self.block), self.occupied);
        layout.shape.set_ends(self.bytes, layout.base(self.last.block), self.ends);
    }
}

impl RankSelect {
    /// Writes records in ascending order into a table of zeros: each at home or, if that is taken, behind the one before.
    ///
    /// What reaches beyond the last slot is kept back and goes to the slots from 0 on, in front of what is there. So the runs at the start
    /// of the table are taken out as far as they have to move, and written once more, behind what was kept back.
    pub(super) fn load_sorted(
        &self,
        bytes: &mut [u8],
        sorted: impl Iterator<Item = (u64, u64)>,
    ) -> Result<(), OutOfMemory> {
        let slots = self.geometry.slots();
        let mut kept = Vec::new();
        let mut writer = Writer::new(self, bytes);
        let mut last_home = None;
        // Whether the run has a record in the table, and whether the first run kept back has.
        let (mut has_begun, mut is_torn) = (false, false);
        for (fingerprint, multiplicity) in sorted {
            let (home, remainder) = self.geometry.parts(fingerprint);
            if last_home != Some(home) {
                if last_home.is_some() {
                    end_run(&mut writer, &mut kept);
                }
                last_home = Some(home);
                has_begun = false;
                writer.open(home);
            }
            for _ in 0..multiplicity {
                if writer.next < slots {
                    writer.put_last(remainder);
                    has_begun = true;
                } else {
                    is_torn |= kept.is_empty() && has_begun;
                    keep(&mut kept, (fingerprint, false))?;
                    writer.next += 1;
                }
            }
        }
        if last_home.is_none() {
            return Ok(());
        }
        end_run(&mut writer, &mut kept);
        writer.finish();
        if kept.is_empty() { Ok(()) } else { self.load_wrapped(bytes, &kept, is_torn) }
    }

    /// Writes what was kept back to the start of the table, and moves what is there. `is_torn` says that the first run kept back
    /// begins in the last slots.
    fn load_wrapped(&self, bytes: &mut [u8], kept: &[Kept], is_torn: bool) -> Result<(), OutOfMemory> {
        let wrapped = kept.len() as u64;
        // Until what is at the start of the table has been read, the run ends with it.
        let last = self.previous(Place { block: 0, slot: 0 });
        let (last_base, last_bit) = (self.base(last.block), 1 << last.slot);
        let last_ends = self.shape.ends(bytes, last_base);
        self.shape.set_ends(bytes, last_base, last_ends | last_bit);
        // Runs whose start changes, from the left up to the first that does not.
        let mut moved: Vec<(u64, u64)> = Vec::new();
        let (mut old_next, mut new_next) = (0_u64, wrapped);
        let mut last_home = None;
        for (fingerprint, multiplicity) in self.iterate(bytes) {
            let (home, _) = self.geometry.parts(fingerprint);
            if last_home != Some(home) {
                last_home = Some(home);
                (old_next, new_next) = (old_next.max(home), new_next.max(home));
                if old_next == new_next {
                    break;
                }
            }
            moved.try_reserve(1).map_err(|_| out_of_memory::<(u64, u64)>(moved.len()))?;
            moved.push((fingerprint, multiplicity));
            old_next += multiplicity;
            new_next += multiplicity;
        }
        if is_torn {
            let ends = self.shape.ends(bytes, last_base);
            self.shape.set_ends(bytes, last_base, ends & !last_bit);
        }
        let mut at = Place { block: 0, slot: 0 };
        for _ in 0..self.end_of(&moved) {
            let base = self.base(at.block);
            let ends = self.shape.ends(bytes, base);
            self.shape.set_ends(bytes, base, ends & !(1 << at.slot));
            self.shape.set_remainder(bytes, base, at.slot, 0);
            at = self.next(at);
        }
        let mut writer = Writer::new(self, bytes);
        for &(fingerprint, is_end) in kept {
            writer.put_between(self.geometry.parts(fingerprint).1);
            if is_end {
                writer.close();
            }
        }
        Shape::set_offset(writer.bytes, 0, wrapped);
        last_home = None;
        for (fingerprint, multiplicity) in moved {
            let (home, remainder) = self.geometry.parts(fingerprint);
            if last_home != Some(home) {
                if last_home.is_some() {
                    writer.close();
                }
                last_home = Some(home);
                writer.open(home);
            }
            (0..multiplicity).for_each(|_| writer.put_between(remainder));
        }
        if last_home.is_some() {
            writer.close();
        }
        writer.finish();
        Ok(())
    }

    /// Where runs that start at the left end of the table end.
    fn end_of(&self, sorted: &[(u64, u64)]) -> u64 {
        sorted.iter().fold(0, |next: u64, &(fingerprint, multiplicity)| {
            next.max(self.geometry.parts(fingerprint).0) + multiplicity
        })
    }
}

/// Ends the run before, in the table or in what was kept back.
#[inline]
fn end_run(writer: &mut Writer<'_>, kept: &mut [Kept]) {
    match kept.last_mut() {
        Some((_, is_end)) => *is_end = true,
        None => writer.close(),
    }
}

fn keep(kept: &mut Vec<Kept>, record: Kept) -> Result<(), OutOfMemory> {
    kept.try_reserve(1).map_err(|_| out_of_memory::<Kept>(kept.len()))?;
    kept.push(record);
    Ok(())
}

fn out_of_memory<T>(len: usize) -> OutOfMemory {
    OutOfMemory { bytes: (len as u64 + 1).saturating_mul(size_of::<T>() as u64) }
}
