//! Filters over bytes made earlier, sound or damaged.

use super::common::{below, digests, random};
use crate::Tested;
use amq::{Amq, Count, Family, Insert, Remove, Spec};
use amq_bits::{Store, StoreMut, Table};
use amq_quotient::{Geometry, PartsError, Records};

#[test]
fn a_borrowed_table_answers_like_the_owned_one() {
    let keys = digests(3, 1_000);
    let filter = Tested::build(&keys, &Spec::fpr(0.01, 1_000).with_seed(3)).unwrap();
    let mut bytes = filter.bytes().to_vec();
    let view = Tested::from_parts(filter.geometry(), 3, Records::OnePerInsertion, &bytes[..]).unwrap();
    assert_eq!((view.records(), view.seed(), view.space().heap_bytes), (1_000, 3, 0));
    assert!(keys.iter().all(|&key| view.contains(key) && view.count(key) == filter.count(key)));
    assert!(view.same_fingerprints(&filter));
    // And one that may be written to.
    let mut view =
        Tested::from_parts(filter.geometry(), 3, Records::OnePerInsertion, &mut bytes[..]).unwrap();
    assert!(view.remove(keys[0]));
    view.insert(keys[0]).unwrap();
    assert_eq!(view.bytes(), filter.bytes());
}

/// Random damage to larger tables: an error or the sound table of another multiset, never a panic or an endless loop.
#[test]
fn damage_is_found_or_makes_another_sound_table() {
    let seed = 99;
    let mut rng = random(seed);
    let mut found = 0;
    for round in 0..20_000 {
        let geometry =
            Geometry::new(2 + below(&mut rng, 40), 1 + u32::try_from(below(&mut rng, 8)).unwrap()).unwrap();
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        let records = usize::try_from(below(&mut rng, geometry.slots())).unwrap();
        filter.insert_batch(&digests(round, records)).unwrap();
        let mut table = Table::zeroed(filter.bytes().len() as u64).unwrap();
        table.bytes_mut().copy_from_slice(filter.bytes());
        for _ in 0..=below(&mut rng, 3) {
            let bit = below(&mut rng, table.bytes().len() as u64 * 8);
            table.bytes_mut()[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
        }
        match Tested::from_parts(geometry, 0, Records::OnePerInsertion, table) {
            Err(PartsError::Table(_)) => found += 1,
            Err(error) => panic!("{error}, seed {seed}"),
            Ok(damaged) => {
                let mut rebuilt = Tested::with_geometry(geometry, 0).unwrap();
                for (fingerprint, multiplicity) in damaged.fingerprints() {
                    for _ in 0..multiplicity {
                        rebuilt.insert(geometry.smallest_digest(fingerprint)).unwrap();
                    }
                }
                assert_eq!(rebuilt, damaged, "round {round}, seed {seed}");
            }
        }
    }
    assert!(found > 10_000, "{found} of 20,000");
}
