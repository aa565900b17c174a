//! The counting Bloom filter: m four-bit counters, of which each key counts up to k.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;

use amq::theory::bloom;
use amq::{
    Amq, BuildError, Count, Digest, Family, Histogram, Insert, InsertError, InvariantError, Kind, MergeError,
    Plan, Remove, Space, Spec, SpecError, Stats, Union, assert_same_length, capabilities,
};
use amq_bits::prefetch::{prefetch_read, prefetch_write};
use amq_bits::{Store, StoreMut, Table};

use crate::batch::{index, probes, rolling, with_probes};
use crate::bloom::{check_compatible, estimate};
use crate::counters::{STUCK, WIDTH, add_byte, count_occupied, count_stuck, down, get, set, up};
use crate::layout::{Layout, LayoutError, MOST_PROBES};
use crate::probes::Probes;

/// A counting Bloom filter (Fan, Cao, Almeida, Broder, *Summary cache*, IEEE/ACM Transactions on Networking, 2000) of any number of four-bit counters m, up
/// to 2^60, and 1 to 64 probes k. The positions and the rate are those of a [`Bloom`](crate::Bloom) filter of m bits, the space is four
/// times as much.
///
/// It is a multiset: a key inserted twice is there until it is removed twice. An insert adds one to each *distinct* position of
/// the key, also where two of its probes meet, so that [`count`](Count::count) is never too high by the key's own doing, and a removal takes
/// away exactly what the insert has put there.
///
/// **Saturation.** A counter that reaches 15 sticks: it stays at 15 whatever is removed, because nobody knows any more how
/// many keys it stands for. So nothing is forgotten, but a key all of whose counters are stuck is reported for ever. With distinct keys up
/// to the capacity that has a probability of some 1e-15 a counter; a key inserted 15 times does it alone.
/// [`saturated`](Self::saturated) tells how many are stuck.
///
/// **Removing a key that was never inserted**, but is taken for a member, takes counts away from others, which may then be
/// forgotten. `remove` cannot tell; it refuses only if a counter is 0, or if as much has been removed as inserted.
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
#[derive(Clone)]
pub struct CountingBloom<S = Table> {
    /// Invariant: `layout.check_table` accepts it.
    table: S,
    layout: Layout,
    seed: u64,
    records: Option<u64>,
}

impl CountingBloom {
    /// An empty filter of this layout, for digests under `seed`. Linear in the table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn with_layout(layout: Layout, seed: u64) -> Result<Self, BuildError> {
        let table = Table::zeroed(layout.table_bytes(WIDTH))?;
        Ok(Self { table, layout, seed, records: Some(0) })
    }
}

impl<S: Store> CountingBloom<S> {
    /// A filter over a table that exists: counter i is the low (i even) or high half of byte i / 2. `records` is what
    /// [`len`](Amq::len) says. Constant time.
    ///
    /// # Errors
    /// If the table has not exactly ceil(m/2) bytes, or the half byte behind the last counter is not 0.
    pub fn from_parts(
        table: S,
        layout: Layout,
        seed: u64,
        records: Option<u64>,
    ) -> Result<Self, LayoutError> {
        layout.check_table(table.bytes(), WIDTH)?;
        Ok(Self { table, layout, seed, records })
    }

    /// Counters and probes.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The seed that digests are made under.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Counters that are not 0. Linear in the table.
    pub fn occupied(&self) -> u64 {
        count_occupied(self.table.bytes())
    }

    /// Counters that are stuck at 15. Linear in the table.
    pub fn saturated(&self) -> u64 {
        count_stuck(self.table.bytes())
    }

    /// The share of counters that are not 0, 0 to 1: about 1/2 at the design point. Linear in the table.
    pub fn fill(&self) -> f64 {
        self.occupied() as f64 / self.layout.m() as f64
    }

    /// How many distinct keys the occupied counters speak for, as [`Bloom::estimated_count`](crate::Bloom::estimated_count). `None` if
    /// no counter is 0. Linear in the table.
    pub fn estimated_count(&self) -> Option<f64> {
        estimate(self.layout, self.occupied())
    }

    /// Whether `other` counts at the same positions for the same keys.
    fn check_operand<T: Store>(&self, other: &CountingBloom<T>) -> Result<(), MergeError> {
        check_compatible((self.seed, self.layout), (other.seed, other.layout))
    }
}

