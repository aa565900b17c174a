//! Set algebra on whole filters.

use alloc::vec::Vec;

use amq::{Intersect, MergeError, MultisetAlgebra, Union};
use amq_bits::{Store, Table};

use crate::filter::Header;
use crate::resize::most_records;
use crate::sorted::{Combine, Stream, truncated};
use crate::{Filter, Geometry, Layout, OutOfMemory, Records};

impl From<OutOfMemory> for MergeError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

impl<L: Layout, S: Store> Filter<L, S> {
    /// Whether both hold the same fingerprints equally often, over the same M: m may differ. Linear.
    pub fn same_fingerprints<T: Store>(&self, other: &Filter<L, T>) -> bool {
        self.geometry().fingerprints() == other.geometry().fingerprints()
            && self.records() == other.records()
            && self.fingerprints().eq(other.fingerprints())
    }

    /// The records in a space of `fingerprints`, which this filter's M is a power of two times as large as.
    fn coarsened(&self, fingerprints: u128) -> impl Iterator<Item = (u64, u64)> + use<'_, L, S> {
        truncated(self.fingerprints(), (self.geometry().fingerprints() / fingerprints).trailing_zeros())
    }
}

/// The smallest M of all, if the others are powers of two times as large and the seeds agree.
fn common_fingerprints<L: Layout>(operands: &[&Filter<L, Table>]) -> Result<u128, MergeError> {
    let (first, rest) = operands.split_first().ok_or(MergeError::Empty)?;
    let mut coarsest = first.geometry().fingerprints();
    for operand in rest {
        let (left, right) = (first.seed(), operand.seed());
        if left != right {
            return Err(MergeError::Seed { left, right });
        }
        let (left, right) = (coarsest, operand.geometry().fingerprints());
        let (smaller, larger) = (left.min(right), left.max(right));
        if !larger.is_multiple_of(smaller) || !(larger / smaller).is_power_of_two() {
            return Err(MergeError::Size { left, right });
        }
        coarsest = smaller;
    }
    Ok(coarsest)
}

/// A geometry over `fingerprints` for `records`: at least `slots` slots, as far as a remainder bit is left for them, doubled
/// while the load is above the limit, and above what an operand was filled to anyway.
fn geometry_for<L: Layout>(
    fingerprints: u128,
    slots: u64,
    records: u64,
    fullest: u64,
) -> Result<Geometry, MergeError> {
    let exhausted = MergeError::RemainderExhausted { records };
    // All M have the same odd part, and so have all m: M over m is a power of two.
    let widest = u64::try_from(fingerprints >> L::R.0).map_err(|_| exhausted)?;
    let slots = slots.min(widest);
    let r = (fingerprints / u128::from(slots)).trailing_zeros();
    let mut geometry = Geometry::new(slots, r).ok_or(exhausted)?;
    while records > most_records(geometry.slots(), fullest)
        && geometry.r() > L::R.0
        && let Some(doubled) = geometry.doubled()
    {
        geometry = doubled;
    }
    if records > geometry.highest_records() { Err(exhausted) } else { Ok(geometry) }
}

impl<L: Layout> Filter<L, Table> {
    fn combine(&self, other: &Self, how: Combine, records: Records) -> Result<Self, MergeError> {
        let fingerprints = common_fingerprints(&[self, other])?;
        let stream = || Stream::combined(self.coarsened(fingerprints), other.coarsened(fingerprints), how);
        let own = self.geometry().slots();
        let slots = if how == Combine::Difference { own } else { own.max(other.geometry().slots()) };
        let fullest = self.records().max(other.records());
        // The fewest and the most records that there can be. If both go into the same table, nothing need be counted before.
        let (left, right) = (self.records(), other.records());
        let (fewest, most) = match how {
            Combine::Sum => (left.saturating_add(right), left.saturating_add(right)),
            Combine::Union => (left.max(right), left.saturating_add(right)),
            Combine::Intersection => (0, left.min(right)),
            Combine::Difference => (left.saturating_sub(right), left),
        };
        let geometry_of = |records| geometry_for::<L>(fingerprints, slots, records, fullest);
        let geometry = match (geometry_of(fewest), geometry_of(most)) {
            (Ok(smallest), Ok(largest)) if smallest == largest => smallest,
            _ => geometry_of(stream().map(|(_, multiplicity)| multiplicity).sum())?,
        };
        let layout = L::new(geometry).ok_or(MergeError::RemainderExhausted { records: most })?;
        let mut len = 0;
        let counted = stream().inspect(|&(_, multiplicity)| len += multiplicity);
        let mut result = Self::load(Header { layout, seed: self.seed(), len: 0, records }, counted)?;
        result.header.len = len;
        Ok(result)
    }
}

/// The larger of the multiplicities. Two keys of A and B with the same fingerprint share a record, so that [a removal is no
/// longer safe](Filter::removal_is_safe).
///
/// All operations on two or more filters of this crate take operands of the same seed whose M are equal or differ by a power of
/// two; the finer one is then truncated, and the result has the coarser M. It has the largest m of the operands (a
/// difference that of the left one), doubled while its load is above 0.95 (and above every operand's number of records) and a remainder
/// bit is left. Unions and intersections of three filters are independent of the order where all M agree. They cost one linear pass over each operand, and one more to count where the number of records is not known before.
///
/// # Errors
/// [`MergeError::Seed`] and [`MergeError::Size`] (the two M) name what differs; [`MergeError::RemainderExhausted`] says that even
/// the largest m over this M does not hold the records.
impl<L: Layout> Union for Filter<L, Table> {
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.combine(other, Combine::Union, Records::Shared)
    }
}

/// The smaller of the multiplicities. A removal is no longer safe, as after a union.
impl<L: Layout> Intersect for Filter<L, Table> {
    fn intersect(&self, other: &Self) -> Result<Self, MergeError> {
        self.combine(other, Combine::Intersection, Records::Shared)
    }
}

/// Sums keep one record for each insertion: removals are as safe as in the operands, and a key of both has to be removed twice.
///
/// A difference loses a key of A \ B if it collides with a key of B \ A, with probability |B \ A|/M for each; it loses nothing if B ⊆ A,
/// and is then the very filter that would be built from A \ B in a table of A's size.
impl<L: Layout> MultisetAlgebra for Filter<L, Table> {
    fn difference(&self, other: &Self) -> Result<Self, MergeError> {
        // What other lacks stays here: too many records, never too few for the keys that are left.
        self.combine(other, Combine::Difference, self.header.records)
    }

    fn merge_many(operands: &[&Self]) -> Result<Self, MergeError> {
        let fingerprints = common_fingerprints(operands)?;
        let exhausted = |records| MergeError::RemainderExhausted { records };
        let mut len = 0_u64;
        let (mut slots, mut fullest) = (0, 0);
        let mut records = Records::OnePerInsertion;
        for operand in operands {
            len = len.checked_add(operand.records()).ok_or(exhausted(u64::MAX))?;
            slots = slots.max(operand.geometry().slots());
            fullest = fullest.max(operand.records());
            if !operand.removal_is_safe() {
                records = Records::Shared;
            }
        }
        let geometry = geometry_for::<L>(fingerprints, slots, len, fullest)?;
        let layout = L::new(geometry).ok_or(exhausted(len))?;
        let seed = operands.first().map_or(0, |first| first.seed());
        let header = Header { layout, seed, len, records };
        let streams = operands.iter().map(|operand| operand.coarsened(fingerprints)).collect::<Vec<_>>();
        Ok(Self::load(header, Stream::summed(streams).into_iter().flatten())?)
    }
}
