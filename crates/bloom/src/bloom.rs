//! The Bloom filter: m bits, of which each key sets k.

use core::fmt;
use core::hint::black_box;

use amq::theory::bloom;
use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, Intersect, InvariantError, Kind, MergeError, Plan,
    Space, Spec, SpecError, Union, assert_same_length, capabilities,
};
use amq_bits::prefetch::{prefetch_read, prefetch_write};
use amq_bits::word::{get_bit, set_bit};
use amq_bits::{Store, StoreMut, Table};

use crate::batch::{index, probes, rolling, with_probes};
use crate::layout::{Layout, LayoutError, MOST_PROBES};
use crate::probes::Probes;

/// A position takes one bit.
const WIDTH: u32 = 1;

/// A Bloom filter (Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 1970) of any number of bits m, up to
/// 2^60, and 1 to 64 probes k.
///
/// It takes any number of keys: beyond the capacity the rate rises ([`expected_fpr`](Amq::expected_fpr) tells how far), nothing
/// else happens. Keys cannot be removed. Duplicates change nothing. Digests are taken as uniform: any others lose no key
/// either, but the rate is then not the predicted one.
///
/// A lookup reads up to k bits, an absent key's about two at the design point, each in a cache line of its own.
///
/// `Bloom` owns its table; `Bloom<&[u8]>` looks up in a borrowed one.
///
/// Two filters are equal if they answer alike by construction: same seed, layout and bits. The number of inserts does not count.
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_bloom::Bloom;
///
/// let spec = Spec::fpr(0.01, 1_000).with_seed(42);
/// let digests: Vec<_> = (0..1_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = Bloom::build(&digests, &spec)?;
///
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert_eq!((filter.layout().m(), filter.layout().k()), (9_586, 7));
/// assert!((filter.expected_fpr().unwrap() - 0.01).abs() < 0.003);
/// # Ok::<(), amq::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Bloom<S = Table> {
    /// Invariant: `layout.check_table` accepts it.
    table: S,
    layout: Layout,
    seed: u64,
    inserts: Option<u64>,
}

impl Bloom {
    /// An empty filter of this layout, for digests under `seed`. Linear in the table.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn with_layout(layout: Layout, seed: u64) -> Result<Self, BuildError> {
        let table = Table::zeroed(layout.table_bytes(WIDTH))?;
        Ok(Self { table, layout, seed, inserts: Some(0) })
    }
}

impl<S: Store> Bloom<S> {
    /// A filter over a table that exists: bit i of the filter is bit i % 8 of byte i / 8. `inserts` is what
    /// [`len`](Amq::len) says. Constant time.
    ///
    /// # Errors
    /// If the table has not exactly ceil(m/8) bytes, or bits behind the last one are set.
    pub fn from_parts(
        table: S,
        layout: Layout,
        seed: u64,
        inserts: Option<u64>,
    ) -> Result<Self, LayoutError> {
        layout.check_table(table.bytes(), WIDTH)?;
        Ok(Self { table, layout, seed, inserts })
    }

