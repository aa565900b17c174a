//! Filters of bits that many threads insert into at once, without a lock.

use core::fmt;
use core::ops::Range;
// Loom's orderings are those of `core`.
use core::sync::atomic::Ordering::Relaxed;

use amq::{
    Amq, BuildError, Digest, Insert, InsertError, InvariantError, SharedInsert, Space, Spec,
    assert_same_length,
};
use amq_bits::atomic::{AtomicTable, AtomicU8};
use amq_bits::{StoreMut, Table};

use crate::batch::{index, one_by_one, probes, with_probes};
use crate::family::family;
use crate::filter::{BitFilter, BitPlaces, WIDTH};
use crate::layout::{BlockLayout, Layout, Spread};
use crate::lookup::Lookups;

/// A [`Bloom`](crate::Bloom) filter that many threads insert into: a [`SharedFilter`] of the same positions and bits.
///
/// ```
/// use amq::{Amq, Key, SharedInsert, Spec};
/// use amq_bloom::AtomicBloom;
///
/// let filter = AtomicBloom::for_spec(&Spec::fpr(0.01, 1_000))?;
/// std::thread::scope(|scope| {
///     for thread in 0..4_u64 {
///         let filter = &filter;
///         scope.spawn(move || {
///             (thread * 250..(thread + 1) * 250).for_each(|key| filter.insert_shared(key.digest(0)).unwrap());
///         });
///     }
/// });
/// assert!((0..1_000_u64).all(|key| filter.contains(key.digest(0))));
/// let filter = filter.into_filter();
/// assert!(filter.contains(7_u64.digest(0)));
/// # Ok::<(), amq::BuildError>(())
/// ```
pub type AtomicBloom = SharedFilter<Layout>;

/// A [`BlockedBloom`](crate::BlockedBloom) filter that many threads insert into: a [`SharedFilter`] of the same positions and bits.
pub type AtomicBlockedBloom = SharedFilter<BlockLayout<Spread>>;

family!(AtomicBloom, Layout, WIDTH, "atomic-bloom", "Atomic Bloom": Insert, SharedInsert);

family!(
    AtomicBlockedBloom, BlockLayout<Spread>, WIDTH, "atomic-blocked-bloom", "Atomic blocked Bloom": Insert, SharedInsert
);

/// A filter of bits in the layout `P` that is inserted into through `&self`, by any number of threads at once, and looked up at the same
/// time. No thread ever waits for another.
///
/// Use it under the names of its layouts: [`AtomicBloom`], [`AtomicBlockedBloom`]. It becomes a filter of one owner, which is faster and can
/// do more, by [`into_filter`](Self::into_filter), and is made from one by `From`, both in constant time.
///
/// **What a lookup sees.** A key whose insert happened before the lookup (in the same thread, or in one that has been joined, or that has
/// sent a message since) is found, always. A key that is being inserted at the same time may be found or not.
///
/// **Why relaxed operations are enough.** A bit goes from 0 to 1 once and never back. For one byte, all threads agree on the order of its
/// changes, and a read that happens after another read or write of the byte sees that state or a later one (C++20, \[intro.races\], coherence),
/// whatever the ordering of the operations: so it sees the bit of an insert that happened before, also where that insert only read that the bit
/// was set already. Nothing is published through a filter: that a key may be in it allows no conclusion about other memory, since it
/// may be a false positive, so there is nothing that a release or acquire would have to order. Bits of different bytes may appear in any
/// order, which a lookup at the same time takes for a key not yet inserted.
///
/// The number of inserts is not known ([`len`](Amq::len) is `None`): a counter would be one cache line that all threads write.
/// [`estimated_count`](Self::estimated_count) tells the number of distinct keys from the bits.
pub struct SharedFilter<P> {
    /// Invariant: `layout.check_table` accepts its bytes.
    table: AtomicTable,
    layout: P,
    seed: u64,
}

