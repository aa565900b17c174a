//! False-positive rates: what a filter says of itself is what is measured.

use amq::{Capability, Descriptor, Digest, Kind, Spec};

use super::case::{Case, Failure, Outcome, ensure};
use crate::keys::{absent_digests, digests};
use crate::statistics::{agrees, binomial_p_value, z_score};

/// The rate that a filter expects, given its table, is the rate of false positives among absent digests: |z| ≤ 4, or as
/// strict by an exact test where fewer than 100 are expected. Under several seeds, for tables that are full, half full and
/// (where that is possible) overfull.
///
/// # Errors
/// The first failure.
pub fn expected_rates_are_measured(descriptor: &Descriptor) -> Outcome {
    for n in [0, 1, 10, 100, 1_000, 10_000] {
        for (fpr, queries) in [(0.5, 50_000), (0.1, 100_000), (0.01, 200_000), (1e-3, 400_000)] {
            for seed in 0..2 {
                let mut fills = vec![n];
                if descriptor.can(Capability::Insert) {
                    fills.push(n / 2);
                }
                if descriptor.kind == Kind::Bloom {
                    fills.push(n * 2);
                }
                for filled in fills {
                    let spec = Spec::fpr(fpr, n).with_seed(seed);
                    let case = Case::new(descriptor, "expected rates are measured", filled, spec);
                    let filter = case.build(&digests(filled, seed + 20))?;
                    let expected = filter.expected_fpr();
                    let expected = expected.ok_or_else(|| case.fail("no expected rate"))?;
                    let absent: Vec<Digest> = absent_digests(queries, seed + 20).collect();
                    let hits = filter.count_hits(&absent);
                    ensure!(
                        case,
                        (0.0..=1.0).contains(&expected) && agrees(hits, queries, expected),
                        "{hits} of {queries} absent digests are found, {expected} expected (z = {:.1}, p = {:.1e})",
                        z_score(hits, queries, expected),
                        binomial_p_value(hits, queries, expected.clamp(0.0, 1.0))
                    );
                }
            }
        }
    }
    Ok(())
}

/// The rate that a plan predicts is the mean of the expected rates over hash functions, within four standard errors.
///
/// # Errors
/// The first failure.
pub fn predicted_rates_are_means(descriptor: &Descriptor) -> Outcome {
    for (n, seeds) in [(10, 4_000), (100, 600), (1_000, 128), (10_000, 64)] {
        for fpr in [0.5, 0.1, 0.01] {
            let case = Case::new(descriptor, "predicted rates are means", n, Spec::fpr(fpr, n));
            let plan = (descriptor.plan)(&case.spec).map_err(|error| case.fail(error.to_string()))?;
            let rates = (0..seeds)
                .map(|seed| {
                    let case = Case { spec: case.spec.with_seed(seed), ..case };
                    let filter = case.build(&digests(n, seed + 1_000))?;
                    filter.expected_fpr().ok_or_else(|| case.fail("no expected rate"))
                })
                .collect::<Result<Vec<f64>, Failure>>()?;
            let count = seeds as f64;
            let mean = rates.iter().sum::<f64>() / count;
            let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let error = (variance / count).sqrt();
            // Where the rate does not depend on the hash function, rounding is all that may differ.
            ensure!(
                case,
                (mean - plan.fpr).abs() <= 4.0 * error + 1e-9 * plan.fpr,
                "the mean over {seeds} seeds is {mean} with a standard error of {error}, the plan predicts {}",
                plan.fpr
            );
        }
    }
    Ok(())
}
