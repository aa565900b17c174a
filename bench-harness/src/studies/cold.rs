//! Lookups in filters that are not in the cache.
//!
//! The same loop, over the same keys, through an array that says which filter each lookup goes to: all to one filter (hot), or
//! each to another one than the lookup before (cold), round after round, each round in another order. Every filter holds the
//! same keys, since what matters is where their tables lie, so that a lookup finds the same answer in each.
//!
//! Where the filters together are smaller than a cache, cold lookups find them there. To see what memory costs without
//! filling it with filters, the caches are overwritten with other data before a short pass (evicted), which then reads lines
//! that no cache has.

use std::hint::black_box;
use std::time::Instant;

use amq::{Descriptor, Digest, Erased, Spec, attempt_seed};
use amq_testkit::keys::{absent_digests, digests};
use anyhow::Result;
use rand::SeedableRng as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Fault, Outcome, Tell, build_fault, defect, of_filter};
use crate::measure::clock::Clock;
use crate::store::cell::Status;
use crate::store::study::{Fleet, Quantity, Value};

/// Lookups in a pass.
const LOOKUPS: usize = 1 << 16;

/// Keys of a batch.
const BATCH: usize = 16;

/// Lookups in a pass after an eviction: so few that hardly two read the same line.
const EVICTED_LOOKUPS: usize = 2048;

/// A fleet beyond the cache is so many times as large, so that few lines of it are found there.
const BEYOND: u64 = 4;

/// How many times the cache is overwritten.
const OVERWRITE: u64 = 2;

/// How thoroughly, and on which machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Passes.
    pub(super) repetitions: u32,
    /// Passes after an eviction.
    pub(super) evictions: u32,
    /// Bytes of the last-level cache, as far as the system tells.
    pub(super) cache_bytes: u64,
    /// Bytes that this process may use.
    pub(super) memory_bytes: u64,
}

/// Measures one filter: see the [module](self).
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, fpr, fleet): (u64, f64, Fleet),
    seed: u64,
    effort: Effort,
    tell: Tell<'_>,
) -> Outcome {
    let members = digests(n, seed);
    let spec = Spec::fpr(fpr, n).with_seed(seed);
    let filters = of_filter!(assemble(descriptor, (&members, &spec), fleet, effort, tell)?);
    let clock = Clock::measure();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let hot = vec![&*filters[0]; LOOKUPS];
    let cold = rounds(&filters, LOOKUPS, &mut rng);
    let mut buffer = evicting_buffer(effort);
    for repetition in 0..effort.repetitions.max(effort.evictions) {
        let seed = attempt_seed(seed, repetition);
        let absent: Vec<Digest> = absent_digests(LOOKUPS as u64, seed).collect();
        let present: Vec<Digest> = (0..LOOKUPS).filter_map(|_| members.choose(&mut rng).copied()).collect();
        if repetition < effort.repetitions {
            for (order, [miss, hit, miss_batch, hit_batch]) in [
                (
                    &hot,
                    [
                        Quantity::HotMissNs,
                        Quantity::HotHitNs,
                        Quantity::HotMissBatchNs,
                        Quantity::HotHitBatchNs,
                    ],
                ),
                (
                    &cold,
                    [
                        Quantity::ColdMissNs,
                        Quantity::ColdHitNs,
                        Quantity::ColdMissBatchNs,
                        Quantity::ColdHitBatchNs,
                    ],
                ),
            ] {
                for (quantity, batch, keys) in [(miss, miss_batch, &absent), (hit, hit_batch, &present)] {
                    let ns = clock.time(keys.len() as u64, || {
                        black_box(one_by_one(order, black_box(keys)));
                    });
                    tell(Some(Value::of(quantity, ns)))?;
                    let ns = clock.time(keys.len() as u64, || {
                        black_box(in_batches(order, black_box(keys)));
                    });
                    tell(Some(Value::of(batch, ns)))?;
                }
            }
            let found = one_by_one(&cold, &present);
            if found < LOOKUPS as u64 {
                return Ok(Err(defect(format!("of {LOOKUPS} members looked up, {found} are found"))));
            }
        }
        if repetition < effort.evictions {
            let mut passes = evicted_passes(&filters, &absent, &present, &mut rng);
            overwrite(&mut buffer, repetition);
            for pass in &mut passes {
                tell(Some(Value::of(pass.quantity, pass.time())))?;
            }
        }
    }
    Ok(Ok(()))
}

