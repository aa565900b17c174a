//! Writing a whole table from its sorted fingerprints.

use alloc::collections::VecDeque;

use super::{Slot, ThreeBit};
use crate::layout::OutOfMemory;

impl ThreeBit {
    /// Writes records in ascending order into a table of zeros: each at home or, if that is taken, behind the one before.
    ///
    /// What reaches beyond the last slot is kept back and goes to the slots from 0 on, in front of what is there: these records
    /// are shifted along like a queue. That cannot come round again, since some slot stays empty.
    pub(super) fn load_sorted(
        &self,
        bytes: &mut [u8],
        sorted: impl Iterator<Item = (u64, u64)>,
    ) -> Result<(), OutOfMemory> {
        let slots = self.geometry.slots();
        let mut wrapped = VecDeque::new();
        let mut next = 0;
        let mut last_home = None;
        for (fingerprint, multiplicity) in sorted {
            let (home, remainder) = self.geometry.parts(fingerprint);
            let mut state = Slot::CONTINUATION;
            if last_home != Some(home) {
                last_home = Some(home);
                next = next.max(home);
                state = 0;
                let slot = self.read(bytes, home);
                self.write(bytes, home, slot.with(Slot::OCCUPIED));
            }
            for _ in 0..multiplicity {
                if next != home {
                    state |= Slot::SHIFTED;
                }
                let record = Slot::record(remainder, state);
                if next < slots {
                    let slot = self.read(bytes, next);
                    self.write(bytes, next, slot.holding(record));
                } else {
                    keep_back(&mut wrapped, record)?;
                }
                next += 1;
                state = Slot::CONTINUATION;
            }
        }
        let mut at = 0;
        while let Some(record) = wrapped.pop_front() {
            let slot = self.read(bytes, at);
            self.write(bytes, at, slot.holding(record));
            if !slot.is_empty() {
                // In the place of the one taken out: needs no memory.
                wrapped.push_back(slot.with(Slot::SHIFTED));
            }
            at = self.after(at);
        }
        Ok(())
    }
}

fn keep_back(wrapped: &mut VecDeque<Slot>, record: Slot) -> Result<(), OutOfMemory> {
    wrapped.try_reserve(1).map_err(|_| OutOfMemory {
        bytes: (wrapped.len() as u64 + 1).saturating_mul(size_of::<Slot>() as u64),
    })?;
    wrapped.push_back(record);
    Ok(())
}
