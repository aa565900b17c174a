//! A filter that doubles its slots by itself.

use amq::{Amq, BuildError, Count, Digest, Grow, Insert, InsertError, Remove, Space};
use amq_bits::Table;

use crate::{Filter, Layout};

/// A filter that grows before an insertion would take it above a load limit.
///
/// Growing takes a remainder bit each time and leaves M, hence every answer, as it is: start with as many remainder bits more as
/// there will be doublings. When no bit is left to give, or the memory for a larger table cannot be had, the table fills beyond the limit
/// instead, up to its last slot but one, and only then an insertion fails.
///
/// An insertion is linear in the table when it grows and constant otherwise: constant in the mean over a doubling.
///
/// ```
/// use amq::{Amq, Digest, Insert};
/// use amq_quotient::{Geometry, GrowingFilter, QuotientFilter};
///
/// let start = QuotientFilter::with_geometry(Geometry::new(16, 20).expect("a small table"), 0)?;
/// let mut filter = GrowingFilter::new(start, 0.9)?;
/// for i in 0..1_000_u64 {
///     filter.insert(Digest::new(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)))?;
/// }
/// // 2,048 slots would be needed only above 921 records.
/// assert_eq!(filter.filter().geometry().slots(), 2_048);
/// assert_eq!(filter.filter().geometry().fingerprints(), 16 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GrowingFilter<L: Layout> {
    filter: Filter<L, Table>,
    /// Invariant: above 0 and at most 1.
    load_limit: f64,
}

impl<L: Layout> GrowingFilter<L> {
    /// Lets a filter grow by itself whenever its load would exceed `load_limit`.
    ///
    /// # Errors
    /// If the limit is not above 0 and at most 1.
    pub fn new(filter: Filter<L, Table>, load_limit: f64) -> Result<Self, BuildError> {
        if load_limit > 0.0 && load_limit <= 1.0 {
            Ok(Self { filter, load_limit })
        } else {
            Err(amq::SpecError::Alpha { alpha: load_limit, lowest: 0.0, highest: 1.0 }.into())
        }
    }

    /// The filter, to look at.
    pub fn filter(&self) -> &Filter<L, Table> {
        &self.filter
    }

    /// The filter, which grows no more.
    pub fn into_filter(self) -> Filter<L, Table> {
        self.filter
    }

    /// The load that the filter grows at.
    pub fn load_limit(&self) -> f64 {
        self.load_limit
    }

    /// Grows until `records` more are within the limit, as far as that can be; not at all for more than any table that is left holds.
    fn make_room(&mut self, records: u64) {
        if self.remaining().is_some_and(|remaining| records > remaining) {
            return;
        }
        let wanted = self.filter.records().saturating_add(records);
        // One slot stays empty, whatever the limit.
        while wanted as f64 > self.load_limit * self.filter.geometry().slots() as f64
            || wanted > self.filter.geometry().highest_records()
        {
            if self.filter.grow().is_err() {
                return;
            }
        }
    }
}

impl<L: Layout> Amq for GrowingFilter<L> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains(digest)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        self.filter.contains_batch(digests, answers);
    }

    fn len(&self) -> Option<u64> {
        self.filter.len()
    }

    fn space(&self) -> Space {
        self.filter.space()
    }

    fn expected_fpr(&self) -> Option<f64> {
        self.filter.expected_fpr()
    }
}

impl<L: Layout> Insert for GrowingFilter<L> {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.make_room(1);
        self.filter.insert(digest)
    }

    /// Grows first, for the whole batch, unless that would fit no table that is left to grow to. Where there is no memory for the table that it
    /// takes, all records are as they were, in a table that may have grown.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        self.make_room(digests.len() as u64);
        self.filter.insert_batch(digests)
    }

    /// What the largest table that is left to grow to takes, if there is memory for it.
    fn remaining(&self) -> Option<u64> {
        let geometry = self.filter.geometry();
        let doublings = geometry.r().saturating_sub(L::R.0);
        // m·2^doublings is at most M/2, which fits 64 bits.
        Some((geometry.slots() << doublings) - 1 - self.filter.records())
    }
}

impl<L: Layout> Remove for GrowingFilter<L> {
    fn remove(&mut self, digest: Digest) -> bool {
        self.filter.remove(digest)
    }

    fn remove_batch(&mut self, digests: &[Digest]) -> u64 {
        self.filter.remove_batch(digests)
    }
}

impl<L: Layout> Count for GrowingFilter<L> {
    fn count(&self, digest: Digest) -> u64 {
        self.filter.count(digest)
    }
}