impl<P: BitPlaces> SharedFilter<P> {
    /// An empty filter of this layout, for digests under `seed`. Linear in the table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn with_layout(layout: P, seed: u64) -> Result<Self, BuildError> {
        BitFilter::with_layout(layout, seed).map(Self::from)
    }

    /// An empty filter for a spec.
    ///
    /// # Errors
    /// If the spec cannot be planned or the memory cannot be had.
    pub fn for_spec(spec: &Spec) -> Result<Self, BuildError> {
        Self::from_digests(&[], spec)
    }

    /// [`Family::build`](amq::Family::build).
    fn from_digests(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        BitFilter::from_digests(digests, spec).map(Self::from)
    }

    /// [`Family::table`](amq::Family::table): nothing, as plain bytes cannot be lent while others may write them.
    #[expect(clippy::unused_self, reason = "the shape of the other filters")]
    fn table_view(&self) -> &[u8] {
        &[]
    }

    /// [`Family::check_invariants`](amq::Family::check_invariants).
    fn check(&self) -> Result<(), InvariantError> {
        let bytes = self.table.cells().len() as u64;
        let used = self.layout.m() % 8;
        let padding = self.table.cells().last().map_or(0, |cell| u64::from(cell.load(Relaxed)) >> used);
        if bytes != self.layout.table_bytes(WIDTH) || used != 0 && padding != 0 {
            return Err(InvariantError {
                what: "the table is not as long as its bits, or has a bit set behind the last",
                at: bytes.saturating_sub(1),
            });
        }
        Ok(())
    }

    /// Bits and probes.
    pub fn layout(&self) -> P {
        self.layout
    }

    /// The seed that digests are made under.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bits that are set. Linear in the table; while others insert, some number between that at the beginning and that at the end.
    pub fn set_bits(&self) -> u64 {
        self.ones_in(0..self.layout.m())
    }

    /// As [`BitFilter::estimated_count`].
    pub fn estimated_count(&self) -> Option<f64> {
        self.layout.estimated_count(|range| self.ones_in(range))
    }

    /// The filter, owned alone. Constant time. Its [`len`](Amq::len) is unknown.
    pub fn into_filter(self) -> BitFilter<P> {
        BitFilter::from_valid(self.table.into_table(), self.layout, self.seed, None)
    }

    /// A copy as it is: with every key whose insert happened before, and some or all bits of those that are being inserted. Linear in the
    /// table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn snapshot(&self) -> Result<BitFilter<P>, BuildError> {
        let mut table = Table::zeroed(self.layout.table_bytes(WIDTH))?;
        for (byte, cell) in table.bytes_mut().iter_mut().zip(self.table.cells()) {
            *byte = cell.load(Relaxed);
        }
        Ok(BitFilter::from_valid(table, self.layout, self.seed, None))
    }

    /// The ones among the bits of `range`, which starts at a whole byte, and ends at one or at the table's end.
    fn ones_in(&self, range: Range<u64>) -> u64 {
        let cells = &self.table.cells()[index(range.start / 8)..index(range.end.div_ceil(8))];
        cells.iter().map(|cell| u64::from(cell.load(Relaxed).count_ones())).sum()
    }

    /// Lookups by relaxed loads, which are plain ones to the processor.
    ///
    /// Vectors would read several bytes at once, and outside of what the language says about bytes that others may be writing.
    #[inline]
    fn lookups(&self) -> Lookups<'_, [AtomicU8], P, impl Fn(&[AtomicU8], u64) -> u8> {
        let table = self.table.cells();
        let occupied =
            |table: &[AtomicU8], position| table[index(position >> 3)].load(Relaxed) >> (position & 7);
        Lookups { table, bytes: table.len(), layout: self.layout, occupied }
    }

    /// Sets each of the key's bits.
    #[inline]
    fn set<const K: u32>(&self, digest: Digest) {
        let cells = self.table.cells();
        let mut positions = self.layout.positions(digest);
        for _ in 0..probes::<K>(self.layout.k()) {
            let Some(position) = positions.next() else { return };
            let (cell, mask) = (&cells[index(position >> 3)], 1 << (position & 7));
            if cell.load(Relaxed) & mask == 0 {
                cell.fetch_or(mask, Relaxed);
            }
        }
    }
}

impl<P: BitPlaces> From<BitFilter<P>> for SharedFilter<P> {
    /// Shares a filter. Constant time; the number of inserts is forgotten.
    fn from(filter: BitFilter<P>) -> Self {
        let (table, layout, seed) = filter.into_parts();
        Self { table: AtomicTable::new(table), layout, seed }
    }
}

impl<P: BitPlaces> SharedInsert for SharedFilter<P> {
    /// Sets k bits. Never fails and never waits.
    ///
    /// A bit that is set already is only read: a locked instruction takes the cache line away from every other core, a read does not,
    /// and in a half-full filter that is half of them.
    #[inline]
    fn insert_shared(&self, digest: Digest) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), K => self.set::<K>(digest));
        Ok(())
    }
}

impl<P: BitPlaces> Insert for SharedFilter<P> {
    /// As [`insert_shared`](SharedInsert::insert_shared).
    #[inline]
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.insert_shared(digest)
    }

    /// As [`insert_shared`](SharedInsert::insert_shared) for each.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), K => {
            for &digest in digests {
                self.set::<K>(digest);
            }
        });
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<P: BitPlaces> Amq for SharedFilter<P> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        with_probes!(self.layout.k(), K => self.lookups().contains::<K>(digest))
    }

    fn count_hits(&self, digests: &[Digest]) -> u64 {
        let lookups = self.lookups();
        with_probes!(self.layout.k(), K => one_by_one(digests, |digest| lookups.contains::<K>(digest)))
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        // Nothing is fetched ahead: keys are short enough for the processor to look ahead itself.
        with_probes!(self.layout.k(), K => self.lookups().run::<K>(digests, answers, |_, _| {}));
    }

    /// `None`: see [`SharedFilter`].
    fn len(&self) -> Option<u64> {
        None
    }

    fn space(&self) -> Space {
        let bytes = self.table.heap_bytes();
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    /// As [`BitFilter`]'s.
    fn expected_fpr(&self) -> Option<f64> {
        Some(self.layout.expected_fpr(|range| self.ones_in(range)))
    }
}

impl<P: BitPlaces> fmt::Debug for SharedFilter<P> {
    /// Everything but the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFilter")
            .field("m", &self.layout.m())
            .field("k", &self.layout.k())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
