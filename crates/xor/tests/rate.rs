//! What is promised about absent keys, and what cannot be done.

use amq::{Amq, Digest, Family, Spec};
use amq_bits::{Packed, StoreMut, Table};
use amq_xor::{BinaryFuse3, BinaryFuse4, XorFilter};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Each of the functions as a test of each family.
macro_rules! for_each_family {
    ($($test:ident),* $(,)?) => {
        for_each_family! { @family xor, XorFilter: $($test)* }
        for_each_family! { @family fuse3, BinaryFuse3: $($test)* }
        for_each_family! { @family fuse4, BinaryFuse4: $($test)* }
    };
    (@family $name:ident, $family:ty: $($test:ident)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $test() { super::$test::<$family>(); })*
        }
    };
}

for_each_family! {
    absent_keys_are_taken_for_members_at_the_rate,
    the_rate_holds_for_wide_cells,
    the_rate_is_the_same_at_any_load,
    sequential_digests_do_not_change_the_rate,
    other_seeds_have_other_false_positives,
}

fn random(n: usize, seed: u64) -> Vec<Digest> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| Digest::new(rng.next_u64())).collect()
}

/// Standard deviations between the hits counted and 2^-r. Random 64-bit queries are members with a
/// probability that is far below what a count can show.
fn deviation(filter: &impl Amq, queries: usize, seed: u64) -> f64 {
    let rate = filter.expected_fpr().unwrap();
    let expected = queries as f64 * rate;
    (filter.count_hits(&random(queries, seed)) as f64 - expected) / (expected * (1.0 - rate)).sqrt()
}

fn absent_keys_are_taken_for_members_at_the_rate<F: Family>() {
    for (r, queries) in [(1, 200_000), (4, 500_000), (8, 1_000_000), (12, 8_000_000)] {
        for n in [1, 1_000, 100_000] {
            for seed in [1, 2] {
                let spec = Spec::fpr(0.5_f64.powi(r), n as u64).with_seed(seed);
                let filter = F::build(&random(n, 100 + seed), &spec).unwrap();
                let z = deviation(&filter, queries, 200 + seed);
                assert!(z.abs() <= 4.0, "r = {r}, n = {n}, seed {seed}: z = {z}");
            }
        }
    }
}

/// 2^-16 is rare: one long count.
fn the_rate_holds_for_wide_cells<F: Family>() {
    let filter = F::build(&random(300_000, 5), &Spec::fpr(0.5_f64.powi(16), 300_000)).unwrap();
    let z = deviation(&filter, 20_000_000, 6);
    assert!(z.abs() <= 4.0, "z = {z}");
}

/// The rate does not depend on how many of the cells were assigned.
fn the_rate_is_the_same_at_any_load<F: Family>() {
    for alpha in [0.001, 0.1, 0.5, 0.8] {
        let n = 20_000;
        let filter = F::build(&random(n, 7), &Spec::shape(alpha, 6, n as u64).with_seed(8)).unwrap();
        let z = deviation(&filter, 1_000_000, 9);
        assert!(z.abs() <= 4.0, "alpha = {alpha}: z = {z}");
    }
}

/// Absent digests next to members are as any others.
fn sequential_digests_do_not_change_the_rate<F: Family>() {
    let members: Vec<_> = (0..50_000).map(|i| Digest::new(2 * i)).collect();
    let absent: Vec<_> = (0..1_000_000).map(|i| Digest::new(2 * i + 1)).collect();
    let filter = F::build(&members, &Spec::fpr(1.0 / 256.0, 50_000).with_seed(3)).unwrap();
    let expected = absent.len() as f64 / 256.0;
    let z = (filter.count_hits(&absent) as f64 - expected) / expected.sqrt();
    assert!(z.abs() <= 4.0, "z = {z}");
}

/// What two filters of the same keys wrongly accept is independent: the intersection is as rare as chance
/// makes it.
fn other_seeds_have_other_false_positives<F: Family>() {
    let (digests, queries) = (random(10_000, 1), random(1_000_000, 2));
    let [one, two] =
        [1, 2].map(|seed| F::build(&digests, &Spec::fpr(1.0 / 16.0, 10_000).with_seed(seed)).unwrap());
    let both = queries.iter().filter(|&&query| one.contains(query) && two.contains(query)).count() as f64;
    let expected = queries.len() as f64 / 256.0;
    assert!(
        (both - expected).abs() <= 4.0 * expected.sqrt(),
        "{both} common false positives, expected {expected}"
    );
}

/// Removal by "inverse calculation": changing a cell of a key, so that its equation no longer holds, breaks
/// the equation of every other key that has the cell.
#[test]
fn clearing_the_equation_of_a_key_loses_others() {
    let n = 10_000;
    let digests = random(n, 4);
    let filter = XorFilter::build(&digests, &Spec::fpr(1.0 / 256.0, n as u64)).unwrap();
    let layout = Packed::new(filter.r()).unwrap();
    let (mut removals, mut lost) = (0, 0);
    for cell in (0..filter.cells()).step_by(41) {
        let mut table = Table::zeroed(filter.table().len() as u64).unwrap();
        table.bytes_mut().copy_from_slice(filter.table());
        let value = layout.get(filter.table(), cell);
        layout.set(table.bytes_mut(), cell, value ^ 1);
        let changed = XorFilter::from_parts(filter.parts(), table).unwrap();
        let gone = n as u64 - changed.count_hits(&digests);
        if gone > 0 {
            removals += 1;
            lost += gone - 1;
        }
    }
    // The keys of a cell are Poisson with the mean 3α = 2.43. One that has any has 3α / (1 - e^-3α) = 2.67 in
    // the mean: 1.67 besides the one to be removed. The mean of 280 scatters by .09.
    let mean = lost as f64 / f64::from(removals);
    println!("{removals} removals lost {lost} other members, {mean:.2} each");
    assert!((1.3..2.05).contains(&mean), "{mean}");
}
