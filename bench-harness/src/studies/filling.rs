//! Inserts against the load: mean and single times, and slots moved.
//!
//! The mean is taken over all inserts of a step, between two readings of the clock. Single inserts are timed in a second
//! filling, with one reading of the clock after each: its cost is subtracted, but the pipeline that it drains is not to be had
//! back, so that single inserts look a little slower than the mean. Slots moved are read off a third filling, untimed.

use std::hint::black_box;
use std::time::Instant;

use amq::{Descriptor, Digest, Stats, attempt_seed};

use super::vessel::{Refused, Vessel, as_insert};
use super::{Outcome, Tell, of_filter};
use crate::measure::clock::Clock;
use crate::store::study::{Quantity, Value};

/// The step from one load to the next, as a share of the highest.
const STEPS: u32 = 49;

/// Measures one filter: see the [module](self).
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, r): (u64, u32),
    seed: u64,
    repetitions: u32,
    tell: Tell<'_>,
) -> Outcome {
    let clock = Clock::measure();
    tell(Some(Value::of(Quantity::ClockNs, clock.cost_ns)))?;
    for repetition in 0..repetitions {
        let seed = attempt_seed(seed, repetition);
        let vessel = of_filter!(Vessel::new(descriptor, n, r, seed));
        let keys = vessel.keys(vessel.top, seed);
        // Moves the tables to another address each time.
        let spacer = vec![0_u8; (repetition as usize + 1) * 4096];
        of_filter!(fill_by_steps(&vessel, &keys, tell)?);
        of_filter!(fill_one_by_one(&vessel, &keys, &clock, tell)?);
        if repetition == 0 {
            of_filter!(count_moves(&vessel, &keys, tell)?);
        }
        drop(black_box(spacer));
    }
    Ok(Ok(()))
}

/// The steps of a filling: each load, and the keys that lead up to it.
fn steps<'k>(vessel: &Vessel, keys: &'k [Digest]) -> impl Iterator<Item = (f64, &'k [Digest])> {
    let mut from = 0;
    let vessel = *vessel;
    (1..=STEPS).filter_map(move |step| {
        // Rounded, so that every filter and repetition has the same places.
        let load = (vessel.top * f64::from(step) / f64::from(STEPS) * 1e4).round() / 1e4;
        let to = vessel.records(load).min(keys.len());
        let chunk = &keys[from..to];
        from = to;
        (!chunk.is_empty()).then_some((load, chunk))
    })
}

fn fill_by_steps(vessel: &Vessel, keys: &[Digest], tell: Tell<'_>) -> Outcome {
    let mut filter = of_filter!(vessel.empty());
    let insert = of_filter!(as_insert(&mut *filter));
    let mut inserted = 0;
    let mut refused = Refused::None;
    let mut means = Vec::new();
    for (load, chunk) in steps(vessel, keys) {
        let start = Instant::now();
        let taken = chunk.iter().take_while(|&&digest| insert.insert(digest).is_ok()).count();
        let time = start.elapsed();
        inserted += taken;
        if taken < chunk.len() {
            refused = Refused::Some;
            break;
        }
        means.push((load, time.as_secs_f64() * 1e9 / chunk.len() as f64));
    }
    let lost = of_filter!(vessel.lost(&*filter, &keys[..inserted], refused));
    for (load, ns) in means {
        tell(Some(Value::of(Quantity::InsertNs, ns).at_load(load)))?;
    }
    if refused == Refused::Some {
        tell(Some(Value::of(Quantity::RefusalLoad, vessel.load(inserted))))?;
    }
    tell(Some(Value::of(Quantity::KeysLost, lost as f64)))?;
    Ok(Ok(()))
}

