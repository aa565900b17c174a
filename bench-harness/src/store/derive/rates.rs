//! False positives: intervals, tests against what the filters expect, and a test of all tests.

use std::collections::HashSet;

use amq::Key as _;
use amq_testkit::statistics::{
    binomial_p_value, binomial_randomised, clopper_pearson, ks_p_value, ks_statistic, z_score,
};

use super::by_group;
use crate::store::run::Uniformity;
use crate::store::sample::{Facts, Sample, SeedRate};

/// The measured rate of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) fpr: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) z: Option<f64>,
    pub(super) p: Option<f64>,
}

impl Rate {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let (queries, hits) = facts
            .fpr_queries
            .zip(facts.fpr_hits)
            .filter(|&(queries, hits)| hits <= queries && queries > 0)?;
        let interval = clopper_pearson(hits, queries, 0.95);
        let expected = facts.fpr_expected.filter(|expected| (0.0..=1.0).contains(expected));
        Some(Self {
            fpr: hits as f64 / queries as f64,
            low: interval.low,
            high: interval.high,
            z: expected.map(|expected| z_score(hits, queries, expected)).filter(|z| z.is_finite()),
            p: expected.map(|expected| binomial_p_value(hits, queries, expected)),
        })
    }
}

/// What was found under each seed, the first first: nothing where the filter does not tell what it expects.
pub(super) fn of_seeds(seed: u64, facts: &Facts) -> Vec<SeedRate> {
    let first = || {
        let (queries, hits) = facts.fpr_queries.zip(facts.fpr_hits)?;
        Some(SeedRate { seed, expected: facts.fpr_expected?, queries, hits })
    };
    let possible = |rate: &SeedRate| (0.0..=1.0).contains(&rate.expected) && rate.hits <= rate.queries;
    first().into_iter().chain(facts.fpr_seeds.iter().copied()).filter(possible).collect()
}

/// What tables of several seeds expect, against what was predicted before there was a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expectation {
    pub(super) mean: f64,
    pub(super) z_of_predicted: Option<f64>,
}

impl Expectation {
    pub(super) fn of(facts: &Facts, seeds: &[SeedRate]) -> Option<Self> {
        /// Where tables differ by less, only rounding is left to differ.
        const ROUNDING: f64 = 1e-9;
        if seeds.is_empty() {
            return None;
        }
        let count = seeds.len() as f64;
        let mean = seeds.iter().map(|seed| seed.expected).sum::<f64>() / count;
        let squares = seeds.iter().map(|seed| (seed.expected - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0) / count).sqrt();
        let z_of_predicted = facts
            .fpr_predicted
            .filter(|_| seeds.len() > 2 && error > ROUNDING * mean)
            .map(|predicted| (mean - predicted) / error);
        Some(Self { mean, z_of_predicted })
    }
}

/// P(X < hits) + v P(X = hits), with a v that the filter's name and the seed draw: uniform if the filter keeps its
/// expectation. `None` where so little is expected that v alone would decide.
pub(super) fn randomised(filter: &str, rate: &SeedRate) -> Option<f64> {
    let &SeedRate { seed, expected, queries, hits } = rate;
    // The 53 bits that a number between 0 and 1 has.
    let v = (filter.digest(seed).get() >> 11) as f64 / 2_f64.powi(53);
    let mean = expected * queries as f64;
    (mean >= 1.0 && expected < 1.0).then(|| binomial_randomised(hits, queries, expected, v))
}

/// What filters of one group are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// Each has keys of its own, as those that are generated: all p-values are independent.
    Own,
    /// All have the same, as those of a key file: what is the same in every figure is one measurement of the same table, and counts once.
    Shared,
}

/// Whether the false positives of all filters, in all cells and under all seeds, are together as their filters expect. `None`
/// without any.
pub fn uniformity(samples: &[Sample], asked: Queries) -> Option<Uniformity> {
    let mut seen = HashSet::new();
    let mut values = Vec::new();
    for (&number, group) in &by_group(samples) {
        let Some(start) = group.start else { continue };
        for verdict in &group.verdicts {
            for rate in of_seeds(start.seed, &verdict.facts) {
                let SeedRate { seed, expected, queries, hits } = rate;
                let is_new = seen.insert((number, seed, expected.to_bits(), queries, hits));
                if is_new || asked == Queries::Own {
                    values.extend(randomised(&verdict.filter, &rate));
                }
            }
        }
    }
    if values.is_empty() {
        return None;
    }
    let distance = ks_statistic(&mut values);
    let p = ks_p_value(distance, values.len());
    Some(Uniformity { cells: u32::try_from(values.len()).ok()?, distance, p })
}

