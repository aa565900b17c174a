//! The construction of a xor filter: shard by shard, each in the second-level cache.
//!
//! The highest bits of a hash choose one of 2^bits shards. A shard is a xor filter of its own, with a share of
//! the cells in proportion to its keys, and a hash function of its own if the first does not peel. Where the
//! shards begin and which function each has is written behind the cells (the *directory*).
//!
//! One graph over all cells would be the same size. Its build misses the cache with every step.

use alloc::vec::Vec;
use core::ops::Range;

use amq::theory::xor::PEELING_THRESHOLD_3;
use amq::{BuildError, attempt_seed};
use amq_bits::Packed;
use amq_bits::word::store_u64;

use crate::assign::assign;
use crate::graph::Graph;
use crate::memory::{Raw, Words, check_limit, index, zeros};
use crate::partition::{HighBits, Loader, count_all, deduplicate};
use crate::peel::{Peeler, Progress};
use crate::sizing::Size;
use crate::source::{Source, SourceError};
use crate::thirds::Thirds;
use crate::workers::{cut, join};

/// What a construction needs beyond the table, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Digests of each shard, and distinct ones among them.
    given: Vec<u64>,
    distinct: Vec<u64>,
    /// Where each shard begins, in cells of a third; one more for the end.
    starts: Vec<u64>,
    rotations: Vec<u8>,
    words: Words,
    loaders: Vec<Loader>,
    workers: Vec<Worker>,
}

/// What each thread needs for itself.
#[derive(Debug, Default)]
struct Worker {
    peeler: Peeler,
    order: Words,
    /// The cells of one shard.
    cells: Words,
}

/// What the largest shard takes.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    /// Cells of a third.
    third: u64,
    /// Digests given.
    keys: u64,
    /// Words for all its cells.
    cells: u64,
}

/// What came of the shards of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Built,
    /// A digest is there twice.
    Duplicates,
    /// No hash function that may be tried peels.
    Stuck,
}

/// How a construction went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    /// Distinct digests.
    pub(crate) len: u64,
    /// Hash functions tried for the shard that took the most.
    pub(crate) attempts: u32,
    /// The most bytes that were in use, the table included.
    pub(crate) peak: u64,
}

/// The construction of one table.
pub(crate) struct Construction<'a, S: Source + ?Sized> {
    pub(crate) source: &'a S,
    pub(crate) seed: u64,
    pub(crate) size: Size,
    /// The most bytes that may be in use, the table included.
    pub(crate) limit: u64,
    pub(crate) threads: usize,
    pub(crate) max_attempts: u32,
}

/// A part of a pass: consecutive shards, and the threads that do them.
struct Part<'a> {
    workers: &'a mut [Worker],
    loaders: &'a mut [Loader],
    first: usize,
    given: &'a [u64],
    distinct: &'a mut [u64],
    starts: &'a [u64],
    rotations: &'a mut [u8],
    words: &'a mut [Raw],
    /// The table from the first shard on.
    out: &'a mut [u8],
}

/// What is done with the shards of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Count distinct digests only.
    Deduplicate,
    /// Build the shards of digests that are distinct as far as is known.
    Build,
    /// Build the shards after removing duplicates.
    BuildDistinct,
}

