//! The traits: what every filter does ([`Amq`]), how a family plans and builds ([`Family`]), and what only some can do.

use alloc::vec::Vec;
use core::hint::black_box;

use crate::{
    BuildError, Capable, Digest, InsertError, InvariantError, Kind, MergeError, Plan, ResizeError, Space,
    Spec, SpecError,
};

/// An approximate-membership-query filter: never forgets what it holds, and takes a few of the others for members.
pub trait Amq: Send + Sync {
    /// Whether the key of this digest may be in the set. `true` for every member; for others with the filter's
    /// false-positive rate.
    fn contains(&self, digest: Digest) -> bool;

    /// Writes `contains(digests[i])` to `answers[i]`. Families that gain from it look ahead and prefetch.
    ///
    /// # Panics
    /// If the lengths differ.
    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        for (answer, &digest) in answers.iter_mut().zip(digests) {
            *answer = self.contains(digest);
        }
    }

    /// The number of `digests` that may be in the set, each looked up on its own: what a caller's plain loop does. A barrier
    /// keeps the compiler from turning the loop into something that a caller would not get.
    fn count_hits(&self, digests: &[Digest]) -> u64 {
        let mut hits = 0;
        for &digest in digests {
            hits += u64::from(black_box(self.contains(digest)));
        }
        hits
    }

    /// As [`count_hits`](Self::count_hits), but no lookup can start before the one before it has answered: its time is the
    /// latency of a lookup.
    fn count_hits_chained(&self, digests: &[Digest]) -> u64 {
        // Zero, which the compiler cannot know: the next digest depends on the last answer and does not change.
        let zero = black_box(0);
        let mut hits = 0;
        let mut last = 0;
        for digest in digests {
            last = u64::from(self.contains(Digest::new(digest.get() ^ (last & zero))));
            hits += last;
        }
        hits
    }

    /// Records (dynamic families) or distinct digests (static families) stored; `None` where a foreign filter cannot tell.
    fn len(&self) -> Option<u64>;

    /// Whether nothing is stored, where that is known.
    fn is_empty(&self) -> Option<bool> {
        self.len().map(|len| len == 0)
    }

    /// The memory in use.
    fn space(&self) -> Space;

    /// The exact probability that a random absent digest is answered `true`, given the table as it is; `None` where it
    /// cannot be told.
    fn expected_fpr(&self) -> Option<f64>;
}

/// Panics unless there is one answer for each digest: for implementations of [`Amq::contains_batch`].
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn assert_same_length(digests: &[Digest], answers: &[bool]) {
    assert_eq!(digests.len(), answers.len(), "one answer for each digest");
}

/// A family of filters: how it plans and builds. What it can do beyond lookups is listed with
/// [`capabilities!`](crate::capabilities).
pub trait Family: Amq + Capable + Sized + 'static {
    /// The short name: lower case, unique in the registry.
    const NAME: &'static str;
    /// The name for people.
    const TITLE: &'static str;
    /// What its load and width mean.
    const KIND: Kind;
    /// The lowest and the highest r of a [`Target::Shape`](crate::Target::Shape), both included.
    const R: (u32, u32);

    /// Sizes, parameters and the predicted rate for a spec. Makes no table: an absurd wish is as cheap to refuse as any other.
    /// (A predicted rate may take a few kilobytes of scratch memory, freed on return.)
    ///
    /// # Errors
    /// If the spec is invalid or out of the family's range.
    fn plan(spec: &Spec) -> Result<Plan, SpecError>;

    /// A filter over `digests`, in any order, duplicates allowed, laid out as [`plan`](Self::plan) says. Deterministic.
    ///
    /// With no digests, a dynamic family makes an empty filter to insert into.
    ///
    /// # Errors
    /// If the spec cannot be planned, the memory cannot be had, the digests do not fit, or a bounded number of randomised
    /// attempts has failed.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError>;

    /// The table: what decides every answer. Empty where a foreign filter does not show it, and where others may be writing to it
    /// ([`SharedInsert`]), so that it cannot be lent as plain bytes.
    fn table(&self) -> &[u8] {
        &[]
    }

    /// Attempts that the build took, the successful one included.
    fn build_attempts(&self) -> u32 {
        1
    }

    /// Re-derives from the table alone what must hold for it.
    ///
    /// # Errors
    /// The first contradiction found.
    fn check_invariants(&self) -> Result<(), InvariantError>;
}