fn fill_one_by_one(vessel: &Vessel, keys: &[Digest], clock: &Clock, tell: Tell<'_>) -> Outcome {
    let mut filter = of_filter!(vessel.empty());
    let insert = of_filter!(as_insert(&mut *filter));
    let mut times = Vec::with_capacity(keys.len());
    for (load, chunk) in steps(vessel, keys) {
        times.clear();
        let mut last = Instant::now();
        for &digest in chunk {
            let result = insert.insert(digest);
            let now = Instant::now();
            if result.is_err() {
                return Ok(Ok(()));
            }
            times.push(((now - last).as_secs_f64() * 1e9 - clock.cost_ns).max(0.0));
            last = now;
        }
        for (quantity, share) in
            [(Quantity::InsertP50, 0.5), (Quantity::InsertP99, 0.99), (Quantity::InsertP999, 0.999)]
        {
            // One that only the slowest insert is beyond is the maximum under another name.
            if times.len() as f64 * (1.0 - share) >= 1.0 {
                tell(Some(Value::of(quantity, percentile(&mut times, share)).at_load(load)))?;
            }
        }
        tell(Some(Value::of(Quantity::InsertMax, percentile(&mut times, 1.0)).at_load(load)))?;
    }
    Ok(Ok(()))
}

/// The nearest rank: the smallest value that is not below so large a share of all; 0 of none.
fn percentile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let rank = (values.len() as f64 * share).ceil() as usize;
    let place = rank.clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

fn count_moves(vessel: &Vessel, keys: &[Digest], tell: Tell<'_>) -> Outcome {
    let mut filter = of_filter!(vessel.empty());
    for (load, chunk) in steps(vessel, keys) {
        let (mut sum, mut most) = (0, 0);
        for &digest in chunk {
            if of_filter!(as_insert(&mut *filter)).insert(digest).is_err() {
                return Ok(Ok(()));
            }
            let Some(moved) = filter.as_stats().and_then(Stats::moved_by_last_insert) else {
                return Ok(Ok(()));
            };
            sum += moved;
            most = most.max(moved);
        }
        tell(Some(Value::of(Quantity::Moved, sum as f64 / chunk.len() as f64).at_load(load)))?;
        tell(Some(Value::of(Quantity::MovedMax, most as f64).at_load(load)))?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::time::Fault;
    use crate::registry;
    use crate::store::cell::Status;
    use crate::store::study::{Record, StudyPoint};

    fn filled(name: &str, n: u64) -> (Result<(), Fault>, Record) {
        let mut record = Record {
            point: StudyPoint::Filling { n, r: 8 },
            filter: name.into(),
            seed: 5,
            status: Status::Ok,
            reason: String::new(),
            seconds: 0.0,
            values: Vec::new(),
        };
        let outcome = measure(registry::filter(name).unwrap(), (n, 8), 5, 2, &mut |value| {
            if let Some(value) = value {
                record.add(value);
            }
            Ok(())
        });
        (outcome.unwrap(), record)
    }

    #[test]
    fn every_filter_that_takes_keys_has_a_curve() {
        for filter in registry::filters().into_iter().filter(|filter| filter.can(amq::Capability::Insert)) {
            let (outcome, record) = filled(filter.name, 3000);
            assert_eq!(outcome, Ok(()), "{}", filter.name);
            let means: Vec<_> = record.of(Quantity::InsertNs).collect();
            assert!(means.len() >= 30, "{}: {} steps", filter.name, means.len());
            assert!(means.windows(2).all(|pair| pair[0].load < pair[1].load), "{}", filter.name);
            assert!(means.iter().any(|value| value.samples.len() == 2), "{}", filter.name);
            for value in &record.values {
                assert!(value.samples.iter().all(|sample| sample.is_finite() && *sample >= 0.0));
            }
        }
    }

    #[test]
    fn a_quotient_filter_moves_more_and_more_slots() {
        for name in ["quotient", "rank-select-quotient"] {
            let Some(filter) = registry::filter(name) else { continue };
            let (_, record) = filled(filter.name, 5000);
            let moved: Vec<f64> = record.of(Quantity::Moved).filter_map(|value| value.summary().0).collect();
            assert_eq!(moved.len(), STEPS as usize, "{name}");
            // Half full, about half of a cluster of one or two records; almost full, hundreds.
            assert!(moved[24] < 2.0 && moved[48] > 20.0, "{name}: {moved:?}");
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut values: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        for (share, value) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0), (0.0, 1.0)] {
            assert_eq!(percentile(&mut values, share), value);
        }
        assert_eq!(percentile(&mut [], 0.5), 0.0);
        assert_eq!(percentile(&mut [7.0], 0.001), 7.0);
    }
}
