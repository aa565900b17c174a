//! The construction of a xor filter: shard by shard, each in the second-level cache.
//!
//! The highest bits of a hash choose one of 2^bits shards. A shard is a xor filter of its own, with cells in
//! proportion to its keys, and a hash function of its own if the first does not peel. Where the
//! shards begin and which function each has is written behind the cells (the *directory*).
//!
//! One graph over all cells would be the same size. Its build misses the cache with every step.

use alloc::vec::Vec;
use core::ops::Range;

use amq::theory::xor::PEELING_THRESHOLD_3;
use amq::{BuildError, attempt_seed};

use crate::construction::{Built, Construction};
use crate::memory::{check_limit, index, zeros};
use crate::partition::{HighBits, Input, Partition};
use crate::shard::{Failure, Largest, Worker};
use crate::sizing::{Share, Size};
use crate::source::{Source, SourceError};
use crate::thirds::Thirds;
use crate::workers::{cut, join};

/// What a construction needs beyond the table, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    partition: Partition,
    /// Distinct digests of each shard in the memory, as far as is known before it is built.
    planned: Vec<u64>,
    shards: Vec<Shard>,
    workers: Vec<Worker>,
}

/// What a shard has become.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shard {
    /// Distinct digests.
    pub(crate) len: u64,
    /// Cells of a third.
    pub(crate) third: u64,
    pub(crate) rotation: u8,
}

/// Consecutive shards in the memory, and the threads that do them.
struct Part<'a> {
    workers: &'a mut [Worker],
    first: usize,
    planned: &'a [u64],
    shards: &'a mut [Shard],
    /// The table from the first shard on.
    out: &'a mut [u8],
}

/// What is done with the shards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Count distinct digests only.
    Count,
    Build,
}

