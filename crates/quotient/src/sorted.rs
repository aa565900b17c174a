//! Streams of fingerprints, ascending, each as often as it is stored: what every operation on whole filters is made of. Each
//! combination is one linear pass.
//!
//! Between the stages of a pass (read a table, combine, write a table) lie chunks of fingerprints that fit a first-level cache, so that each
//! stage is a tight loop of its own. That is all the memory that a pass takes beside the tables: 4 KiB for each operand and for each
//! combination of two.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::merge;

/// Fingerprints in a chunk. A power of two, so that an index modulo it needs no check.
pub(crate) const CHUNK: usize = 512;

/// A part of a stream.
pub(crate) type Chunk = [u64; CHUNK];

/// A stream.
pub(crate) trait Sorted {
    /// Writes the next fingerprints to the start of a chunk, and says how many; none only if there are none left.
    fn fill(&mut self, chunk: &mut Chunk) -> usize;
}

impl<S: Sorted + ?Sized> Sorted for Box<S> {
    fn fill(&mut self, chunk: &mut Chunk) -> usize {
        (**self).fill(chunk)
    }
}

/// The same records in a space of 2^`bits` times fewer fingerprints: each loses its lowest bits. Order is kept.
pub(crate) struct Truncated<S> {
    pub(crate) source: S,
    pub(crate) bits: u32,
}

impl<S: Sorted> Sorted for Truncated<S> {
    fn fill(&mut self, chunk: &mut Chunk) -> usize {
        let len = self.source.fill(chunk);
        for fingerprint in &mut chunk[..len] {
            *fingerprint >>= self.bits;
        }
        len
    }
}

/// What becomes of the multiplicities of one fingerprint in two multisets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// The sum.
    Sum,
    /// The larger.
    Union,
    /// The smaller.
    Intersection,
    /// The left less the right, not below 0.
    Difference,
}

/// A stream with the next few of its fingerprints at hand.
pub(crate) struct AtHand<S> {
    source: S,
    chunk: Box<Chunk>,
    /// What has not been taken: nothing only at the end of the stream.
    at: usize,
    len: usize,
}

impl<S: Sorted> AtHand<S> {
    pub(crate) fn new(source: S) -> Self {
        let mut stream = Self { source, chunk: Box::new([0; CHUNK]), at: 0, len: 0 };
        stream.skip(0);
        stream
    }

    #[inline]
    pub(crate) fn rest(&self) -> &[u64] {
        &self.chunk[self.at..self.len]
    }

    #[inline]
    pub(crate) fn skip(&mut self, fingerprints: usize) {
        self.at += fingerprints;
        if self.at == self.len {
            self.at = 0;
            self.len = self.source.fill(&mut self.chunk);
        }
    }
}

/// Two multisets, fingerprint by fingerprint.
pub(crate) struct Combined<S> {
    left: AtHand<S>,
    right: AtHand<S>,
    how: Combine,
}

impl<S: Sorted> Combined<S> {
    pub(crate) fn new(left: S, right: S, how: Combine) -> Self {
        Self { left: AtHand::new(left), right: AtHand::new(right), how }
    }
}

impl<S: Sorted> Sorted for Combined<S> {
    fn fill(&mut self, chunk: &mut Chunk) -> usize {
        let mut len = 0;
        // With less room a step is not worth its while.
        while len + CHUNK / 8 <= CHUNK {
            let (left, right) = (self.left.rest(), self.right.rest());
            let room = &mut chunk[len..];
            let step = match (left.is_empty(), right.is_empty()) {
                (true, true) => break,
                (false, false) => merge::combine(left, right, room, self.how),
                // One side alone: the other has as many of each fingerprint as of none.
                (false, true) => merge::alone(left, room, self.how != Combine::Intersection),
                (true, false) => {
                    let counts = matches!(self.how, Combine::Sum | Combine::Union);
                    merge::alone(right, room, counts).swapped()
                }
            };
            len += step.written;
            self.left.skip(step.left);
            self.right.skip(step.right);
        }
        len
    }
}

/// The sum of many multisets: a balanced tree of sums of two; `None` for none at all.
pub(crate) fn summed<'a>(mut streams: Vec<Box<dyn Sorted + 'a>>) -> Option<Box<dyn Sorted + 'a>> {
    let second = streams.split_off(streams.len().div_ceil(2));
    if second.is_empty() {
        return streams.pop();
    }
    Some(Box::new(Combined::new(summed(streams)?, summed(second)?, Combine::Sum)))
}

/// A stream as (fingerprint, multiplicity), each fingerprint once.
pub(crate) struct Grouped<S>(pub(crate) AtHand<S>);

impl<S: Sorted> Iterator for Grouped<S> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let &fingerprint = self.0.rest().first()?;
        let mut multiplicity = 0;
        while self.0.rest().first() == Some(&fingerprint) {
            self.0.skip(1);
            multiplicity += 1;
        }
        Some((fingerprint, multiplicity))
    }
}

impl<S: Sorted> core::iter::FusedIterator for Grouped<S> {}