impl<S: Source + ?Sized> Construction<'_, S> {
    /// Builds the table, whose bytes are all 0.
    ///
    /// Nothing that comes out depends on the order of the digests, on how often one is there, on the number of
    /// threads or on the limit.
    pub(crate) fn run(&self, memory: &mut Memory, table: &mut [u8]) -> Result<Built, SourceError<S::Error>> {
        let shards = self.size.shards();
        memory.reserve(index(shards), self.threads, self.limit, table.len() as u64)?;
        // A lone shard gets a fresh seed for each attempt, and needs no directory.
        let (seeds, rotations) = if shards == 1 { (self.max_attempts, 1) } else { (1, self.max_attempts) };
        let cells = self.size.cells();
        let mut are_distinct = false;
        for attempt in 0..seeds {
            let hash_seed = attempt_seed(self.seed, attempt);
            let cut = HighBits(self.size.bits());
            count_all(self.source, hash_seed, cut, &mut memory.loaders, &mut memory.given)?;
            let mut loaded = false;
            are_distinct |= memory.given.iter().sum::<u64>() > cells;
            if are_distinct {
                loaded = self.passes(memory, table, hash_seed, rotations, Work::Deduplicate, loaded)?.1;
                let len = memory.distinct.iter().sum::<u64>();
                if len > cells {
                    return Err(BuildError::Full { records: len, limit: cells }.into());
                }
            } else {
                memory.distinct.copy_from_slice(&memory.given);
            }
            loop {
                self.size.share(&memory.distinct, &mut memory.starts);
                let work = if are_distinct { Work::BuildDistinct } else { Work::Build };
                let (outcome, is_loaded) = self.passes(memory, table, hash_seed, rotations, work, loaded)?;
                loaded = is_loaded;
                match outcome {
                    Outcome::Built => {
                        self.size.write_directory(&memory.starts, &memory.rotations, table);
                        return Ok(Built {
                            len: memory.distinct.iter().sum(),
                            attempts: attempt
                                + u32::from(memory.rotations.iter().copied().max().unwrap_or(0))
                                + 1,
                            peak: memory.bytes() + table.len() as u64,
                        });
                    }
                    Outcome::Duplicates => {
                        are_distinct = true;
                        loaded =
                            self.passes(memory, table, hash_seed, rotations, Work::Deduplicate, loaded)?.1;
                    }
                    Outcome::Stuck => break,
                }
            }
        }
        let len: u64 = memory.distinct.iter().sum();
        let (alpha, attempts) = (len as f64 / cells as f64, self.max_attempts);
        Err(BuildError::Exhausted { alpha, threshold: PEELING_THRESHOLD_3, attempts }.into())
    }

    /// Goes through all shards, as many at a time as the limit allows. `loaded`: the words of all shards are in
    /// the memory; returned is what came of it, and whether they are now.
    fn passes(
        &self,
        memory: &mut Memory,
        table: &mut [u8],
        hash_seed: u64,
        rotations: u32,
        work: Work,
        loaded: bool,
    ) -> Result<(Outcome, bool), SourceError<S::Error>> {
        let most = |list: &[u64]| list.iter().copied().max().unwrap_or(0);
        let largest = most(&memory.given);
        let third = memory.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let shard = Largest { third, keys: largest, cells: self.size.scratch_words(third) };
        let builds = work != Work::Deduplicate;
        if builds && third > Thirds::MAX {
            return Ok((Outcome::Stuck, loaded));
        }
        // One word more for each thread, where it writes what is not its own.
        let spare = self.threads as u64;
        let total: u64 = memory.given.iter().sum();
        let fixed = memory.bytes_with(builds.then_some(shard)) + table.len() as u64;
        let room = self.limit.saturating_sub(fixed) / 8;
        if room < largest + spare {
            check_limit(fixed + 8 * (largest + spare), self.limit)?;
        }
        if builds {
            for worker in &mut memory.workers {
                worker.reserve(shard)?;
            }
        }
        let room = room.min(total + spare);
        memory.words.release_above(self.limit.saturating_sub(fixed));
        memory.words.reserve(room)?;
        let (mut begin, mut outcome) = (0, Outcome::Built);
        let shards = memory.given.len();
        let alone = total + spare <= room;
        let pass = Pass {
            source: self.source,
            hash_seed,
            size: self.size,
            rotations,
            work,
            loaded: alone && loaded,
        };
        while begin < shards && outcome == Outcome::Built {
            let (mut end, mut sum) = (begin, spare);
            while end < shards && sum + memory.given[end] <= room {
                sum += memory.given[end];
                end += 1;
            }
            outcome = pass.run(memory.part(self.size, table, begin..end))?;
            begin = end;
        }
        Ok((outcome, alone))
    }
}

