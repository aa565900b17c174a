//! What a construction is asked for, and how it went.

use crate::source::Source;

/// The construction of one table, of a family's `Size`.
#[derive(Debug)]
pub(crate) struct Construction<'a, S: Source + ?Sized, Size> {
    pub(crate) source: &'a S,
    pub(crate) seed: u64,
    pub(crate) size: Size,
    /// The keys that the size is made for.
    pub(crate) capacity: u64,
    /// The most bytes that may be in use, the table included.
    pub(crate) limit: u64,
    pub(crate) threads: usize,
    pub(crate) max_attempts: u32,
}

/// How a construction went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    /// Distinct digests.
    pub(crate) len: u64,
    /// Hash functions tried; of several shards, for the one that took the most.
    pub(crate) attempts: u32,
    /// The most bytes that were in use, the table included.
    pub(crate) peak: u64,
}

impl<S: Source + ?Sized, Size> Construction<'_, S, Size> {
    /// Whether digests are counted before they are loaded: if memory is to be used to the last byte.
    pub(crate) fn counts(&self) -> bool {
        self.limit < u64::MAX
    }
}
