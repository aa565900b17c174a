//! Re-deriving a table from scratch, sharing nothing with the code that reads and writes it.

use amq::InvariantError;

use amq_bits::word::get_bit;

use super::ThreeBit;

/// One slot, decoded.
#[derive(Clone, Copy, Default)]
struct Slot {
    occupied: bool,
    continuation: bool,
    shifted: bool,
    remainder: u64,
}

impl Slot {
    fn is_empty(self) -> bool {
        !(self.occupied || self.continuation || self.shifted)
    }
}

impl ThreeBit {
    /// A slot, bit by bit.
    fn read(&self, bytes: &[u8], slot: u64) -> Slot {
        let r = u64::from(self.geometry.r());
        let (start, slot) = (slot / 64 * (192 + 64 * r), slot % 64);
        let remainder = start + 192 + slot * r;
        Slot {
            occupied: get_bit(bytes, start + slot),
            continuation: get_bit(bytes, start + 64 + slot),
            shifted: get_bit(bytes, start + 128 + slot),
            remainder: (0..r).fold(0, |all, bit| all | u64::from(get_bit(bytes, remainder + bit)) << bit),
        }
    }

    /// The number of records, if these bytes are the table of some multiset of at most m - 1 of them. Never loops, whatever the
    /// bytes are; they are at least as many as the table has.
    pub(super) fn check_table(&self, bytes: &[u8]) -> Result<u64, InvariantError> {
        let slots = self.geometry.slots();
        let error = |what, at| Err(InvariantError { what, at });
        self.check_padding(bytes)?;
        let Some(empty) = (0..slots).find(|&slot| self.read(bytes, slot).is_empty()) else {
            return error("no slot is empty", 0);
        };
        let mut records = 0;
        // The homes seen whose runs have not started lie between these two cursors, `homes` of them.
        let mut homes = 0_u64;
        let mut home_cursor = empty;
        let mut previous = Slot::default();
        // From the empty slot to the right, all the way round, and to it once more.
        for step in 0..=slots {
            let at = if step < slots - empty { empty + step } else { step - (slots - empty) };
            let slot = self.read(bytes, at);
            homes += u64::from(slot.occupied);
            if slot.is_empty() {
                if slot.remainder != 0 {
                    return error("an empty slot has a remainder", at);
                }
                if homes != 0 {
                    return error("an occupied home has no run", at);
                }
            } else if slot.continuation {
                if previous.is_empty() {
                    return error("a continuation follows an empty slot", at);
                }
                if !slot.shifted {
                    return error("a continuation is not shifted", at);
                }
                if slot.remainder < previous.remainder {
                    return error("a run is not sorted", at);
                }
                records += 1;
            } else {
                if homes == 0 {
                    return error("a run has no occupied home", at);
                }
                homes -= 1;
                // One of the `homes` lies ahead, so this ends.
                loop {
                    home_cursor = if home_cursor + 1 == slots { 0 } else { home_cursor + 1 };
                    if self.read(bytes, home_cursor).occupied {
                        break;
                    }
                }
                if slot.shifted == (home_cursor == at) {
                    return error("the shifted bit contradicts the home of its run", at);
                }
                records += 1;
            }
            previous = slot;
        }
        Ok(records)
    }

    /// Bits that stand for nothing are zero, so that equal filters have equal bytes.
    fn check_padding(&self, bytes: &[u8]) -> Result<(), InvariantError> {
        let r = u64::from(self.geometry.r());
        let zeros = |from: u64, to: u64| match (from..to).find(|&bit| get_bit(bytes, bit)) {
            Some(bit) => Err(InvariantError { what: "a padding bit is set", at: bit / 8 }),
            None => Ok(()),
        };
        let (blocks, used) = ((self.geometry.slots() - 1) / 64, (self.geometry.slots() - 1) % 64 + 1);
        let start = blocks * (192 + 64 * r);
        for word in 0..3 {
            zeros(start + word * 64 + used, start + (word + 1) * 64)?;
        }
        zeros(start + 192 + used * r, bytes.len() as u64 * 8)
    }
}
