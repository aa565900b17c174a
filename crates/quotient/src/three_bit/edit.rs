//! Inserting and removing one record: what moves, and how far.

use super::decode::Found;
use super::{Slot, ThreeBit};

impl ThreeBit {
    /// Adds a record behind all that are not larger in its run. Some slot other than the one to be filled is empty.
    ///
    /// Linear in the stretch of full slots around the home: everything from the record's place to the next empty slot moves by
    /// one. Returns how many did.
    pub(super) fn insert_record(&self, bytes: &mut [u8], quotient: u64, remainder: u64) -> u64 {
        let home = self.read(bytes, quotient);
        if home.is_empty() {
            self.write(bytes, quotient, Slot::record(remainder, Slot::OCCUPIED));
            return 0;
        }
        let start = self.run_start(bytes, quotient, home);
        let mut at = start;
        let mut state = 0;
        if home.is_occupied() {
            let mut slot = self.read(bytes, at);
            while slot.remainder() <= remainder {
                // The record goes behind one of its run.
                state = Slot::CONTINUATION;
                at = self.after(at);
                slot = self.read(bytes, at);
                if !slot.is_continuation() {
                    break;
                }
            }
        } else {
            // What is stored here is at home elsewhere, so the new run starts further right: `at` is another slot.
            self.write(bytes, quotient, home.with(Slot::OCCUPIED));
        }
        if at != quotient {
            state |= Slot::SHIFTED;
        }
        // A new first record makes the old first one a continuation.
        let demote = if home.is_occupied() && at == start { Slot::CONTINUATION } else { 0 };
        self.push_right(bytes, at, Slot::record(remainder, state), demote)
    }

    /// Puts `record` into slot `at` and what was there one to the right, with `first_state` added, and so on up to an empty slot.
    /// O stays where it is. Returns how many records moved.
    fn push_right(&self, bytes: &mut [u8], mut at: u64, mut record: Slot, mut first_state: u64) -> u64 {
        let mut moved = 0;
        loop {
            let slot = self.read(bytes, at);
            self.write(bytes, at, slot.holding(record));
            if slot.is_empty() {
                return moved;
            }
            moved += 1;
            record = slot.with(Slot::SHIFTED | first_state);
            first_state = 0;
            at = self.after(at);
        }
    }

    /// Takes one record of a fingerprint out; `false` if there is none.
    ///
    /// Linear in the cluster: everything right of it moves left by one, up to an empty slot or a record that is at home.
    pub(super) fn remove_record(&self, bytes: &mut [u8], quotient: u64, remainder: u64) -> bool {
        let Some(Found { start, at: found }) = self.find(bytes, quotient, remainder) else { return false };
        let mut at = found;
        let mut next = self.after(at);
        let mut following = self.read(bytes, next);
        if at == start && !following.is_continuation() {
            // It was the only one of its run.
            let home = self.read(bytes, quotient);
            self.write(bytes, quotient, home.without(Slot::OCCUPIED));
        }
        // Read only now: it may be the slot whose O has just gone.
        let mut vacated = self.read(bytes, at);
        let mut home = quotient;
        while following.is_shifted() {
            let mut record = following;
            if !following.is_continuation() {
                // The next run moves left and may come home.
                home = self.next_home(bytes, home);
                if at == home {
                    record = record.without(Slot::SHIFTED);
                }
            } else if at == start {
                // The second record of the run becomes the first.
                record = record.without(Slot::CONTINUATION);
                if at == quotient {
                    record = record.without(Slot::SHIFTED);
                }
            }
            self.write(bytes, at, vacated.holding(record));
            vacated = following;
            at = next;
            next = self.after(at);
            following = self.read(bytes, next);
        }
        // Nobody is at home in the last slot. If it were the home of a run, this run would start right of it, shifted, and would
        // have moved; or it would be the run whose only record has gone, and then O has gone too.
        debug_assert!(!vacated.is_occupied(), "slot {at} is a home and is to be emptied");
        self.write(bytes, at, Slot::EMPTY);
        true
    }
}
