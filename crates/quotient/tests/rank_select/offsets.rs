//! Offsets that reach far, saturate, and come back.

use amq::{Amq, Count, Insert, Remove};
use amq_quotient::Geometry;

use crate::Tested;
use crate::suite::common::{digest, views};

/// The offset of each block of 50 slots, r = 8.
fn offsets(filter: &Tested) -> Vec<u8> {
    let bytes = filter.bytes();
    bytes[..bytes.len() - 7].chunks(64).map(|block| block[0]).collect()
}

/// One run of up to 899 records over 18 blocks, then records of its neighbours, record by record in and out again.
#[test]
fn a_run_over_many_blocks() {
    let geometry = Geometry::new(900, 8).unwrap();
    for home in [0, 10, 49, 50, 425, 899] {
        let mut filter = Tested::with_geometry(geometry, 0).unwrap();
        let record = |i: u64| match i % 5 {
            // Homes within the stretch, whose runs lie behind the long one: offsets beyond 255 with a rank of 0 and above.
            0 => ((home + 60 * (i % 7)) % 900, i % 256),
            _ => (home, i * 7 % 256),
        };
        for i in 0..899 {
            filter.insert(digest(geometry, record(i))).unwrap();
            if i % 37 == 0 || i > 880 {
                filter.check_invariants().unwrap_or_else(|error| panic!("{error}: home {home}, record {i}"));
            }
        }
        let saturated = offsets(&filter).into_iter().filter(|&offset| offset == 255);
        assert!(saturated.count() >= 10, "home {home}");
        let all: Vec<_> = (0..899).map(|i| digest(geometry, record(i))).collect();
        assert_eq!(filter.count_hits(&all), 899);
        assert_eq!(views(&filter).iter().filter(|view| view.quotient.is_some()).count(), 899);
        for i in 0..899 {
            let same = (i..899).filter(|&j| record(j) == record(i)).count() as u64;
            assert_eq!(filter.count(all[usize::try_from(i).unwrap()]), same, "home {home}, record {i}");
            assert!(filter.remove(all[usize::try_from(i).unwrap()]), "home {home}, record {i}");
            if i % 37 == 0 || i > 880 {
                filter.check_invariants().unwrap_or_else(|error| panic!("{error}: home {home}, record {i}"));
            }
        }
        assert_eq!(filter, Tested::with_geometry(geometry, 0).unwrap());
    }
}

/// The offset counts up to 254, 255, 256 and back, and nothing is forgotten on the way.
#[test]
fn saturation_to_the_record() {
    let geometry = Geometry::new(1_000, 8).unwrap();
    let mut filter = Tested::with_geometry(geometry, 0).unwrap();
    // The run starts in the last slot of block 0, so that block 1 counts all its records but one.
    let record = digest(geometry, (49, 0));
    for len in 1..=600_u64 {
        filter.insert(record).unwrap();
        filter.check_invariants().unwrap();
        let expected =
            |block: u64| u8::try_from((len - 1).saturating_sub((block - 1) * 50).min(255)).unwrap();
        assert!((1..20).all(|block| offsets(&filter)[usize::try_from(block).unwrap()] == expected(block)));
    }
    for len in (0..600_u64).rev() {
        assert!(filter.remove(record));
        filter.check_invariants().unwrap_or_else(|error| panic!("{error}: {len} records"));
        assert_eq!(filter.count(record), len);
    }
}
