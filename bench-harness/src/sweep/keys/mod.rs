//! The keys of a run: generated ones, or those of a file; and of each group its members and absent keys, as digests.
//!
//! [`source`] says where they come from, [`mod@file`] reads them; [`material`] is what measuring processes get.

pub mod file;
pub mod material;
pub mod source;

use std::path::Path;

use amq::{Digest, attempt_seed};
use anyhow::{Result, bail};
use tempfile::TempDir;

use self::file::KeyFile;
pub use self::material::{KeySample, MOST_QUERIES, Material};
pub use self::source::KeySource;
use crate::store::run::KeyInfo;

/// Digests that are made or checked at a time.
const CHUNK: u64 = 1 << 20;

/// Seeds that are tried for a group until no two of its keys share a digest. With 10^8 keys one in some 4,000 seeds fails.
const SEEDS: u32 = 16;

/// The keys of a run.
#[derive(Debug)]
pub enum Keys {
    /// 64-bit integers: as many as wanted.
    Generated(KeySource),
    /// The lines of a file.
    File(KeyFile),
}

/// What a group needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The seed that its seed derives from.
    pub base: u64,
    /// Distinct members.
    pub n: u64,
    /// Absent keys that are asked of each filter for its false positives.
    pub queries: u64,
    /// Lookups in a timed pass.
    pub lookups: u64,
}

/// The keys of a group, and the files they are in while it lives.
#[derive(Debug)]
pub struct Prepared {
    /// How measuring processes get them.
    pub material: Material,
    _folder: Option<TempDir>,
}

impl Keys {
    /// The number of distinct keys there are.
    pub fn distinct(&self) -> Option<u64> {
        match self {
            Self::Generated(_) => None,
            Self::File(file) => Some(file.distinct()),
        }
    }

    /// A hash of all keys in order.
    pub fn hash(&self) -> u64 {
        match self {
            Self::Generated(_) => 0,
            Self::File(file) => file.hash(),
        }
    }

    /// What is told about the keys; `largest` is the n of the largest cell.
    pub fn info(&self, largest: u64) -> KeyInfo {
        match self {
            Self::Generated(source) => {
                KeyInfo { source: source.name(), read: largest, distinct: largest, duplicates: 0, bytes: 0 }
            }
            Self::File(file) => file.info(),
        }
    }

    /// Whether keys are inserted more than once.
    pub fn repeat(&self) -> bool {
        matches!(self, Self::Generated(KeySource::Zipf { .. }))
    }

    /// The values of n that can be swept: of a file those that it has keys for.
    pub fn possible_n(&self, wanted: &[u64]) -> Vec<u64> {
        wanted.iter().copied().filter(|&n| self.distinct().is_none_or(|distinct| n <= distinct)).collect()
    }

    /// The members and absent keys of a group, and of both together those for lookups that start at the key.
    ///
    /// Digests of a file's keys are handed over in a temporary folder in `scratch`, which goes with the returned value.
    ///
    /// The seed is the wanted one, or one derived from it, such that all digests of members differ and none is an absent key's.
    ///
    /// # Errors
    /// If there is no such seed, or the digests cannot be written for the measuring processes.
    pub fn prepare(&self, wanted: Wanted, scratch: &Path) -> Result<Prepared> {
        let Wanted { base, n, lookups, .. } = wanted;
        let source = match self {
            Self::Generated(source) => source,
            Self::File(file) => return file.prepare(wanted, scratch),
        };
        let seed = collision_free_seed(
            base,
            |seed| material::generated(source, 0, n, seed),
            |seed, from, count| material::generated(source, n + from, count, seed),
            lookups,
        )?;
        let multiplicities = source.multiplicities(n, seed);
        let records = multiplicities.map_or(n, |times| times.into_iter().map(u64::from).sum());
        let source = source.clone();
        let material = Material { seed, n, records, absent: lookups, sample: lookups, source, folder: None };
        Ok(Prepared { material, _folder: None })
    }
}

/// The first of the seeds derived from `base` under which no digest occurs twice among the members, and none of theirs among
/// the absent keys.
fn collision_free_seed(
    base: u64,
    members: impl Fn(u64) -> Vec<Digest>,
    absent: impl Fn(u64, u64, u64) -> Vec<Digest>,
    absent_count: u64,
) -> Result<u64> {
    'seeds: for attempt in 0..SEEDS {
        // Short enough to be exact in a spreadsheet or in JavaScript.
        let seed = if attempt == 0 { base } else { attempt_seed(base, attempt) } >> 11;
        let mut members = members(seed);
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0] == pair[1]) {
            continue;
        }
        let mut from = 0;
        while from < absent_count {
            let count = CHUNK.min(absent_count - from);
            let mut chunk = absent(seed, from, count);
            chunk.sort_unstable();
            if have_common(&members, &chunk) {
                continue 'seeds;
            }
            from += count;
        }
        return Ok(seed);
    }
    bail!(
        "under each of {SEEDS} seeds two different keys have the same 64-bit digest: somebody made them so, and filters over \
         this digest cannot tell them apart; remove one of them"
    );
}

