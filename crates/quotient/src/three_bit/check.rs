//! Re-deriving a table from scratch, sharing nothing with the code that reads and writes it.

use amq::InvariantError;

use super::{Slot, ThreeBit};
use crate::layout::Layout;

impl ThreeBit {
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
        let mut previous = Slot::EMPTY;
        // From the empty slot to the right, all the way round, and to it once more.
        for step in 0..=slots {
            let at = if step < slots - empty { empty + step } else { step - (slots - empty) };
            let slot = self.read(bytes, at);
            homes += u64::from(slot.is_occupied());
            if slot.is_empty() {
                if slot.remainder() != 0 {
                    return error("an empty slot has a remainder", at);
                }
                if homes != 0 {
                    return error("an occupied home has no run", at);
                }
            } else if slot.is_continuation() {
                if previous.is_empty() {
                    return error("a continuation follows an empty slot", at);
                }
                if !slot.is_shifted() {
                    return error("a continuation is not shifted", at);
                }
                if slot.remainder() < previous.remainder() {
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
                    if self.read(bytes, home_cursor).is_occupied() {
                        break;
                    }
                }
                if slot.is_shifted() == (home_cursor == at) {
                    return error("the shifted bit contradicts the home of its run", at);
                }
                records += 1;
            }
            previous = slot;
        }
        Ok(records)
    }

    /// Bits behind the last slot are zero, so that equal filters have equal bytes.
    fn check_padding(&self, bytes: &[u8]) -> Result<(), InvariantError> {
        let used = self.payload_bits();
        for (at, &byte) in (0_u64..).zip(bytes).skip(usize::try_from(used / 8).unwrap_or(usize::MAX)) {
            let padding = if at == used / 8 { byte >> (used % 8) } else { byte };
            if padding != 0 {
                return Err(InvariantError { what: "a padding bit is set", at });
            }
        }
        Ok(())
    }
}
