//! From digests to a table: attempts under fresh seeds, until the keys peel.

use alloc::vec::Vec;

use amq::{BuildError, Digest, attempt_seed};
use amq_bits::{Packed, Table};

use crate::assign::assign;
use crate::graph::Graph;
use crate::peel::Peeler;

/// How often a construction is tried before it is given up.
///
/// With the default size an attempt fails in at most one of six cases (near 3,000 keys), so 32 in a row do
/// not happen. The limit is for explicit loads near the threshold, where most may fail, and above it, where
/// all do and more would not help.
pub const MAX_ATTEMPTS: u32 = 32;

/// A table and how it came about.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) table: Table,
    /// Distinct digests.
    pub(crate) len: u64,
    /// Attempts made, the last of which succeeded, under the seed of attempt `attempts - 1`.
    pub(crate) attempts: u32,
}

/// Builds the table of `digests` over `graph`.
///
/// Nothing that comes out depends on the order of the digests or on how often one is there: what is gathered
/// of the keys are sums, and an attempt that duplicates spoil is repeated without them under the same seed.
///
/// # Errors
/// [`BuildError::Full`] if there are more distinct digests than cells, [`BuildError::OutOfMemory`], or
/// [`BuildError::Exhausted`] after `max_attempts`, with `threshold` as the load up to which large graphs
/// peel.
pub(crate) fn build<G: Graph>(
    digests: &[Digest],
    seed: u64,
    graph: G,
    layout: Packed,
    threshold: f64,
    max_attempts: u32,
) -> Result<Built, BuildError> {
    let cells = graph.cells();
    let mut keys = Keys::new(digests);
    if keys.len() > cells {
        keys.deduplicate()?;
        if keys.len() > cells {
            return Err(BuildError::Full { records: keys.len(), limit: cells });
        }
    }
    let mut peeler = Peeler::new(cells, keys.len())?;
    let mut attempt = 0;
    while attempt < max_attempts {
        if peeler.peel(graph, keys.get(), attempt_seed(seed, attempt)) {
            let table = assign(graph, layout, &peeler.into_order(), keys.get().len())?;
            return Ok(Built { table, len: keys.len(), attempts: attempt + 1 });
        }
        // Two keys with the same digest can never be told apart; without them, the same attempt may succeed.
        if !keys.deduplicate()? {
            attempt += 1;
        }
    }
    keys.deduplicate()?;
    Err(BuildError::Exhausted { alpha: keys.len() as f64 / cells as f64, threshold, attempts: max_attempts })
}

/// Digests of which duplicates are removed only if need be: sorting a copy takes 8 bytes a key and longer
/// than peeling, and most callers have distinct keys.
struct Keys<'a> {
    given: &'a [Digest],
    /// `None`: there are no duplicates in `given`, as far as is known.
    distinct: Option<Vec<Digest>>,
    checked: bool,
}

impl<'a> Keys<'a> {
    fn new(given: &'a [Digest]) -> Self {
        Self { given, distinct: None, checked: false }
    }

    fn get(&self) -> &[Digest] {
        self.distinct.as_deref().unwrap_or(self.given)
    }

    fn len(&self) -> u64 {
        self.get().len() as u64
    }

    /// Removes duplicates and returns whether there were any; `false` from the second call on.
    fn deduplicate(&mut self) -> Result<bool, BuildError> {
        if self.checked {
            return Ok(false);
        }
        self.checked = true;
        let mut sorted = Vec::new();
        sorted
            .try_reserve_exact(self.given.len())
            .map_err(|_| BuildError::OutOfMemory { bytes: size_of_val(self.given) as u64 })?;
        sorted.extend_from_slice(self.given);
        sorted.sort_unstable();
        sorted.dedup();
        let found = sorted.len() < self.given.len();
        self.distinct = found.then_some(sorted);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use amq::{BuildError, Digest, attempt_seed};
    use amq_bits::{Packed, Store};

    use super::{Keys, MAX_ATTEMPTS, build};
    use crate::graph::{Graph, Thirds, fingerprint};

    fn digests(n: u64, seed: u64) -> Vec<Digest> {
        (0..n).map(|i| Digest::new(i).remix(seed)).collect()
    }

    #[test]
    fn duplicates_are_found_once() {
        let digests = [3, 1, 3, 2].map(Digest::new);
        let mut keys = Keys::new(&digests);
        assert_eq!(keys.len(), 4);
        assert_eq!(keys.deduplicate(), Ok(true));
        assert_eq!(keys.get(), [1, 2, 3].map(Digest::new));
        assert_eq!(keys.deduplicate(), Ok(false));
        let mut keys = Keys::new(&digests[..2]);
        assert_eq!(keys.deduplicate(), Ok(false));
        assert_eq!(keys.get(), &digests[..2]);
    }

    #[test]
    fn no_attempt_left_is_an_error_and_never_a_filter() {
        let graph = Thirds::new(100).unwrap();
        for n in [0, 1, 100] {
            let result = build(&digests(n, 1), 1, graph, Packed::new(8).unwrap(), 0.818, 0);
            let alpha = n as f64 / 300.0;
            assert_eq!(result.unwrap_err(), BuildError::Exhausted { alpha, threshold: 0.818, attempts: 0 });
        }
    }

    /// A load at which about every other attempt fails, so that later attempts are reached, with and without
    /// duplicates.
    #[test]
    fn later_attempts_are_as_good_as_the_first() {
        let (graph, layout) = (Thirds::new(100).unwrap(), Packed::new(12).unwrap());
        let mut later = 0;
        for seed in 0..200 {
            let distinct = digests(234, seed);
            let Ok(built) = build(&distinct, seed, graph, layout, 0.818, MAX_ATTEMPTS) else {
                panic!("seed {seed}");
            };
            later += u32::from(built.attempts > 1);
            for digest in &distinct {
                let hash = digest.remix(attempt_seed(seed, built.attempts - 1)).get();
                let value =
                    graph.edge(hash).iter().fold(0, |x, &cell| x ^ layout.get(built.table.bytes(), cell));
                assert_eq!(value, fingerprint(hash, layout.mask()), "seed {seed}");
            }
            let mut doubled: Vec<_> = distinct.iter().rev().chain(&distinct).copied().collect();
            doubled.rotate_left(17);
            let again = build(&doubled, seed, graph, layout, 0.818, MAX_ATTEMPTS).unwrap();
            assert_eq!((again.len, again.attempts), (234, built.attempts), "seed {seed}");
            assert_eq!(again.table, built.table, "seed {seed}");
        }
        assert!((20..=180).contains(&later), "{later} of 200 builds took more than one attempt");
    }
}
