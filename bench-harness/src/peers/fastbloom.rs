//! [fastbloom](https://docs.rs/fastbloom): a Bloom filter whose k positions derive from one 64-bit hash.
//!
//! It gets the m and k of our own Bloom filter, m rounded up to whole 64-bit words as the crate requires, so
//! that the two differ in nothing but their code. Two peers: one hands over the digest as the hash
//! ([`ByHash`], the comparison of filters), one lets the crate hash the digest with its default, SipHash-1-3,
//! seeded with the spec's seed ([`ByKey`], what a caller who changes nothing gets).

use core::fmt;
use core::marker::PhantomData;

use amq::theory::bloom;
use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, Intersect, InvariantError, Kind, MergeError, Plan,
    Space, Spec, SpecError, Union, capabilities,
};
use fastbloom::BloomFilter;

use super::shared;

/// How a digest enters the filter.
pub trait Interface: Send + Sync + 'static {
    /// The peer's short name.
    const NAME: &'static str;
    /// The peer's name for people.
    const TITLE: &'static str;
    /// Adds a digest.
    fn insert(filter: &mut BloomFilter, digest: Digest);
    /// Looks a digest up.
    fn contains(filter: &BloomFilter, digest: Digest) -> bool;
}

/// The digest is the hash.
#[derive(Debug)]
pub struct ByHash;

impl Interface for ByHash {
    const NAME: &'static str = "fastbloom";
    const TITLE: &'static str = "fastbloom";

    fn insert(filter: &mut BloomFilter, digest: Digest) {
        filter.insert_hash(digest.get());
    }

    fn contains(filter: &BloomFilter, digest: Digest) -> bool {
        filter.contains_hash(digest.get())
    }
}

/// The digest is a key that the crate hashes.
#[derive(Debug)]
pub struct ByKey;

impl Interface for ByKey {
    const NAME: &'static str = "fastbloom-siphash";
    const TITLE: &'static str = "fastbloom, default hasher";

    fn insert(filter: &mut BloomFilter, digest: Digest) {
        filter.insert(&digest.get());
    }

    fn contains(filter: &BloomFilter, digest: Digest) -> bool {
        filter.contains(&digest.get())
    }
}

/// A Bloom filter of fastbloom: see the [module](self).
pub struct Fastbloom<I> {
    filter: BloomFilter,
    seed: u64,
    interface: PhantomData<I>,
}

impl<I> Fastbloom<I> {
    /// Operands that the crate would combine without a complaint, or panic on, in spite of their difference.
    fn check_operand(&self, other: &Self) -> Result<(), MergeError> {
        let (left, right) = (&self.filter, &other.filter);
        if self.seed != other.seed {
            return Err(MergeError::Seed { left: self.seed, right: other.seed });
        }
        if left.num_bits() != right.num_bits() {
            return Err(MergeError::Size { left: left.num_bits() as u128, right: right.num_bits() as u128 });
        }
        if left.num_hashes() != right.num_hashes() {
            return Err(MergeError::HashFunctions { left: left.num_hashes(), right: right.num_hashes() });
        }
        Ok(())
    }
}

impl<I: Interface> fmt::Debug for Fastbloom<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(I::TITLE)
            .field("m", &self.filter.num_bits())
            .field("k", &self.filter.num_hashes())
            .finish_non_exhaustive()
    }
}

impl<I: Interface> Amq for Fastbloom<I> {
    fn contains(&self, digest: Digest) -> bool {
        I::contains(&self.filter, digest)
    }

    /// The crate does not count.
    fn len(&self) -> Option<u64> {
        None
    }

    fn space(&self) -> Space {
        let bits = self.filter.num_bits() as u64;
        Space { payload_bits: bits, heap_bytes: bits / 8 }
    }

    /// (X/m)^k over the bits set. Positions that derive from one hash are not quite independent.
    fn expected_fpr(&self) -> Option<f64> {
        let set = self.filter.as_slice().iter().map(|word| u64::from(word.count_ones())).sum();
        Some(bloom::fpr_given_state(set, self.filter.num_bits() as u64, self.filter.num_hashes()))
    }
}

impl<I: Interface> Family for Fastbloom<I>
where
    Self: amq::Capable,
{
    const NAME: &'static str = I::NAME;
    const TITLE: &'static str = I::TITLE;
    const KIND: Kind = Kind::Bloom;
    const R: (u32, u32) = <amq_bloom::Bloom as Family>::R;

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let plan = <amq_bloom::Bloom as Family>::plan(spec)?;
        let slots = plan.slots.next_multiple_of(64);
        let table_bytes = shared::addressable(plan.capacity, Some(slots / 8))?;
        Ok(Plan { slots, table_bytes, fpr: bloom::fpr_exact(slots, plan.capacity, plan.r), ..plan })
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let plan = Self::plan(spec)?;
        shared::check_memory(plan.table_bytes)?;
        let bits =
            usize::try_from(plan.slots).map_err(|_| SpecError::TooLarge { capacity: plan.capacity })?;
        let mut filter = BloomFilter::with_num_bits(bits).seed(&u128::from(spec.seed())).hashes(plan.r);
        for &digest in digests {
            I::insert(&mut filter, digest);
        }
        Ok(Self { filter, seed: spec.seed(), interface: PhantomData })
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

impl<I: Interface> Insert for Fastbloom<I> {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        I::insert(&mut self.filter, digest);
        Ok(())
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        for &digest in digests {
            I::insert(&mut self.filter, digest);
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<I: Interface> Union for Fastbloom<I> {
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut filter = self.filter.clone();
        filter.union(&other.filter);
        Ok(Self { filter, ..*self })
    }
}

impl<I: Interface> Intersect for Fastbloom<I> {
    fn intersect(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut filter = self.filter.clone();
        filter.intersect(&other.filter);
        Ok(Self { filter, ..*self })
    }
}

capabilities!(Fastbloom<ByHash>: Insert, Union, Intersect);
capabilities!(Fastbloom<ByKey>: Insert, Union, Intersect);