/// Whether two sorted slices share a value. Gallops through the first: linear in the second.
fn have_common(sorted: &[Digest], other: &[Digest]) -> bool {
    let mut rest = sorted;
    for &wanted in other {
        let mut step = 1;
        while step < rest.len() && rest[step] < wanted {
            step *= 2;
        }
        let window = &rest[..rest.len().min(step + 1)];
        let below = window.partition_point(|&digest| digest < wanted);
        rest = &rest[below..];
        match rest.first() {
            None => return false,
            Some(&found) if found == wanted => return true,
            Some(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use amq::Key as _;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::registry;

    const ALL: [KeySource; 5] = [
        KeySource::Uniform,
        KeySource::Sequential,
        KeySource::Strided { stride: 4096 },
        KeySource::BitReversed,
        KeySource::Zipf { exponent: 2.0, most: 15 },
    ];

    fn prepare(source: &KeySource, wanted: Wanted) -> Material {
        Keys::Generated(source.clone()).prepare(wanted, Path::new("unused")).unwrap().material
    }

    #[test]
    fn generated_keys_are_distinct_and_their_sample_is_half_members() {
        let wanted = Wanted { base: 7, n: 1000, queries: 5000, lookups: 100 };
        for source in &ALL {
            let material = prepare(source, wanted);
            let records = material.members().unwrap();
            assert_eq!(records.len() as u64, material.records, "{source:?}");
            let members: HashSet<_> = records.iter().copied().collect();
            assert_eq!(members.len(), 1000, "{source:?}");
            let absent = material.absent(0, u64::MAX).unwrap();
            let queries = material.queries("a", 0, 5000).unwrap();
            let fresh = material.fresh_queries("a", 0, 5000);
            let others = material.queries("b", 0, 5000).unwrap();
            assert_eq!(fresh[1000..1100], material.fresh_queries("a", 1000, 100), "{source:?}");
            assert_eq!(queries[1000..1100], material.queries("a", 1000, 100).unwrap(), "{source:?}");
            let all = [absent, queries, fresh, others].concat();
            let distinct: HashSet<_> = all.iter().copied().collect();
            assert_eq!((distinct.len(), all.len()), (15_100, 15_100), "{source:?}");
            assert!(distinct.is_disjoint(&members), "{source:?}");
            let sample = material.sample().unwrap();
            let hits: Vec<_> =
                sample.iter().map(|key| members.contains(&key.digest(material.seed))).collect();
            let there = hits.iter().filter(|&&hit| hit).count();
            assert_eq!((hits.len(), there, sample.members()), (100, 50, 50), "{source:?}");
            // In no pattern that a branch predictor learns.
            let turns = hits.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!((25..75).contains(&turns), "{source:?}: {turns} turns");
        }
    }

    #[test]
    fn repeated_keys_are_as_often_there_as_drawn_and_not_beside_each_other() {
        let source = &ALL[4];
        let wanted = Wanted { base: 9, n: 20_000, queries: 10, lookups: 10 };
        let material = prepare(source, wanted);
        let records = material.members().unwrap();
        let mut sorted = records.clone();
        sorted.sort_unstable();
        let mut found: Vec<_> = sorted.chunk_by(PartialEq::eq).map(<[Digest]>::len).collect();
        found.sort_unstable();
        let drawn = source.multiplicities(20_000, material.seed).unwrap();
        let mut drawn: Vec<_> = drawn.into_iter().map(|times| usize::try_from(times).unwrap()).collect();
        drawn.sort_unstable();
        assert_eq!(found, drawn);
        let beside = records.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(beside < 50, "{beside} of {} records follow their like", records.len());
    }

    #[test]
    fn every_filter_is_asked_keys_of_its_own() {
        let stretches: HashSet<_> =
            registry::filters().iter().map(|filter| material::stretch(filter.name)).collect();
        assert_eq!(stretches.len(), registry::filters().len());
    }

    #[test]
    fn a_seed_with_colliding_digests_is_passed_over() {
        // Under the first seed two members collide, under the second a member and an absent key do.
        let seeds = [7 >> 11, attempt_seed(7, 1) >> 11, attempt_seed(7, 2) >> 11];
        let members = |seed| vec![Digest::new(5), Digest::new(if seed == seeds[0] { 5 } else { 6 })];
        let absent = |seed, _, _| vec![Digest::new(if seed == seeds[1] { 6 } else { 9 })];
        assert_eq!(collision_free_seed(7, members, absent, 1).unwrap(), seeds[2]);
        let error = collision_free_seed(7, |_| vec![Digest::new(5); 2], absent, 1).unwrap_err();
        assert!(error.to_string().contains("same 64-bit digest"), "{error}");
    }

    #[test]
    fn common_values_are_found_by_galloping() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for round in 0..2000 {
            let mut draw = |most: usize| -> Vec<Digest> {
                let mut values: Vec<_> =
                    (0..rng.random_range(0..most)).map(|_| Digest::new(rng.random_range(0..300))).collect();
                values.sort_unstable();
                values
            };
            let (left, right) = (draw(60), draw(5));
            let expected = left.iter().any(|digest| right.contains(digest));
            assert_eq!(have_common(&left, &right), expected, "seed 3, round {round}: {left:?} {right:?}");
        }
    }
}
