//! What all filters of bits have in common: [`Bloom`](crate::Bloom), [`BlockedBloom`](crate::BlockedBloom) and
//! [`SplitBlockBloom`](crate::SplitBlockBloom) are one type over three layouts.

use core::fmt;
use core::ops::Range;

use amq::{
    Amq, BuildError, Digest, Insert, InsertError, Intersect, InvariantError, MergeError, Space, Spec, Union,
    assert_same_length,
};
use amq_bits::{Store, StoreMut, Table};

use crate::batch::index;
use crate::layout::{LayoutError, Places};

/// A position takes one bit.
pub(crate) const WIDTH: u32 = 1;

/// A layout with code for bits: how lookups and inserts touch the table. Implemented by [`Layout`](crate::Layout) and, of the
/// [`BlockLayout`](crate::BlockLayout)s, those of bits.
///
/// Tables are ones that [`Places::check_table`] accepts.
pub trait BitPlaces: Places {
    /// The filter's name in debug output.
    const TYPE: &'static str;

    /// Whether all bits of the digest are set.
    fn contains(self, table: &[u8], digest: Digest) -> bool;

    /// How many are present, each looked up on its own, but with the processor's code chosen once.
    fn count_hits(self, table: &[u8], digests: &[Digest]) -> u64;

    /// [`contains`](Self::contains) for each; the lengths are equal.
    fn contains_batch(self, table: &[u8], digests: &[Digest], answers: &mut [bool]);

    /// Sets the bits of the digest.
    fn insert(self, table: &mut [u8], digest: Digest);

    /// [`insert`](Self::insert) for each.
    fn insert_batch(self, table: &mut [u8], digests: &[Digest]);
}

/// A Bloom filter of bits in the layout `P`, over a table that it owns or borrows.
///
/// Use it under the names of its layouts: [`Bloom`](crate::Bloom), [`BlockedBloom`](crate::BlockedBloom),
/// [`SplitBlockBloom`](crate::SplitBlockBloom).
///
/// It takes any number of keys: beyond the capacity the rate rises ([`expected_fpr`](Amq::expected_fpr) tells how far), nothing
/// else happens. Keys cannot be removed. Duplicates change nothing. Digests are taken as uniform: any others lose no key
/// either, but the rate is then not the predicted one.
///
/// Two filters are equal if they answer alike by construction: same seed, layout and bits. The number of inserts does not count.
#[derive(Clone)]
pub struct BitFilter<P, S = Table> {
    /// Invariant: `layout.check_table` accepts it.
    table: S,
    layout: P,
    seed: u64,
    inserts: Option<u64>,
}

impl<P: BitPlaces> BitFilter<P> {
    /// An empty filter of this layout, for digests under `seed`. Linear in the table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn with_layout(layout: P, seed: u64) -> Result<Self, BuildError> {
        let table = Table::zeroed(layout.table_bytes(WIDTH))?;
        Ok(Self { table, layout, seed, inserts: Some(0) })
    }

    /// [`Family::build`](amq::Family::build).
    pub(crate) fn from_digests(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let (layout, _) = P::for_spec(spec, WIDTH)?;
        let mut filter = Self::with_layout(layout, spec.seed())?;
        layout.insert_batch(filter.table.bytes_mut(), digests);
        filter.inserts = Some(digests.len() as u64);
        Ok(filter)
    }

    /// [`Family::table`](amq::Family::table).
    pub(crate) fn table_view(&self) -> &[u8] {
        self.table.bytes()
    }

    /// [`Family::check_invariants`](amq::Family::check_invariants).
    pub(crate) fn check(&self) -> Result<(), InvariantError> {
        let last = self.table.bytes().len().saturating_sub(1) as u64;
        self.layout.check_table(self.table.bytes(), WIDTH).map_err(|_| InvariantError {
            what: "the table is not as long as its bits, or has a bit set behind the last",
            at: last,
        })?;
        let set = self.set_bits();
        let most = self.inserts.map(|inserts| inserts.saturating_mul(self.layout.k().into()));
        if most.is_some_and(|most| set > most || (most > 0 && set == 0)) {
            return Err(InvariantError {
                what: "the number of set bits does not fit that of inserts",
                at: set,
            });
        }
        Ok(())
    }

    /// The table, layout and seed.
    pub(crate) fn into_parts(self) -> (Table, P, u64) {
        (self.table, self.layout, self.seed)
    }

    /// A filter from parts that fit together.
    pub(crate) fn from_valid(table: Table, layout: P, seed: u64, inserts: Option<u64>) -> Self {
        debug_assert!(layout.check_table(table.bytes(), WIDTH).is_ok(), "a table of another layout");
        Self { table, layout, seed, inserts }
    }
}

impl<P: BitPlaces, S: Store> BitFilter<P, S> {
    /// A filter over a table that exists: bit i of the filter is bit i % 8 of byte i / 8. `inserts` is what
    /// [`len`](Amq::len) says. Constant time.
    ///
    /// # Errors
    /// If the table has not exactly ceil(m/8) bytes, or bits behind the last one are set.
    pub fn from_parts(table: S, layout: P, seed: u64, inserts: Option<u64>) -> Result<Self, LayoutError> {
        layout.check_table(table.bytes(), WIDTH)?;
        Ok(Self { table, layout, seed, inserts })
    }

    /// Bits and probes.
    pub fn layout(&self) -> P {
        self.layout
    }

    /// The seed that digests are made under.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bits that are set. Linear in the table.
    pub fn set_bits(&self) -> u64 {
        count_ones(self.table.bytes())
    }

