//! From digests to a table: layer by layer, in attempts under fresh seeds until the last layer takes what is left.
//!
//! The ranges of a layer do not depend on each other. Those of the first are done by several threads if wished; later layers
//! have a 24th of the keys, and are done by one.

use core::ops::Range;

use amq::{BuildError, Digest, attempt_seed};
use amq_bits::columns::{Columns, Job, dispatch};
use amq_bits::{StoreMut, Table};

use crate::bump::Place;
use crate::geometry::{BLOCK, Layer};
use crate::hashes::{Partition, sort, sort_hashes};
use crate::layout::{BUCKETS_PER_BYTE, index};
use crate::memory::{Memory, Outcome, Raw, Worker};
use crate::ranges::Ranges;
use crate::sizing::Size;
use crate::substitute::solve;
use crate::width::Width;
use crate::workers::join;

/// How often a construction is tried before it is given up.
///
/// With the default size few attempts fail, so that 32 in a row do not happen. The limit is for explicit loads, where
/// most may fail or all.
pub const MAX_ATTEMPTS: u32 = 32;

/// The load up to which large tables can be built.
const LOAD_LIMIT: f64 = 0.999;

/// How a construction went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    /// Distinct digests.
    pub(crate) len: u64,
    /// Attempts made, the last of which succeeded, under the seed of attempt `attempts - 1`.
    pub(crate) attempts: u32,
}

/// Builds the table of `digests` in `table`, which is all zeros, by so many threads for which `memory` is prepared.
///
/// Nothing that comes out depends on the order of the digests, on how often one is there, or on the threads: they are sorted
/// first, and the ranges depend on the size alone.
///
/// # Errors
/// [`BuildError::Full`] if there are more distinct digests than slots, or [`BuildError::Exhausted`] after `max_attempts`.
pub(crate) fn build<W: Width>(
    digests: &[Digest],
    seed: u64,
    size: &Size,
    memory: &mut Memory<W>,
    table: &mut Table,
    threads: usize,
    max_attempts: u32,
) -> Result<Built, BuildError> {
    let slots = size.geometry.slots();
    let mut len = 0;
    for attempt in 0..max_attempts {
        if attempt > 0 {
            table.bytes_mut().fill(0);
        }
        let first = first_layer(digests, attempt_seed(seed, attempt), size, memory, table, threads);
        len = first.distinct as u64;
        if len > slots {
            return Err(BuildError::Full { records: len, limit: slots });
        }
        if later_layers(first.bumped, size, memory, table) {
            return Ok(Built { len, attempts: attempt + 1 });
        }
    }
    let alpha = len as f64 / slots as f64;
    Err(BuildError::Exhausted { alpha, threshold: LOAD_LIMIT, attempts: max_attempts })
}

/// Fills and solves the first layer, if it is not the last, and leaves what it bumped in front of the hashes.
fn first_layer<W: Width>(
    digests: &[Digest],
    seed: u64,
    size: &Size,
    memory: &mut Memory<W>,
    table: &mut Table,
    threads: usize,
) -> Outcome {
    let layer = size.geometry.first();
    let ranges = Ranges::of::<W>(layer);
    let Memory { hashes, next, outcomes, workers } = memory;
    Partition { layer, ranges, seed }.run(digests, hashes, next, threads);
    let ends = &next[(threads - 1) * ranges.parts()..];
    let hashes = &mut hashes.bytes_mut().as_chunks_mut().0[..digests.len()];
    if layer.buckets == 0 {
        let distinct = sort(hashes, ends.iter().copied());
        return Outcome { distinct, bumped: distinct };
    }
    let (blocks, thresholds) = size.layout.split(table.bytes_mut());
    let stretch = Stretch { numbers: 0..ranges.count(), hashes, blocks, thresholds, outcomes };
    let first = First { layer, ranges, r: size.layout.r(), bucket_bits: W::BUCKET_BITS, ends };
    first.run(stretch, &mut workers[..threads]);
    let mut sum = Outcome::default();
    for (range, outcome) in outcomes.iter().enumerate() {
        let from = first.hashes_before(ranges.parts_of(range).start);
        hashes.copy_within(from..from + outcome.bumped, sum.bumped);
        sum.distinct += outcome.distinct;
        sum.bumped += outcome.bumped;
    }
    sum
}

/// Fills and solves all layers behind the first, or the only one, with the first `len` hashes; `false` if there are keys left
/// at the end.
fn later_layers<W: Width>(mut len: usize, size: &Size, memory: &mut Memory<W>, table: &mut Table) -> bool {
    let (hashes, worker) = (memory.hashes.bytes_mut().as_chunks_mut().0, &mut memory.workers[0]);
    let (blocks, thresholds) = size.layout.split(table.bytes_mut());
    let r = size.layout.r();
    for (next, layer) in (1..).zip(size.geometry.layers()) {
        if next == 1 && layer.buckets > 0 {
            continue;
        }
        let hashes = &mut hashes[..len];
        // Few by far, and in no order.
        sort_hashes(hashes);
        let ranges = Ranges::of::<W>(layer);
        let (mut from, mut bumped) = (0, 0);
        for range in 0..ranges.count() {
            let (starts, slots) = (ranges.starts_of(range), ranges.slots_of(range));
            let is_here = |hash: &Raw| layer.start(u64::from_le_bytes(*hash)) < starts.end;
            let count = hashes[from..].partition_point(is_here);
            let begin = layer.first_block + slots.start / BLOCK;
            let end = layer.first_block + slots.end.div_ceil(BLOCK);
            let first_bucket = layer.first_bucket + (starts.start >> W::BUCKET_BITS);
            let done = dispatch(Task {
                place: Place { layer, starts, slots, r, next },
                hashes: &mut hashes[from..from + count],
                blocks: &mut blocks[size.layout.block_at(begin)..size.layout.block_at(end)],
                thresholds,
                first_bucket,
                worker,
            });
            let Some(done) = done else { return false };
            hashes.copy_within(from..from + done, bumped);
            from += count;
            bumped += done;
        }
        len = bumped;
    }
    true
}

