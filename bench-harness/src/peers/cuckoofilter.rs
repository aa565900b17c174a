//! [cuckoofilter](https://docs.rs/cuckoofilter): buckets of four 8-bit fingerprints, digests as keys under
//! the crate's default hasher.
//!
//! - The slots are a power of two. For a rate it gets the smallest table that is at most 94 % full and whose
//!   rate at its load is low enough, down to a load of 1/8: with 8 bits and no other width, room is the only
//!   way to a lower rate. For a shape it gets, of the tables with a slot for each key, the one whose load is
//!   nearest to the asked, by ratio.
//! - Asked for a capacity of exactly a power of two, the crate makes as many slots and cannot fill them; the
//!   plan doubles them.
//! - **Known defects**, left as they are: an insertion that is refused has moved other fingerprints, stored
//!   its own, and *lost another key's*, so that neither [`Insert::insert`] nor [`Insert::insert_batch`] leave
//!   the filter as it was. A build that meets a refusal is therefore an error, never a filter. Each lookup
//!   hashes twice with SipHash-1-3.
//! - Displacements are drawn from the thread's random generator: two builds differ, and close to the limit
//!   one may fail where another succeeds.
//! - Bucket numbers have 32 bits, so plans end at 2^32 buckets.

use core::fmt;
use std::collections::hash_map::DefaultHasher;

use amq::theory::cuckoo;
use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, InvariantError, Kind, Plan, Remove, Space, Spec,
    SpecError, Target, capabilities,
};
use cuckoofilter::CuckooFilter;

use super::shared;

/// Slots of a bucket.
const BUCKET_SLOTS: u32 = 4;

/// The fingerprint's 8 bits less the 3 that two buckets of four cost.
const R: u32 = 5;

/// Below this load a larger table is no longer offered.
const LOWEST_LOAD: f64 = 0.125;

/// One over the probability that two fingerprints agree: of 256 values one marks an empty slot, and what
/// would be it becomes its neighbour, which is twice as frequent as the other 254.
const VALUES: f64 = 256.0 * 256.0 / (254.0 + 4.0);

/// The most slots: 2^32 buckets.
const MOST_SLOTS: u64 = 1 << 34;

/// A cuckoo filter of cuckoofilter: see the [module](self).
pub struct Cuckoofilter {
    filter: CuckooFilter<DefaultHasher>,
    slots: u64,
}

impl fmt::Debug for Cuckoofilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("cuckoofilter")
            .field("slots", &self.slots)
            .field("len", &self.filter.len())
            .finish_non_exhaustive()
    }
}

fn rate(n: u64, slots: u64) -> f64 {
    cuckoo::fpr(shared::load(n, slots), BUCKET_SLOTS, VALUES)
}

/// The smallest table that inserting fills without a refusal.
fn smallest_slots(n: u64) -> Option<u64> {
    let mut slots = u64::from(BUCKET_SLOTS);
    while shared::load(n, slots) > cuckoo::SAFE_LOAD_4 {
        slots = slots.checked_mul(2)?;
    }
    Some(slots)
}

fn slots(spec: &Spec) -> Result<u64, SpecError> {
    let n = spec.capacity();
    let too_large = SpecError::TooLarge { capacity: n };
    let target = spec.checked_target()?;
    let smallest = smallest_slots(n).ok_or(too_large)?;
    let slots = match target {
        Target::Fpr(fpr) => {
            let mut slots = smallest;
            while rate(n, slots) > fpr {
                let larger = slots.checked_mul(2).ok_or(too_large)?;
                if shared::load(n, larger) < LOWEST_LOAD {
                    return Err(SpecError::FprTooLow { fpr, lowest: rate(n, slots) });
                }
                slots = larger;
            }
            slots
        }
        Target::Shape { alpha, r } => {
            if r != R {
                return Err(SpecError::Remainder { r, lowest: R, highest: R });
            }
            let lowest = n.max(BUCKET_SLOTS.into()).checked_next_power_of_two().ok_or(too_large)?;
            shared::nearest_power_of_two(n as f64 / alpha, lowest).ok_or(too_large)?
        }
        Target::BitsPerKey(bits) => {
            let bits_with = |slots: u64| slots as f64 * 8.0 / n.max(1) as f64;
            if bits_with(smallest) > bits {
                let lowest = bits_with(smallest);
                return Err(SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY });
            }
            let mut slots = smallest;
            while slots < MOST_SLOTS && bits_with(slots * 2) <= bits {
                slots *= 2;
            }
            slots
        }
    };
    if slots > MOST_SLOTS { Err(too_large) } else { Ok(slots) }
}

impl Amq for Cuckoofilter {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains(&digest.get())
    }

    fn len(&self) -> Option<u64> {
        Some(self.filter.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = (self.filter.memory_usage() - size_of_val(&self.filter)) as u64;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    /// Unknown: the crate does not show which buckets are how full. The plan has the mean over tables of one
    /// load.
    fn expected_fpr(&self) -> Option<f64> {
        None
    }
}

impl Family for Cuckoofilter {
    const NAME: &'static str = "cuckoofilter";
    const TITLE: &'static str = "cuckoofilter";
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = (R, R);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        let slots = slots(spec)?;
        Ok(Plan {
            capacity,
            slots,
            alpha: shared::load(capacity, slots),
            r: R,
            k: Some(2),
            table_bytes: shared::addressable(capacity, Some(slots))?,
            fpr: rate(capacity, slots),
        })
    }

    /// One insertion a digest; [`BuildError::Full`] if one is refused.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let plan = Self::plan(spec)?;
        shared::check_memory(plan.table_bytes)?;
        let slots =
            usize::try_from(plan.slots).map_err(|_| SpecError::TooLarge { capacity: plan.capacity })?;
        let mut filter = Self { filter: CuckooFilter::with_capacity(slots), slots: plan.slots };
        for &digest in digests {
            filter.insert(digest).map_err(|_| BuildError::Full {
                records: digests.len() as u64,
                limit: filter.filter.len() as u64,
            })?;
        }
        Ok(filter)
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

impl Insert for Cuckoofilter {
    /// A refusal loses a key: see the [module](self).
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.filter.add(&digest.get()).map_err(|_| InsertError::Full {
            records: 1,
            len: self.filter.len() as u64,
            limit: self.slots,
        })
    }

    /// Ends at the first refusal, with the digests before it inserted, and a key lost: see the
    /// [module](self).
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        digests.iter().try_for_each(|&digest| self.insert(digest))
    }

    /// None is certain: a few keys with equal buckets are refused at any load.
    fn remaining(&self) -> Option<u64> {
        Some(0)
    }
}

impl Remove for Cuckoofilter {
    fn remove(&mut self, digest: Digest) -> bool {
        self.filter.delete(&digest.get())
    }
}

capabilities!(Cuckoofilter: Insert, Remove);
