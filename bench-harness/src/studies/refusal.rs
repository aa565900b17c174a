//! The load at which a table refuses its first key, under many seeds.

use amq::Descriptor;

use super::vessel::{Refused, Vessel, as_insert};
use super::{Outcome, Tell, numbered, of_filter};
use crate::store::study::{Quantity, Value};

/// Fills one table for each seed, key by key, until it refuses one or has one for each of its slots.
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, r): (u64, u32),
    seed: u64,
    seeds: u64,
    tell: Tell<'_>,
) -> Outcome {
    for number in 0..seeds {
        let seed = numbered(seed, number);
        let vessel = of_filter!(Vessel::new(descriptor, n, r, seed)).with_seed(seed);
        let keys = vessel.keys(1.0, seed);
        let mut filter = of_filter!(vessel.empty());
        let insert = of_filter!(as_insert(&mut *filter));
        let taken = keys.iter().take_while(|&&digest| insert.insert(digest).is_ok()).count();
        let refused = if taken < keys.len() { Refused::Some } else { Refused::None };
        let lost = of_filter!(vessel.lost(&*filter, &keys[..taken], refused));
        if refused == Refused::Some {
            tell(Some(Value::of(Quantity::RefusalLoad, vessel.load(taken))))?;
        }
        let never = if refused == Refused::Some { 0.0 } else { 1.0 };
        tell(Some(Value::of(Quantity::NeverRefused, never)))?;
        tell(Some(Value::of(Quantity::KeysLost, lost as f64)))?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn a_quotient_table_takes_all_but_one_key_and_a_cuckoo_table_refuses_earlier() {
        for (name, low, high) in
            [("quotient", 0.998, 0.9999), ("cuckoofilter", 0.7, 0.9999), ("qfilter", 0.9, 0.96)]
        {
            let Some(filter) = registry::filter(name) else { continue };
            let mut loads = Vec::new();
            let outcome = measure(filter, (1000, 8), 3, 5, &mut |value| {
                loads.extend(
                    value
                        .filter(|value| value.quantity == Quantity::RefusalLoad)
                        .map(|value| value.samples[0]),
                );
                Ok(())
            });
            assert_eq!(outcome.unwrap(), Ok(()), "{name}");
            assert_eq!(loads.len(), 5, "{name}");
            assert!(loads.iter().all(|load| (low..high).contains(load)), "{name}: {loads:?}");
        }
    }
}
