//! The filter: a layout, the table, and the few numbers beside it.

use core::{error::Error, fmt};

use amq::{Amq, BuildError, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError, theory};
use amq_bits::{Store, StoreMut, Table};

use crate::encode::Encoder;
use crate::sorted::Sorted;
use crate::{Geometry, Layout, OutOfMemory, RankSelect, ThreeBit, encode, radix, sizing};

/// The quotient filter with three state bits a slot: r + 3 bits for each of m slots, r from 1 to 54.
///
/// ```
/// use amq::{Amq, Count, Family, Insert, Key, Remove, Spec};
/// use amq_quotient::QuotientFilter;
///
/// let spec = Spec::fpr(0.01, 1_000);
/// let mut filter = QuotientFilter::build(&[], &spec)?;
/// let digest = "key".digest(spec.seed());
/// filter.insert(digest)?;
/// filter.insert(digest)?;
/// assert!(filter.contains(digest));
/// assert_eq!(filter.count(digest), 2);
/// assert!(filter.remove(digest) && filter.remove(digest) && !filter.remove(digest));
/// assert_eq!(filter.is_empty(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type QuotientFilter<S = Table> = Filter<ThreeBit, S>;

/// The quotient filter with two bit vectors and an offset for each block: r + 2.14 to r + 2.29 bits for each of m slots, r from
/// 1 to 57. The time of a lookup hardly depends on the load.
///
/// ```
/// use amq::{Amq, Count, Family, Insert, Key, Remove, Spec};
/// use amq_quotient::RankSelectQuotientFilter;
///
/// let spec = Spec::fpr(0.01, 1_000);
/// let mut filter = RankSelectQuotientFilter::build(&[], &spec)?;
/// let digest = "key".digest(spec.seed());
/// filter.insert(digest)?;
/// filter.insert(digest)?;
/// assert!(filter.contains(digest));
/// assert_eq!(filter.count(digest), 2);
/// assert!(filter.remove(digest) && filter.remove(digest) && !filter.remove(digest));
/// assert_eq!(filter.is_empty(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type RankSelectQuotientFilter<S = Table> = Filter<RankSelect, S>;

/// A multiset of fingerprints in a table of layout `L`, owned or borrowed by `S`.
///
/// Use it by its name for a layout, [`QuotientFilter`] or [`RankSelectQuotientFilter`]. Digests are to be taken under [`seed`](Filter::seed).
///
/// Filters are equal if they will answer and behave alike for ever: the same geometry, seed, records and safety of removal. For
/// the contents alone, over any number of slots, see [`same_fingerprints`](Filter::same_fingerprints).
#[derive(Clone)]
pub struct Filter<L: Layout, S: Store = Table> {
    pub(crate) header: Header<L>,
    /// Invariant: `table_bytes` bytes, which pass `Layout::check` with `header.len` records.
    pub(crate) table: S,
    /// How many records the last insertion moved: for people to look at, no part of what a filter is.
    pub(crate) moved: u64,
}

impl<L: Layout, S: Store + PartialEq> PartialEq for Filter<L, S> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.table == other.table
    }
}

impl<L: Layout, S: Store + Eq> Eq for Filter<L, S> {}

/// What is known of a filter beside its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<L> {
    pub(crate) layout: L,
    pub(crate) seed: u64,
    /// At most m - 1.
    pub(crate) len: u64,
    pub(crate) records: Records,
}

/// Whose the records of a filter are: what a removal may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Records {
    /// Every insertion has its own record. Removing what was inserted takes nothing from anybody else.
    OnePerInsertion,
    /// Members with the same fingerprint may share a record, as after a union, an intersection or `insert_unique`. Removing one
    /// of them may make the filter forget the others.
    Shared,
}

