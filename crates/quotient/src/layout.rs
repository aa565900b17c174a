//! What a table layout has to offer, so that filters, set algebra and sizing are written once.

use alloc::vec::Vec;
use core::fmt;

use amq::{Digest, Histogram, InvariantError, assert_same_length};
use amq_bits::AllocError;

use crate::Geometry;

/// How the multiset of fingerprints lies in the bytes of a table.
///
/// A value knows the geometry and is cheap to copy; the bytes are passed to each method, at least
/// [`table_bytes`](Layout::table_bytes) of them. A table of zeros is the empty one. For one geometry and one multiset there is
/// exactly one table, whatever order the records came in.
///
/// Sealed: implemented by [`ThreeBit`](crate::ThreeBit) only.
pub trait Layout: Copy + PartialEq + fmt::Debug + Send + Sync + sealed::Sealed + 'static {
    /// The family's short name.
    const NAME: &'static str;
    /// The family's name for people.
    const TITLE: &'static str;
    /// The lowest and the highest number of remainder bits.
    const R: (u32, u32);
    /// What one slot shows.
    type View;

    /// The layout of a geometry; `None` if r is out of [`R`](Layout::R) or the table has no size in 64 bits.
    fn new(geometry: Geometry) -> Option<Self>;

    /// m and r.
    fn geometry(&self) -> Geometry;

    /// Bits that hold something; padding not included.
    fn payload_bits(&self) -> u64;

    /// Bytes of the table, padding included.
    fn table_bytes(&self) -> u64;

    /// Whether there is a record of this digest.
    fn contains(&self, bytes: &[u8], digest: Digest) -> bool;

    /// Asks for the memory that [`contains`](Layout::contains) will read first.
    fn prefetch(&self, bytes: &[u8], digest: Digest);

    /// The number of records of this digest.
    fn count(&self, bytes: &[u8], digest: Digest) -> u64;

    /// Adds a record. The caller has made sure that fewer than m - 1 are stored.
    fn insert(&self, bytes: &mut [u8], digest: Digest);

    /// Takes one record out; `false`, and nothing changed, if there is none.
    fn remove(&self, bytes: &mut [u8], digest: Digest) -> bool;

    /// (fingerprint, multiplicity), ascending, each fingerprint once. Linear in the table.
    fn sorted<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (u64, u64)> + use<'a, Self>;

    /// Writes at most m - 1 records, as [`sorted`](Layout::sorted) gives them, into a table of zeros. One pass.
    ///
    /// # Errors
    /// If there is no memory for the records that wrap around.
    fn load(&self, bytes: &mut [u8], sorted: impl Iterator<Item = (u64, u64)>) -> Result<(), OutOfMemory>;

    /// The number of distinct fingerprints. Linear in the table.
    fn distinct(&self, bytes: &[u8]) -> u64;

    /// Lengths of runs and clusters. Linear in the table.
    fn histograms(&self, bytes: &[u8]) -> Vec<Histogram>;

    /// One slot, decoded.
    fn view(&self, bytes: &[u8], slot: u64) -> Self::View;

    /// Re-derives everything from the bytes, however damaged, and returns the number of records.
    ///
    /// # Errors
    /// The first contradiction found.
    fn check(&self, bytes: &[u8]) -> Result<u64, InvariantError>;

    /// `contains` for each digest, with a rolling look-ahead where the table is larger than a second-level cache.
    ///
    /// # Panics
    /// If the lengths differ.
    fn contains_batch(&self, bytes: &[u8], digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        if bytes.len() < PREFETCH_FROM {
            for (answer, &digest) in answers.iter_mut().zip(digests) {
                *answer = self.contains(bytes, digest);
            }
            return;
        }
        for &digest in digests.iter().take(LOOK_AHEAD) {
            self.prefetch(bytes, digest);
        }
        for (i, (answer, &digest)) in answers.iter_mut().zip(digests).enumerate() {
            if let Some(&later) = digests.get(i + LOOK_AHEAD) {
                self.prefetch(bytes, later);
            }
            *answer = self.contains(bytes, digest);
        }
    }
}

/// Tables of at least this many bytes are prefetched: smaller ones stay in a second-level cache, where the requests cost more
/// than they bring.
pub(crate) const PREFETCH_FROM: usize = 1 << 20;

/// How many digests ahead of the lookup its memory is asked for. A rolling distance, not chunks: chunks leave the memory system
/// idle while they are answered.
pub(crate) const LOOK_AHEAD: usize = 24;

/// The allocator refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub bytes: u64,
}

impl From<AllocError> for OutOfMemory {
    fn from(error: AllocError) -> Self {
        Self { bytes: error.bytes }
    }
}

pub(crate) mod sealed {
    /// Keeps the trait to this crate, whose filters rely on what it promises.
    pub trait Sealed {}
}