/// What is to be done with each shard, and how.
struct Pass<'a, S: Source + ?Sized> {
    source: &'a S,
    hash_seed: u64,
    size: Size,
    /// Hash functions that may be tried.
    rotations: u32,
    work: Work,
    /// The words are in the memory already.
    loaded: bool,
}

impl<S: Source + ?Sized> Pass<'_, S> {
    /// Does a part, in parallel if it has several workers.
    fn run(&self, part: Part<'_>) -> Result<Outcome, SourceError<S::Error>> {
        if part.workers.len() > 1 {
            let (left, right) = part.split(self.size);
            let (left, right) = join(|| self.run(left), || self.run(right));
            let (left, right) = (left?, right?);
            return Ok(if left == Outcome::Built { right } else { left });
        }
        let Part { workers, loaders, first, given, distinct, starts, rotations, words, mut out } = part;
        let (Some(worker), Some(loader)) = (workers.first_mut(), loaders.first_mut()) else {
            return Ok(Outcome::Built);
        };
        if !self.loaded {
            let cut = HighBits(self.size.bits());
            loader.load(self.source, self.hash_seed, cut, first as u64, given, words)?;
        }
        let mut begin = 0;
        for (shard, &count) in given.iter().enumerate() {
            let words = &mut words[begin..begin + index(count)];
            begin += index(count);
            if self.work != Work::Build {
                distinct[shard] = deduplicate(words) as u64;
            }
            if self.work == Work::Deduplicate {
                continue;
            }
            let words = &words[..index(distinct[shard])];
            let bytes = self.size.first_byte(starts[shard + 1]) - self.size.first_byte(starts[shard]);
            let (cells, later) = out.split_at_mut(index(bytes));
            let third = starts[shard + 1] - starts[shard];
            match worker.build(words, third, self.size.layout(), self.rotations, cells) {
                Ok(rotation) => rotations[shard] = rotation,
                Err(outcome) => return Ok(outcome),
            }
            out = later;
        }
        Ok(Outcome::Built)
    }
}

impl Part<'_> {
    /// Two parts of about the same weight for each worker.
    fn split(self, size: Size) -> (Self, Self) {
        let half = self.workers.len() / 2;
        let middle = cut(self.given, half, self.workers.len());
        // The last word of each worker is where it writes what is not its own.
        let keys = index(self.given[..middle].iter().sum::<u64>()) + half;
        let bytes = size.first_byte(self.starts[middle]) - size.first_byte(self.starts[0]);
        let workers = self.workers.split_at_mut(half);
        let loaders = self.loaders.split_at_mut(half);
        let given = self.given.split_at(middle);
        let distinct = self.distinct.split_at_mut(middle);
        let rotations = self.rotations.split_at_mut(middle);
        let words = self.words.split_at_mut(keys);
        let out = self.out.split_at_mut(index(bytes));
        let left = Part {
            workers: workers.0,
            loaders: loaders.0,
            first: self.first,
            given: given.0,
            distinct: distinct.0,
            starts: &self.starts[..=middle],
            rotations: rotations.0,
            words: words.0,
            out: out.0,
        };
        let right = Part {
            workers: workers.1,
            loaders: loaders.1,
            first: self.first + middle,
            given: given.1,
            distinct: distinct.1,
            starts: &self.starts[middle..],
            rotations: rotations.1,
            words: words.1,
            out: out.1,
        };
        (left, right)
    }
}

impl Worker {
    /// Builds one shard and returns which hash function peeled.
    fn build(
        &mut self,
        words: &[Raw],
        third: u64,
        layout: Packed,
        rotations: u32,
        out: &mut [u8],
    ) -> Result<u8, Outcome> {
        for rotation in 0..rotations {
            let graph = Thirds::new(third, rotation);
            let order = self.order.get_mut();
            let mut progress = Progress { added: words.len(), taken: 0 };
            if self.peeler.add(graph, 0, words) {
                self.peeler.take_away(graph, 0..graph.cells(), order, &mut progress);
                if progress.taken == words.len() {
                    let cells = self.cells.get_mut().as_flattened_mut();
                    cells[..out.len() + Packed::PADDING].fill(0);
                    assign(graph, layout, &order[..words.len()], 0, cells);
                    out.copy_from_slice(&cells[..out.len()]);
                    // At most 31, as a larger number of attempts is not used.
                    return Ok(rotation.to_le_bytes()[0]);
                }
            }
            self.peeler.clear();
            if rotation == 0 && has_duplicates(words, order) {
                return Err(Outcome::Duplicates);
            }
        }
        Err(Outcome::Stuck)
    }
}

