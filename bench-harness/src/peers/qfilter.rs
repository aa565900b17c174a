//! [qfilter](https://docs.rs/qfilter): a rank-select quotient filter, digests as its fingerprints, duplicates
//! kept.
//!
//! - The slots are a power of two, at least 64, and at most 95 % of them are filled. For a rate it gets what
//!   the crate's own constructor takes: the smallest such table, and r = log2(1/ε) rounded up, not less where
//!   the load is low. For a shape it gets r literally, and of the tables that hold the keys the one whose
//!   load is nearest to the asked, by ratio.
//! - The fingerprint is the low bits of the digest.
//! - It does not grow here: the crate doubles a table only under a constructor that sets bits aside for it.
//! - The crate merges, but has no difference, so that it lacks the multiset algebra of this harness.
//! - On x86-64 it needs `popcnt` and BMI2, and panics without.

use core::fmt;

use amq::theory::quotient;
use amq::{
    Amq, BuildError, Count, Digest, Family, Fingerprints, Insert, InsertError, InvariantError, Kind, Plan,
    Remove, Space, Spec, SpecError, Target, capabilities,
};

use super::shared;

/// Slots of one block, the smallest table.
const BLOCK_SLOTS: u64 = 64;

/// The most remainder bits: a fingerprint has 64 bits, and 6 choose a slot of the smallest table.
const MOST_R: u32 = 58;

/// A quotient filter of qfilter: see the [module](self).
pub struct Qfilter {
    filter: qfilter::Filter,
}

impl fmt::Debug for Qfilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("qfilter")
            .field("fingerprint_bits", &self.filter.fingerprint_size())
            .field("len", &self.filter.len())
            .finish_non_exhaustive()
    }
}

/// The most records of so many slots: 95 %, rounded up.
fn most_records(slots: u64) -> Option<u64> {
    Some(slots.checked_mul(19)?.div_ceil(20))
}

/// The smallest table for `n` records.
fn smallest_slots(n: u64) -> Option<u64> {
    let mut slots = BLOCK_SLOTS;
    while most_records(slots)? < n {
        slots = slots.checked_mul(2)?;
    }
    Some(slots)
}

/// Per 64 slots their remainders, two bit vectors and an offset byte; and 8 bytes of padding that a lookup
/// may read.
fn table_bytes(slots: u64, r: u32) -> Option<u64> {
    (slots / BLOCK_SLOTS).checked_mul(17 + 8 * u64::from(r))?.checked_add(8)
}

/// The remainder bits that leave a fingerprint within 64 bits.
fn highest_r(slots: u64) -> u32 {
    64 - slots.trailing_zeros()
}

/// Slots and remainder bits.
fn shape(spec: &Spec) -> Result<(u64, u32), SpecError> {
    let n = spec.capacity();
    let too_large = SpecError::TooLarge { capacity: n };
    let target = spec.checked_target()?;
    let smallest = smallest_slots(n).ok_or(too_large)?;
    match target {
        Target::Fpr(fpr) => {
            let r = (1..=highest_r(smallest)).find(|&r| (-f64::from(r)).exp2() <= fpr);
            let lowest = (-f64::from(highest_r(smallest))).exp2();
            Ok((smallest, r.ok_or(SpecError::FprTooLow { fpr, lowest })?))
        }
        Target::Shape { alpha, r } => {
            let slots = shared::nearest_power_of_two(n as f64 / alpha, smallest).ok_or(too_large)?;
            if !(1..=highest_r(slots)).contains(&r) {
                return Err(SpecError::Remainder { r, lowest: 1, highest: highest_r(slots) });
            }
            Ok((slots, r))
        }
        Target::BitsPerKey(bits) => {
            let bits_with = |r| {
                let bytes = table_bytes(smallest, r).unwrap_or(u64::MAX);
                bytes.saturating_mul(8) as f64 / n.max(1) as f64
            };
            let r = (1..=highest_r(smallest)).rev().find(|&r| bits_with(r) <= bits);
            let lowest = bits_with(1);
            Ok((smallest, r.ok_or(SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY })?))
        }
    }
}

impl Amq for Qfilter {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains_fingerprint(digest.get())
    }

    fn len(&self) -> Option<u64> {
        Some(self.filter.len())
    }

    fn space(&self) -> Space {
        let bytes = self.filter.memory_usage() as u64;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    /// Distinct fingerprints over all that there could be: exact, in one pass over the table.
    fn expected_fpr(&self) -> Option<f64> {
        let mut distinct = 0_u64;
        self.for_each_fingerprint(&mut |_, _| distinct += 1);
        Some(distinct as f64 / self.fingerprint_space() as f64)
    }
}

impl Family for Qfilter {
    const NAME: &'static str = "qfilter";
    const TITLE: &'static str = "qfilter";
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = (1, MOST_R);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        let (slots, r) = shape(spec)?;
        Ok(Plan {
            capacity,
            slots,
            alpha: shared::load(capacity, slots),
            r,
            k: None,
            table_bytes: shared::addressable(capacity, table_bytes(slots, r))?,
            fpr: quotient::fpr(capacity, slots, r),
        })
    }

    /// One insertion a digest.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let plan = Self::plan(spec)?;
        let too_large = SpecError::TooLarge { capacity: plan.capacity };
        let limit = most_records(plan.slots).ok_or(too_large)?;
        let records = digests.len() as u64;
        if records > limit {
            return Err(BuildError::Full { records, limit });
        }
        shared::check_memory(plan.table_bytes)?;
        // 2^-r is a rate for which the crate takes exactly r bits.
        let filter = qfilter::Filter::new(limit, (-f64::from(plan.r)).exp2()).map_err(|_| too_large)?;
        let mut filter = Self { filter };
        for &digest in digests {
            filter.insert(digest).map_err(|_| BuildError::Full { records, limit })?;
        }
        Ok(filter)
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

impl Qfilter {
    fn full(&self, records: u64) -> InsertError {
        InsertError::Full { records, len: self.filter.len(), limit: self.filter.capacity() }
    }
}

impl Insert for Qfilter {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        match self.filter.insert_fingerprint(true, digest.get()) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.full(1)),
        }
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        if digests.len() as u64 > self.filter.capacity() - self.filter.len() {
            return Err(self.full(digests.len() as u64));
        }
        digests.iter().try_for_each(|&digest| self.insert(digest))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.filter.capacity() - self.filter.len())
    }
}

impl Remove for Qfilter {
    fn remove(&mut self, digest: Digest) -> bool {
        self.filter.remove_fingerprint(digest.get())
    }
}

impl Count for Qfilter {
    fn count(&self, digest: Digest) -> u64 {
        self.filter.count_fingerprint(digest.get())
    }
}

impl Fingerprints for Qfilter {
    fn fingerprint_space(&self) -> u128 {
        1 << self.filter.fingerprint_size()
    }

    fn for_each_fingerprint(&self, visit: &mut dyn FnMut(u64, u64)) {
        let mut run: Option<(u64, u64)> = None;
        for fingerprint in self.filter.fingerprints() {
            match &mut run {
                Some((last, multiplicity)) if *last == fingerprint => *multiplicity += 1,
                _ => {
                    if let Some((last, multiplicity)) = run.replace((fingerprint, 1)) {
                        visit(last, multiplicity);
                    }
                }
            }
        }
        if let Some((last, multiplicity)) = run {
            visit(last, multiplicity);
        }
    }
}

capabilities!(Qfilter: Insert, Remove, Count, Fingerprints);