/// Parts that do not make a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// The layout has no table for this geometry: r is out of its range, or the size out of 64 bits.
    Geometry {
        /// Slots.
        slots: u64,
        /// Remainder bits.
        r: u32,
    },
    /// The table does not have the length that the geometry asks for.
    Length {
        /// Bytes given.
        bytes: u64,
        /// Bytes wanted.
        expected: u64,
    },
    /// The table contradicts itself.
    Table(InvariantError),
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry { slots, r } => write!(f, "there is no table of {slots} slots with r = {r}"),
            Self::Length { bytes, expected } => {
                write!(f, "the table has {bytes} bytes instead of {expected}")
            }
            Self::Table(error) => error.fmt(f),
        }
    }
}

impl Error for PartsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Table(error) => Some(error),
            _ => None,
        }
    }
}

impl From<OutOfMemory> for BuildError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

impl<L: Layout> Filter<L, Table> {
    /// An empty filter of exactly this geometry.
    ///
    /// # Errors
    /// If r is out of the layout's range, the table cannot be addressed, or the allocator refuses it.
    pub fn with_geometry(geometry: Geometry, seed: u64) -> Result<Self, BuildError> {
        let (lowest, highest) = L::R;
        let r = geometry.r();
        if r < lowest || r > highest {
            return Err(SpecError::Remainder { r, lowest, highest }.into());
        }
        let layout = L::new(geometry).ok_or(SpecError::TooLarge { capacity: geometry.highest_records() })?;
        let header = Header { layout, seed, len: 0, records: Records::OnePerInsertion };
        Ok(Self { header, table: Table::zeroed(layout.table_bytes())?, moved: 0 })
    }

    /// A filter of all fingerprints of a stream, at most m - 1. What `header` says of their number is of no account.
    pub(crate) fn load(mut header: Header<L>, source: &mut impl Sorted) -> Result<Self, OutOfMemory> {
        let mut table = Table::zeroed(header.layout.table_bytes())?;
        header.len = encode::load(header.layout, table.bytes_mut(), source)?;
        debug_assert!(header.len <= header.layout.geometry().highest_records());
        Ok(Self { header, table, moved: 0 })
    }
}

impl<L: Layout, S: Store> Filter<L, S> {
    /// A filter over a table made earlier, owned or borrowed. The table is checked: linear in its length.
    ///
    /// # Errors
    /// If the layout has no such geometry, the length is not the layout's, or the table contradicts itself.
    pub fn from_parts(geometry: Geometry, seed: u64, records: Records, table: S) -> Result<Self, PartsError> {
        let (slots, r) = (geometry.slots(), geometry.r());
        let layout = L::new(geometry).ok_or(PartsError::Geometry { slots, r })?;
        let (bytes, expected) = (table.bytes().len() as u64, layout.table_bytes());
        if bytes != expected {
            return Err(PartsError::Length { bytes, expected });
        }
        let len = layout.check(table.bytes()).map_err(PartsError::Table)?;
        Ok(Self { header: Header { layout, seed, len, records }, table, moved: 0 })
    }

    /// m and r.
    #[inline]
    pub fn geometry(&self) -> Geometry {
        self.header.layout.geometry()
    }

    /// The seed that digests are taken under.
    pub fn seed(&self) -> u64 {
        self.header.seed
    }

    /// Records stored, duplicates counted.
    #[inline]
    pub fn records(&self) -> u64 {
        self.header.len
    }

    /// Records over slots, below 1.
    pub fn load_factor(&self) -> f64 {
        self.header.len as f64 / self.geometry().slots() as f64
    }

    /// Whether removing a key that was inserted leaves all others in.
    ///
    /// `false` once the filter comes from a union or an intersection, or [`insert_unique`](Filter::insert_unique) has met a
    /// fingerprint that was there: two members with the same fingerprint then share one record, and it goes with the first of
    /// them. That cannot be undone, and is inherited by every filter made from this one. Also `false` after a difference A \ B in which a
    /// record of B found none in A. After any other difference, `true` holds for B ⊆ A: a key of B alone may have taken the record of a key
    /// with the same fingerprint, which no filter can tell.
    pub fn removal_is_safe(&self) -> bool {
        self.header.records == Records::OnePerInsertion
    }

    /// The bytes: what decides every answer.
    pub fn bytes(&self) -> &[u8] {
        self.table.bytes()
    }

