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
use crate::codec::{PLACES, Plain};
use crate::construction::{Built, Construction};
use crate::distinct::{keep_distinct, room};
use crate::fuse_sizing::Size;
use crate::graph::Graph;
use crate::memory::{Words, check_limit, index, zeros};
use crate::partition::{Cut, Input, Partition};
use crate::peel::{Peeler, Progress};
use crate::segments::Segments;
use crate::source::{Source, SourceError};

/// What a construction needs beyond the table, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    partition: Partition,
    /// How long the order was when the peeling behind each segment had stopped.
    taken: Vec<usize>,
    peeler: Peeler,
    /// Where duplicates are looked for.
    seen: Words,
}

/// From so many segments on, duplicates are looked for in the first of them.
const SAMPLED_FROM: usize = 16;

impl<S: Source + ?Sized, const K: usize> Construction<'_, S, Size<K>> {
    /// Builds the table, whose bytes are all 0.
    ///
    /// Nothing that comes out depends on the order of the digests, on how often one is there or on the number of
    /// threads.
    pub(crate) fn run(&self, memory: &mut Memory, table: &mut [u8]) -> Result<Built, SourceError<S::Error>> {
        let (graph, cells) = (self.size.segments(), self.size.cells());
        memory.reserve(graph, self.threads, self.limit, table.len() as u64)?;
        let mut has_duplicates = false;
        let mut len = 0;
        for attempt in 0..self.max_attempts {
            let hash_seed = attempt_seed(self.seed, attempt);
            let input = Input { source: self.source, hash_seed, cut: graph };
            memory.partition.prepare(&input, self.counts())?;
            loop {
                self.load(memory, &input, table.len() as u64)?;
                let given = memory.partition.bins.len();
                has_duplicates |= given > cells || memory.has_duplicates_in_sample(cells)?;
                len = if has_duplicates { memory.remove_duplicates(cells)? } else { given };
                if len > cells {
                    return Err(BuildError::Full { records: len, limit: cells }.into());
                }
                if peel(graph, memory, index(len)) {
                    self.assign(memory, table);
                    let peak = memory.bytes() + table.len() as u64;
                    return Ok(Built { len, attempts: attempt + 1, peak });
                }
                memory.peeler.clear();
                if has_duplicates {
                    break;
                }
                // The same attempt again, perhaps without duplicates.
                has_duplicates = true;
            }
        }
        let alpha = len as f64 / cells as f64;
        let threshold = if K == 3 { FUSE_THRESHOLD_3 } else { FUSE_THRESHOLD_4 };
        Err(BuildError::Exhausted { alpha, threshold, attempts: self.max_attempts }.into())
    }

    /// Brings the words of all segments into the memory.
    fn load(
        &self,
        memory: &mut Memory,
        input: &Input<'_, S, Segments<K>>,
        table: u64,
    ) -> Result<(), SourceError<S::Error>> {
        let graph = self.size.segments();
        let (words, ring) = (memory.partition.room(graph.places()), ring(graph) << graph.bits());
        let Memory { partition: Partition { bins, words: old, .. }, taken, peeler, seen: table_of_seen } =
            memory;
        let largest = if self.counts() { (0..taken.len()).map(|place| bins.room(place)).max() } else { None };
        let seen = seen(largest.unwrap_or(0), taken.len(), self.size.cells());
        let kept = old.bytes() + peeler.bytes() + table_of_seen.bytes();
        let needed = memory.bytes() - kept
            + memory.peeler.bytes_with(ring)
            + memory.seen.bytes_with(seen)
            + 8 * words
            + table;
        check_limit(needed, self.limit)?;
        memory.partition.release_above(self.limit - (needed - 8 * words));
        memory.peeler.reserve(ring)?;
        memory.partition.load(input, 0..index(graph.places()))
    }

    /// Goes backwards through the order.
    fn assign(&self, memory: &Memory, table: &mut [u8]) {
        let (codec, layout) = (Plain(self.size.segments()), self.size.layout());
        let order = memory.partition.words.get();
        let mut end = memory.taken.last().copied().unwrap_or(0);
        for place in (0..memory.taken.len()).rev() {
            let begin = place.checked_sub(1).map_or(0, |before| memory.taken[before]);
            assign(codec, layout, &order[begin..end], place as u64, table);
            end = begin;
        }
    }
}

/// Peels all `keys` keys, segment by segment. `false` if they have a 2-core: by chance, or because a digest is
/// there twice.
///
/// The order is written over words that have been added, of which there are more at every time.
fn peel<const K: usize>(graph: Segments<K>, memory: &mut Memory, keys: usize) -> bool {
    let Memory { partition: Partition { bins, words, is_loaded }, taken, peeler, .. } = memory;
    *is_loaded = false;
    let words = words.get_mut();
    let mut progress = Progress::default();
    let (codec, bits, ring) = (Plain(graph), graph.bits(), ring(graph));
    let places = taken.len();
    for (place, taken) in taken.iter_mut().enumerate() {
        let segment = place as u64;
        // The segment that is used for the first time takes the state of one that must be done.
        if let Some(done) = (segment + K as u64 - 1).checked_sub(ring)
            && !peeler.are_empty(done << bits..(done + 1) << bits)
        {
            return false;
        }
        for range in bins.ranges(place) {
            progress.added += range.len();
            if !peeler.add(codec, segment, &words[range]) {
                return false;
            }
        }
        let last = if place + 1 == places { graph.cells() } else { (segment + 1) << bits };
        peeler.take_away(codec, segment << bits..last, words, &mut progress);
        *taken = progress.taken;
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
        self.partition.bytes() + 8 * self.taken.capacity() as u64 + self.peeler.bytes() + self.seen.bytes()
    }

    /// Prepares the lists for all segments; with the table of `table` bytes they must not pass the limit.
    fn reserve<const K: usize>(
        &mut self,
        graph: Segments<K>,
        threads: usize,
        limit: u64,
        table: u64,
    ) -> Result<(), BuildError> {
        let taken = graph.places().saturating_mul(8);
        self.partition.reserve(threads, graph.places(), limit, table.saturating_add(taken))?;
        zeros(&mut self.taken, index(graph.places()))
    }

    /// Whether a digest of the first segment is there twice, if that is a small part of all: where many are repeated, as
    /// good as sure, and a peeling that would be in vain is saved.
    fn has_duplicates_in_sample(&mut self, cells: u64) -> Result<bool, BuildError> {
        if self.taken.len() < SAMPLED_FROM {
            return Ok(false);
        }
        let given = self.partition.bins.given(0);
        Ok(self.remove_duplicates_of(0, cells)? < given)
    }

    /// Leaves only the distinct words, and returns how many they are.
    fn remove_duplicates(&mut self, cells: u64) -> Result<u64, BuildError> {
        (0..self.taken.len()).map(|place| Ok(self.remove_duplicates_of(place, cells)? as u64)).sum()
    }

    fn remove_duplicates_of(&mut self, place: usize, cells: u64) -> Result<usize, BuildError> {
        let Partition { bins, words, .. } = &mut self.partition;
        self.seen.reserve(seen(bins.given(place), self.taken.len(), cells))?;
        let table = self.seen.get_mut();
        Ok(bins.retain(place, words.get_mut(), |words| keep_distinct(words, table)))
    }
}

/// Words of the table in which the duplicates of a segment are looked for. Where it has far more than its share, most are
/// copies, and the table is not sized by them.
fn seen(given: usize, places: usize, cells: u64) -> u64 {
    room((given as u64).min(2 * (cells / places as u64)))
}
