//! Where digests come from: a slice, or anything that can be gone through more than once.

use core::convert::Infallible;
use core::fmt;

use amq::{BuildError, Digest};

/// A sequence of digests that can be gone through any number of times, each time with the same digests in any
/// order.
///
/// A construction goes through it once for each attempt, and once more if it has to count first: if the source cannot
/// tell how many digests it has, or if some place of the table has far more than its share; with
/// a [memory limit](crate::Builder::with_memory_limit) more often. Several threads may go through it at once.
pub trait Source: Sync {
    /// What may go wrong on the way.
    type Error: Send;

    /// The number of digests, if that is known.
    fn digests(&self) -> Option<u64> {
        None
    }

    /// Calls `visit` with all digests, in blocks of any sizes.
    ///
    /// # Errors
    /// If not all of them can be had.
    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> Result<(), Self::Error>;

    /// Calls `visit` with one of `parts` parts that together are all digests. By default the first part is all
    /// of them.
    ///
    /// # Errors
    /// As [`replay`](Self::replay).
    fn replay_part(
        &self,
        part: usize,
        parts: usize,
        visit: &mut dyn FnMut(&[Digest]),
    ) -> Result<(), Self::Error> {
        let _ = parts;
        if part == 0 { self.replay(visit) } else { Ok(()) }
    }
}

impl Source for [Digest] {
    type Error = Infallible;

    fn digests(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> Result<(), Infallible> {
        visit(self);
        Ok(())
    }

    fn replay_part(
        &self,
        part: usize,
        parts: usize,
        visit: &mut dyn FnMut(&[Digest]),
    ) -> Result<(), Infallible> {
        let size = self.len().div_ceil(parts).max(1);
        if let Some(chunk) = self.chunks(size).nth(part) {
            visit(chunk);
        }
        Ok(())
    }
}

/// A filter that could not be built from a [`Source`]. Nothing is left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SourceError<E> {
    /// The construction failed.
    Build(BuildError),
    /// The source failed.
    Source(E),
    /// The source gave other digests when it was gone through again.
    Changed,
}

impl<E: fmt::Display> fmt::Display for SourceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(error) => error.fmt(f),
            Self::Source(error) => write!(f, "the digests cannot be read: {error}"),
            Self::Changed => f.write_str("the source gave other digests when it was gone through again"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for SourceError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Build(error) => Some(error),
            Self::Source(error) => Some(error),
            Self::Changed => None,
        }
    }
}

impl<E> From<BuildError> for SourceError<E> {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl From<SourceError<Infallible>> for BuildError {
    /// A slice neither fails nor changes.
    fn from(error: SourceError<Infallible>) -> Self {
        match error {
            SourceError::Build(error) => error,
            SourceError::Source(never) => match never {},
            SourceError::Changed => unreachable!("a borrowed slice does not change"),
        }
    }
}
