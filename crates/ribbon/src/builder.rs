//! The builder: memory that serves many constructions, with a limit and several threads if wished.

use core::num::NonZeroUsize;

use amq::{BuildError, Digest, Family, Spec};
use amq_bits::{Store, StoreMut, Table};

use crate::build::{Built, MAX_ATTEMPTS, build};
use crate::memory::Memory;
use crate::sizing::Size;
use crate::width::{W64, W128, Width};

/// Builds filters, and keeps the working memory from one to the next of the same width.
///
/// ```
/// use amq::{Amq, BuildError, Digest, Spec};
/// use amq_ribbon::{Builder, RibbonFilter};
///
/// let digests: Vec<_> = (0..100_000).map(|key| Digest::new(key).remix(1)).collect();
/// let spec = Spec::fpr(0.01, 100_000);
/// let mut builder = Builder::new();
/// let filter: RibbonFilter = builder.build(&digests, &spec)?;
/// assert!(filter.contains(digests[7]));
///
/// // What it took, and what it may take at most.
/// assert!(builder.peak_bytes() < 3 << 20);
/// let refused = Builder::new().with_memory_limit(1_000).build::<RibbonFilter>(&digests, &spec);
/// assert!(matches!(refused, Err(BuildError::MemoryLimit { limit: 1_000, .. })));
///
/// // The table of a filter that is no longer needed serves the next: nothing is allocated any more.
/// builder.recycle(filter);
/// let again: RibbonFilter = builder.build(&digests, &spec)?;
/// assert!(again.contains(digests[7]));
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    limit: u64,
    threads: NonZeroUsize,
    peak: u64,
    lent: Lent,
}

/// A filter that a [`Builder`] builds.
pub trait Build: Family + Sealed {}

/// What only this crate can implement.
pub trait Sealed: Sized {
    /// Builds a filter, and returns the most bytes that were in use at a time.
    #[doc(hidden)]
    fn build_with(
        digests: &[Digest],
        spec: &Spec,
        resources: Resources<'_>,
    ) -> Result<(Self, u64), BuildError>;

    #[doc(hidden)]
    fn into_table(self) -> Table;
}

/// What a builder keeps.
#[derive(Debug, Default)]
pub struct Lent {
    narrow: Memory<W64>,
    wide: Memory<W128>,
    table: Table,
}

/// What a builder lends to a construction.
#[derive(Debug)]
pub struct Resources<'a> {
    limit: u64,
    threads: usize,
    lent: &'a mut Lent,
}

/// The memory for each width.
pub trait Lends: Sized {
    /// The memory for this width. That for others is given back.
    #[doc(hidden)]
    fn memory(lent: &mut Lent) -> &mut Memory<Self>
    where
        Self: Width;
}

impl Lends for W64 {
    fn memory(lent: &mut Lent) -> &mut Memory<Self> {
        lent.wide = Memory::default();
        &mut lent.narrow
    }
}

impl Lends for W128 {
    fn memory(lent: &mut Lent) -> &mut Memory<Self> {
        lent.narrow = Memory::default();
        &mut lent.wide
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A builder without memory, without a limit, and with one thread.
    pub fn new() -> Self {
        Self { limit: u64::MAX, threads: NonZeroUsize::MIN, peak: 0, lent: Lent::default() }
    }

    /// Makes builds end with [`BuildError::MemoryLimit`] that would need more than so many bytes, the table included, the
    /// digests not: before anything is allocated, and with the number of bytes that would do.
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Builds with so many threads of the current `rayon` pool. The filters are the same, byte for byte.
    ///
    /// There is work for one thread for each 2^18 slots. Each takes 3 MB (5 MB for the wide filter).
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
        let resources = Resources { limit: self.limit, threads: self.threads.get(), lent: &mut self.lent };
        let (filter, peak) = F::build_with(digests, spec, resources)?;
        self.peak = peak;
        Ok(filter)
    }

    /// Takes the table of a filter, for the next build that needs one of the same size.
    pub fn recycle<F: Build>(&mut self, filter: F) {
        self.lent.table = filter.into_table();
    }
}

impl Resources<'_> {
    /// Builds the table of a size, and returns the most bytes that were in use as well.
    pub(crate) fn build<W: Width>(
        self,
        digests: &[Digest],
        seed: u64,
        size: &Size,
    ) -> Result<(Table, Built, u64), BuildError> {
        let Self { limit, threads, lent } = self;
        let bytes = size.layout.bytes();
        let mut table = core::mem::take(&mut lent.table);
        let memory = W::memory(lent);
        if table.heap_bytes() != bytes {
            // The old one goes first, or the peak would be that of both.
            table = Table::default();
        }
        let peak = memory.claim(size, digests.len(), threads, limit)?;
        if table.heap_bytes() == bytes {
            table.bytes_mut().fill(0);
        } else {
            // Before all else: the largest of all, if the keys are few.
            table = Table::zeroed(bytes)?;
        }
        memory.reserve(size, digests.len(), threads)?;
        let built = build(digests, seed, size, memory, &mut table, threads, MAX_ATTEMPTS)?;
        Ok((table, built, peak))
    }
}
