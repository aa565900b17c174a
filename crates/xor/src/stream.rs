//! The construction of a binary fuse filter: in one stream through the segments.
//!
//! The words are ordered by the segment that a key begins in. When all keys that begin in a segment have been
//! added, its cells are final and peeling begins there; it lags up to a dozen segments behind. The order of the
//! keys taken away is written over the words that have been added, so that 8 bytes a key are all that grows with
//! the keys.
//!
//! Shards, as for the xor filter, would take more cells, because small fuse filters are larger; with segments of
//! 2^14 cells the stream stays in the second-level cache as well.

use alloc::vec::Vec;

use amq::theory::xor::{FUSE_THRESHOLD_3, FUSE_THRESHOLD_4};
use amq::{BuildError, attempt_seed};

use crate::assign::assign;
use crate::fuse_sizing::Size;
use crate::graph::Graph;
use crate::memory::{Raw, Words, check_limit, index, zeros};
use crate::partition::{Cut, Loader, count_all, deduplicate};
use crate::peel::{PLACES, Peeler, Progress};
use crate::segments::Segments;
use crate::shards::Built;
use crate::source::{Source, SourceError};
use crate::workers::{cut, join};

/// What a construction needs beyond the table, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Digests of each segment, and distinct ones among them.
    given: Vec<u64>,
    distinct: Vec<u64>,
    /// How long the order was when the peeling behind each segment had stopped.
    taken: Vec<usize>,
    words: Words,
    loaders: Vec<Loader>,
    peeler: Peeler,
}

/// The construction of one table.
pub(crate) struct Construction<'a, S: Source + ?Sized, const K: usize> {
    pub(crate) source: &'a S,
    pub(crate) seed: u64,
    pub(crate) size: Size<K>,
    /// The most bytes that may be in use, the table included.
    pub(crate) limit: u64,
    pub(crate) threads: usize,
    pub(crate) max_attempts: u32,
}

impl<S: Source + ?Sized, const K: usize> Construction<'_, S, K> {
    /// Builds the table, whose bytes are all 0.
    ///
    /// Nothing that comes out depends on the order of the digests, on how often one is there or on the number of
    /// threads.
    pub(crate) fn run(&self, memory: &mut Memory, table: &mut [u8]) -> Result<Built, SourceError<S::Error>> {
        let graph = self.size.segments();
        memory.reserve(graph, self.threads, self.limit, table.len() as u64)?;
        let mut are_distinct = false;
        for attempt in 0..self.max_attempts {
            let hash_seed = attempt_seed(self.seed, attempt);
            count_all(self.source, hash_seed, graph, &mut memory.loaders, &mut memory.given)?;
            let given = memory.given.iter().sum::<u64>();
            are_distinct |= given > self.size.cells();
            loop {
                self.load(memory, hash_seed, are_distinct, table.len() as u64)?;
                let len = memory.distinct.iter().sum::<u64>();
                if len > self.size.cells() {
                    return Err(BuildError::Full { records: len, limit: self.size.cells() }.into());
                }
                if peel(graph, memory, index(len)) {
                    self.assign(memory, table);
                    let peak = memory.bytes() + table.len() as u64;
                    return Ok(Built { len, attempts: attempt + 1, peak });
                }
                memory.peeler.clear();
                if are_distinct {
                    break;
                }
                // The same attempt again, perhaps without duplicates.
                are_distinct = true;
            }
        }
        let alpha = memory.distinct.iter().sum::<u64>() as f64 / self.size.cells() as f64;
        let threshold = if K == 3 { FUSE_THRESHOLD_3 } else { FUSE_THRESHOLD_4 };
        Err(BuildError::Exhausted { alpha, threshold, attempts: self.max_attempts }.into())
    }

    /// Brings the words of all segments into the memory.
    fn load(
        &self,
        memory: &mut Memory,
        hash_seed: u64,
        are_distinct: bool,
        table: u64,
    ) -> Result<(), SourceError<S::Error>> {
        // One word more for each thread, where it writes what is not its own.
        let words = memory.given.iter().sum::<u64>() + self.threads as u64;
        let graph = self.size.segments();
        let ring = ring(graph) << graph.bits();
        let others = memory.bytes() - memory.words.bytes() - memory.peeler.bytes();
        let needed = others + memory.peeler.bytes_with(ring) + 8 * words + table;
        check_limit(needed, self.limit)?;
        memory.words.release_above(self.limit - (needed - 8 * words));
        memory.words.reserve(words)?;
        memory.peeler.reserve(ring)?;
        let Memory { given, distinct, words, loaders, .. } = memory;
        let load = Load { source: self.source, hash_seed, graph, are_distinct };
        load.run(Part { first: 0, given, distinct, words: words.get_mut(), loaders })
    }

    /// Goes backwards through the order.
    fn assign(&self, memory: &Memory, table: &mut [u8]) {
        let (graph, layout) = (self.size.segments(), self.size.layout());
        let order = memory.words.get();
        let mut end = memory.taken.last().copied().unwrap_or(0);
        for (place, begin) in (0..memory.taken.len())
            .rev()
            .map(|place| (place, place.checked_sub(1).map_or(0, |before| memory.taken[before])))
        {
            assign(graph, layout, &order[begin..end], place as u64, table);
            end = begin;
        }
    }
}