impl<S: Source + ?Sized> Construction<'_, S, Size> {
    /// Builds the table, whose bytes are all 0.
    ///
    /// Nothing that comes out depends on the order of the digests, on how often one is there, on the number of
    /// threads or on the limit.
    pub(crate) fn run(&self, memory: &mut Memory, table: &mut [u8]) -> Result<Built, SourceError<S::Error>> {
        let (shards, cells) = (self.size.shards(), self.size.cells());
        memory.reserve(shards, self.threads, self.limit, table.len() as u64)?;
        // A lone shard gets a fresh seed for each attempt, and needs no directory.
        let (seeds, rotations) = if shards == 1 { (self.max_attempts, 1) } else { (1, self.max_attempts) };
        for attempt in 0..seeds {
            let cut = HighBits(self.size.bits());
            let input = Input { source: self.source, hash_seed: attempt_seed(self.seed, attempt), cut };
            memory.partition.prepare(&input, self.counts())?;
            let keys = self.capacity;
            // More than planned for, unless some are repeated.
            let is_more = memory.partition.bins.len() > keys;
            memory.workers.iter_mut().for_each(|worker| worker.expect_duplicates(is_more));
            let share = self.size.share(keys);
            let mut pass =
                Pass { input: &input, keys, share, rotations, work: Work::Build, is_counted: false };
            // One thread takes them for repeated and sees. Several have to know where each of them begins to write.
            let mut is_built = (!is_more || self.threads == 1) && self.pass(memory, table, &pass)?;
            if is_more && !(is_built && memory.len() <= keys) {
                pass.work = Work::Count;
                self.pass(memory, table, &pass)?;
                let len = memory.len();
                if len > cells {
                    return Err(BuildError::Full { records: len, limit: cells }.into());
                }
                if self.threads > 1 || len > keys {
                    let keys = keys.max(len);
                    pass = Pass {
                        keys,
                        share: self.size.share(keys),
                        work: Work::Build,
                        is_counted: true,
                        ..pass
                    };
                    table.fill(0);
                    is_built = self.pass(memory, table, &pass)?;
                }
            }
            if is_built {
                self.size.write_directory(&memory.shards, table);
                let rotation = memory.shards.iter().map(|shard| shard.rotation).max().unwrap_or(0);
                return Ok(Built {
                    len: memory.len(),
                    attempts: attempt + u32::from(rotation) + 1,
                    peak: memory.bytes() + table.len() as u64,
                });
            }
            if attempt + 1 == seeds {
                // How many there are, for the error.
                pass.work = Work::Count;
                self.pass(memory, table, &pass)?;
            }
        }
        let (alpha, attempts) = (memory.len() as f64 / cells as f64, self.max_attempts);
        Err(BuildError::Exhausted { alpha, threshold: PEELING_THRESHOLD_3, attempts }.into())
    }

    /// Goes through all shards: at once, or, with a limit, as many at a time as it allows. `false` if one of them does not
    /// peel.
    ///
    /// Where distinct digests crowd in a shard, as only those do that somebody chose for the seed, the round is repeated with
    /// the memory that the largest of its shards takes.
    fn pass(
        &self,
        memory: &mut Memory,
        table: &mut [u8],
        pass: &Pass<'_, S>,
    ) -> Result<bool, SourceError<S::Error>> {
        let shards = memory.shards.len();
        let (mut begin, mut written, mut crowded) = (0, 0, 0);
        while begin < shards {
            let places = if self.counts() {
                let end = self.end_of_round(memory, table.len() as u64, begin, pass, crowded)?;
                begin..end
            } else {
                0..shards
            };
            memory.partition.load(pass.input, places.clone())?;
            let Memory { partition: Partition { bins, .. }, shards: lens, planned, .. } = &mut *memory;
            let mut largest = 0;
            for (planned, place) in planned.iter_mut().zip(places.clone()) {
                let given = bins.given(place) as u64;
                largest = largest.max(given);
                *planned = if pass.is_counted { lens[place].len } else { given };
            }
            let largest = self.largest(pass, largest, crowded);
            memory.workers.iter_mut().try_for_each(|worker| worker.reserve(largest))?;
            let used = self.size.first_byte(written);
            let cells = index(used)..index(self.size.first_byte(self.size.third()));
            let (partition, part) = memory.part(places.clone(), &mut table[cells]);
            match pass.run(partition, part, self.size) {
                Ok(cells) => {
                    written += cells;
                    begin = places.end;
                }
                Err(Failure::Crowded { third }) => {
                    // Shards behind it may have been built where they do not stay.
                    table[index(used)..].fill(0);
                    crowded = third;
                }
                Err(Failure::Stuck) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What the largest shard takes, if it has so many digests. Where it has far more than its share, most are copies, and
    /// nothing is sized by them; unless a third of `crowded` cells has turned out to be needed.
    fn largest(&self, pass: &Pass<'_, S>, given: u64, crowded: u64) -> Largest {
        let keys = given.min(2 * (pass.keys >> self.size.bits()) + 64);
        let third = pass.share.third(keys).clamp(crowded, Thirds::MAX);
        let bytes = if pass.work == Work::Build { self.size.scratch_bytes(third) } else { 0 };
        Largest { third, given, bytes }
    }

    /// Up to which shard the memory takes them from `begin` on.
    fn end_of_round(
        &self,
        memory: &mut Memory,
        table: u64,
        begin: usize,
        pass: &Pass<'_, S>,
        crowded: u64,
    ) -> Result<usize, BuildError> {
        let bins = &memory.partition.bins;
        let largest = (0..memory.shards.len()).map(|place| bins.room(place) as u64).max().unwrap_or(0);
        // One word more for each thread, where it writes what belongs to later rounds.
        let spare = self.threads as u64;
        let fixed = memory.bytes_with(self.largest(pass, largest, crowded)) + table;
        let room = self.limit.saturating_sub(fixed) / 8;
        check_limit(fixed + 8 * (largest + spare), self.limit)?;
        let (mut end, mut sum) = (begin, spare);
        while end < memory.shards.len() && sum + memory.partition.bins.room(end) as u64 <= room {
            sum += memory.partition.bins.room(end) as u64;
            end += 1;
        }
        memory.partition.release_above(8 * room);
        Ok(end)
    }
}

/// What is to be done with each shard, and how.
struct Pass<'a, S: Source + ?Sized> {
    input: &'a Input<'a, S, HighBits>,
    /// Keys that the cells are shared by.
    keys: u64,
    share: Share,
    /// Hash functions that may be tried.
    rotations: u32,
    work: Work,
    /// The distinct digests of each shard have been counted.
    is_counted: bool,
}

impl<S: Source + ?Sized> Pass<'_, S> {
    /// Does a part, in parallel if it has several workers. Returns the cells of a third that it took.
    fn run(&self, partition: &Partition, part: Part<'_>, size: Size) -> Result<u64, Failure> {
        let Part { workers, first, planned, shards, out } = part;
        if let [worker] = workers {
            return self.run_alone(partition, worker, first, shards, out, size);
        }
        let half = workers.len() / 2;
        let middle = cut(planned, half, workers.len());
        let cells = planned[..middle].iter().map(|&keys| self.share.third(keys)).sum::<u64>();
        let boundary = index(size.first_byte(cells));
        let workers = workers.split_at_mut(half);
        let planned = planned.split_at(middle);
        let shards = shards.split_at_mut(middle);
        let (left_out, right_out) =
            if self.work == Work::Count { (&mut [][..], &mut [][..]) } else { out.split_at_mut(boundary) };
        let left = Part { workers: workers.0, first, planned: planned.0, shards: shards.0, out: left_out };
        let right = Part {
            workers: workers.1,
            first: first + middle,
            planned: planned.1,
            shards: shards.1,
            out: right_out,
        };
        let (left, right) = join(|| self.run(partition, left, size), || self.run(partition, right, size));
        let (left, right) = match (left, right) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(left), Err(right)) => return Err(left.max(right)),
            (Err(failure), Ok(_)) | (Ok(_), Err(failure)) => return Err(failure),
        };
        if self.work == Work::Build && left < cells {
            // Digests were repeated: what is behind moves up.
            let (from, to) = (index(size.first_byte(left)), boundary + index(size.first_byte(right)));
            out.copy_within(boundary..to, from);
            out[from + (to - boundary)..to].fill(0);
        }
        Ok(left + right)
    }

    fn run_alone(
        &self,
        partition: &Partition,
        worker: &mut Worker,
        first: usize,
        shards: &mut [Shard],
        out: &mut [u8],
        size: Size,
    ) -> Result<u64, Failure> {
        let (mut begin, mut crowded) = (0, None);
        for (place, shard) in (first..).zip(shards) {
            let slices = partition.slices(place);
            if self.work == Work::Count {
                shard.len = worker.count(slices) as u64;
                continue;
            }
            let from = index(size.first_byte(begin));
            match worker.build(&slices, self.share, size, self.rotations, &mut out[from..]) {
                Ok(built) => {
                    *shard = built;
                    begin += built.third;
                }
                Err(Failure::Stuck) => return Err(Failure::Stuck),
                // On to the next, so that one repetition is enough for all.
                failure => crowded = crowded.max(failure.err()),
            }
        }
        crowded.map_or(Ok(begin), Err)
    }
}

