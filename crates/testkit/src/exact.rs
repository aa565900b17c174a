//! A filter that cannot be wrong: the digests themselves, sorted. What the suite has to accept, and what its own tests break on
//! purpose.

use amq::{
    Amq, BuildError, Count, Digest, Family, Fingerprints, Grow, Histogram, Insert, InsertError, Intersect,
    InvariantError, Kind, MergeError, MultisetAlgebra, Plan, Remove, ResizeError, Shrink, Space, Spec,
    SpecError, Stats, Target, Union, capabilities,
};
use amq_bits::{Store, StoreMut, Table};

use crate::model::Multiset;

const DIGEST_BYTES: u64 = 8;
/// The number of digests there are.
const DIGESTS: f64 = 18_446_744_073_709_551_616.0;

/// A multiset of digests in a sorted array of fixed size. No two digests collide, so that its only false positives are the
/// members' own digests: a rate of n / 2^64. Inserts and removals are linear.
///
/// ```
/// use amq::{Amq, Digest, Family, Spec};
/// use amq_testkit::exact::Exact;
///
/// let filter = Exact::build(&[Digest::new(7)], &Spec::fpr(0.01, 10))?;
/// assert!(filter.contains(Digest::new(7)) && !filter.contains(Digest::new(8)));
/// # Ok::<(), amq::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Invariant: the first `len` places hold the digests in ascending order, the others are zero.
    table: Table,
    len: usize,
    seed: u64,
}

impl Exact {
    fn with_slots(slots: u64, seed: u64) -> Result<Self, BuildError> {
        let table = Table::zeroed(slots.saturating_mul(DIGEST_BYTES))?;
        Ok(Self { table, len: 0, seed })
    }

    /// The seed of the digests.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn slots(&self) -> u64 {
        self.table.bytes().len() as u64 / DIGEST_BYTES
    }

    fn get(&self, i: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.table.bytes()[i * 8..][..8]);
        u64::from_le_bytes(bytes)
    }

    /// The first place whose digest is not below this one, or `len`.
    fn lower_bound(&self, digest: u64) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.get(middle) < digest { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn digests(&self) -> impl Iterator<Item = u64> {
        (0..self.len).map(|i| self.get(i))
    }

    fn full(&self, records: u64) -> InsertError {
        InsertError::Full { records, len: self.len as u64, limit: self.slots() }
    }

    fn check_seed(&self, other: &Self) -> Result<(), MergeError> {
        if self.seed == other.seed {
            Ok(())
        } else {
            Err(MergeError::Seed { left: self.seed, right: other.seed })
        }
    }

    /// A filter of these digests under the same seed, at least as large as this one.
    fn of_sorted(&self, digests: &[u64]) -> Result<Self, MergeError> {
        let slots = self.slots().max(digests.len() as u64);
        let mut table = Table::zeroed(slots * DIGEST_BYTES)?;
        for (place, digest) in table.bytes_mut().chunks_exact_mut(8).zip(digests) {
            place.copy_from_slice(&digest.to_le_bytes());
        }
        Ok(Self { table, len: digests.len(), seed: self.seed })
    }

    /// Moves to a table of so many slots, which are enough.
    fn resize(&mut self, slots: u64) -> Result<(), ResizeError> {
        let mut table = Table::zeroed(slots.checked_mul(DIGEST_BYTES).ok_or(ResizeError::TooLarge)?)?;
        let used = self.len * 8;
        table.bytes_mut()[..used].copy_from_slice(&self.table.bytes()[..used]);
        self.table = table;
        Ok(())
    }
}

impl Amq for Exact {
    fn contains(&self, digest: Digest) -> bool {
        let i = self.lower_bound(digest.get());
        i < self.len && self.get(i) == digest.get()
    }

    fn len(&self) -> Option<u64> {
        Some(self.len as u64)
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    fn expected_fpr(&self) -> Option<f64> {
        let mut distinct = 0_u64;
        self.for_each_fingerprint(&mut |_, _| distinct += 1);
        Some(distinct as f64 / DIGESTS)
    }
}

impl Family for Exact {
    const NAME: &'static str = "exact";
    const TITLE: &'static str = "Exact multiset";
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = (64, 64);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        let too_large = SpecError::TooLarge { capacity };
        let slots = match spec.checked_target()? {
            Target::Shape { r, .. } if r != 64 => {
                return Err(SpecError::Remainder { r, lowest: 64, highest: 64 });
            }
            Target::Shape { alpha, .. } if alpha > 1.0 => {
                return Err(SpecError::Alpha { alpha, lowest: 0.0, highest: 1.0 });
            }
            Target::Shape { alpha, .. } => slots_at(capacity, alpha).ok_or(too_large)?,
            Target::BitsPerKey(bits) if bits < 64.0 => {
                return Err(SpecError::BitsPerKey { bits, lowest: 64.0, highest: f64::INFINITY });
            }
            Target::Fpr(fpr) if capacity as f64 / DIGESTS > fpr => {
                return Err(SpecError::FprTooLow { fpr, lowest: capacity as f64 / DIGESTS });
            }
            Target::Fpr(_) | Target::BitsPerKey(_) => capacity,
        };
        let table_bytes = slots.checked_mul(DIGEST_BYTES).ok_or(too_large)?;
        let alpha = if capacity == 0 { 0.0 } else { capacity as f64 / slots as f64 };
        Ok(Plan { capacity, slots, alpha, r: 64, k: None, table_bytes, fpr: capacity as f64 / DIGESTS })
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let mut filter = Self::with_slots(Self::plan(spec)?.slots, spec.seed())?;
        filter
            .insert_batch(digests)
            .map_err(|_| BuildError::Full { records: digests.len() as u64, limit: filter.slots() })?;
        Ok(filter)
    }

