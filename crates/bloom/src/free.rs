//! The Bloom filter: m bits, of which each key sets k, anywhere.

use amq::Digest;
use amq_bits::Table;
use amq_bits::prefetch::{prefetch_read, prefetch_write};

use crate::batch::{index, one_by_one, probes, rolling, with_probes};
use crate::family::family;
use crate::filter::{BitFilter, BitPlaces, WIDTH};
use crate::gather::Gathers;
use crate::layout::Layout;
use crate::lookup::Lookups;
use crate::probes::Probes;
use crate::scatter::scatter;

/// A Bloom filter (Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 1970) of any number of bits m, up to
/// 2^60, and 1 to 64 probes k.
///
/// A lookup reads up to k bits, an absent key's about two at the design point, each in a cache line of its own.
///
/// `Bloom` owns its table; `Bloom<&[u8]>` looks up in a borrowed one.
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
pub type Bloom<S = Table> = BitFilter<Layout, S>;

family!(Bloom, Layout, WIDTH, "bloom", "Bloom": Insert, Union, Intersect);

impl BitPlaces for Layout {
    const TYPE: &'static str = "Bloom";

    #[inline]
    fn contains(self, table: &[u8], digest: Digest) -> bool {
        match Gathers::<WIDTH>::new(table, self) {
            Some(gathers) => gathers.contains(digest),
            None => contains_portable(table, self, digest),
        }
    }

    fn count_hits(self, table: &[u8], digests: &[Digest]) -> u64 {
        match Gathers::<WIDTH>::new(table, self) {
            Some(gathers) => gathers.count_hits(digests),
            None => with_probes!(self.k(), K => count_hits::<K>(table, self, digests)),
        }
    }

    fn contains_batch(self, table: &[u8], digests: &[Digest], answers: &mut [bool]) {
        match Gathers::<WIDTH>::new(table, self) {
            Some(gathers) => gathers.contains_batch(digests, answers),
            None => with_probes!(self.k(), K => contains_batch::<K>(table, self, digests, answers)),
        }
    }

    #[inline]
    fn insert(self, table: &mut [u8], digest: Digest) {
        with_probes!(self.k(), K => insert::<K>(table, self, digest));
    }

    fn insert_batch(self, table: &mut [u8], digests: &[Digest]) {
        with_probes!(self.k(), K => insert_batch::<K>(table, self, digests));
    }
}

/// The word of a bit, or, behind the last whole word, its byte, shifted so that the bit is the lowest; the others mean nothing.
///
/// A word takes fewer instructions than a byte: shifts by the number of the bit take it modulo 64, with no mask.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "only the lowest bit counts")]
fn shifted(table: &[u8], position: u64) -> u8 {
    match table.as_chunks().0.get(index(position >> 6)) {
        Some(&word) => (u64::from_le_bytes(word) >> (position & 63)) as u8,
        None => table[index(position >> 3)] >> (position & 7),
    }
}

/// Sets a bit in its word, or, behind the last whole word, in its byte.
#[inline]
pub(crate) fn set_bit(table: &mut [u8], position: u64) {
    match table.as_chunks_mut().0.get_mut(index(position >> 6)) {
        Some(word) => *word = (u64::from_le_bytes(*word) | 1 << (position & 63)).to_le_bytes(),
        None => table[index(position >> 3)] |= 1 << (position & 7),
    }
}

/// Lookups of bits.
#[inline]
fn lookups(table: &[u8], layout: Layout) -> Lookups<'_, [u8], Layout, impl Fn(&[u8], u64) -> u8> {
    Lookups { table, bytes: table.len(), layout, occupied: shifted }
}

/// Not inlined, so that a caller holds a call, and not the code for each k.
#[inline(never)]
fn contains_portable(table: &[u8], layout: Layout, digest: Digest) -> bool {
    with_probes!(layout.k(), K => lookups(table, layout).contains::<K>(digest))
}

fn count_hits<const K: u32>(table: &[u8], layout: Layout, digests: &[Digest]) -> u64 {
    one_by_one(digests, |digest| lookups(table, layout).contains::<K>(digest))
}

fn contains_batch<const K: u32>(table: &[u8], layout: Layout, digests: &[Digest], answers: &mut [bool]) {
    lookups(table, layout).run::<K>(digests, answers, |table, digest| {
        fetch::<K>(table, layout, digest, prefetch_read);
    });
}

/// Sets each bit of a key.
#[inline]
fn set<const K: u32>(table: &mut [u8], layout: Layout, digest: Digest) {
    let mut positions = Probes::new(digest, layout.m());
    for _ in 0..probes::<K>(layout.k()) {
        set_bit(table, positions.next_position());
    }
}

/// Not inlined, so that the caller holds a jump to the code of one k and not that of all, which takes every register.
#[inline(never)]
fn insert<const K: u32>(table: &mut [u8], layout: Layout, digest: Digest) {
    set::<K>(table, layout, digest);
}

fn insert_batch<const K: u32>(table: &mut [u8], layout: Layout, digests: &[Digest]) {
    if scatter::<K>(table, layout, digests) {
        return;
    }
    let bytes = table.len();
    rolling(
        table,
        bytes,
        digests,
        |table, digest| fetch::<K>(table, layout, digest, prefetch_write),
        |table, _, digest| set::<K>(table, layout, digest),
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