impl Memory {
    fn bytes(&self) -> u64 {
        self.lists() + self.partition.words.bytes() + self.workers.iter().map(Worker::bytes).sum::<u64>()
    }

    /// The bytes of all but the words, once there is room for the largest shard.
    fn bytes_with(&self, largest: Largest) -> u64 {
        self.lists() + self.workers.iter().map(|worker| worker.bytes_with(largest)).sum::<u64>()
    }

    fn lists(&self) -> u64 {
        let lists = 8 * self.planned.capacity() + size_of::<Shard>() * self.shards.capacity();
        lists as u64 + self.partition.bytes_of_lists()
    }

    /// Distinct digests.
    fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len).sum()
    }

    /// Some consecutive shards, for all workers.
    fn part<'a>(&'a mut self, places: Range<usize>, out: &'a mut [u8]) -> (&'a Partition, Part<'a>) {
        let part = Part {
            workers: &mut self.workers,
            first: places.start,
            planned: &self.planned[..places.len()],
            shards: &mut self.shards[places],
            out,
        };
        (&self.partition, part)
    }

    /// Prepares the lists for so many shards; with the table of `table` bytes they must not pass the limit.
    fn reserve(&mut self, shards: u64, threads: usize, limit: u64, table: u64) -> Result<(), BuildError> {
        let lists = (8 + size_of::<Shard>() as u64) * shards;
        self.partition.reserve(threads, shards, limit, table.saturating_add(lists))?;
        zeros(&mut self.planned, index(shards))?;
        zeros(&mut self.shards, index(shards))?;
        self.workers.resize_with(threads, Worker::default);
        Ok(())
    }
}
