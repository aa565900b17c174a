//! Counting Bloom filters: a position holds a counter, so that keys can be removed.

mod counters;
mod operations;
mod probing;

use core::fmt;
use core::ops::Range;

use amq::{BuildError, Digest, InvariantError, MergeError, Spec};
use amq_bits::{Store, StoreMut, Table};

use crate::batch::index;
use crate::family::family;
use crate::filter::check_compatible;
use crate::layout::{BlockLayout, CounterLine, Layout, LayoutError, Places};
use counters::Counters;

/// A counting Bloom filter (Fan, Cao, Almeida, Broder, *Summary cache*, IEEE/ACM Transactions on Networking, 2000) of any number of four-bit
/// counters m, up to 2^60, and 1 to 64 probes k: a [`CountingFilter`] with the positions and the rate of a [`Bloom`](crate::Bloom)
/// filter of m bits, in four times the space.
///
/// ```
/// use amq::{Amq, Count, Family, Insert, Key, Remove, Spec};
/// use amq_bloom::CountingBloom;
///
/// let mut filter = CountingBloom::build(&[], &Spec::fpr(0.01, 1_000))?;
/// let key = "some key".digest(filter.seed());
/// filter.insert_batch(&[key, key]).unwrap();
/// assert_eq!(filter.count(key), 2);
/// assert!(filter.remove(key) && filter.contains(key));
/// assert!(filter.remove(key) && !filter.contains(key) && !filter.remove(key));
/// # Ok::<(), amq::BuildError>(())
/// ```
pub type CountingBloom<S = Table> = CountingFilter<Layout, 4, S>;

/// A [`CountingBloom`] with counters of two bits, which stick at 3: half the space, for sets of distinct keys of which few are removed. At the
/// design point 3.3 % of the counters hold three or more keys and stick, and with each removed key some of them stay behind.
///
/// ```
/// use amq::{Amq, Insert, Key};
/// use amq_bloom::{Layout, TwoBitCountingBloom};
///
/// let mut filter = TwoBitCountingBloom::with_layout(Layout::new(9_586, 7)?, 0).unwrap();
/// filter.insert("some key".digest(0)).unwrap();
/// assert_eq!(filter.space().payload_bits, 9_592 * 2 - 8);
/// # Ok::<(), amq_bloom::LayoutError>(())
/// ```
pub type TwoBitCountingBloom<S = Table> = CountingFilter<Layout, 2, S>;

/// A [`CountingBloom`] with counters of eight bits, which stick at 255: twice the space, for multisets whose keys are in up to 254 times.
pub type EightBitCountingBloom<S = Table> = CountingFilter<Layout, 8, S>;

/// A counting Bloom filter of which a key costs one cache line: 128 four-bit counters a block, k of them a key's.
///
/// The blocks are small, and so their fill varies more than that of [`BlockedBloom`](crate::BlockedBloom): at 10 counters a key the rate is
/// 1.35 % instead of .819 %. The plan accounts for it.
///
/// ```
/// use amq::{Amq, Family, Insert, Key, Remove, Spec};
/// use amq_bloom::BlockedCountingBloom;
///
/// let mut filter = BlockedCountingBloom::build(&[], &Spec::fpr(0.01, 1_000))?;
/// let key = "some key".digest(filter.seed());
/// filter.insert(key).unwrap();
/// assert!(filter.remove(key) && !filter.contains(key));
/// # Ok::<(), amq::BuildError>(())
/// ```
pub type BlockedCountingBloom<S = Table> = CountingFilter<BlockLayout<CounterLine>, 4, S>;

family!(CountingBloom, Layout, 4, "counting-bloom", "Counting Bloom": Insert, Remove, Count, Stats, Union);

family!(
    BlockedCountingBloom, BlockLayout<CounterLine>, 4, "blocked-counting-bloom", "Blocked counting Bloom":
    Insert, Remove, Count, Stats, Union
);

/// A counting Bloom filter in the layout `P`, with counters of `BITS` bits: 2, 4 or 8.
///
/// Use it under the names of its layouts and widths: [`CountingBloom`], [`BlockedCountingBloom`], [`TwoBitCountingBloom`],
/// [`EightBitCountingBloom`].
///
/// It is a multiset: a key inserted twice is there until it is removed twice. An insert adds one to each *distinct* position of
/// the key, also where two of its probes meet, so that [`count`](amq::Count::count) is never too high by the key's own doing, and a removal
/// takes away exactly what the insert has put there.
///
/// **Saturation.** A counter that reaches the largest number it can hold (3, 15, 255) sticks: it stays there whatever is removed, because
/// nobody knows any more how many keys it stands for. So nothing is forgotten, but a key all of whose counters are stuck is
/// reported for ever. With distinct keys up to the capacity that has a probability of some 1e-15 a four-bit counter; a key inserted 15
/// times does it alone. [`saturated`](Self::saturated) tells how many are stuck, [`histograms`](amq::Stats::histograms) how far the
/// others are from it.
///
/// **Removing a key that was never inserted**, but is taken for a member, takes counts away from others, which may then be
/// forgotten. `remove` cannot tell; it refuses only if a counter is 0, or if as much has been removed as inserted.
///
/// **Sum, but no difference.** [`union`](amq::Union::union) adds counters. Subtracting those of B from those of A would be right only if every
/// record of B is one of A and no counter has ever stuck: else a counter goes to 0 that another key of A needs, and that key is forgotten. No
/// table can tell whether that is so, and therefore there is no such operation; remove the keys of B.
#[derive(Clone)]
pub struct CountingFilter<P, const BITS: u32, S = Table> {
    /// Invariant: `layout.check_table` accepts it.
    table: S,
    layout: P,
    seed: u64,
    records: Option<u64>,
}