#[cfg(test)]
mod tests {
    use amq_testkit::statistics::agrees;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::store::cell::Status;
    use crate::store::sample::{GroupStart, Point, Verify};

    /// A run in which `rate` gives the rate that filters really have where they expect 0.01.
    fn run(queries: u64, rate: f64) -> Vec<Sample> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut samples = Vec::new();
        for group in 0..30 {
            let point = Point::Rate { n: 10, fpr: 0.01 };
            let start = GroupStart {
                group,
                point,
                seed: group as u64,
                filters: vec![],
                works: vec![],
                records: None,
            };
            samples.push(Sample::GroupStart(start));
            for filter in 0..10 {
                let hits = (0..queries).filter(|_| rng.random_bool(rate)).count() as u64;
                let facts = Facts {
                    fpr_expected: Some(0.01),
                    fpr_queries: Some(queries),
                    fpr_hits: Some(hits),
                    ..Facts::default()
                };
                let filter = format!("filter-{filter}");
                let (status, reason) = (Status::Ok, String::new());
                samples.push(Sample::Verify(Verify { group, filter, status, reason, facts }));
            }
        }
        samples
    }

    #[test]
    fn right_rates_are_uniform_even_where_hits_are_few_and_wrong_ones_are_not() {
        // Five hits are expected of each filter: no single one could be refused.
        let right = uniformity(&run(500, 0.01), Queries::Own).unwrap();
        assert!(right.p > 0.01 && right.cells == 300, "{right:?}");
        let wrong = uniformity(&run(500, 0.013), Queries::Own).unwrap();
        assert!(wrong.p < 1e-6 && wrong.cells == 300, "{wrong:?}");
        // Equal figures may be one table that several filters share.
        assert!(uniformity(&run(500, 0.01), Queries::Shared).unwrap().cells < 300);
        // Less than one hit is expected: nothing to test.
        assert_eq!(uniformity(&run(50, 0.01), Queries::Own), None);
        assert_eq!(uniformity(&[], Queries::Own), None);
    }

    #[test]
    fn the_prediction_is_held_against_the_mean_over_seeds() {
        let rate = |expected| SeedRate { seed: 1, expected, queries: 1000, hits: 10 };
        let mut facts = Facts {
            fpr_predicted: Some(0.010),
            fpr_expected: Some(0.009),
            fpr_queries: Some(1000),
            fpr_hits: Some(10),
            ..Facts::default()
        };
        let alone = of_seeds(7, &facts);
        assert_eq!(alone, [SeedRate { seed: 7, ..rate(0.009) }]);
        assert_eq!(Expectation::of(&facts, &alone).unwrap().z_of_predicted, None);
        facts.fpr_seeds = vec![rate(0.011), rate(0.013)];
        let expected = Expectation::of(&facts, &of_seeds(7, &facts)).unwrap();
        assert!((expected.mean - 0.011).abs() < 1e-15);
        // The standard deviation is 0.002.
        let z = expected.z_of_predicted.unwrap();
        assert!((z - 0.001 / (0.002 / 3_f64.sqrt())).abs() < 1e-9, "{z}");
        facts.fpr_seeds = vec![rate(0.009), rate(0.009)];
        assert_eq!(Expectation::of(&facts, &of_seeds(7, &facts)).unwrap().z_of_predicted, None);
    }

    #[test]
    fn the_draw_depends_on_filter_and_seed_alone() {
        let rate = SeedRate { seed: 3, expected: 0.01, queries: 1000, hits: 10 };
        assert_eq!(randomised("a", &rate), randomised("a", &rate));
        assert_ne!(randomised("a", &rate), randomised("b", &rate));
        assert_ne!(randomised("a", &rate), randomised("a", &SeedRate { seed: 4, ..rate }));
        assert!(agrees(10, 1000, 0.01));
    }
}