type Filters = Vec<Box<dyn Erased>>;

/// Looks keys up in the filters of an order, and counts those that are found.
type Pass = fn(&[&dyn Erased], &[Digest]) -> u64;

/// The filters, and figures about them.
fn assemble(
    descriptor: &'static Descriptor,
    (members, spec): (&[Digest], &Spec),
    fleet: Fleet,
    effort: Effort,
    tell: Tell<'_>,
) -> Result<Result<Filters, Fault>> {
    let build = || (descriptor.build)(members, spec).map_err(|error| build_fault(&error));
    let first = of_filter!(build());
    let bytes = first.space().heap_bytes.max(1);
    // Half of the memory: builds need some of it too.
    let most = (effort.memory_bytes / 2 / bytes).max(1);
    let wanted = match fleet {
        Fleet::Of(filters) => filters,
        Fleet::BeyondCache => effort.cache_bytes.saturating_mul(BEYOND).div_ceil(bytes).min(most),
    };
    if wanted > most {
        let reason = format!("{wanted} filters of {bytes} bytes are more than half of the memory limit");
        return Ok(Err(Fault { status: Status::OutOfMemory, reason }));
    }
    let mut filters = vec![first];
    while (filters.len() as u64) < wanted {
        filters.push(of_filter!(build()));
        if filters.len().is_multiple_of(64) {
            tell(None)?;
        }
    }
    tell(Some(Value::of(Quantity::Filters, filters.len() as f64)))?;
    let all: u64 = filters.iter().map(|filter| filter.space().heap_bytes).sum();
    tell(Some(Value::of(Quantity::FleetBytes, all as f64)))?;
    Ok(Ok(filters))
}

/// So many turns, round after round, each round through all filters in another order.
fn rounds<'f>(filters: &'f Filters, turns: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<&'f dyn Erased> {
    let mut order: Vec<&dyn Erased> = filters.iter().map(|filter| &**filter).collect();
    let mut rounds = Vec::with_capacity(turns + order.len());
    while rounds.len() < turns {
        order.shuffle(rng);
        rounds.extend_from_slice(&order);
    }
    rounds.truncate(turns);
    rounds
}

fn one_by_one(order: &[&dyn Erased], keys: &[Digest]) -> u64 {
    order.iter().zip(keys).map(|(filter, &key)| u64::from(black_box(filter.contains(key)))).sum()
}

/// One batch to each filter of the order, as far as the keys reach.
fn in_batches(order: &[&dyn Erased], keys: &[Digest]) -> u64 {
    let mut answers = [false; BATCH];
    let mut hits = 0;
    for (filter, batch) in order.iter().zip(keys.chunks_exact(BATCH)) {
        filter.contains_batch(batch, &mut answers);
        hits += answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
    }
    hits
}

/// A short pass, with everything that it needs made before the eviction.
struct EvictedPass<'a> {
    quantity: Quantity,
    order: Vec<&'a dyn Erased>,
    keys: &'a [Digest],
    work: Pass,
}

impl EvictedPass<'_> {
    /// Nanoseconds a lookup.
    fn time(&self) -> f64 {
        // The arrays of the pass are not the subject: read back into the cache.
        black_box(
            self.order
                .iter()
                .map(|filter| std::ptr::from_ref(*filter).cast::<u8>().addr())
                .fold(0, |a, b| a ^ b),
        );
        black_box(self.keys.iter().fold(0, |sum: u64, key| sum ^ key.get()));
        let start = Instant::now();
        black_box((self.work)(black_box(&self.order), black_box(self.keys)));
        start.elapsed().as_secs_f64() * 1e9 / self.keys.len() as f64
    }
}