/// Filters that take keys after the build.
pub trait Insert: Amq {
    /// Adds a record. A family that counts stores duplicates, the others ignore them.
    ///
    /// # Errors
    /// If the structure cannot take it; the filter is then byte for byte as it was.
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError>;

    /// Adds all of them or none.
    ///
    /// # Errors
    /// If the structure cannot take all; the filter is then byte for byte as it was.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError>;

    /// How many more records certainly fit; `None` if there is no limit.
    fn remaining(&self) -> Option<u64>;
}

/// Filters that take keys from many threads at once.
pub trait SharedInsert: Amq {
    /// Adds a record. It is seen by every lookup that happens after the call has returned.
    ///
    /// # Errors
    /// If the structure cannot take it.
    fn insert_shared(&self, digest: Digest) -> Result<(), InsertError>;
}

/// Filters that forget keys.
pub trait Remove: Amq {
    /// Takes out one record of this digest; `false`, and nothing changed, if there is none to be seen.
    ///
    /// Removing a key that was never inserted, but is taken for a member, may take another key's record: at about the
    /// false-positive rate per removal.
    fn remove(&mut self, digest: Digest) -> bool;

    /// Removes each in turn and returns how many there were.
    fn remove_batch(&mut self, digests: &[Digest]) -> u64 {
        digests.iter().map(|&digest| u64::from(self.remove(digest))).sum()
    }
}

/// Filters that know how often a key was inserted.
pub trait Count: Amq {
    /// At least the number of times that the digest is in (up to the largest count that the family can hold, where it
    /// sticks); more where it collides.
    fn count(&self, digest: Digest) -> u64;
}

/// Filters that can list what they store.
pub trait Fingerprints: Amq {
    /// How many fingerprints there could be: M. Each lies in `[0, M)`.
    fn fingerprint_space(&self) -> u128;

    /// Calls `visit(fingerprint, multiplicity)` in ascending order of distinct fingerprints. Linear in the table.
    fn for_each_fingerprint(&self, visit: &mut dyn FnMut(u64, u64));
}

/// Counts by value: `counts[v]` things have the value `v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// What is counted, for instance "cluster length in slots".
    pub name: &'static str,
    /// The counts.
    pub counts: Vec<u64>,
}

/// Filters that show how their table is filled.
pub trait Stats: Amq {
    /// Histograms over the whole table. Linear in it.
    fn histograms(&self) -> Vec<Histogram>;

    /// How many records the last single insertion moved to another slot, 0 before the first; `None` where the family does not
    /// count them. Constant time.
    fn moved_by_last_insert(&self) -> Option<u64> {
        None
    }
}

/// Filters that can be given more room without their keys.
pub trait Grow: Amq {
    /// Doubles the slots. Every answer stays as it was.
    ///
    /// # Errors
    /// If it cannot; the filter is then as it was.
    fn grow(&mut self) -> Result<(), ResizeError>;
}

/// Filters that can give room back.
pub trait Shrink: Amq {
    /// Halves the slots. Every answer stays as it was.
    ///
    /// # Errors
    /// If it cannot; the filter is then as it was.
    fn shrink(&mut self) -> Result<(), ResizeError>;
}

/// Filters of A and B that make one of A ∪ B.
pub trait Union: Amq + Sized {
    /// A filter without a false negative for A ∪ B.
    ///
    /// # Errors
    /// If the two do not fit together.
    fn union(&self, other: &Self) -> Result<Self, MergeError>;
}

/// Filters of A and B that make one of A ∩ B.
pub trait Intersect: Amq + Sized {
    /// A filter without a false negative for A ∩ B; its rate may exceed that of a filter built from A ∩ B.
    ///
    /// # Errors
    /// If the two do not fit together.
    fn intersect(&self, other: &Self) -> Result<Self, MergeError>;
}

/// Filters that are multisets of fingerprints.
pub trait MultisetAlgebra: Amq + Sized {
    /// The sum of the multiplicities.
    ///
    /// # Errors
    /// If the two do not fit together, or the result into a table.
    fn merge(&self, other: &Self) -> Result<Self, MergeError> {
        Self::merge_many(&[self, other])
    }

    /// The multiplicities of `self` less those of `other`, not below 0.
    ///
    /// # Errors
    /// If the two do not fit together.
    fn difference(&self, other: &Self) -> Result<Self, MergeError>;

    /// The sum over all operands, in one pass.
    ///
    /// # Errors
    /// If they do not fit together, the result does not fit into a table, or there are none.
    fn merge_many(operands: &[&Self]) -> Result<Self, MergeError>;
}
