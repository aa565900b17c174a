//! Inserting and removing one record: what moves, and how far.

use amq_bits::line::{LINE, Lines, move_down, move_up};
use amq_bits::word::low_mask;

use super::ThreeBit;
use super::block::{Place, State};
use super::find::Home;

/// What moves of a slot: all but O. A moved record is not at home, unless something else says so.
#[derive(Clone, Copy)]
struct Record {
    remainder: u64,
    /// C and S, 0 or 1 each.
    continuation: u64,
    shifted: u64,
}

/// The slots `from .. to` of a block.
#[inline]
fn slots(from: u32, to: u32) -> u64 {
    low_mask(to) & !low_mask(from)
}

impl ThreeBit {
    /// Adds a record behind all that are not larger in its run. Some slot other than the one to be filled is empty.
    ///
    /// Linear in the stretch of full slots around the home: everything from the record's place to the next empty slot moves by
    /// one. Returns how many did.
    #[inline(always)]
    pub(super) fn insert_record<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> u64 {
        let Place { block, slot } = home.place;
        let mut state = self.state(bytes, block);
        let is_occupied = (state.occupied >> slot) & 1 == 1;
        let is_empty = (state.used() >> slot) & 1 == 0;
        if !is_occupied {
            state.occupied |= 1 << slot;
            self.set_state(bytes, block, state);
        }
        if is_empty {
            self.set_remainder(bytes, home.place, home.remainder);
            return 0;
        }
        // What is stored in the home of a run to be made is at home elsewhere, so the new run starts further right.
        let start = self.run_start(lines, bytes, home.place, state);
        let mut at = start;
        if is_occupied {
            while self.remainder_at(bytes, at) <= home.remainder {
                at = self.next(at);
                if !self.is_continuation(bytes, at) {
                    break;
                }
            }
        }
        let record = Record {
            remainder: home.remainder,
            continuation: u64::from(at != start),
            shifted: u64::from(at != home.place),
        };
        // A new first record makes the old first one a continuation.
        self.push_right(lines, bytes, at, record, u64::from(is_occupied && at == start))
    }

    /// Puts a record into slot `at` and what was there, with `demoted` added to its C, one to the right, and so on up to an empty
    /// slot. O stays where it is. Returns how many records moved.
    #[inline(always)]
    fn push_right<L: Lines>(
        &self,
        lines: L,
        bytes: &mut [u8],
        at: Place,
        mut record: Record,
        mut demoted: u64,
    ) -> u64 {
        let Place { mut block, mut slot } = at;
        let mut moved = 0;
        loop {
            let State { occupied, mut continuation, mut shifted } = self.state(bytes, block);
            continuation |= demoted << slot;
            let last = self.size(block) - 1;
            let empty = !(occupied | continuation | shifted) & slots(slot, last + 1);
            let has_room = empty != 0;
            // The slot that takes the last record, or whose record has to go to the next block.
            let end = if has_room { empty.trailing_zeros() } else { last };
            let pushed_out = Record {
                remainder: self.remainder_at(bytes, Place { block, slot: end }),
                continuation: (continuation >> end) & 1,
                shifted: 1,
            };
            let (to, from) = (slots(slot, end + 1), slots(slot, end));
            continuation = continuation & !to | (continuation & from) << 1 | record.continuation << slot;
            shifted = shifted & !to | from << 1 | record.shifted << slot;
            self.set_state(bytes, block, State { occupied, continuation, shifted });
            self.move_up(lines, bytes, block, slot, end);
            self.set_remainder(bytes, Place { block, slot }, record.remainder);
            moved += u64::from(end - slot);
            if has_room {
                return moved;
            }
            moved += 1;
            (record, demoted) = (pushed_out, 0);
            (block, slot) = (self.after(block), 0);
        }
    }

    /// Moves the remainders in the slots `from .. to` of a block one slot up.
    #[inline(always)]
    fn move_up<L: Lines>(&self, lines: L, bytes: &mut [u8], block: u64, from: u32, to: u32) {
        let r = self.geometry.r();
        let remainders = self.remainders(bytes, block);
        // r = 8.
        if let Ok(line) = <&mut [u8; LINE]>::try_from(&mut *remainders) {
            lines.move_up(line, from * r, to * r, r);
        } else {
            move_up(remainders, from * r, to * r, r);
        }
    }

    /// Moves the remainders in the slots `from + 1 .. to + 1` of a block one slot down.
    #[inline(always)]
    fn move_down<L: Lines>(&self, lines: L, bytes: &mut [u8], block: u64, from: u32, to: u32) {
        let r = self.geometry.r();
        let remainders = self.remainders(bytes, block);
        // r = 8.
        if let Ok(line) = <&mut [u8; LINE]>::try_from(&mut *remainders) {
            lines.move_down(line, from * r, to * r, r);
        } else {
            move_down(remainders, from * r, to * r, r);
        }
    }

