//! Run and cluster lengths against the laws they follow in a table of random fingerprints.

use amq::{Family, Spec, theory};

use super::common::digests;
use crate::Tested;

/// How far counts of lengths are from a law: Pearson's statistic over those that are expected at least 20 times, and the rest together,
/// in deviations from its mean.
fn deviation(counts: &[u64], law: impl Fn(u64) -> f64) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells, mut rest, mut rest_expected) = (0.0, 0, total, total);
    for (length, &count) in (1..).zip(&counts[1..]) {
        let expected = total * law(length);
        if expected < 20.0 {
            break;
        }
        statistic += (count as f64 - expected).powi(2) / expected;
        cells += 1;
        rest -= count as f64;
        rest_expected -= expected;
    }
    statistic += (rest - rest_expected).powi(2) / rest_expected;
    // As many degrees of freedom as cells but one.
    (statistic - f64::from(cells)) / f64::from(2 * cells).sqrt()
}

/// The Poisson law of the records of a home, given that there are some.
fn run_law(alpha: f64, length: u64) -> f64 {
    let factorial: f64 = (1..=length).map(|i| i as f64).product();
    alpha.powf(length as f64) / factorial / alpha.exp_m1()
}

#[test]
fn lengths_follow_their_laws() {
    for (seed, alpha) in [(1, 0.5), (2, 0.75), (3, 0.85), (4, 0.9), (5, 0.95)] {
        let n = 400_000;
        let filter = Tested::build(&digests(seed, n), &Spec::shape(alpha, 16, n as u64)).unwrap();
        let stats = filter.stats();
        let runs = |alpha| deviation(&stats.run_lengths, |length| run_law(alpha, length));
        let clusters = |alpha| {
            deviation(&stats.cluster_lengths, |length| {
                theory::quotient::cluster_length_probability(alpha, length)
            })
        };
        for (what, right, wrong) in
            [("runs", runs(alpha), runs(alpha - 0.03)), ("clusters", clusters(alpha), clusters(alpha - 0.03))]
        {
            assert!(right < 4.5, "{what} at a load of {alpha}: {right} deviations, seed {seed}");
            // It would notice a load that is off by three hundredths.
            assert!(wrong > 10.0, "{what} at a load of {alpha}: {wrong} deviations, seed {seed}");
        }
    }
}