/// Peels all `keys` keys, segment by segment. `false` if they have a 2-core: by chance, or because a digest is
/// there twice.
fn peel<const K: usize>(graph: Segments<K>, memory: &mut Memory, keys: usize) -> bool {
    let Memory { given, distinct, taken, words, loaders, peeler } = memory;
    let words = words.get_mut();
    let mut progress = Progress::default();
    let (bits, ring) = (graph.bits(), ring(graph));
    let mut begin = 0;
    let places = given.len();
    let mut loaders = loaders.iter().map(Loader::first).skip(1).peekable();
    for place in 0..places {
        while loaders.next_if_eq(&(place as u64)).is_some() {
            // The word that is nobody's.
            begin += 1;
        }
        let segment = place as u64;
        // The segment that is used for the first time takes the state of one that must be done.
        if let Some(done) = (segment + K as u64 - 1).checked_sub(ring)
            && !peeler.are_empty(done << bits..(done + 1) << bits)
        {
            return false;
        }
        let end = begin + index(distinct[place]);
        if !peeler.add(graph, segment, &words[begin..end]) {
            return false;
        }
        progress.added += end - begin;
        begin += index(given[place]);
        let last = if place + 1 == places { graph.cells() } else { (segment + 1) << bits };
        peeler.take_away(graph, segment << bits..last, words, &mut progress);
        taken[place] = progress.taken;
    }
    progress.taken == keys
}

/// Segments whose state is kept: 32, and more of short ones, as many as have 2^18 cells.
///
/// The peeling of long segments lags a dozen behind. That of short ones may start late and lag 60 behind: with 32
/// places for 3,000 keys and 4 hash functions, 75 instead of 92 of 100 attempts succeed.
fn ring<const K: usize>(graph: Segments<K>) -> u64 {
    let places = ((1 << 18) >> graph.bits()).clamp(32, PLACES);
    (graph.count() + K as u64 - 1).min(places)
}

impl Memory {
    fn bytes(&self) -> u64 {
        let lists = self.given.capacity() + self.distinct.capacity() + self.taken.capacity();
        let loaders = self.loaders.iter().map(Loader::bytes).sum::<u64>();
        8 * lists as u64 + self.words.bytes() + loaders + self.peeler.bytes()
    }

    /// Prepares the lists for all segments; with the table of `table` bytes they must not pass the limit.
    fn reserve<const K: usize>(
        &mut self,
        graph: Segments<K>,
        threads: usize,
        limit: u64,
        table: u64,
    ) -> Result<(), BuildError> {
        let lists = (3 * 8 + threads as u64 * Loader::BYTES_A_PLACE).saturating_mul(graph.places() + 1);
        check_limit(table.saturating_add(lists), limit)?;
        let places = index(graph.places());
        zeros(&mut self.given, places)?;
        zeros(&mut self.distinct, places)?;
        zeros(&mut self.taken, places)?;
        self.loaders.resize_with(threads, Loader::default);
        self.loaders.iter_mut().try_for_each(|loader| loader.reserve(places))?;
        Ok(())
    }
}

/// How words are brought into the memory.
struct Load<'a, S: Source + ?Sized, const K: usize> {
    source: &'a S,
    hash_seed: u64,
    graph: Segments<K>,
    /// Whether duplicates are removed.
    are_distinct: bool,
}

/// Consecutive segments, and the threads that load them.
struct Part<'a> {
    first: usize,
    given: &'a [u64],
    distinct: &'a mut [u64],
    words: &'a mut [Raw],
    loaders: &'a mut [Loader],
}

impl<S: Source + ?Sized, const K: usize> Load<'_, S, K> {
    /// Loads a part, in parallel if it has several loaders.
    fn run(&self, part: Part<'_>) -> Result<(), SourceError<S::Error>> {
        let Part { first, given, distinct, words, loaders } = part;
        if let [loader] = loaders {
            loader.load(self.source, self.hash_seed, self.graph, first as u64, given, words)?;
            let mut words = words;
            for (distinct, &given) in distinct.iter_mut().zip(given) {
                let (place, later) = words.split_at_mut(index(given));
                *distinct = if self.are_distinct { deduplicate(place) as u64 } else { given };
                words = later;
            }
            return Ok(());
        }
        let half = loaders.len() / 2;
        let middle = cut(given, half, loaders.len());
        let keys = index(given[..middle].iter().sum::<u64>()) + half;
        let given = given.split_at(middle);
        let distinct = distinct.split_at_mut(middle);
        let words = words.split_at_mut(keys);
        let loaders = loaders.split_at_mut(half);
        let left = Part { first, given: given.0, distinct: distinct.0, words: words.0, loaders: loaders.0 };
        let right = Part {
            first: first + middle,
            given: given.1,
            distinct: distinct.1,
            words: words.1,
            loaders: loaders.1,
        };
        let (left, right) = join(|| self.run(left), || self.run(right));
        left.and(right)
    }
}
