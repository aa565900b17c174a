//! The builder: memory that serves many constructions, with a limit and several threads if wished.

use core::num::NonZeroUsize;

use amq::{BuildError, Digest, Family, Spec};
use amq_bits::{Store, StoreMut, Table};

use crate::memory::check_limit;
use crate::source::{Source, SourceError};
use crate::{shards, stream};

/// Builds filters, and keeps the working memory from one to the next.
///
/// ```
/// use amq::{Amq, BuildError, Digest, Spec};
/// use amq_xor::{BinaryFuse3, Builder, XorFilter};
///
/// let digests: Vec<_> = (0..100_000).map(|key| Digest::new(key).remix(1)).collect();
/// let spec = Spec::fpr(0.01, 100_000);
/// let mut builder = Builder::new();
/// let fuse: BinaryFuse3 = builder.build(&digests, &spec)?;
/// let xor: XorFilter = builder.build(&digests, &spec)?;
/// assert!(fuse.contains(digests[7]) && xor.contains(digests[7]));
///
/// // What it took, and what it may take at most.
/// assert!(builder.peak_bytes() < 10 << 20);
/// let refused = Builder::new().with_memory_limit(1_000).build::<XorFilter>(&digests, &spec);
/// assert!(matches!(refused, Err(BuildError::MemoryLimit { limit: 1_000, .. })));
///
/// // The table of a filter that is no longer needed serves the next: nothing is allocated any more.
/// builder.recycle(xor);
/// let again: XorFilter = builder.build(&digests, &spec)?;
/// assert!(again.contains(digests[7]));
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    limit: u64,
    threads: NonZeroUsize,
    peak: u64,
    shards: shards::Memory,
    stream: stream::Memory,
    table: Table,
}

/// A filter that a [`Builder`] builds.
pub trait Build: Family + Sealed {}

/// What only this crate can implement.
pub trait Sealed: Sized {
    /// Builds a filter, and returns the most bytes that were in use at a time.
    #[doc(hidden)]
    fn build_with<S: Source + ?Sized>(
        source: &S,
        spec: &Spec,
        resources: Resources<'_>,
    ) -> Result<(Self, u64), SourceError<S::Error>>;

    #[doc(hidden)]
    fn into_table(self) -> Table;
}

/// What a builder lends to a construction.
#[derive(Debug)]
pub struct Resources<'a> {
    pub(crate) limit: u64,
    pub(crate) threads: usize,
    pub(crate) shards: &'a mut shards::Memory,
    pub(crate) stream: &'a mut stream::Memory,
    table: &'a mut Table,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A builder without memory, without a limit, and with one thread.
    pub fn new() -> Self {
        Self {
            limit: u64::MAX,
            threads: NonZeroUsize::MIN,
            peak: 0,
            shards: shards::Memory::default(),
            stream: stream::Memory::default(),
            table: Table::default(),
        }
    }

    /// Makes builds end with [`BuildError::MemoryLimit`] that would need more than so many bytes, the table
    /// included, the digests not.
    ///
    /// A xor filter needs 8 bytes a key, unless there is a limit: then it takes as many shards at a time as fit,
    /// and goes through the digests once more for each such round. The result is the same.
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Builds with so many threads of the current `rayon` pool. The filters are the same, byte for byte.
    ///
    /// A xor filter is built in parallel as a whole: with two threads, 10^7 keys took little more than half the time. Of a
    /// fuse filter only the partition of the keys is, a fifth of the work.
    #[cfg(feature = "rayon")]
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// The most bytes that the last successful build had in use, the table included, the digests not.
    pub fn peak_bytes(&self) -> u64 {
        self.peak
    }

    /// Builds a filter of the digests. The same as [`Family::build`], byte for byte.
    ///
    /// # Errors
    /// As [`Family::build`]; and [`BuildError::MemoryLimit`].
    pub fn build<F: Build>(&mut self, digests: &[Digest], spec: &Spec) -> Result<F, BuildError> {
        Ok(self.build_from(digests, spec)?)
    }

    /// Builds a filter of the digests of a source, which need not be in memory.
    ///
    /// # Errors
    /// As [`build`](Self::build), and those of the source.
    pub fn build_from<F: Build, S: Source + ?Sized>(
        &mut self,
        source: &S,
        spec: &Spec,
    ) -> Result<F, SourceError<S::Error>> {
        let resources = Resources {
            limit: self.limit,
            threads: self.threads.get(),
            shards: &mut self.shards,
            stream: &mut self.stream,
            table: &mut self.table,
        };
        let (filter, peak) = F::build_with(source, spec, resources)?;
        self.peak = peak;
        Ok(filter)
    }

    /// Takes the table of a filter, for the next build that needs one of the same size.
    pub fn recycle<F: Build>(&mut self, filter: F) {
        self.table = filter.into_table();
    }
}

impl Resources<'_> {
    /// A table of zeros.
    pub(crate) fn table(&mut self, bytes: u64) -> Result<Table, BuildError> {
        check_limit(bytes, self.limit)?;
        let mut table = core::mem::take(self.table);
        if table.heap_bytes() == bytes {
            table.bytes_mut().fill(0);
            return Ok(table);
        }
        drop(table);
        Ok(Table::zeroed(bytes)?)
    }
}