    fn table(&self) -> &[u8] {
        self.table.bytes()
    }

    fn check_invariants(&self) -> Result<(), InvariantError> {
        match (1..self.len).find(|&i| self.get(i - 1) > self.get(i)) {
            Some(i) => Err(InvariantError { what: "not in ascending order", at: i as u64 }),
            None => Ok(()),
        }
    }
}

/// `ceil(capacity / alpha)`, if a table can have so many slots.
fn slots_at(capacity: u64, alpha: f64) -> Option<u64> {
    let slots = (capacity as f64 / alpha).ceil();
    // Below 2^60 the float is a whole number that an integer holds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in [0, 2^60)")]
    (slots < DIGESTS / 16.0).then_some(slots as u64).map(|slots| slots.max(capacity))
}

impl Insert for Exact {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        if self.len as u64 == self.slots() {
            return Err(self.full(1));
        }
        let (i, len) = (self.lower_bound(digest.get()), self.len);
        let bytes = self.table.bytes_mut();
        bytes.copy_within(i * 8..len * 8, (i + 1) * 8);
        bytes[i * 8..][..8].copy_from_slice(&digest.get().to_le_bytes());
        self.len += 1;
        Ok(())
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        let records = digests.len() as u64;
        if self.len as u64 + records > self.slots() {
            return Err(self.full(records));
        }
        let mut all: Vec<u64> = self.digests().chain(digests.iter().map(|digest| digest.get())).collect();
        all.sort_unstable();
        for (place, digest) in self.table.bytes_mut().chunks_exact_mut(8).zip(&all) {
            place.copy_from_slice(&digest.to_le_bytes());
        }
        self.len = all.len();
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.slots() - self.len as u64)
    }
}

impl Remove for Exact {
    fn remove(&mut self, digest: Digest) -> bool {
        if !self.contains(digest) {
            return false;
        }
        let (i, len) = (self.lower_bound(digest.get()), self.len);
        let bytes = self.table.bytes_mut();
        bytes.copy_within((i + 1) * 8..len * 8, i * 8);
        bytes[(len - 1) * 8..len * 8].fill(0);
        self.len -= 1;
        true
    }
}

impl Count for Exact {
    fn count(&self, digest: Digest) -> u64 {
        let first = self.lower_bound(digest.get());
        (first..self.len).take_while(|&i| self.get(i) == digest.get()).count() as u64
    }
}

impl Fingerprints for Exact {
    fn fingerprint_space(&self) -> u128 {
        1 << 64
    }

    fn for_each_fingerprint(&self, visit: &mut dyn FnMut(u64, u64)) {
        let mut i = 0;
        while i < self.len {
            let digest = self.get(i);
            let count = self.count(Digest::new(digest));
            visit(digest, count);
            // A count of places of a table in memory.
            i += usize::try_from(count).unwrap_or(self.len);
        }
    }
}

impl Stats for Exact {
    fn histograms(&self) -> Vec<Histogram> {
        let mut counts = Vec::new();
        self.for_each_fingerprint(&mut |_, multiplicity| {
            let multiplicity = usize::try_from(multiplicity).expect("a number of places in memory");
            counts.resize(counts.len().max(multiplicity + 1), 0);
            counts[multiplicity] += 1;
        });
        vec![Histogram { name: "multiplicity", counts }]
    }
}

impl Grow for Exact {
    fn grow(&mut self) -> Result<(), ResizeError> {
        match self.slots() {
            0 => Err(ResizeError::TooLarge),
            slots => self.resize(slots.checked_mul(2).ok_or(ResizeError::TooLarge)?),
        }
    }
}

impl Shrink for Exact {
    fn shrink(&mut self) -> Result<(), ResizeError> {
        let slots = self.slots();
        if slots == 0 || slots % 2 == 1 {
            return Err(ResizeError::OddSlots { slots });
        }
        let records = self.len as u64;
        if records > slots / 2 {
            return Err(ResizeError::Full { records, limit: slots / 2 });
        }
        self.resize(slots / 2)
    }
}

impl Union for Exact {
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_seed(other)?;
        // What is in B beyond A, added to A.
        self.merge(&other.difference(self)?)
    }
}

impl Intersect for Exact {
    fn intersect(&self, other: &Self) -> Result<Self, MergeError> {
        self.difference(&self.difference(other)?)
    }
}

impl MultisetAlgebra for Exact {
    fn difference(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_seed(other)?;
        let mut taken: Multiset = other.digests().collect();
        let left: Vec<u64> = self.digests().filter(|&digest| !taken.remove(digest)).collect();
        self.of_sorted(&left)
    }

    fn merge_many(operands: &[&Self]) -> Result<Self, MergeError> {
        let first = operands.first().ok_or(MergeError::Empty)?;
        let mut all = Vec::new();
        for operand in operands {
            first.check_seed(operand)?;
            all.extend(operand.digests());
        }
        all.sort_unstable();
        first.of_sorted(&all)
    }
}

capabilities!(
    Exact: Insert, Remove, Count, Fingerprints, Stats, Grow, Shrink, Union, Intersect, MultisetAlgebra
);
