//! Builds from keys that repeat: what a caller does who does not know that they must not.

use std::time::Instant;

use amq::{Capability, Descriptor, Digest, Spec};
use amq_testkit::keys::digests;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::vessel::as_insert;
use super::{Outcome, Tell, build_fault, defect, of_filter};
use crate::measure::time::Fault;
use crate::store::cell::Status;
use crate::store::study::{Quantity, Value};

/// A peer's own build, without what the peer's adaptor does to its keys first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    /// As the record calls it.
    pub(super) name: &'static str,
    /// The peer.
    pub(super) of: &'static str,
    build: fn(&[u64]) -> Result<Lookup, String>,
}

/// A lookup by key.
type Lookup = Box<dyn Fn(u64) -> bool>;

/// The peers whose adaptor sorts out duplicates before they see them.
pub(super) fn bare() -> impl Iterator<Item = &'static Bare> {
    #[cfg(feature = "peers")]
    let all: &[Bare] = &peers::BARE;
    #[cfg(not(feature = "peers"))]
    let all: &[Bare] = &[];
    all.iter()
}

#[cfg(feature = "peers")]
mod peers {
    use xorf::{BinaryFuse8, Filter as _, Xor8};

    use super::Bare;

    pub(super) static BARE: [Bare; 2] = [
        Bare {
            name: "xorf-xor8, keys as they are",
            of: "xorf-xor8",
            build: |keys| {
                let filter = Xor8::from(keys);
                Ok(Box::new(move |key| filter.contains(&key)))
            },
        },
        Bare {
            name: "xorf-fuse8, keys as they are",
            of: "xorf-fuse8",
            build: |keys| {
                let filter = BinaryFuse8::try_from(keys).map_err(str::to_owned)?;
                Ok(Box::new(move |key| filter.contains(&key)))
            },
        },
    ];
}

/// `n` keys in random order, of which a share `copies` are copies of others: 1 is one key over and over. Also how many are
/// distinct.
fn keys(n: u64, copies: f64, seed: u64) -> (Vec<Digest>, usize) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of n, which fits")]
    let distinct = ((n as f64 * (1.0 - copies)).round() as u64).clamp(1, n);
    let once = digests(distinct, seed);
    let distinct = once.len();
    // n of them: the copies go round through all.
    let mut keys: Vec<Digest> = once.iter().copied().cycle().take(usize::try_from(n).unwrap_or(0)).collect();
    keys.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    (keys, distinct)
}

/// Builds the filter from repeating keys, at once and, where it can, one by one; every key has to be found.
pub(super) fn measure(
    descriptor: &'static Descriptor,
    (n, copies, fpr): (u64, f64, f64),
    seed: u64,
    tell: Tell<'_>,
) -> Outcome {
    let (keys, distinct) = keys(n, copies, seed);
    tell(Some(Value::of(Quantity::Distinct, distinct as f64)))?;
    let spec = Spec::fpr(fpr, n).with_seed(seed);
    let start = Instant::now();
    let filter = of_filter!((descriptor.build)(&keys, &spec).map_err(|error| build_fault(&error)));
    tell(Some(Value::of(Quantity::BuildNs, start.elapsed().as_secs_f64() * 1e9 / n as f64)))?;
    tell(Some(Value::of(Quantity::Attempts, f64::from(filter.build_attempts()))))?;
    if let Some(records) = filter.len() {
        tell(Some(Value::of(Quantity::Records, records as f64)))?;
    }
    let found = filter.count_hits(&keys);
    if found < n {
        return Ok(Err(defect(format!("of {n} keys {} are lost", n - found))));
    }
    if !descriptor.can(Capability::Insert) {
        return Ok(Ok(()));
    }
    let mut filter = of_filter!((descriptor.build)(&[], &spec).map_err(|error| build_fault(&error)));
    let insert = of_filter!(as_insert(&mut *filter));
    for (number, &digest) in keys.iter().enumerate() {
        if let Err(error) = insert.insert(digest) {
            let reason = format!("key {} of {n}, inserted one by one: {error}", number + 1);
            return Ok(Err(Fault { status: Status::BuildFailed, reason }));
        }
        if number % 1024 == 0 {
            tell(None)?;
        }
    }
    let found = filter.count_hits(&keys);
    if found < n {
        return Ok(Err(defect(format!("of {n} keys inserted one by one {} are lost", n - found))));
    }
    Ok(Ok(()))
}

/// The same of a peer without its adaptor.
pub(super) fn measure_bare(bare: &Bare, (n, copies): (u64, f64), seed: u64, tell: Tell<'_>) -> Outcome {
    let (keys, distinct) = keys(n, copies, seed);
    let keys: Vec<u64> = keys.into_iter().map(Digest::get).collect();
    tell(Some(Value::of(Quantity::Distinct, distinct as f64)))?;
    let start = Instant::now();
    let built = (bare.build)(&keys);
    let contains = of_filter!(built.map_err(|reason| Fault { status: Status::BuildFailed, reason }));
    tell(Some(Value::of(Quantity::BuildNs, start.elapsed().as_secs_f64() * 1e9 / n as f64)))?;
    let lost = keys.iter().filter(|&&key| !contains(key)).count();
    Ok(if lost == 0 { Ok(()) } else { Err(defect(format!("of {n} keys {lost} are lost"))) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn copies_are_as_many_as_asked_for() {
        for (copies, distinct) in [(0.0, 1000), (0.01, 990), (0.5, 500), (1.0, 1)] {
            let (keys, told) = keys(1000, copies, 7);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!((keys.len(), sorted.len(), told), (1000, distinct, distinct), "{copies}");
        }
    }

    #[test]
    fn ours_keep_every_key_whatever_repeats() {
        for filter in amq_families::FAMILIES {
            for copies in [0.01, 0.5, 1.0] {
                let outcome = measure(filter, (2000, copies, 0.01), 3, &mut |_| Ok(())).unwrap();
                assert_eq!(outcome, Ok(()), "{} with {copies}", filter.name);
            }
        }
    }

    #[test]
    fn a_cuckoo_filter_has_no_room_for_one_key_over_and_over() {
        let Some(filter) = registry::filter("cuckoofilter") else { return };
        let fault = measure(filter, (2000, 1.0, 0.05), 3, &mut |_| Ok(())).unwrap().unwrap_err();
        assert_eq!(fault.status, Status::BuildFailed, "{fault:?}");
    }
}