    /// Takes one record of a fingerprint out; `false` if there is none.
    ///
    /// Linear in the cluster: everything right of it moves left by one, up to an empty slot or a record that is at home.
    #[inline(always)]
    pub(super) fn remove_record<L: Lines>(&self, lines: L, bytes: &mut [u8], home: Home) -> bool {
        let state = self.state(bytes, home.place.block);
        if (state.occupied >> home.place.slot) & 1 == 0 {
            return false;
        }
        let start = self.run_start(lines, bytes, home.place, state);
        let Some((at, true)) = self.first_at_least(bytes, start, home.remainder) else { return false };
        let end = self.bring_home(bytes, self.next(at), home.place);
        if at == start {
            self.leave_first(bytes, at, home.place);
        }
        self.pull_left(lines, bytes, at, end);
        true
    }

    /// The first record of a run is about to go: the second becomes the first or, if there is none, the home is none any more.
    fn leave_first(&self, bytes: &mut [u8], first: Place, home: Place) {
        let second = self.next(first);
        if !self.is_continuation(bytes, second) {
            let mut state = self.state(bytes, home.block);
            state.occupied &= !(1 << home.slot);
            self.set_state(bytes, home.block, state);
            return;
        }
        let mut state = self.state(bytes, second.block);
        state.continuation &= !(1 << second.slot);
        if first == home {
            state.shifted &= !(1 << second.slot);
        }
        self.set_state(bytes, second.block, state);
    }

    /// The records from a slot on are about to move left by one, up to the first that is at home or an empty slot, which is returned:
    /// those that thereby come home lose their S. `home` is that of the record in front of them.
    fn bring_home(&self, bytes: &mut [u8], from: Place, mut home: Place) -> Place {
        let Place { mut block, mut slot } = from;
        loop {
            let mut state = self.state(bytes, block);
            let size = self.size(block);
            let end = (slot + (state.shifted >> slot).trailing_ones()).min(size);
            let mut starts = !state.continuation & slots(slot, end);
            let before = state.shifted;
            while starts != 0 {
                let start = starts.trailing_zeros();
                starts &= starts - 1;
                // Runs follow each other as their homes do.
                home = self.next_home(bytes, home);
                if home == self.previous(Place { block, slot: start }) {
                    state.shifted &= !(1 << start);
                }
            }
            if state.shifted != before {
                self.set_state(bytes, block, state);
            }
            if end < size {
                return Place { block, slot: end };
            }
            (block, slot) = (self.after(block), 0);
        }
    }

    /// Moves what is stored behind `at` and before `end` left by one, over what is in `at`, and empties the last slot.
    #[inline(always)]
    fn pull_left<L: Lines>(&self, lines: L, bytes: &mut [u8], at: Place, end: Place) {
        let Place { mut block, mut slot } = at;
        loop {
            let State { occupied, continuation, shifted } = self.state(bytes, block);
            let ends_here = block == end.block && slot < end.slot;
            let last = if ends_here { end.slot } else { self.size(block) } - 1;
            let behind = Place { block: self.after(block), slot: 0 };
            let is_done = ends_here || behind == end;
            let pulled_in = if is_done {
                Record { remainder: 0, continuation: 0, shifted: 0 }
            } else {
                let next = self.state(bytes, behind.block);
                Record {
                    remainder: self.remainder_at(bytes, behind),
                    continuation: next.continuation & 1,
                    shifted: next.shifted & 1,
                }
            };
            let (old, kept) = (slots(slot, last + 1), slots(slot, last));
            let pull = |word: u64, bit: u64| word & !old | (word >> 1) & kept | bit << last;
            let state = State {
                occupied,
                continuation: pull(continuation, pulled_in.continuation),
                shifted: pull(shifted, pulled_in.shifted),
            };
            self.set_state(bytes, block, state);
            self.move_down(lines, bytes, block, slot, last);
            self.set_remainder(bytes, Place { block, slot: last }, pulled_in.remainder);
            if is_done {
                // If the last slot were the home of a run, this run would start right of it, and would have moved; or it would be the run whose
                // only record has gone, and then O has gone too.
                debug_assert_eq!(
                    state.used() >> last & 1,
                    0,
                    "slot {last} of block {block} is a home and is to be emptied"
                );
                return;
            }
            (block, slot) = (behind.block, 0);
        }
    }
}