#[inline]
fn contains<const K: u32>(table: &[u8], layout: Layout, digest: Digest) -> bool {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        if get(table, positions.next_position()) == 0 {
            return false;
        }
    }
    true
}

fn contains_batch<const K: u32>(table: &[u8], layout: Layout, digests: &[Digest], answers: &mut [bool]) {
    rolling(
        table,
        digests,
        |table, digest| fetch::<K>(table, layout, digest, prefetch_read),
        |table, i, digest| answers[i] = contains::<K>(table, layout, digest),
    );
}

fn count_hits<const K: u32>(table: &[u8], layout: Layout, digests: &[Digest]) -> u64 {
    digests.iter().map(|&digest| u64::from(black_box(contains::<K>(table, layout, digest)))).sum()
}

/// The counters of a key, in the order of its probes; a position that two probes meet appears twice.
#[inline]
fn read<const K: u32>(table: &[u8], layout: Layout, digest: Digest) -> [u8; MOST_PROBES as usize] {
    let mut counters = [0; MOST_PROBES as usize];
    let mut positions = Probes::new(digest, layout.m());
    for counter in counters.iter_mut().take(probes::<K>(layout.k()) as usize) {
        *counter = get(table, positions.next_position());
    }
    counters
}

/// Writes `change(counter)` to the positions of `counters`, which [`read`] has read.
///
/// All are read before the first is written, so that a position which two probes meet is written twice with the same value: it
/// changes by one, with no search for duplicates.
#[inline]
fn write<const K: u32>(
    table: &mut [u8],
    layout: Layout,
    digest: Digest,
    counters: &[u8; MOST_PROBES as usize],
    change: impl Fn(u8) -> u8,
) {
    let mut positions = Probes::new(digest, layout.m());
    for &counter in counters.iter().take(probes::<K>(layout.k()) as usize) {
        set(table, positions.next_position(), change(counter));
    }
}

#[inline]
fn insert<const K: u32>(table: &mut [u8], layout: Layout, digest: Digest) {
    let counters = read::<K>(table, layout, digest);
    write::<K>(table, layout, digest, &counters, up);
}

fn insert_batch<const K: u32>(table: &mut [u8], layout: Layout, digests: &[Digest]) {
    rolling(
        table,
        digests,
        |table, digest| fetch::<K>(table, layout, digest, prefetch_write),
        |table, _, digest| insert::<K>(table, layout, digest),
    );
}

#[inline]
fn remove<const K: u32>(table: &mut [u8], layout: Layout, digest: Digest) -> bool {
    let counters = read::<K>(table, layout, digest);
    let present = counters.iter().take(probes::<K>(layout.k()) as usize).all(|&counter| counter != 0);
    if present {
        write::<K>(table, layout, digest, &counters, down);
    }
    present
}

/// Removes each in turn, at most `limit`, and returns how many there were.
fn remove_batch<const K: u32>(table: &mut [u8], layout: Layout, digests: &[Digest], limit: u64) -> u64 {
    let mut removed = 0;
    rolling(
        table,
        digests,
        |table, digest| fetch::<K>(table, layout, digest, prefetch_write),
        |table, _, digest| {
            if removed < limit {
                removed += u64::from(remove::<K>(table, layout, digest));
            }
        },
    );
    removed
}

#[inline]
fn smallest<const K: u32>(table: &[u8], layout: Layout, digest: Digest) -> u64 {
    let counters = read::<K>(table, layout, digest);
    counters
        .iter()
        .take(probes::<K>(layout.k()) as usize)
        .fold(STUCK, |least, &counter| least.min(counter))
        .into()
}

/// Asks for every line of a key.
#[inline]
fn fetch<const K: u32>(table: &[u8], layout: Layout, digest: Digest, prefetch: impl Fn(&[u8], usize)) {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        prefetch(table, index(positions.next_position() >> 1));
    }
}

impl<S: Store> Amq for CountingBloom<S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        with_probes!(self.layout.k(), contains(self.table.bytes(), self.layout, digest))
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        with_probes!(self.layout.k(), contains_batch(self.table.bytes(), self.layout, digests, answers));
    }

    fn count_hits(&self, digests: &[Digest]) -> u64 {
        with_probes!(self.layout.k(), count_hits(self.table.bytes(), self.layout, digests))
    }

    /// Inserts less removals.
    fn len(&self) -> Option<u64> {
        self.records
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    /// (X/m)^k with X counters that are not 0. Linear in the table.
    fn expected_fpr(&self) -> Option<f64> {
        Some(bloom::fpr_given_state(self.occupied(), self.layout.m(), self.layout.k()))
    }
}

