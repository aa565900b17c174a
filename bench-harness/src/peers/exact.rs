//! The exact baselines over digests: what a filter has to beat.
//!
//! Exact for digests; two keys with one digest still look alike, so the rate is n/2^64. A rate is met if that
//! is not above it, a shape if its r is 64, whatever its load.

use core::hash::{BuildHasherDefault, Hasher};

use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, InvariantError, Kind, Plan, Remove, Space, Spec,
    SpecError, capabilities,
};

use super::shared;

/// The bits of a stored digest.
const R: u32 = 64;

/// n/2^64.
fn rate(n: u64) -> f64 {
    n as f64 / 18_446_744_073_709_551_616.0
}

fn plan(spec: &Spec, slots: u64, table_bytes: Option<u64>) -> Result<Plan, SpecError> {
    let capacity = spec.capacity();
    shared::without_choice(
        spec,
        Plan {
            capacity,
            slots,
            alpha: shared::load(capacity, slots),
            r: R,
            k: None,
            table_bytes: shared::addressable(capacity, table_bytes)?,
            fpr: rate(capacity),
        },
    )
}

/// Returns the digest, which is a hash already: the top bits and the low bits of it, which the table uses,
/// are independent.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    /// Only digests are stored, and they arrive as one integer; bytes are folded in so that any key would
    /// still work.
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
}

/// The hash set of `hashbrown`, which is also that of the standard library, under a hasher that returns the
/// digest.
///
/// hashbrown, because it tells the size of its allocation: 8 bytes of digest and one of tag for each of a
/// power of two of buckets, at most 7/8 of them full. It grows beyond its capacity, by doubling.
#[derive(Debug)]
pub struct HashSet {
    set: hashbrown::HashSet<u64, BuildHasherDefault<DigestHasher>>,
}

/// Tags that the table compares at once, and repeats behind its end.
const GROUP: u64 = if cfg!(target_feature = "sse2") { 16 } else { 8 };

/// The buckets for `n` digests.
fn buckets(n: u64) -> Option<u64> {
    match n {
        0 => Some(0),
        1..4 => Some(4),
        4..8 => Some(8),
        8..15 => Some(16),
        _ => (n.checked_mul(8)? / 7).checked_next_power_of_two(),
    }
}

fn bucket_bytes(buckets: u64) -> Option<u64> {
    if buckets == 0 { Some(0) } else { buckets.checked_mul(9)?.checked_add(GROUP) }
}

impl Amq for HashSet {
    fn contains(&self, digest: Digest) -> bool {
        self.set.contains(&digest.get())
    }

    fn len(&self) -> Option<u64> {
        Some(self.set.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = self.set.allocation_size() as u64;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    fn expected_fpr(&self) -> Option<f64> {
        Some(rate(self.set.len() as u64))
    }
}

impl Family for HashSet {
    const NAME: &'static str = "hash-set";
    const TITLE: &'static str = "hash set of digests";
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = (R, R);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        spec.checked_target()?;
        let too_large = SpecError::TooLarge { capacity: spec.capacity() };
        let buckets = buckets(spec.capacity()).ok_or(too_large)?;
        plan(spec, buckets, bucket_bytes(buckets))
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let plan = Self::plan(spec)?;
        let capacity =
            usize::try_from(plan.capacity).map_err(|_| SpecError::TooLarge { capacity: plan.capacity })?;
        let mut set = hashbrown::HashSet::default();
        set.try_reserve(capacity).map_err(|_| BuildError::OutOfMemory { bytes: plan.table_bytes })?;
        set.extend(digests.iter().map(|digest| digest.get()));
        Ok(Self { set })
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

impl Insert for HashSet {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.set.insert(digest.get());
        Ok(())
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        for digest in digests {
            self.set.insert(digest.get());
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl Remove for HashSet {
    fn remove(&mut self, digest: Digest) -> bool {
        self.set.remove(&digest.get())
    }
}

capabilities!(HashSet: Insert, Remove);

/// The distinct digests in ascending order, looked up by the standard library's binary search.
#[derive(Debug)]
pub struct SortedArray {
    digests: Box<[Digest]>,
}

impl Amq for SortedArray {
    fn contains(&self, digest: Digest) -> bool {
        self.digests.binary_search(&digest).is_ok()
    }

    fn len(&self) -> Option<u64> {
        Some(self.digests.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = size_of_val(&*self.digests) as u64;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    fn expected_fpr(&self) -> Option<f64> {
        Some(rate(self.digests.len() as u64))
    }
}

impl Family for SortedArray {
    const NAME: &'static str = "sorted-array";
    const TITLE: &'static str = "sorted array of digests";
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = (R, R);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        spec.checked_target()?;
        plan(spec, spec.capacity(), spec.capacity().checked_mul(8))
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Self::plan(spec)?;
        Ok(Self { digests: shared::distinct(digests)?.into_boxed_slice() })
    }

    fn check_invariants(&self) -> Result<(), InvariantError> {
        match self.digests.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(at) => Err(InvariantError { what: "digests are not in ascending order", at: at as u64 }),
            None => Ok(()),
        }
    }
}

capabilities!(SortedArray:);
