//! Reading: where a run starts, what a slot holds, everything in order.
//!
//! The homes of a cluster, from left to right, are its slots with O; its runs, from left to right, start at its records
//! without C. The k-th run belongs to the k-th home. So two cursors decode everything: one over homes, one over records.

use core::iter::FusedIterator;

use super::{Slot, ThreeBit};

impl ThreeBit {
    /// Where the run of `quotient` starts; where it would start if it has none. `home` is what the slot `quotient` holds, and it
    /// is not empty.
    ///
    /// To the left up to the start of the cluster, counting the homes there; then to the right over as many runs. Both ways
    /// end: some slot is empty, and the record behind it is not shifted.
    #[inline]
    pub(super) fn run_start(&self, bytes: &[u8], quotient: u64, home: Slot) -> u64 {
        let mut at = quotient;
        let mut slot = home;
        let mut runs = 0_u64;
        while slot.is_shifted() {
            at = self.before(at);
            slot = self.read(bytes, at);
            runs += u64::from(slot.is_occupied());
        }
        while runs > 0 {
            at = self.after(at);
            runs -= u64::from(!self.read(bytes, at).is_continuation());
        }
        at
    }

    /// The run of `quotient` and the first record in it with this remainder.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8], quotient: u64, remainder: u64) -> Option<Found> {
        let home = self.read(bytes, quotient);
        if !home.is_occupied() {
            return None;
        }
        let start = self.run_start(bytes, quotient, home);
        let mut at = start;
        let mut slot = self.read(bytes, at);
        loop {
            // Runs are sorted: a larger remainder ends the search.
            if slot.remainder() >= remainder {
                return (slot.remainder() == remainder).then_some(Found { start, at });
            }
            at = self.after(at);
            slot = self.read(bytes, at);
            if !slot.is_continuation() {
                return None;
            }
        }
    }

    /// The number of records of a fingerprint.
    pub(super) fn multiplicity(&self, bytes: &[u8], quotient: u64, remainder: u64) -> u64 {
        let Some(Found { mut at, .. }) = self.find(bytes, quotient, remainder) else { return 0 };
        let mut records = 1;
        loop {
            at = self.after(at);
            let slot = self.read(bytes, at);
            if !slot.is_continuation() || slot.remainder() != remainder {
                return records;
            }
            records += 1;
        }
    }

    /// The next slot with O to the right of `home`, of which there is one.
    #[inline]
    pub(super) fn next_home(&self, bytes: &[u8], home: u64) -> u64 {
        let mut next = self.after(home);
        while !self.read(bytes, next).is_occupied() {
            next = self.after(next);
        }
        next
    }

    /// The home of the record in a slot that is not empty.
    pub(super) fn home(&self, bytes: &[u8], slot: u64) -> u64 {
        let mut at = slot;
        let mut value = self.read(bytes, at);
        let mut later_runs = 0_u64;
        while value.is_shifted() {
            later_runs += u64::from(!value.is_continuation());
            at = self.before(at);
            value = self.read(bytes, at);
        }
        // The first record of a cluster is at home.
        (0..later_runs).fold(at, |home, _| self.next_home(bytes, home))
    }

    /// All fingerprints in order.
    pub(super) fn iterate<'a>(&self, bytes: &'a [u8]) -> Iter<'a> {
        let first = self.read(bytes, 0);
        // Records that wrapped around come last in the order: begin behind them.
        let next = if first.is_shifted() { self.run_start(bytes, 0, first) } else { 0 };
        Iter { layout: *self, bytes, home: 0, next, rest_of_run: None }
    }
}

/// A record, and the run that it is in.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) start: u64,
    pub(super) at: u64,
}

/// (fingerprint, multiplicity), ascending.
#[derive(Clone)]
pub(super) struct Iter<'a> {
    layout: ThreeBit,
    bytes: &'a [u8],
    /// The home cursor: the next slot to look for O in; m at the end.
    home: u64,
    /// The record cursor: counted on beyond m - 1, where it means the slots from 0 on. Below 2m, as less than m is wrapped.
    next: u64,
    /// What is left of a run: the fingerprint with remainder 0 of its home, and the record before the cursor.
    rest_of_run: Option<(u64, Slot)>,
}

impl Iter<'_> {
    fn peek(&self) -> Slot {
        let slots = self.layout.geometry.slots();
        let at = if self.next < slots { self.next } else { self.next - slots };
        self.layout.read(self.bytes, at)
    }

    /// The first record of the next run, and the cursor behind it.
    fn open_run(&mut self) -> Option<(u64, Slot)> {
        loop {
            let home = self.home;
            if home == self.layout.geometry.slots() {
                return None;
            }
            self.home += 1;
            if self.layout.read(self.bytes, home).is_occupied() {
                self.next = self.next.max(home);
                let first = self.peek();
                self.next += 1;
                return Some((self.layout.geometry.join(home, 0), first));
            }
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (base, record) = match self.rest_of_run.take() {
            Some(rest) => rest,
            None => self.open_run()?,
        };
        let mut multiplicity = 1;
        loop {
            let following = self.peek();
            if !following.is_continuation() {
                break;
            }
            self.next += 1;
            if following.remainder() != record.remainder() {
                self.rest_of_run = Some((base, following));
                break;
            }
            multiplicity += 1;
        }
        Some((base | record.remainder(), multiplicity))
    }
}

impl FusedIterator for Iter<'_> {}
