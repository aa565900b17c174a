//! Set algebra on whole filters.

use alloc::boxed::Box;
use alloc::vec::Vec;

use amq::{Intersect, MergeError, MultisetAlgebra, Union};
use amq_bits::{Store, Table};

use crate::decode::Decoder;
use crate::filter::Header;
use crate::resize::most_records;
use crate::sorted::{CHUNK, Chunk, Combine, Combined, Sorted, Truncated, summed};
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
    fn coarsened(&self, fingerprints: u128) -> Box<dyn Sorted + '_> {
        let source = Decoder::new(self.header.layout, self.table.bytes());
        match (self.geometry().fingerprints() / fingerprints).trailing_zeros() {
            0 => Box::new(source),
            bits => Box::new(Truncated { source, bits }),
        }
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
        let stream = || Combined::new(self.coarsened(fingerprints), other.coarsened(fingerprints), how);
        let own = self.geometry().slots();
        let slots = if how == Combine::Difference { own } else { own.max(other.geometry().slots()) };
        let fullest = self.records().max(other.records());
        let geometry_of = |records| geometry_for::<L>(fingerprints, slots, records, fullest);
        // The fewest and the most records that there can be.
        let (left, right) = (self.records(), other.records());
        let (fewest, most) = match how {
            Combine::Sum => (left.saturating_add(right), left.saturating_add(right)),
            Combine::Union => (left.max(right), left.saturating_add(right)),
            Combine::Intersection => (0, left.min(right)),
            Combine::Difference => (left.saturating_sub(right), left),
        };
        let mut geometry = match (geometry_of(fewest), geometry_of(most)) {
            // Both go into the same table.
            (Ok(smallest), Ok(largest)) if smallest == largest => smallest,
            _ => match geometry_of(estimated(stream(), fingerprints).clamp(fewest, most)) {
                Ok(likely) => likely,
                Err(_) => geometry_of(counted(stream()))?,
            },
        };
        loop {
            let layout = L::new(geometry).ok_or(MergeError::RemainderExhausted { records: most })?;
            let header = Header { layout, seed: self.seed(), len: 0, records };
            let mut source = Limited { source: stream(), left: geometry.highest_records(), exceeds: false };
            let result = Self::load(header, &mut source)?;
            let exact = if source.exceeds { counted(stream()) } else { result.records() };
            let right = geometry_of(exact)?;
            if right == geometry {
                return Ok(result);
            }
            // Once more, which is then the last time.
            geometry = right;
        }
    }
}

/// About how many fingerprints a stream has, from the first few thousand: they are spread evenly, unless somebody chose them.
fn estimated(mut stream: impl Sorted, fingerprints: u128) -> u64 {
    /// Its deviation is less than a hundredth of it.
    const SAMPLE: u64 = 1 << 14;
    let mut chunk = Box::new([0; CHUNK]);
    let (mut seen, mut highest) = (0, 0);
    while seen < SAMPLE {
        match stream.fill(&mut chunk) {
            0 => return seen,
            len => (seen, highest) = (seen + len as u64, chunk[len - 1]),
        }
    }
    // Below 2^16 times at most 2^64.
    u64::try_from(u128::from(seen) * fingerprints / (u128::from(highest) + 1)).unwrap_or(u64::MAX)
}

/// How many fingerprints a stream has.
fn counted(mut stream: impl Sorted) -> u64 {
    let mut chunk = Box::new([0; CHUNK]);
    let fills = core::iter::repeat_with(|| stream.fill(&mut chunk) as u64);
    fills.take_while(|&len| len > 0).sum()
}

/// A stream up to a number of fingerprints.
struct Limited<S> {
    source: S,
    left: u64,
    /// There were more.
    exceeds: bool,
}

impl<S: Sorted> Sorted for Limited<S> {
    fn fill(&mut self, chunk: &mut Chunk) -> usize {
        let len = self.source.fill(chunk);
        let Some(left) = self.left.checked_sub(len as u64) else {
            self.exceeds = true;
            return 0;
        };
        self.left = left;
        len
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
/// A difference loses a key of A \ B if it collides with a key of B \ A, with probability |B \ A|/M for each. It loses nothing if A has a
/// record for each insertion ([`removal_is_safe`](Filter::removal_is_safe)) and B ⊆ A as multisets, and is then the very filter that
/// would be built from A \ B in a table of A's size. (Where keys of A share records, one of A \ B also goes with one of B that it shares
/// with.) Otherwise keys of B may have taken records of keys of A \ B, and a removal takes one more. That is noticed, and
/// [a removal is no longer safe](Filter::removal_is_safe), where a record of B finds none in A; it is not noticed where all of B \ A collide
/// with keys of A.
impl<L: Layout> MultisetAlgebra for Filter<L, Table> {
    fn difference(&self, other: &Self) -> Result<Self, MergeError> {
        let mut rest = self.combine(other, Combine::Difference, self.header.records)?;
        // Where a record of the other one found none, its keys are not all in here, and may have taken records from those that are.
        if self.records().checked_sub(other.records()) != Some(rest.records()) {
            rest.header.records = Records::Shared;
        }
        Ok(rest)
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
        let mut sum = summed(streams).ok_or(MergeError::Empty)?;
        Ok(Self::load(header, &mut sum)?)
    }
}
