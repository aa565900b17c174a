//! The traits that a counting filter implements.

use alloc::vec;
use alloc::vec::Vec;

use amq::{
    Amq, Count, Digest, Histogram, Insert, InsertError, MergeError, Remove, Space, Stats, Union,
    assert_same_length,
};
use amq_bits::{Store, StoreMut};

use super::counters::Counters;
use super::{CountingFilter, probing};
use crate::layout::Places;

impl<P: Places, const BITS: u32, S: Store> Amq for CountingFilter<P, BITS, S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        probing::contains::<P, BITS>(self.table.bytes(), self.layout, digest)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        probing::contains_batch::<P, BITS>(self.table.bytes(), self.layout, digests, answers);
    }

    /// Inserts less removals.
    fn len(&self) -> Option<u64> {
        self.records
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    /// As that of a filter of bits whose set bits are the counters that are not 0. Linear in the table.
    fn expected_fpr(&self) -> Option<f64> {
        Some(self.layout.expected_fpr(|range| self.occupied_in(range)))
    }
}

impl<P: Places, const BITS: u32, S: StoreMut> Insert for CountingFilter<P, BITS, S> {
    /// Counts up to k counters, those that are not stuck, by one. Never fails.
    #[inline]
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        probing::insert::<P, BITS>(self.table.bytes_mut(), self.layout, digest);
        self.records = self.records.map(|records| records.saturating_add(1));
        Ok(())
    }

    /// Never fails.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        probing::insert_batch::<P, BITS>(self.table.bytes_mut(), self.layout, digests);
        self.records = self.records.map(|records| records.saturating_add(digests.len() as u64));
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<P: Places, const BITS: u32, S: StoreMut> Remove for CountingFilter<P, BITS, S> {
    /// Counts the key's counters, those that are not stuck, down by one; `false`, and nothing changed, if one of them is 0 or
    /// the filter is known to be empty.
    #[inline]
    fn remove(&mut self, digest: Digest) -> bool {
        let limit = self.records.unwrap_or(u64::MAX);
        let removed = limit > 0 && probing::remove::<P, BITS>(self.table.bytes_mut(), self.layout, digest);
        self.records = self.records.map(|records| records - u64::from(removed));
        removed
    }

    fn remove_batch(&mut self, digests: &[Digest]) -> u64 {
        let limit = self.records.unwrap_or(u64::MAX);
        let removed = probing::remove_batch::<P, BITS>(self.table.bytes_mut(), self.layout, digests, limit);
        // Not below 0: at most `limit` were removed.
        self.records = self.records.map(|records| records - removed);
        removed
    }
}

impl<P: Places, const BITS: u32, S: Store> Count for CountingFilter<P, BITS, S> {
    /// The smallest of the key's counters: at least the number of times that the key is in, as long as that is below the largest number that
    /// a counter holds and no key was removed that had not been inserted; the largest number means that or more.
    fn count(&self, digest: Digest) -> u64 {
        probing::smallest::<P, BITS>(self.table.bytes(), self.layout, digest).into()
    }
}

impl<P: Places, const BITS: u32, S: Store> Stats for CountingFilter<P, BITS, S> {
    /// "counter value": how many counters have each value from 0 to the largest; those are stuck.
    fn histograms(&self) -> Vec<Histogram> {
        let mut counts = vec![0_u64; usize::from(Counters::<BITS>::STUCK) + 1];
        for i in 0..self.layout.m() {
            counts[usize::from(Counters::<BITS>::get(self.table.bytes(), i))] += 1;
        }
        vec![Histogram { name: "counter value", counts }]
    }
}

impl<P: Places, const BITS: u32> Union for CountingFilter<P, BITS> {
    /// The sum of the two multisets: counters are added, and stick at the largest number. A key of both has to be removed twice; removals
    /// stay as safe as they were. (The larger of two counters would be smaller, and wrong: two keys that share a counter, one in
    /// each operand, would be one there, and removing the one would forget the other.)
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, &other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte = Counters::<BITS>::add_byte(*byte, other);
        }
        let records = self.records.zip(other.records).map(|(left, right)| left.saturating_add(right));
        Ok(Self { table, records, ..*self })
    }
}