/// Whether a word is there twice; `memory` is as long at least and is overwritten.
fn has_duplicates(words: &[Raw], memory: &mut [Raw]) -> bool {
    let copy = &mut memory[..words.len()];
    copy.copy_from_slice(words);
    deduplicate(copy) < words.len()
}

impl Memory {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_with(None) + self.words.bytes()
    }

    /// The bytes of all but the words, once there is room for the largest shard.
    fn bytes_with(&self, shard: Option<Largest>) -> u64 {
        let lists = self.given.capacity() + self.distinct.capacity() + self.starts.capacity();
        let shard = shard.unwrap_or_default();
        let workers = self.workers.iter().map(|worker| worker.bytes_with(shard)).sum::<u64>();
        let loaders = self.loaders.iter().map(Loader::bytes).sum::<u64>();
        8 * lists as u64 + self.rotations.capacity() as u64 + loaders + workers
    }

    /// Some consecutive shards, for all workers.
    fn part<'a>(&'a mut self, size: Size, table: &'a mut [u8], shards: Range<usize>) -> Part<'a> {
        Part {
            first: shards.start,
            given: &self.given[shards.clone()],
            distinct: &mut self.distinct[shards.clone()],
            out: &mut table[index(size.first_byte(self.starts[shards.start]))..],
            starts: &self.starts[shards.start..=shards.end],
            rotations: &mut self.rotations[shards],
            words: self.words.get_mut(),
            workers: &mut self.workers,
            loaders: &mut self.loaders,
        }
    }

    /// Prepares the lists for so many shards; with the table of `table` bytes they must not pass the limit.
    fn reserve(&mut self, shards: usize, threads: usize, limit: u64, table: u64) -> Result<(), BuildError> {
        let lists = (3 * 8 + 1 + threads as u64 * Loader::BYTES_A_PLACE) * (shards as u64 + 1);
        check_limit(table.saturating_add(lists), limit)?;
        zeros(&mut self.given, shards)?;
        zeros(&mut self.distinct, shards)?;
        zeros(&mut self.starts, shards + 1)?;
        zeros(&mut self.rotations, shards)?;
        self.loaders.resize_with(threads, Loader::default);
        self.loaders.iter_mut().try_for_each(|loader| loader.reserve(shards))?;
        self.workers.resize_with(threads, Worker::default);
        Ok(())
    }
}

impl Worker {
    fn reserve(&mut self, shard: Largest) -> Result<(), BuildError> {
        self.peeler.reserve(3 * shard.third)?;
        self.order.reserve(shard.keys)?;
        self.cells.reserve(shard.cells)
    }

    /// The bytes that it takes once there is room for the largest shard.
    fn bytes_with(&self, shard: Largest) -> u64 {
        let peeler =
            if shard.third > 0 { self.peeler.bytes_with(3 * shard.third) } else { self.peeler.bytes() };
        self.order.bytes_with(shard.keys) + self.cells.bytes_with(shard.cells) + peeler
    }
}

/// Writes the directory: for each shard where it begins and its hash function in the 8 lowest bits, and the end.
pub(crate) fn write_directory(starts: &[u64], rotations: &[u8], directory: &mut [u8]) {
    let rotations = rotations.iter().map(|&rotation| u64::from(rotation)).chain([0]);
    for (i, (start, rotation)) in starts.iter().zip(rotations).enumerate() {
        store_u64(directory, 8 * i, start << 8 | rotation);
    }
}
