//! What a table layout has to offer, so that filters, set algebra and sizing are written once.

use core::fmt;

use amq::{Digest, InvariantError, assert_same_length};
use amq_bits::AllocError;
use amq_bits::prefetch::prefetch_stream;

use crate::Geometry;
use crate::blocks::Blocks;
use crate::decode::Decoder;
use crate::sorted::{AtHand, Grouped};

/// How the multiset of fingerprints lies in the bytes of a table.
///
/// A value knows the geometry and is cheap to copy; the bytes are passed to each method, at least
/// [`table_bytes`](Layout::table_bytes) of them. A table of zeros is the empty one. For one geometry and one multiset there is
/// exactly one table, whatever order the records came in.
///
/// Sealed: implemented by [`ThreeBit`](crate::ThreeBit) and [`RankSelect`](crate::RankSelect) only.
pub trait Layout: Blocks + Copy + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The family's short name.
    const NAME: &'static str;
    /// The family's name for people.
    const TITLE: &'static str;
    /// The lowest and the highest number of remainder bits.
    const R: (u32, u32);
    /// The highest load that a target other than [`Target::Shape`](amq::Target::Shape) is planned for. Above it the time of every
    /// operation grows much faster than the space shrinks.
    const DESIGN_LOAD: f64;
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

    /// Adds a record, and returns how many others moved. The caller has made sure that fewer than m - 1 are stored.
    fn insert(&self, bytes: &mut [u8], digest: Digest) -> u64;

    /// Takes one record out; `false`, and nothing changed, if there is none.
    fn remove(&self, bytes: &mut [u8], digest: Digest) -> bool;

    /// (fingerprint, multiplicity), ascending, each fingerprint once. Linear in the table.
    fn sorted<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (u64, u64)> + use<'a, Self> {
        Grouped(AtHand::new(Decoder::new(*self, bytes)))
    }

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
        for (answer, next) in answers.iter_mut().zip(look_ahead(bytes.len(), digests)) {
            next.prefetch(self, bytes);
            *answer = self.contains(bytes, next.digest);
        }
    }

    /// `count` for each digest, of which there are as many.
    fn count_batch(&self, bytes: &[u8], digests: &[Digest], counts: &mut [u64]) {
        for (count, next) in counts.iter_mut().zip(look_ahead(bytes.len(), digests)) {
            next.prefetch(self, bytes);
            *count = self.count(bytes, next.digest);
        }
    }

    /// `insert` for each digest; returns what the last one did.
    fn insert_batch(&self, bytes: &mut [u8], digests: &[Digest]) -> u64 {
        let mut moved = 0;
        for next in look_ahead(bytes.len(), digests) {
            next.prefetch(self, bytes);
            moved = self.insert(bytes, next.digest);
        }
        moved
    }

    /// `remove` for each digest; returns how many there were.
    fn remove_batch(&self, bytes: &mut [u8], digests: &[Digest]) -> u64 {
        let mut removed = 0;
        for next in look_ahead(bytes.len(), digests) {
            next.prefetch(self, bytes);
            removed += u64::from(self.remove(bytes, next.digest));
        }
        removed
    }
}

/// One of a batch, and the one whose memory is to be asked for meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    pub(crate) digest: Digest,
    pub(crate) later: Option<Digest>,
}

impl Next {
    #[inline]
    pub(crate) fn prefetch<L: Layout>(self, layout: &L, bytes: &[u8]) {
        if let Some(later) = self.later {
            layout.prefetch(bytes, later);
        }
    }
}

/// A batch of work on a table of `bytes` bytes, each with what is to be prefetched: a rolling distance ahead, not chunks, which
/// leave the memory system idle while they are worked on. The first few are not prefetched: they wait for memory together anyway.
#[inline]
pub(crate) fn look_ahead(bytes: usize, digests: &[Digest]) -> impl Iterator<Item = Next> {
    let distance = if bytes < PREFETCH_FROM { digests.len() } else { LOOK_AHEAD };
    let later = digests.get(distance..).unwrap_or(&[]);
    let later = later.iter().map(|&digest| Some(digest)).chain(core::iter::repeat(None));
    digests.iter().zip(later).enumerate().map(move |(i, (&digest, later))| {
        prefetch_stream(digests, i + LOOK_AHEAD);
        Next { digest, later }
    })
}

/// Tables of at least this many bytes are prefetched: smaller ones stay in a second-level cache, where the requests cost more
/// than they bring.
pub(crate) const PREFETCH_FROM: usize = 1 << 20;

/// How many digests ahead the memory of one is asked for.
pub(crate) const LOOK_AHEAD: usize = 31;

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