impl<S: StoreMut> Insert for CountingBloom<S> {
    /// Counts up to k counters, those that are not stuck, by one. Never fails.
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), insert(self.table.bytes_mut(), self.layout, digest));
        self.records = self.records.map(|records| records.saturating_add(1));
        Ok(())
    }

    /// Never fails.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), insert_batch(self.table.bytes_mut(), self.layout, digests));
        self.records = self.records.map(|records| records.saturating_add(digests.len() as u64));
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<S: StoreMut> Remove for CountingBloom<S> {
    /// Counts the key's counters, those that are not stuck, down by one; `false`, and nothing changed, if one of them is 0 or
    /// the filter is known to be empty.
    fn remove(&mut self, digest: Digest) -> bool {
        self.remove_batch(&[digest]) == 1
    }

    fn remove_batch(&mut self, digests: &[Digest]) -> u64 {
        let limit = self.records.unwrap_or(u64::MAX);
        let removed =
            with_probes!(self.layout.k(), remove_batch(self.table.bytes_mut(), self.layout, digests, limit));
        // Not below 0: at most `limit` were removed.
        self.records = self.records.map(|records| records - removed);
        removed
    }
}

impl<S: Store> Count for CountingBloom<S> {
    /// The smallest of the key's counters: at least the number of times that the key is in, as long as that is below 15 and no key
    /// was removed that had not been inserted; 15 means 15 or more.
    fn count(&self, digest: Digest) -> u64 {
        with_probes!(self.layout.k(), smallest(self.table.bytes(), self.layout, digest))
    }
}

impl<S: Store> Stats for CountingBloom<S> {
    /// "counter value": how many counters have each value from 0 to 15.
    fn histograms(&self) -> Vec<Histogram> {
        let mut counts = vec![0_u64; usize::from(STUCK) + 1];
        for i in 0..self.layout.m() {
            counts[usize::from(get(self.table.bytes(), i))] += 1;
        }
        vec![Histogram { name: "counter value", counts }]
    }
}

impl Family for CountingBloom {
    const NAME: &'static str = "counting-bloom";
    const TITLE: &'static str = "Counting Bloom";
    const KIND: Kind = Kind::Bloom;
    const R: (u32, u32) = (1, MOST_PROBES);

    /// As the plan of a [`Bloom`](crate::Bloom) filter, with a counter where that has a bit; `BitsPerKey` buys b/4 counters a key.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Layout::plan(spec, WIDTH)
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let (layout, _) = Layout::for_spec(spec, WIDTH)?;
        let mut filter = Self::with_layout(layout, spec.seed())?;
        with_probes!(layout.k(), insert_batch(filter.table.bytes_mut(), layout, digests));
        filter.records = Some(digests.len() as u64);
        Ok(filter)
    }

    fn table(&self) -> &[u8] {
        self.table.bytes()
    }

    fn check_invariants(&self) -> Result<(), InvariantError> {
        let last = self.table.bytes().len().saturating_sub(1) as u64;
        self.layout.check_table(self.table.bytes(), WIDTH).map_err(|_| InvariantError {
            what: "the table is not as long as its counters, or has something behind the last",
            at: last,
        })
    }
}

capabilities!(CountingBloom: Insert, Remove, Count, Stats, Union);

impl Union for CountingBloom {
    /// The sum of the two multisets: counters are added, and stick at 15. A key of both has to be removed twice; removals stay
    /// as safe as they were. (The larger of two counters would be smaller, and wrong: two keys that share a counter, one in each operand, would
    /// be one there, and removing the one would forget the other.)
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, &other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte = add_byte(*byte, other);
        }
        let records = self.records.zip(other.records).map(|(left, right)| left.saturating_add(right));
        Ok(Self { table, records, ..*self })
    }
}

impl<S: Store, T: Store> PartialEq<CountingBloom<T>> for CountingBloom<S> {
    /// Same seed, layout and counters.
    fn eq(&self, other: &CountingBloom<T>) -> bool {
        self.check_operand(other).is_ok() && self.table.bytes() == other.table.bytes()
    }
}

impl<S: Store> fmt::Debug for CountingBloom<S> {
    /// Everything but the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingBloom")
            .field("m", &self.layout.m())
            .field("k", &self.layout.k())
            .field("seed", &self.seed)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
