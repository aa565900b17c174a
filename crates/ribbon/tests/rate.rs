//! What is promised about absent keys, and what cannot be done.

use amq::{Amq, Digest, Family, Spec};
use amq_ribbon::{RibbonFilter, WideRibbonFilter};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

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

#[test]
fn absent_keys_are_taken_for_members_at_the_rate() {
    for (r, queries) in [(1, 200_000), (4, 500_000), (8, 1_000_000), (12, 8_000_000)] {
        for n in [1, 64, 1_000, 100_000] {
            for seed in [1, 2] {
                let spec = Spec::fpr(0.5_f64.powi(r), n as u64).with_seed(seed);
                let members = random(n, 100 + seed);
                let narrow = RibbonFilter::build(&members, &spec).unwrap();
                let wide = WideRibbonFilter::build(&members, &spec).unwrap();
                for z in [deviation(&narrow, queries, 200 + seed), deviation(&wide, queries, 300 + seed)] {
                    assert!(z.abs() <= 4.0, "r = {r}, n = {n}, seed {seed}: z = {z}");
                }
            }
        }
    }
}

/// 2^-16 is rare: one long count.
#[test]
fn the_rate_holds_for_wide_cells() {
    let filter = RibbonFilter::build(&random(300_000, 5), &Spec::fpr(0.5_f64.powi(16), 300_000)).unwrap();
    let z = deviation(&filter, 20_000_000, 6);
    assert!(z.abs() <= 4.0, "z = {z}");
}

/// The rate does not depend on how many of the slots were assigned.
#[test]
fn the_rate_is_the_same_at_any_load() {
    for alpha in [0.001, 0.1, 0.5, 0.8, 0.99] {
        let n = 20_000;
        let filter =
            RibbonFilter::build(&random(n, 7), &Spec::shape(alpha, 6, n as u64).with_seed(8)).unwrap();
        let z = deviation(&filter, 1_000_000, 9);
        assert!(z.abs() <= 4.0, "alpha = {alpha}: z = {z}");
    }
}

/// Absent digests next to members are as any others.
#[test]
fn sequential_digests_do_not_change_the_rate() {
    let members: Vec<_> = (0..50_000).map(|i| Digest::new(2 * i)).collect();
    let absent: Vec<_> = (0..1_000_000).map(|i| Digest::new(2 * i + 1)).collect();
    let filter = RibbonFilter::build(&members, &Spec::fpr(1.0 / 256.0, 50_000).with_seed(3)).unwrap();
    let expected = absent.len() as f64 / 256.0;
    let z = (filter.count_hits(&absent) as f64 - expected) / expected.sqrt();
    assert!(z.abs() <= 4.0, "z = {z}");
}

/// What two filters of the same keys wrongly accept is independent: the intersection is as rare as chance
/// makes it.
#[test]
fn other_seeds_have_other_false_positives() {
    let (digests, queries) = (random(10_000, 1), random(1_000_000, 2));
    let [one, two] = [1, 2]
        .map(|seed| RibbonFilter::build(&digests, &Spec::fpr(1.0 / 16.0, 10_000).with_seed(seed)).unwrap());
    let both = queries.iter().filter(|&&query| one.contains(query) && two.contains(query)).count() as f64;
    let expected = queries.len() as f64 / 256.0;
    assert!(
        (both - expected).abs() <= 4.0 * expected.sqrt(),
        "{both} common false positives, expected {expected}"
    );
}
