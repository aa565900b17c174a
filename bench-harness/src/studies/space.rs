//! Bits a key at every n of a grid that is fine and holds few powers of two: what a size that is not the one of a data sheet
//! costs.

use amq::{BuildError, Descriptor, Spec};
use amq_testkit::keys::digests;

use super::{Outcome, Tell, build_fault, defect};
use crate::measure;
use crate::measure::time::Fault;
use crate::store::cell::Status;
use crate::store::study::{Quantity, Value};

/// `per_decade` numbers in each decade, evenly spread on a logarithmic scale, rounded to whole numbers, each once; from `from`
/// to `to`, both included.
pub(super) fn grid(from: u64, to: u64, per_decade: u32) -> Vec<u64> {
    // At most the grid's 32 octaves are ten decades.
    let mut grid: Vec<u64> = (0..per_decade.saturating_mul(10))
        .map(|step| from as f64 * (f64::from(step) / f64::from(per_decade) * core::f64::consts::LN_10).exp())
        .take_while(|&n| n < to as f64)
        .map(|n| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 2^32")]
            let n = n.round() as u64;
            n
        })
        .collect();
    grid.push(to);
    grid.dedup();
    grid
}

/// Builds a filter at every n of the grid and says what it takes.
///
/// # Errors
/// Inner: with the first n at which there is none, once all are through; at once where a filter contradicts itself.
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (fpr, ns): (f64, &[u64]),
    seed: u64,
    tell: Tell<'_>,
) -> Outcome {
    let keys = digests(ns.iter().copied().max().unwrap_or(0), seed);
    let mut missing: Option<(u64, Fault)> = None;
    let mut built = 0;
    for &n in ns {
        let spec = Spec::fpr(fpr, n).with_seed(seed);
        // Below the number of keys, which is a length.
        let members = &keys[..usize::try_from(n).unwrap_or(keys.len())];
        let plan = (descriptor.plan)(&spec).map_err(BuildError::Spec);
        let (filter, usage) = measure::space::measure(|| (descriptor.build)(members, &spec));
        let (plan, filter) = match plan.and_then(|plan| Ok((plan, filter?))) {
            Ok(both) => both,
            Err(error) => {
                tell(None)?;
                missing.get_or_insert_with(|| (n, build_fault(&error)));
                continue;
            }
        };
        built += 1;
        if let Some(reason) = measure::space::contradiction(descriptor, &*filter, &plan, usage) {
            return Ok(Err(defect(format!("at n = {n} {reason}"))));
        }
        let per_key = |bits: u64| bits as f64 / n as f64;
        let payload = Some(filter.space().payload_bits);
        let heap = usage.map(|usage| usage.live.saturating_mul(8));
        let peak = usage.map(|usage| usage.peak.saturating_mul(8));
        for (quantity, bits) in
            [(Quantity::PayloadBits, payload), (Quantity::HeapBits, heap), (Quantity::PeakBits, peak)]
        {
            if let Some(bits) = bits {
                tell(Some(Value::of(quantity, per_key(bits)).at_n(n)))?;
            }
        }
    }
    Ok(match missing {
        None => Ok(()),
        Some((n, Fault { status, reason })) => {
            // Some sizes, not all: what there is stands.
            let status = if built > 0 { Status::Ok } else { status };
            Err(Fault { status, reason: format!("not at n = {n}: {reason}") })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn the_grid_is_even_and_each_number_is_there_once() {
        let fine = grid(10, 1_000_000, 40);
        assert_eq!((fine[0], *fine.last().unwrap()), (10, 1_000_000));
        assert!(fine.windows(2).all(|pair| pair[0] < pair[1]));
        assert!((190..=201).contains(&fine.len()), "{}", fine.len());
        assert!(fine.contains(&1000) && fine.contains(&100_000), "{fine:?}");
        assert_eq!(grid(7, 7, 5), [7]);
        assert_eq!(grid(1, 10, 1), [1, 10]);
    }

    #[test]
    fn ours_take_what_they_say_at_every_n() {
        for filter in amq_families::FAMILIES {
            let mut bits = Vec::new();
            let outcome = measure(filter, (0.01, &grid(10, 3000, 7)), 1, &mut |value| {
                bits.extend(value.filter(|value| value.quantity == Quantity::PayloadBits));
                Ok(())
            });
            assert_eq!(outcome.unwrap(), Ok(()), "{}", filter.name);
            assert_eq!(bits.len(), grid(10, 3000, 7).len(), "{}", filter.name);
            let last = bits.last().unwrap().samples[0];
            assert!((7.0..80.0).contains(&last), "{}: {last}", filter.name);
        }
    }

    #[test]
    fn a_size_that_cannot_be_had_is_named() {
        let Some(filter) = registry::filter("cuckoofilter") else { return };
        let outcome = measure(filter, (1e-9, &[10, 20]), 1, &mut |_| Ok(())).unwrap();
        let fault = outcome.unwrap_err();
        assert_eq!(fault.status, Status::Infeasible);
        assert!(fault.reason.starts_with("not at n = 10: "), "{}", fault.reason);
    }
}
