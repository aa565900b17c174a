//! What the tests share: a layout by simulation, and ways to insert chosen fingerprints.

use crate::{Tested, View, reference_views};
use amq::{Digest, Insert};
use amq_bits::Store;
use amq_quotient::Geometry;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// (quotient, remainder).
pub(crate) type Record = (u64, u64);

/// Linear probing of sorted runs, naively: who lies in which slot.
pub(crate) fn reference(slots: usize, records: &[Record]) -> Vec<Option<Record>> {
    let index = |quotient: u64| usize::try_from(quotient).unwrap();
    let place = |table: &mut Vec<Option<Record>>, record: Record| {
        let at = (0..slots).map(|step| (index(record.0) + step) % slots).find(|&at| table[at].is_none());
        table[at.unwrap()] = Some(record);
    };
    let mut table = vec![None; slots];
    for &record in records {
        place(&mut table, record);
    }
    // Once more from behind an empty slot, in order.
    let empty = table.iter().position(Option::is_none).unwrap();
    let mut sorted = records.to_vec();
    sorted.sort_by_key(|&(quotient, remainder)| ((index(quotient) + slots - empty) % slots, remainder));
    table.fill(None);
    for record in sorted {
        place(&mut table, record);
    }
    table
}

pub(crate) fn views<S: Store>(filter: &Tested<S>) -> Vec<View> {
    (0..filter.geometry().slots()).map(|slot| filter.slot(slot)).collect()
}

/// Asserts that a filter holds exactly these records, slot by slot.
#[track_caller]
pub(crate) fn assert_is<S: Store>(filter: &Tested<S>, records: &[Record]) {
    filter.check_invariants().unwrap();
    assert_eq!(filter.records(), records.len() as u64);
    let slots = usize::try_from(filter.geometry().slots()).unwrap();
    assert_eq!(views(filter), reference_views(slots, records), "{records:?}");
}

pub(crate) fn filter_of(slots: u64, r: u32, records: &[Record]) -> Tested {
    let mut filter = empty(slots, r);
    for &record in records {
        filter.insert(digest(filter.geometry(), record)).unwrap();
    }
    filter
}

/// The smallest digest of a fingerprint given by its parts.
pub(crate) fn digest(geometry: Geometry, (quotient, remainder): Record) -> Digest {
    geometry.smallest_digest(geometry.join(quotient, remainder))
}

pub(crate) fn empty(slots: u64, r: u32) -> Tested {
    Tested::with_geometry(Geometry::new(slots, r).unwrap(), 0).unwrap()
}

pub(crate) fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// `n` digests under a seed that callers print on failure.
pub(crate) fn digests(seed: u64, n: usize) -> Vec<Digest> {
    let mut rng = random(seed);
    (0..n).map(|_| Digest::new(rng.next_u64())).collect()
}

/// A number below `bound`.
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    Digest::new(rng.next_u64()).scale(bound)
}