/// The filling and solving of one range.
struct Task<'a, W: Width> {
    place: Place<'a>,
    /// Ascending.
    hashes: &'a mut [Raw],
    /// Of the slots of the range.
    blocks: &'a mut [u8],
    thresholds: &'a mut [u8],
    /// The first bucket of the range among those of `thresholds`.
    first_bucket: u64,
    worker: &'a mut Worker<W>,
}

impl<W: Width> Job for Task<'_, W> {
    /// The hashes bumped, in front of all; `None` if that cannot be and there are some.
    type Output = Option<usize>;

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn run<C: Columns>(self, _: C) -> Option<usize> {
        let Self { place, hashes, blocks, thresholds, first_bucket, worker: Worker { band, kept } } = self;
        band.reset(place.len());
        let bumped = if place.layer.buckets > 0 {
            place.fill::<W>(hashes, band, kept, thresholds, first_bucket)
        } else {
            place.fill_last::<W>(hashes, band).then_some(0)?
        };
        solve(band, blocks, place.r);
        Some(bumped)
    }
}

/// What all ranges of the first layer have in common.
struct First<'a> {
    layer: &'a Layer,
    ranges: Ranges,
    r: u32,
    bucket_bits: u32,
    /// Of the hashes of each part.
    ends: &'a [usize],
}

/// Consecutive ranges of the first layer, and all that belongs to them.
struct Stretch<'a> {
    numbers: Range<usize>,
    hashes: &'a mut [Raw],
    blocks: &'a mut [u8],
    thresholds: &'a mut [u8],
    outcomes: &'a mut [Outcome],
}

impl First<'_> {
    /// Sorts, fills and solves ranges, by as many threads as there are workers.
    fn run<W: Width>(&self, mut stretch: Stretch<'_>, workers: &mut [Worker<W>]) {
        let left = workers.len() / 2;
        if left > 0 && stretch.numbers.len() > 1 {
            let middle = (stretch.numbers.len() * left).div_ceil(workers.len());
            let (a, b) = self.split(stretch, middle);
            let (workers, more) = workers.split_at_mut(left);
            join(|| self.run(a, workers), || self.run(b, more));
            return;
        }
        while !stretch.numbers.is_empty() {
            let (range, rest) = self.split(stretch, 1);
            self.run_one(range, &mut workers[0]);
            stretch = rest;
        }
    }

    fn run_one<W: Width>(&self, range: Stretch<'_>, worker: &mut Worker<W>) {
        let Stretch { numbers, hashes, blocks, thresholds, outcomes } = range;
        let (number, first_hash) =
            (numbers.start, self.hashes_before(self.ranges.parts_of(numbers.start).start));
        let ends = self.ends[self.ranges.parts_of(number)].iter().map(|&end| end - first_hash);
        let distinct = sort(hashes, ends);
        let (starts, slots) = (self.ranges.starts_of(number), self.ranges.slots_of(number));
        let place = Place { layer: self.layer, starts, slots, r: self.r, next: 1 };
        let hashes = &mut hashes[..distinct];
        let bumped = dispatch(Task { place, hashes, blocks, thresholds, first_bucket: 0, worker });
        // There are buckets, so that keys can be bumped.
        outcomes[0] = Outcome { distinct, bumped: bumped.unwrap_or(distinct) };
    }

    /// The first `count` ranges of a stretch, and the others.
    fn split<'a>(&self, stretch: Stretch<'a>, count: usize) -> (Stretch<'a>, Stretch<'a>) {
        let Stretch { numbers, hashes, blocks, thresholds, outcomes } = stretch;
        let middle = numbers.start + count;
        let (first, last) = (self.ranges.parts_of(numbers.start), self.ranges.parts_of(middle - 1));
        let slots = self.ranges.slots_of(middle - 1).end - self.ranges.slots_of(numbers.start).start;
        let starts = self.ranges.starts_of(middle - 1).end - self.ranges.starts_of(numbers.start).start;
        let bytes = index(starts.div_ceil(1 << self.bucket_bits).div_ceil(BUCKETS_PER_BYTE));
        let at = self.hashes_before(last.end) - self.hashes_before(first.start);
        let (hashes, more_hashes) = hashes.split_at_mut(at);
        let (blocks, more_blocks) = blocks.split_at_mut(index(slots.div_ceil(BLOCK)) * 8 * self.r as usize);
        let (thresholds, more_thresholds) = thresholds.split_at_mut(bytes.min(thresholds.len()));
        let (outcomes, more_outcomes) = outcomes.split_at_mut(count);
        let a = Stretch { numbers: numbers.start..middle, hashes, blocks, thresholds, outcomes };
        let b = Stretch {
            numbers: middle..numbers.end,
            hashes: more_hashes,
            blocks: more_blocks,
            thresholds: more_thresholds,
            outcomes: more_outcomes,
        };
        (a, b)
    }

    /// The hashes in the parts before one.
    fn hashes_before(&self, part: usize) -> usize {
        part.checked_sub(1).map_or(0, |last| self.ends[last])
    }
}
