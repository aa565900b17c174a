//! Re-deriving a table from scratch, sharing nothing with the code that reads and writes it.

use amq::InvariantError;
use amq_bits::word::get_bit;

use super::RankSelect;

/// The table one slot at a time.
struct Reader<'a> {
    layout: &'a RankSelect,
    bytes: &'a [u8],
}

impl Reader<'_> {
    /// The first bit of the block of a slot, and the number of the slot there: by a division.
    fn locate(&self, slot: u64) -> (u64, u64) {
        let slots = u64::from(self.layout.shape.slots);
        (slot / slots * u64::from(self.layout.shape.bytes) * 8, slot % slots)
    }

    fn is_occupied(&self, slot: u64) -> bool {
        let (start, slot) = self.locate(slot);
        get_bit(self.bytes, start + 8 + slot)
    }

    fn is_end(&self, slot: u64) -> bool {
        let (start, slot) = self.locate(slot);
        get_bit(self.bytes, start + 8 + u64::from(self.layout.shape.slots) + slot)
    }

    fn remainder(&self, slot: u64) -> u64 {
        let (start, slot) = self.locate(slot);
        let r = u64::from(self.layout.shape.r);
        let first = start + u64::from(self.layout.shape.first) + slot * r;
        (0..r).fold(0, |all, bit| all | u64::from(get_bit(self.bytes, first + bit)) << bit)
    }

    fn offset(&self, block: u64) -> u64 {
        let byte = usize::try_from(block * u64::from(self.layout.shape.bytes)).unwrap_or(usize::MAX);
        u64::from(self.bytes[byte])
    }
}

impl RankSelect {
    /// The number of records, if these bytes are the table of some multiset of at most m - 1 of them. Never loops, whatever the
    /// bytes are; they are at least as many as the table has.
    pub(super) fn check_table(&self, bytes: &[u8]) -> Result<u64, InvariantError> {
        self.check_padding(bytes)?;
        let table = Reader { layout: self, bytes };
        let empty = self.find_empty(&table)?;
        let records = self.check_runs(&table, empty)?;
        self.check_offsets(&table, empty)?;
        Ok(records)
    }

    /// A slot that is empty if anything is in order: before it, as many runs have ended as homes have been passed, and it is
    /// neither the one nor the other.
    fn find_empty(&self, table: &Reader<'_>) -> Result<u64, InvariantError> {
        // Homes less ends in the slots before this one; lowest where no run is open.
        let (mut open, mut lowest) = (0_i64, 0);
        let mut empty = None;
        for slot in 0..self.geometry.slots() {
            let (occupied, end) = (table.is_occupied(slot), table.is_end(slot));
            if open < lowest {
                (lowest, empty) = (open, None);
            }
            if open == lowest && !occupied && !end {
                empty = empty.or(Some(slot));
            }
            open += i64::from(occupied) - i64::from(end);
        }
        if open != 0 {
            return Err(InvariantError { what: "there are not as many run ends as occupied homes", at: 0 });
        }
        empty.ok_or(InvariantError { what: "no slot is empty", at: 0 })
    }

    /// The slot `step` to the right of another.
    fn step(&self, from: u64, step: u64) -> u64 {
        let left = self.geometry.slots() - from;
        if step < left { from + step } else { step - left }
    }

    /// From the empty slot all the way round: homes queue up, and each run is the first one's in the queue.
    fn check_runs(&self, table: &Reader<'_>, empty: u64) -> Result<u64, InvariantError> {
        let error = |what, at| Err(InvariantError { what, at });
        let (mut records, mut homes) = (0, 0_u64);
        // The remainder before this one, in a run.
        let mut previous = None;
        for step in 0..self.geometry.slots() {
            let at = self.step(empty, step);
            homes += u64::from(table.is_occupied(at));
            let (end, remainder) = (table.is_end(at), table.remainder(at));
            if homes == 0 {
                if end {
                    return error("a run has no occupied home", at);
                }
                if remainder != 0 {
                    return error("an empty slot has a remainder", at);
                }
                continue;
            }
            records += 1;
            if previous.is_some_and(|previous| remainder < previous) {
                return error("a run is not sorted", at);
            }
            previous = (!end).then_some(remainder);
            homes -= u64::from(end);
        }
        if homes != 0 {
            return error("an occupied home has no run", empty);
        }
        Ok(records)
    }

    /// An offset reaches behind the last run of a home before its block, if that is behind the start of the block.
    fn check_offsets(&self, table: &Reader<'_>, empty: u64) -> Result<(), InvariantError> {
        let slots = self.geometry.slots();
        // Homes before the block, and run ends before `behind`, counted in steps from the empty slot.
        let (mut homes, mut ends, mut behind) = (0_u64, 0, 0);
        for step in 0..slots {
            let at = self.step(empty, step);
            if at.is_multiple_of(u64::from(self.shape.slots)) {
                while ends < homes && behind < slots {
                    ends += u64::from(table.is_end(self.step(empty, behind)));
                    behind += 1;
                }
                let block = at / u64::from(self.shape.slots);
                if table.offset(block) != behind.saturating_sub(step).min(255) {
                    return Err(InvariantError { what: "the offset is wrong in block", at: block });
                }
            }
            homes += u64::from(table.is_occupied(at));
        }
        Ok(())
    }

    /// Bits that stand for nothing are zero, so that equal filters have equal bytes.
    fn check_padding(&self, bytes: &[u8]) -> Result<(), InvariantError> {
        let (all, first) = (u64::from(self.shape.slots), u64::from(self.shape.first));
        let block_bits = u64::from(self.shape.bytes) * 8;
        let zeros = |from: u64, to: u64| match (from..to).find(|&bit| get_bit(bytes, bit)) {
            Some(bit) => Err(InvariantError { what: "a padding bit is set", at: bit / 8 }),
            None => Ok(()),
        };
        for block in 0..self.blocks {
            let start = block * block_bits;
            zeros(start + 8 + 2 * all, start + first)?;
            if block + 1 == self.blocks {
                let used = u64::from(self.last_size);
                zeros(start + 8 + used, start + 8 + all)?;
                zeros(start + 8 + all + used, start + 8 + 2 * all)?;
                zeros(start + first + used * u64::from(self.shape.r), start + block_bits)?;
            }
        }
        zeros(self.blocks * block_bits, bytes.len() as u64 * 8)
    }
}
