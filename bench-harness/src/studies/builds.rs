//! How often a build succeeds, and after how many attempts.

use amq::{BuildError, Descriptor, Spec};
use amq_testkit::keys::digests;

use super::{Outcome, Tell, build_fault, defect, numbered, of_filter};
use crate::measure::time::Fault;
use crate::store::study::{Quantity, Value};

/// Builds a filter from `n` keys under each of `seeds` seeds, other keys each time, and looks every key up.
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, fpr): (u64, f64),
    seed: u64,
    seeds: u64,
    tell: Tell<'_>,
) -> Outcome {
    for number in 0..seeds {
        let seed = numbered(seed, number);
        let members = digests(n, seed);
        let failed = match (descriptor.build)(&members, &Spec::fpr(fpr, n).with_seed(seed)) {
            Ok(filter) => {
                let found = filter.count_hits(&members);
                if found < n {
                    of_filter!(Err::<(), Fault>(defect(format!("of {n} keys {} are lost", n - found))));
                }
                tell(Some(Value::of(Quantity::Attempts, f64::from(filter.build_attempts()))))?;
                0.0
            }
            Err(error @ (BuildError::Spec(_) | BuildError::OutOfMemory { .. })) => {
                return Ok(Err(build_fault(&error)));
            }
            Err(_) => 1.0,
        };
        tell(Some(Value::of(Quantity::Failed, failed)))?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn builds_of_every_filter_succeed_or_say_that_they_cannot_be_planned() {
        for filter in registry::filters() {
            let mut failures = Vec::new();
            let outcome = measure(filter, (300, 0.01), 3, 20, &mut |value| {
                failures.extend(
                    value.filter(|value| value.quantity == Quantity::Failed).map(|value| value.samples[0]),
                );
                Ok(())
            });
            match outcome.unwrap() {
                Ok(()) => assert_eq!(failures, vec![0.0; 20], "{}", filter.name),
                Err(fault) => assert_eq!(fault.status, crate::store::cell::Status::Infeasible, "{fault:?}"),
            }
        }
    }
}
