//! One record more or less: inserting, removing and counting, alone and in batches.

use amq::{Amq, Count, Digest, Insert, InsertError, Remove};
use amq_bits::{Store, StoreMut};

use crate::filter::Records;
use crate::{Filter, Layout};

impl<L: Layout, S: StoreMut> Filter<L, S> {
    /// Adds a record unless there is one of this fingerprint, and says whether it did.
    ///
    /// A key that collides with a member gets no record of its own, so a removal [is no longer
    /// safe](Filter::removal_is_safe) after the first `false`.
    ///
    /// # Errors
    /// If the fingerprint is new and the table full; the filter is then byte for byte as it was.
    pub fn insert_unique(&mut self, digest: Digest) -> Result<bool, InsertError> {
        if self.contains(digest) {
            self.header.records = Records::Shared;
            return Ok(false);
        }
        self.insert(digest)?;
        Ok(true)
    }

    /// Takes all records out. The geometry and the seed stay, and [removals are safe](Filter::removal_is_safe) again.
    pub fn clear(&mut self) {
        self.table.bytes_mut().fill(0);
        self.header.len = 0;
        self.header.records = Records::OnePerInsertion;
        self.moved = 0;
    }

    /// Refuses `records` more if they would fill the last empty slot.
    fn check_room(&self, records: u64) -> Result<(), InsertError> {
        let (len, limit) = (self.header.len, self.geometry().highest_records());
        if records > limit - len { Err(InsertError::Full { records, len, limit }) } else { Ok(()) }
    }
}

/// Duplicates are kept: a digest inserted twice has two records.
///
/// The cost of an insertion is linear in the stretch of full slots around the home (of 2 to 31 slots in the mean over stretches at loads of
/// .5 to .95; the one that an insertion meets is about ten times as long at .95), and in the length of the run: n insertions of one digest
/// cost about n²/2 steps. Where keys repeat often, insert them once
/// or build from all of them.
impl<L: Layout, S: StoreMut> Insert for Filter<L, S> {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.check_room(1)?;
        self.moved = self.header.layout.insert(self.table.bytes_mut(), digest);
        self.header.len += 1;
        Ok(())
    }

    /// Looks ahead and prefetches where the table is larger than a second-level cache.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        self.check_room(digests.len() as u64)?;
        if !digests.is_empty() {
            self.moved = self.header.layout.insert_batch(self.table.bytes_mut(), digests);
            self.header.len += digests.len() as u64;
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.geometry().highest_records() - self.header.len)
    }
}

/// Takes one record of the fingerprint, if there is one. Removing a key that was never inserted but collides with a member takes
/// the member's record. See also [`removal_is_safe`](Filter::removal_is_safe).
impl<L: Layout, S: StoreMut> Remove for Filter<L, S> {
    fn remove(&mut self, digest: Digest) -> bool {
        let removed = self.header.layout.remove(self.table.bytes_mut(), digest);
        self.header.len -= u64::from(removed);
        removed
    }

    /// Looks ahead and prefetches where the table is larger than a second-level cache.
    fn remove_batch(&mut self, digests: &[Digest]) -> u64 {
        let removed = self.header.layout.remove_batch(self.table.bytes_mut(), digests);
        self.header.len -= removed;
        removed
    }
}

impl<L: Layout, S: Store> Count for Filter<L, S> {
    /// The records of this digest's fingerprint, exactly.
    fn count(&self, digest: Digest) -> u64 {
        self.header.layout.count(self.table.bytes(), digest)
    }
}

impl<L: Layout, S: Store> Filter<L, S> {
    /// Writes `count(digests[i])` to `counts[i]`. Looks ahead and prefetches where the table is larger than a second-level cache.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn count_batch(&self, digests: &[Digest], counts: &mut [u64]) {
        assert_eq!(digests.len(), counts.len(), "one count for each digest");
        self.header.layout.count_batch(self.table.bytes(), digests, counts);
    }
}