impl<P: Places, const BITS: u32> CountingFilter<P, BITS> {
    /// An empty filter of this layout, for digests under `seed`. Linear in the table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn with_layout(layout: P, seed: u64) -> Result<Self, BuildError> {
        let table = Table::zeroed(layout.table_bytes(BITS))?;
        Ok(Self { table, layout, seed, records: Some(0) })
    }

    /// [`Family::build`](amq::Family::build).
    fn from_digests(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let (layout, _) = P::for_spec(spec, BITS)?;
        let mut filter = Self::with_layout(layout, spec.seed())?;
        probing::insert_batch::<P, BITS>(filter.table.bytes_mut(), layout, digests);
        filter.records = Some(digests.len() as u64);
        Ok(filter)
    }

    /// [`Family::table`](amq::Family::table).
    fn table_view(&self) -> &[u8] {
        self.table.bytes()
    }

    /// [`Family::check_invariants`](amq::Family::check_invariants).
    fn check(&self) -> Result<(), InvariantError> {
        let last = self.table.bytes().len().saturating_sub(1) as u64;
        self.layout.check_table(self.table.bytes(), BITS).map_err(|_| InvariantError {
            what: "the table is not as long as its counters, or has something behind the last",
            at: last,
        })
    }
}

impl<P: Places, const BITS: u32, S: Store> CountingFilter<P, BITS, S> {
    /// A filter over a table that exists: with c = 8/`BITS`, counter i is the (i mod c)-th, the lowest first, of the c in byte i / c.
    /// `records` is what [`len`](amq::Amq::len) says. Constant time.
    ///
    /// # Errors
    /// If the table has not exactly ceil(m/c) bytes, or anything behind the last counter is not 0.
    pub fn from_parts(table: S, layout: P, seed: u64, records: Option<u64>) -> Result<Self, LayoutError> {
        layout.check_table(table.bytes(), BITS)?;
        Ok(Self { table, layout, seed, records })
    }

    /// Counters and probes.
    pub fn layout(&self) -> P {
        self.layout
    }

    /// The seed that digests are made under.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Counters that are not 0. Linear in the table.
    pub fn occupied(&self) -> u64 {
        Counters::<BITS>::count_occupied(self.table.bytes())
    }

    /// Counters that are stuck at the largest number. Linear in the table.
    pub fn saturated(&self) -> u64 {
        Counters::<BITS>::count_stuck(self.table.bytes())
    }

    /// The share of counters that are not 0, 0 to 1: about 1/2 at the design point. Linear in the table.
    pub fn fill(&self) -> f64 {
        self.occupied() as f64 / self.layout.m() as f64
    }

    /// How many distinct keys the occupied counters speak for, as [`BitFilter::estimated_count`](crate::BitFilter::estimated_count). `None`
    /// if no counter, or none of one block, is 0. Linear in the table.
    pub fn estimated_count(&self) -> Option<f64> {
        self.layout.estimated_count(|range| self.occupied_in(range))
    }

    /// The counters of `range`, which starts and ends at whole bytes or at the table's end, that are not 0.
    fn occupied_in(&self, range: Range<u64>) -> u64 {
        let counters_in_byte = u64::from(8 / BITS);
        let bytes = index(range.start / counters_in_byte)..index(range.end.div_ceil(counters_in_byte));
        Counters::<BITS>::count_occupied(&self.table.bytes()[bytes])
    }

    /// Whether `other` counts at the same positions for the same keys.
    fn check_operand<T: Store>(&self, other: &CountingFilter<P, BITS, T>) -> Result<(), MergeError> {
        check_compatible((self.seed, self.layout), (other.seed, other.layout))
    }
}

impl<P: Places, const BITS: u32, S: Store, T: Store> PartialEq<CountingFilter<P, BITS, T>>
    for CountingFilter<P, BITS, S>
{
    /// Same seed, layout and counters.
    fn eq(&self, other: &CountingFilter<P, BITS, T>) -> bool {
        self.check_operand(other).is_ok() && self.table.bytes() == other.table.bytes()
    }
}

impl<P: Places, const BITS: u32, S: Store> fmt::Debug for CountingFilter<P, BITS, S> {
    /// Everything but the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingFilter")
            .field("bits", &BITS)
            .field("m", &self.layout.m())
            .field("k", &self.layout.k())
            .field("seed", &self.seed)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
