//! Statistics of tables.

use std::collections::BTreeSet;

use amq::{Capability, Descriptor, Spec};

use super::case::{Case, Outcome, ensure};
use crate::keys::digests;

/// Every histogram has a name of its own and accounts for the whole table: its counts sum up to the number of places or of
/// records, or its values do so for the records.
///
/// # Errors
/// The first failure.
pub fn histograms_account_for_everything(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Stats) {
        return Ok(());
    }
    for n in [0, 1, 2, 63, 1_000, 11_511] {
        for fpr in [0.5, 0.01] {
            let case =
                Case::new(descriptor, "histograms account for everything", n, Spec::fpr(fpr, n).with_seed(n));
            let plan = (descriptor.plan)(&case.spec).map_err(|error| case.fail(error.to_string()))?;
            let filter = case.build(&digests(n, n))?;
            let Some(stats) = filter.as_stats() else { return Err(case.fail("no statistics")) };
            let histograms = stats.histograms();
            ensure!(case, !histograms.is_empty(), "there are no histograms");
            let names: BTreeSet<_> = histograms.iter().map(|histogram| histogram.name).collect();
            ensure!(case, names.len() == histograms.len() && !names.contains(""), "names are not distinct");
            for histogram in histograms {
                let things: u64 = histogram.counts.iter().sum();
                let weight: u64 = (0..).zip(&histogram.counts).map(|(value, count)| value * count).sum();
                ensure!(
                    case,
                    things == plan.slots || things == n || weight == n,
                    "{:?} counts {things} things of {weight} in all, for {n} records in {} places",
                    histogram.name,
                    plan.slots
                );
            }
        }
    }
    Ok(())
}