/// Four passes, each over a quarter of the filters that the others leave alone.
fn evicted_passes<'a>(
    filters: &'a Filters,
    absent: &'a [Digest],
    present: &'a [Digest],
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<EvictedPass<'a>> {
    let kinds: [(Quantity, &[Digest], Pass); 4] = [
        (Quantity::EvictedMissNs, absent, one_by_one),
        (Quantity::EvictedHitNs, present, one_by_one),
        (Quantity::EvictedMissBatchNs, absent, in_batches),
        (Quantity::EvictedHitBatchNs, present, in_batches),
    ];
    let mut shuffled: Vec<&dyn Erased> = filters.iter().map(|filter| &**filter).collect();
    shuffled.shuffle(rng);
    let quarter = shuffled.len().div_ceil(kinds.len());
    let quarters = shuffled.chunks(quarter).cycle();
    kinds
        .into_iter()
        .zip(quarters)
        .map(|((quantity, keys, work), filters)| {
            let order = filters.iter().copied().cycle().take(EVICTED_LOOKUPS).collect();
            EvictedPass { quantity, order, keys: &keys[..EVICTED_LOOKUPS], work }
        })
        .collect()
}

/// Memory to overwrite the caches with; none where nothing is evicted or there is no room.
fn evicting_buffer(effort: Effort) -> Vec<u64> {
    let bytes = effort.cache_bytes.saturating_mul(OVERWRITE).min(effort.memory_bytes / 4);
    let words = if effort.evictions > 0 { usize::try_from(bytes / 8).unwrap_or(0) } else { 0 };
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(words).is_ok() {
        buffer.resize(words, 0);
    }
    buffer
}

fn overwrite(buffer: &mut [u64], repetition: u32) {
    // Another value each time, to every word: nothing is written that a compiler could leave out.
    buffer.fill(u64::from(repetition) + 1);
    black_box(&mut *buffer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    const EFFORT: Effort =
        Effort { repetitions: 1, evictions: 1, cache_bytes: 1 << 20, memory_bytes: 1 << 28 };

    #[test]
    fn every_filter_is_looked_up_hot_cold_and_evicted() {
        for filter in registry::filters() {
            let mut found = Vec::new();
            let outcome = measure(filter, (500, 0.02, Fleet::Of(9)), 3, EFFORT, &mut |value| {
                found.extend(value);
                Ok(())
            });
            match outcome.unwrap() {
                Ok(()) => assert_eq!(found.len(), 2 + 8 + 4, "{}", filter.name),
                Err(fault) => assert_eq!(fault.status, Status::Infeasible, "{fault:?}"),
            }
            assert!(found.iter().all(|value| value.samples[0] > 0.0), "{found:?}");
        }
    }

    #[test]
    fn a_fleet_is_as_large_as_asked_or_as_memory_allows() {
        let filter = registry::filter("bloom").unwrap();
        let fleet = |fleet, effort| {
            let mut bytes = 0.0;
            let outcome = measure(filter, (10_000, 0.01, fleet), 3, effort, &mut |value| {
                bytes = value
                    .filter(|value| value.quantity == Quantity::FleetBytes)
                    .map_or(bytes, |value| value.samples[0]);
                Ok(())
            });
            outcome.unwrap().map(|()| bytes)
        };
        let beyond = fleet(Fleet::BeyondCache, EFFORT).unwrap();
        assert!((4.0..4.1).contains(&(beyond / f64::from(1 << 20))), "{beyond}");
        let little = Effort { memory_bytes: 1 << 20, ..EFFORT };
        let capped = fleet(Fleet::BeyondCache, little).unwrap();
        assert!(capped <= f64::from(1 << 19) && capped > f64::from(1 << 18), "{capped}");
        let error = fleet(Fleet::Of(1000), little).unwrap_err();
        assert_eq!(error.status, Status::OutOfMemory);
    }

    #[test]
    fn every_round_goes_through_all() {
        let filter = registry::filter("bloom").unwrap();
        let members = digests(10, 1);
        let filters: Filters =
            (0..7).map(|_| (filter.build)(&members, &Spec::fpr(0.1, 10)).unwrap()).collect();
        let order = rounds(&filters, 20, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        assert_eq!(order.len(), 20);
        for round in order.chunks(7) {
            let mut places: Vec<_> =
                round.iter().map(|filter| std::ptr::from_ref(*filter).cast::<u8>()).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), round.len());
        }
    }
}
