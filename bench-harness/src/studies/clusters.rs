//! The lengths of clusters in a table, against their law.
//!
//! A cluster starts with a record in its home slot and goes up to the next such record or an empty slot. Its length has a law
//! ([`cluster_length_probability`]), and a table has so many clusters that a chi-square test tells whether they follow it: a layout that
//! places records elsewhere, or a hash that is not uniform, shows here first.

use amq::theory::quotient::cluster_length_probability;
use amq::{BuildError, Descriptor, Spec};
use amq_testkit::keys::digests;
use amq_testkit::statistics::chi_square_p_value;

use super::{Outcome, Tell, build_fault, defect, numbered, of_filter};
use crate::measure::time::Fault;
use crate::store::study::{Quantity, Value};

/// Remainder bits, where a family has them: clusters do not depend on them.
const R: u32 = 8;

/// What a histogram of cluster lengths is called.
const NAME: &str = "cluster length in slots";

/// Clusters that a class of lengths has at least, by the law: a chi-square statistic of rarer ones is not chi-square.
const LEAST: f64 = 20.0;

/// A class is this much longer than the one before, or as much longer as it takes to have [`LEAST`].
const GROWTH: f64 = 1.25;

/// Builds one table for each seed.
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, alpha): (u64, f64),
    seed: u64,
    seeds: u64,
    tell: Tell<'_>,
) -> Outcome {
    for number in 0..seeds {
        let seed = numbered(seed, number);
        let (lengths, load) = of_filter!(lengths(descriptor, n, alpha, seed));
        let clusters: u64 = lengths.iter().sum();
        if clusters == 0 {
            tell(None)?;
            continue;
        }
        let total = clusters as f64;
        let classes = classes(load, total);
        let mut statistic = 0.0;
        for class in &classes {
            let seen = class.count(&lengths) as f64;
            statistic += (seen - class.law * total).powi(2) / (class.law * total);
            tell(Some(Value::of(Quantity::ClusterShare, seen / total).at_length(class.from)))?;
            if number == 0 {
                tell(Some(Value::of(Quantity::ClusterLaw, class.law).at_length(class.from)))?;
            }
        }
        let slots: f64 =
            (0_u32..).zip(&lengths).map(|(length, &count)| f64::from(length) * count as f64).sum();
        tell(Some(Value::of(Quantity::ClusterMean, slots / total)))?;
        if classes.len() > 1 {
            let p = chi_square_p_value(statistic, classes.len() as u64 - 1);
            tell(Some(Value::of(Quantity::ClusterP, p)))?;
        }
    }
    Ok(Ok(()))
}

/// How many clusters of each length a full table has, and its load.
fn lengths(descriptor: &Descriptor, n: u64, alpha: f64, seed: u64) -> Result<(Vec<u64>, f64), Fault> {
    let spec = Spec::shape(alpha, R.clamp(descriptor.r.0, descriptor.r.1), n).with_seed(seed);
    let plan = (descriptor.plan)(&spec).map_err(|error| build_fault(&BuildError::Spec(error)))?;
    let filter = (descriptor.build)(&digests(n, seed), &spec).map_err(|error| build_fault(&error))?;
    let stats =
        filter.as_stats().ok_or_else(|| defect("it is listed with stats but does not have them".into()))?;
    let histogram = stats.histograms().into_iter().find(|histogram| histogram.name == NAME);
    let histogram = histogram.ok_or_else(|| defect(format!("it has no histogram called {NAME:?}")))?;
    Ok((histogram.counts, n as f64 / plan.slots as f64))
}

/// Neighbouring lengths, counted together.
#[derive(Debug)]
struct Class {
    /// The first.
    from: u64,
    /// Behind the last; the last class has no end.
    to: Option<u64>,
    /// The share of clusters by the law.
    law: f64,
}

impl Class {
    fn count(&self, lengths: &[u64]) -> u64 {
        let at = |length: u64| usize::try_from(length).unwrap_or(usize::MAX).min(lengths.len());
        lengths[at(self.from)..self.to.map_or(lengths.len(), at)].iter().sum()
    }
}

/// Classes of lengths for `clusters` clusters at a load.
fn classes(alpha: f64, clusters: f64) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let (mut from, mut rest) = (1_u64, 1.0);
    loop {
        let (mut to, mut law) = (from, 0.0);
        // What would be left behind the class has to be enough for another one.
        while law * clusters < LEAST || (to as f64) < (from as f64 * GROWTH).floor() {
            if (rest - law) * clusters < 2.0 * LEAST {
                classes.push(Class { from, to: None, law: rest });
                return classes;
            }
            law += cluster_length_probability(alpha, to);
            to += 1;
        }
        rest -= law;
        classes.push(Class { from, to: Some(to), law });
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use amq_testkit::statistics::{ks_p_value, ks_statistic};

    #[test]
    fn classes_have_all_lengths_and_enough_of_each() {
        for (alpha, clusters) in [(0.5, 1e4), (0.95, 1e5), (0.9, 100.0), (0.75, 1.0)] {
            let classes = classes(alpha, clusters);
            assert!((classes.iter().map(|class| class.law).sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!((classes[0].from, classes.last().unwrap().to), (1, None));
            assert!(classes.windows(2).all(|pair| pair[0].to == Some(pair[1].from)));
            assert!(classes.len() == 1 || classes.iter().all(|class| class.law * clusters >= LEAST));
        }
    }

    /// Tables follow the law at their load, and do not follow that of a load a little lower.
    #[test]
    fn tables_follow_the_law_and_the_test_has_teeth() {
        for filter in ["quotient", "rank-select-quotient"].map(|name| registry::filter(name).unwrap()) {
            let mut p = Vec::new();
            let outcome = measure(filter, (20_000, 0.9), 11, 60, &mut |value| {
                let value = value.filter(|value| value.quantity == Quantity::ClusterP);
                p.extend(value.map(|value| value.samples[0]));
                Ok(())
            });
            assert_eq!(outcome.unwrap(), Ok(()), "{}", filter.name);
            assert_eq!(p.len(), 60);
            let distance = ks_statistic(&mut p);
            assert!(ks_p_value(distance, p.len()) > 1e-3, "{}: {p:?}", filter.name);

            let (lengths, load) = lengths(filter, 200_000, 0.9, 5).unwrap();
            let clusters = lengths.iter().sum::<u64>() as f64;
            let classes = classes(load - 0.02, clusters);
            let statistic = classes.iter().map(|class| {
                let expected = class.law * clusters;
                (class.count(&lengths) as f64 - expected).powi(2) / expected
            });
            let p = chi_square_p_value(statistic.sum(), classes.len() as u64 - 1);
            assert!(p < 1e-4, "{}: {p}", filter.name);
        }
    }
}
