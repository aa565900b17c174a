//! The working memory of a construction, kept from one to the next.

use alloc::vec::Vec;

use amq::{BuildError, Digest};
use amq_bits::{Store, Table};

use crate::band::Band;
use crate::bump::Kept;
use crate::layout::index;
use crate::ranges::Ranges;
use crate::sizing::Size;
use crate::width::Width;

/// A 64-bit hash in memory, little-endian.
pub(crate) type Raw = [u8; 8];

/// What a thread needs for itself.
#[derive(Debug)]
pub(crate) struct Worker<W: Width> {
    pub(crate) band: Band<W::Reduced>,
    /// The rows of the present bucket.
    pub(crate) kept: Vec<Kept>,
}

/// What became of a range of the first layer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Distinct hashes.
    pub(crate) distinct: usize,
    /// Those of them that were bumped: the ones in front.
    pub(crate) bumped: usize,
}

/// All that a construction needs beside the table.
#[derive(Debug)]
pub struct Memory<W: Width> {
    /// One for each digest. In a table, because that asks for huge pages.
    pub(crate) hashes: Table,
    /// For each thread and part, where the next hash goes.
    pub(crate) next: Vec<usize>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) workers: Vec<Worker<W>>,
}

impl<W: Width> Default for Worker<W> {
    fn default() -> Self {
        Self { band: Band::default(), kept: Vec::new() }
    }
}

impl<W: Width> Default for Memory<W> {
    fn default() -> Self {
        Self { hashes: Table::default(), next: Vec::new(), outcomes: Vec::new(), workers: Vec::new() }
    }
}

/// What a construction needs, in elements of each list.
#[derive(Clone, Copy, Debug)]
struct Needs {
    hashes: u64,
    next: usize,
    outcomes: usize,
    workers: usize,
    band: usize,
    kept: usize,
}

impl Needs {
    fn new<W: Width>(size: &Size, digests: usize, threads: usize) -> Self {
        let layers = size.geometry.layers();
        let ranges = Ranges::of::<W>(&layers[0]);
        Self {
            hashes: (digests as u64).saturating_mul(size_of::<Digest>() as u64),
            next: ranges.parts().saturating_mul(threads),
            outcomes: ranges.count(),
            workers: threads,
            band: index(layers.iter().map(|layer| Ranges::of::<W>(layer).longest()).max().unwrap_or(0)),
            // Each takes one of the slots that the keys of a bucket can reach.
            kept: (1 << W::BUCKET_BITS) + W::BITS as usize,
        }
    }
}

impl<W: Width> Memory<W> {
    /// The bytes that a construction by so many threads takes, the table included. Gives back what was kept if it is in the way.
    ///
    /// # Errors
    /// [`BuildError::MemoryLimit`] if that is more than `limit`.
    pub(crate) fn claim(
        &mut self,
        size: &Size,
        digests: usize,
        threads: usize,
        limit: u64,
    ) -> Result<u64, BuildError> {
        let needs = Needs::new::<W>(size, digests, threads);
        let table = size.layout.bytes();
        if self.bytes_with(&needs).saturating_add(table) > limit {
            // What was kept may be more than enough in one place and too little in another.
            *self = Self::default();
        }
        let needed = self.bytes_with(&needs).saturating_add(table);
        if needed > limit {
            return Err(BuildError::MemoryLimit { needed, limit });
        }
        Ok(needed)
    }

    /// Makes room for a construction by so many threads.
    ///
    /// # Errors
    /// [`BuildError::OutOfMemory`].
    pub(crate) fn reserve(&mut self, size: &Size, digests: usize, threads: usize) -> Result<(), BuildError> {
        let needs = Needs::new::<W>(size, digests, threads);
        if self.hashes.heap_bytes() < needs.hashes {
            // The old memory goes first, or the peak would be that of both.
            self.hashes = Table::default();
            self.hashes = Table::zeroed(needs.hashes)?;
        }
        reserve(&mut self.next, needs.next)?;
        self.next.resize(needs.next, 0);
        reserve(&mut self.outcomes, needs.outcomes)?;
        self.outcomes.resize(needs.outcomes, Outcome::default());
        if self.workers.len() < threads {
            let more = threads - self.workers.len();
            self.workers.try_reserve_exact(more).map_err(|_| out_of_memory::<Worker<W>>(more))?;
            self.workers.resize_with(threads, Worker::default);
        }
        for worker in &mut self.workers[..threads] {
            worker.band.reserve(needs.band)?;
            reserve(&mut worker.kept, needs.kept)?;
            worker.kept.resize(needs.kept, Kept::default());
        }
        Ok(())
    }

    /// The bytes that it takes once there is room for this.
    fn bytes_with(&self, needs: &Needs) -> u64 {
        let list = |capacity: usize, len: usize, bytes: usize| (capacity.max(len) as u64) * bytes as u64;
        let workers = self.workers.capacity().max(needs.workers);
        let mut sum = self.hashes.heap_bytes().max(needs.hashes)
            + list(self.next.capacity(), needs.next, size_of::<usize>())
            + list(self.outcomes.capacity(), needs.outcomes, size_of::<Outcome>())
            + list(workers, 0, size_of::<Worker<W>>());
        for i in 0..workers {
            let (band, kept) =
                self.workers.get(i).map_or((0, 0), |worker| (worker.band.capacity(), worker.kept.capacity()));
            let (needed_band, needed_kept) =
                if i < needs.workers { (needs.band, needs.kept) } else { (0, 0) };
            let band = band.max(needed_band);
            if band > 0 {
                sum = sum.saturating_add(Band::<W::Reduced>::bytes(band));
            }
            sum += list(kept, needed_kept, size_of::<Kept>());
        }
        sum
    }
}

/// Empties a list and makes room for `len` elements.
pub(crate) fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<(), BuildError> {
    list.clear();
    list.try_reserve_exact(len).map_err(|_| out_of_memory::<T>(len))
}

/// The error for a list that the allocator refused.
fn out_of_memory<T>(len: usize) -> BuildError {
    BuildError::OutOfMemory { bytes: (len as u64).saturating_mul(size_of::<T>() as u64) }
}