    /// The share of set bits, 0 to 1: about 1/2 at the design point. Linear in the table.
    pub fn fill(&self) -> f64 {
        self.set_bits() as f64 / self.layout.m() as f64
    }

    /// How many distinct keys the set bits speak for: the n for which they are the mean number, in blocks the sum of that over
    /// the blocks. `None` if every bit, or every bit of one block, is set, which any large number explains. Linear in the table.
    pub fn estimated_count(&self) -> Option<f64> {
        let table = self.table.bytes();
        self.layout.estimated_count(|range| ones_in(range, |i| table[i]))
    }

    /// How many distinct keys this filter and `other` have in common, estimated from the two and their union: 0 or
    /// more, exact in the mean only, and useless where the sets are much larger than what they share. `None` as in
    /// [`estimated_count`](Self::estimated_count) of the union. Linear in the table, allocates nothing.
    ///
    /// # Errors
    /// If seeds or layouts differ.
    pub fn estimated_intersection<T: Store>(
        &self,
        other: &BitFilter<P, T>,
    ) -> Result<Option<f64>, MergeError> {
        self.check_operand(other)?;
        let (left, right) = (self.table.bytes(), other.table.bytes());
        let union = self.layout.estimated_count(|range| ones_in(range, |i| left[i] | right[i]));
        let Some(union) = union else { return Ok(None) };
        Ok(self.estimated_count().zip(other.estimated_count()).map(|(a, b)| (a + b - union).max(0.0)))
    }

    /// Whether `other` sets the same bits for the same keys.
    fn check_operand<T: Store>(&self, other: &BitFilter<P, T>) -> Result<(), MergeError> {
        check_compatible((self.seed, self.layout), (other.seed, other.layout))
    }
}

/// Whether two filters of these seeds and layouts use the same positions for the same keys.
pub(crate) fn check_compatible<P: Places>(left: (u64, P), right: (u64, P)) -> Result<(), MergeError> {
    let ((left_seed, left), (right_seed, right)) = (left, right);
    if left_seed != right_seed {
        Err(MergeError::Seed { left: left_seed, right: right_seed })
    } else if left.m() != right.m() {
        Err(MergeError::Size { left: left.m().into(), right: right.m().into() })
    } else if left.k() != right.k() {
        Err(MergeError::HashFunctions { left: left.k(), right: right.k() })
    } else {
        Ok(())
    }
}

pub(crate) fn count_ones(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().map(|&word| u64::from(u64::from_ne_bytes(word).count_ones())).sum::<u64>()
        + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// The ones among the bits of `range`, which starts at a whole byte, and ends at one or at the table's end; `byte(i)` is byte i.
fn ones_in(range: Range<u64>, byte: impl Fn(usize) -> u8) -> u64 {
    (index(range.start / 8)..index(range.end.div_ceil(8))).map(|i| u64::from(byte(i).count_ones())).sum()
}

impl<P: BitPlaces, S: Store> Amq for BitFilter<P, S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.layout.contains(self.table.bytes(), digest)
    }

    /// Chooses the processor's code once for all lookups, which are otherwise those of a plain loop: one after the other, none ahead.
    fn count_hits(&self, digests: &[Digest]) -> u64 {
        self.layout.count_hits(self.table.bytes(), digests)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        self.layout.contains_batch(self.table.bytes(), digests, answers);
    }

    /// The number of inserts, duplicates included; `None` after an intersection.
    fn len(&self) -> Option<u64> {
        self.inserts
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    /// The probability that k further bits are all set: (X/m)^k with X set bits, in blocks the mean of that over the blocks. Linear in
    /// the table.
    fn expected_fpr(&self) -> Option<f64> {
        let table = self.table.bytes();
        Some(
            self.layout.expected_fpr(|range| {
                count_ones(&table[index(range.start / 8)..index(range.end.div_ceil(8))])
            }),
        )
    }
}

impl<P: BitPlaces, S: StoreMut> Insert for BitFilter<P, S> {
    /// Sets k bits. Never fails.
    #[inline]
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.layout.insert(self.table.bytes_mut(), digest);
        self.inserts = self.inserts.map(|inserts| inserts.saturating_add(1));
        Ok(())
    }

    /// Never fails.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        self.layout.insert_batch(self.table.bytes_mut(), digests);
        self.inserts = self.inserts.map(|inserts| inserts.saturating_add(digests.len() as u64));
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<P: BitPlaces> Union for BitFilter<P> {
    /// Byte for byte the filter that was built from both sets: nothing is lost, and the rate is that of A ∪ B at this size.
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte |= other;
        }
        let inserts = self.inserts.zip(other.inserts).map(|(left, right)| left.saturating_add(right));
        Ok(Self::from_valid(table, self.layout, self.seed, inserts))
    }
}

impl<P: BitPlaces> Intersect for BitFilter<P> {
    /// The bits that both have: those of A ∩ B, and some that one key of A and another of B have set. So the rate is above that
    /// of a filter built from A ∩ B, but never above that of either operand.
    fn intersect(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte &= other;
        }
        Ok(Self::from_valid(table, self.layout, self.seed, None))
    }
}

impl<P: BitPlaces, S: Store, T: Store> PartialEq<BitFilter<P, T>> for BitFilter<P, S> {
    fn eq(&self, other: &BitFilter<P, T>) -> bool {
        self.check_operand(other).is_ok() && self.table.bytes() == other.table.bytes()
    }
}

impl<P: BitPlaces, S: Store> fmt::Debug for BitFilter<P, S> {
    /// Everything but the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(P::TYPE)
            .field("m", &self.layout.m())
            .field("k", &self.layout.k())
            .field("seed", &self.seed)
            .field("inserts", &self.inserts)
            .finish_non_exhaustive()
    }
}