    /// Bits and probes.
    pub fn layout(&self) -> Layout {
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

    /// How many distinct keys the set bits speak for: the n for which they are the mean number (Swamidass and Baldi, J.
    /// Chem. Inf. Model. 2007, with the exact mean for small m). `None` if every bit is set, which any large number explains.
    /// Linear in the table.
    pub fn estimated_count(&self) -> Option<f64> {
        estimate(self.layout, self.set_bits())
    }

    /// How many distinct keys this filter and `other` have in common, estimated from the two and their union: 0 or
    /// more, exact in the mean only, and useless where the sets are much larger than what they share. `None` if all bits of the union
    /// are set. Linear in the table, allocates nothing.
    ///
    /// # Errors
    /// If seeds or layouts differ.
    pub fn estimated_intersection<T: Store>(&self, other: &Bloom<T>) -> Result<Option<f64>, MergeError> {
        self.check_operand(other)?;
        let united =
            pairs(self.table.bytes(), other.table.bytes()).map(|(a, b)| u64::from((a | b).count_ones()));
        let Some(union) = estimate(self.layout, united.sum()) else { return Ok(None) };
        Ok(self.estimated_count().zip(other.estimated_count()).map(|(a, b)| (a + b - union).max(0.0)))
    }

    /// Whether `other` sets the same bits for the same keys.
    fn check_operand<T: Store>(&self, other: &Bloom<T>) -> Result<(), MergeError> {
        check_compatible((self.seed, self.layout), (other.seed, other.layout))
    }
}

/// Whether two filters of these seeds and layouts use the same positions for the same keys.
pub(crate) fn check_compatible(left: (u64, Layout), right: (u64, Layout)) -> Result<(), MergeError> {
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

/// The n at which `set` is the mean number of occupied positions; `None` if that is no number.
pub(crate) fn estimate(layout: Layout, set: u64) -> Option<f64> {
    let m = layout.m() as f64;
    if set == 0 {
        return Some(0.0);
    }
    // With one position ln(1 - 1/m) has no value, but then it is set, and so are all.
    (set < layout.m())
        .then(|| libm::log1p(-(set as f64) / m) / (f64::from(layout.k()) * libm::log1p(-1.0 / m)))
}

fn count_ones(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().map(|&word| u64::from(u64::from_ne_bytes(word).count_ones())).sum::<u64>()
        + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

fn pairs<'a>(left: &'a [u8], right: &'a [u8]) -> impl Iterator<Item = (u8, u8)> {
    left.iter().copied().zip(right.iter().copied())
}

#[inline]
fn contains<const K: u32>(table: &[u8], layout: Layout, digest: Digest) -> bool {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        if !get_bit(table, positions.next_position()) {
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

#[inline]
fn insert<const K: u32>(table: &mut [u8], layout: Layout, digest: Digest) {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        set_bit(table, positions.next_position());
    }
}

fn insert_batch<const K: u32>(table: &mut [u8], layout: Layout, digests: &[Digest]) {
    rolling(
        table,
        digests,
        |table, digest| fetch::<K>(table, layout, digest, prefetch_write),
        |table, _, digest| insert::<K>(table, layout, digest),
    );
}

/// Asks for every line of a key.
#[inline]
fn fetch<const K: u32>(table: &[u8], layout: Layout, digest: Digest, prefetch: impl Fn(&[u8], usize)) {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        prefetch(table, index(positions.next_position() >> 3));
    }
}

impl<S: Store> Amq for Bloom<S> {
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

    /// The number of inserts, duplicates included; `None` after an intersection.
    fn len(&self) -> Option<u64> {
        self.inserts
    }

    fn space(&self) -> Space {
        Space::of_table(&self.table)
    }

    /// (X/m)^k with X set bits. Linear in the table.
    fn expected_fpr(&self) -> Option<f64> {
        Some(bloom::fpr_given_state(self.set_bits(), self.layout.m(), self.layout.k()))
    }
}

impl<S: StoreMut> Insert for Bloom<S> {
    /// Sets k bits. Never fails.
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), insert(self.table.bytes_mut(), self.layout, digest));
        self.inserts = self.inserts.map(|inserts| inserts.saturating_add(1));
        Ok(())
    }

    /// Never fails.
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        with_probes!(self.layout.k(), insert_batch(self.table.bytes_mut(), self.layout, digests));
        self.inserts = self.inserts.map(|inserts| inserts.saturating_add(digests.len() as u64));
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl Family for Bloom {
    const NAME: &'static str = "bloom";
    const TITLE: &'static str = "Bloom";
    const KIND: Kind = Kind::Bloom;
    const R: (u32, u32) = (1, MOST_PROBES);

    /// - `Fpr`: [`bloom::smallest_bits`], m = n log2(1/ε)/ln 2 to the bit. A whole k adds up to 1.5 % to a rate below .1, and very small filters
    ///   lie higher: the plan's `fpr` is the exact mean of what is built.
    /// - `Shape`: k = r and m = ceil(capacity/α · k/ln 2): at α = 1, half the bits are set.
    /// - `BitsPerKey`: m = floor(b · capacity), and the best k for that.
    ///
    /// A capacity of 0 is sized as 1.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Layout::plan(spec, WIDTH)
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let (layout, _) = Layout::for_spec(spec, WIDTH)?;
        let mut filter = Self::with_layout(layout, spec.seed())?;
        with_probes!(layout.k(), insert_batch(filter.table.bytes_mut(), layout, digests));
        filter.inserts = Some(digests.len() as u64);
        Ok(filter)
    }

    fn table(&self) -> &[u8] {
        self.table.bytes()
    }

    fn check_invariants(&self) -> Result<(), InvariantError> {
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
}

capabilities!(Bloom: Insert, Union, Intersect);

impl Union for Bloom {
    /// Byte for byte the filter that was built from both sets: nothing is lost, and the rate is that of A ∪ B at this size.
    fn union(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte |= other;
        }
        let inserts = self.inserts.zip(other.inserts).map(|(left, right)| left.saturating_add(right));
        Ok(Self { table, inserts, ..*self })
    }
}

impl Intersect for Bloom {
    /// The bits that both have: those of A ∩ B, and some that one key of A and another of B have set. So the rate is above that
    /// of a filter built from A ∩ B, but never above that of either operand.
    fn intersect(&self, other: &Self) -> Result<Self, MergeError> {
        self.check_operand(other)?;
        let mut table = self.table.try_clone()?;
        for (byte, other) in table.bytes_mut().iter_mut().zip(other.table.bytes()) {
            *byte &= other;
        }
        Ok(Self { table, inserts: None, ..*self })
    }
}

impl<S: Store, T: Store> PartialEq<Bloom<T>> for Bloom<S> {
    fn eq(&self, other: &Bloom<T>) -> bool {
        self.check_operand(other).is_ok() && self.table.bytes() == other.table.bytes()
    }
}

impl<S: Store> fmt::Debug for Bloom<S> {
    /// Everything but the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bloom")
            .field("m", &self.layout.m())
            .field("k", &self.layout.k())
            .field("seed", &self.seed)
            .field("inserts", &self.inserts)
            .finish_non_exhaustive()
    }
}