    /// (fingerprint, multiplicity), ascending, each fingerprint once. Linear in the table.
    pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + use<'_, L, S> {
        self.header.layout.sorted(self.table.bytes())
    }

    /// One slot, decoded. Linear in its cluster.
    ///
    /// # Panics
    /// If `slot` is not below m.
    pub fn slot(&self, slot: u64) -> L::View {
        let slots = self.geometry().slots();
        assert!(slot < slots, "slot {slot} is not below {slots}");
        self.header.layout.view(self.table.bytes(), slot)
    }

    /// Re-derives the whole table: every state bit, the order of every run, the number of records, the padding.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn check_invariants(&self) -> Result<(), InvariantError> {
        let records = self.header.layout.check(self.table.bytes())?;
        if records != self.header.len {
            return Err(InvariantError { what: "the number of records is not the one kept", at: records });
        }
        Ok(())
    }
}

impl<L: Layout, S: Store> fmt::Debug for Filter<L, S> {
    /// The numbers, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("layout", &L::NAME)
            .field("slots", &self.geometry().slots())
            .field("r", &self.geometry().r())
            .field("records", &self.header.len)
            .field("seed", &self.header.seed)
            .finish_non_exhaustive()
    }
}

impl<L: Layout, S: Store> Amq for Filter<L, S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.header.layout.contains(self.table.bytes(), digest)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        self.header.layout.contains_batch(self.table.bytes(), digests, answers);
    }

    fn len(&self) -> Option<u64> {
        Some(self.header.len)
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    /// Distinct fingerprints over M, exactly: a random digest has each fingerprint with the same probability. Linear in the
    /// table.
    fn expected_fpr(&self) -> Option<f64> {
        let distinct = self.fingerprints().count() as u64;
        Some(theory::quotient::fpr_given_state(distinct, self.geometry().slots(), self.geometry().r()))
    }
}

/// # Sizes
///
/// m = max(⌈n/α⌉, n + 1, 2) slots for a capacity of n. A rate is reached with the r, and the load of at most
/// 0.85 (three state bits) or 0.95 (rank-select), that take the fewest bits; a number of bits per key with the largest r that fits
/// at that load. α of a shape is in (0, 1].
impl<L: Layout> Family for Filter<L, Table>
where
    Self: amq::Capable,
{
    const NAME: &'static str = L::NAME;
    const TITLE: &'static str = L::TITLE;
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = L::R;

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(sizing::plan::<L>(spec)?.0)
    }

    /// Sorts the fingerprints by their digits and writes the table in one pass: much faster than insertions in random order, and the
    /// same bytes. Needs 8 bytes a digest beside the table.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let (_, layout) = sizing::plan::<L>(spec)?;
        let geometry = layout.geometry();
        let (len, limit) = (digests.len() as u64, geometry.highest_records());
        if len > limit {
            return Err(BuildError::Full { records: len, limit });
        }
        let mut room = Table::zeroed(len.saturating_mul(8))?;
        let fingerprints = digests.iter().map(|&digest| geometry.fingerprint(digest));
        // The highest fingerprint is M - 1.
        let bits = 128 - (geometry.fingerprints() - 1).leading_zeros();
        let header = Header { layout, seed: spec.seed(), len, records: Records::OnePerInsertion };
        let mut table = Table::zeroed(layout.table_bytes())?;
        let mut encoder = Encoder::new(layout, table.bytes_mut());
        radix::sort(fingerprints, room.bytes_mut(), bits, |sorted| encoder.put(sorted))?;
        encoder.finish()?;
        Ok(Self { header, table, moved: 0 })
    }

    fn table(&self) -> &[u8] {
        self.bytes()
    }

    fn check_invariants(&self) -> Result<(), InvariantError> {
        Self::check_invariants(self)
    }
}

amq::capabilities!(
    Filter<ThreeBit>: Insert, Remove, Count, Fingerprints, Stats, Grow, Shrink, Union, Intersect, MultisetAlgebra
);
amq::capabilities!(
    Filter<RankSelect>: Insert, Remove, Count, Fingerprints, Stats, Grow, Shrink, Union, Intersect, MultisetAlgebra
);
