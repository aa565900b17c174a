//! How keys touch the counters of a table, for each number of probes.

use amq::Digest;
use amq_bits::prefetch::{prefetch_read, prefetch_write};

use super::counters::Counters;
use crate::batch::{index, probes, rolling, with_probes};
use crate::gather::Gathers;
use crate::layout::{MOST_PROBES, Places};
use crate::lookup::Lookups;

/// The counters of a key, in the order of its probes: where they are, and what they hold. A position that two probes meet appears
/// twice.
struct Seen {
    positions: [u64; MOST_PROBES as usize],
    counters: [u8; MOST_PROBES as usize],
    k: usize,
}

impl Seen {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that the arrays, with k known, become registers")]
    fn new<const K: u32, const BITS: u32>(table: &[u8], layout: impl Places, digest: Digest) -> Self {
        let k = probes::<K>(layout.k()) as usize;
        let mut seen = Self { positions: [0; MOST_PROBES as usize], counters: [0; MOST_PROBES as usize], k };
        let mut positions = layout.positions(digest);
        for i in 0..k {
            seen.positions[i] = positions.next().unwrap_or(0);
            seen.counters[i] = Counters::<BITS>::get(table, seen.positions[i]);
        }
        seen
    }

    /// The smallest of the counters.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that the arrays, with k known, become registers")]
    fn smallest(&self) -> u8 {
        let mut smallest = u8::MAX;
        for i in 0..self.k {
            smallest = smallest.min(self.counters[i]);
        }
        smallest
    }

    /// Writes `change(counter)` to each position.
    ///
    /// All were read before the first is written, so a position that two probes meet is written twice with the same value: it
    /// changes by one, with no search for duplicates.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that the arrays, with k known, become registers")]
    fn write<const BITS: u32>(&self, table: &mut [u8], change: impl Fn(u8) -> u8) {
        for i in 0..self.k {
            Counters::<BITS>::set(table, self.positions[i], change(self.counters[i]));
        }
    }
}

/// Lookups of counters.
#[inline]
fn lookups<P: Places, const BITS: u32>(
    table: &[u8],
    layout: P,
) -> Lookups<'_, [u8], P, impl Fn(&[u8], u64) -> u8> {
    Lookups {
        table,
        bytes: table.len(),
        layout,
        occupied: |table: &[u8], position| u8::from(Counters::<BITS>::get(table, position) != 0),
    }
}

/// Asks for every line of a key.
#[inline]
fn fetch<const K: u32, const BITS: u32>(
    table: &[u8],
    layout: impl Places,
    digest: Digest,
    prefetch: impl Fn(&[u8], usize),
) {
    let mut positions = layout.positions(digest);
    for _ in 0..probes::<K>(layout.k()) {
        if let Some(position) = positions.next() {
            prefetch(table, index(Counters::<BITS>::byte(position)));
        }
    }
}

/// Whether no counter of the key is 0.
#[inline]
pub(super) fn contains<P: Places, const BITS: u32>(table: &[u8], layout: P, digest: Digest) -> bool {
    match Gathers::<BITS>::new(table, layout) {
        Some(gathers) => gathers.contains(digest),
        None => contains_portable::<P, BITS>(table, layout, digest),
    }
}

/// Not inlined, so that a caller holds a call, and not the code for each k.
#[inline(never)]
fn contains_portable<P: Places, const BITS: u32>(table: &[u8], layout: P, digest: Digest) -> bool {
    with_probes!(layout.k(), K => lookups::<P, BITS>(table, layout).contains::<K>(digest))
}

/// [`contains`] for each.
pub(super) fn contains_batch<P: Places, const BITS: u32>(
    table: &[u8],
    layout: P,
    digests: &[Digest],
    answers: &mut [bool],
) {
    if let Some(gathers) = Gathers::<BITS>::new(table, layout) {
        return gathers.contains_batch(digests, answers);
    }
    with_probes!(layout.k(), K => lookups::<P, BITS>(table, layout).run::<K>(digests, answers, |table, digest| {
        fetch::<K, BITS>(table, layout, digest, prefetch_read);
    }));
}

/// The smallest counter of the key.
pub(super) fn smallest<P: Places, const BITS: u32>(table: &[u8], layout: P, digest: Digest) -> u8 {
    with_probes!(layout.k(), K => Seen::new::<K, BITS>(table, layout, digest).smallest())
}

#[inline]
fn insert_with<const K: u32, const BITS: u32>(table: &mut [u8], layout: impl Places, digest: Digest) {
    Seen::new::<K, BITS>(table, layout, digest).write::<BITS>(table, Counters::<BITS>::up);
}

/// Counts the counters of the key up.
#[inline]
pub(super) fn insert<P: Places, const BITS: u32>(table: &mut [u8], layout: P, digest: Digest) {
    with_probes!(layout.k(), K => insert_with::<K, BITS>(table, layout, digest));
}

/// [`insert`] for each.
pub(super) fn insert_batch<P: Places, const BITS: u32>(table: &mut [u8], layout: P, digests: &[Digest]) {
    let bytes = table.len();
    with_probes!(layout.k(), K => rolling(
        table,
        bytes,
        digests,
        |table, digest| fetch::<K, BITS>(table, layout, digest, prefetch_write),
        |table, _, digest| insert_with::<K, BITS>(table, layout, digest),
    ));
}

#[inline]
fn remove_with<const K: u32, const BITS: u32>(table: &mut [u8], layout: impl Places, digest: Digest) -> bool {
    let seen = Seen::new::<K, BITS>(table, layout, digest);
    let present = seen.smallest() != 0;
    if present {
        seen.write::<BITS>(table, Counters::<BITS>::down);
    }
    present
}

/// Counts the counters of the key down; `false`, and nothing changed, if one is 0.
#[inline]
pub(super) fn remove<P: Places, const BITS: u32>(table: &mut [u8], layout: P, digest: Digest) -> bool {
    with_probes!(layout.k(), K => remove_with::<K, BITS>(table, layout, digest))
}

/// Removes each in turn, at most `limit`, and returns how many there were.
pub(super) fn remove_batch<P: Places, const BITS: u32>(
    table: &mut [u8],
    layout: P,
    digests: &[Digest],
    limit: u64,
) -> u64 {
    let (bytes, mut removed) = (table.len(), 0);
    with_probes!(layout.k(), K => rolling(
        table,
        bytes,
        digests,
        |table, digest| fetch::<K, BITS>(table, layout, digest, prefetch_write),
        |table, _, digest| {
            if removed < limit {
                removed += u64::from(remove_with::<K, BITS>(table, layout, digest));
            }
        },
    ));
    removed
}
