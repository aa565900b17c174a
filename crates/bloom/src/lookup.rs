//! Lookups of positions that may be anywhere, one position at a time: on every processor, and in every kind of table.

use amq::Digest;
use amq_bits::prefetch::prefetch_stream;

use crate::batch::{CHUNK, PREFETCH_FROM, adaptive, probes, rolling};
use crate::layout::Places;

/// A table to look up in: of plain bytes or of shared ones, of bits or of counters.
pub(crate) struct Lookups<'a, T: ?Sized, P, F> {
    pub(crate) table: &'a T,
    /// The size of the table.
    pub(crate) bytes: usize,
    pub(crate) layout: P,
    /// In the lowest bit, whether a position is occupied; the others mean nothing.
    pub(crate) occupied: F,
}

impl<T: ?Sized, P: Places, F: Fn(&T, u64) -> u8> Lookups<'_, T, P, F> {
    /// Looks up each. `fetch` asks for all lines of a key.
    #[inline]
    pub(crate) fn run<const K: u32>(
        &self,
        digests: &[Digest],
        answers: &mut [bool],
        fetch: impl Fn(&T, Digest),
    ) {
        let hits = |digests: &[Digest], answers: &mut [bool]| {
            rolling(
                self.table,
                self.bytes,
                digests,
                |table, digest| fetch(table, digest),
                |_, i, digest| answers[i] = self.contains::<K>(digest),
            );
        };
        adaptive(digests, answers, hits, |digests, answers| self.survivors::<K>(digests, answers));
    }

    /// One lookup. The first few probes are made without a branch: a processor that guesses after each loses more time to wrong guesses
    /// than to probes, as each is a coin toss at the design point. The rest is for keys that are probably present.
    #[inline]
    pub(crate) fn contains<const K: u32>(&self, digest: Digest) -> bool {
        const FIRST: u32 = 4;
        let k = probes::<K>(self.layout.k());
        let mut positions = self.layout.positions(digest);
        if !self.all(&mut positions, k.min(FIRST)) {
            return false;
        }
        for _ in FIRST..k {
            if !self.all(&mut positions, 1) {
                return false;
            }
        }
        true
    }

    /// Whether the next `count` positions are all occupied, without a branch.
    #[inline]
    fn all(&self, positions: &mut P::Positions, count: u32) -> bool {
        let mut all = 1;
        for _ in 0..count {
            all &= positions.next().map_or(0, |position| (self.occupied)(self.table, position));
        }
        all & 1 != 0
    }

    /// Up to [`CHUNK`] lookups, a stage of few probes at a time: each for those keys only whose earlier probes were all occupied.
    #[inline]
    fn survivors<const K: u32>(&self, digests: &[Digest], answers: &mut [bool]) {
        let k = probes::<K>(self.layout.k());
        let mut survivors = [0_u16; CHUNK];
        let mut count = 0;
        // In a cache, fewer passes are better; out of it, fewer lines.
        let stages = if self.bytes < PREFETCH_FROM { [2, 2] } else { [1, 1] };
        let mut done = stages[0].min(k);
        for (i, &digest) in (0..).zip(digests) {
            prefetch_stream(digests, usize::from(i));
            survivors[count] = i;
            count += usize::from(self.all(&mut self.layout.positions(digest), done));
        }
        for stage in [stages[1], 2] {
            let next = stage.min(k - done);
            let mut left = 0;
            for at in 0..count {
                let i = survivors[at];
                survivors[left] = i;
                left += usize::from(self.all_from(digests[usize::from(i)], done, next));
            }
            count = left;
            done += next;
        }
        answers.fill(false);
        for &i in &survivors[..count] {
            answers[usize::from(i)] = self.all_from(digests[usize::from(i)], done, k - done);
        }
    }

    /// Whether `count` positions of a key, after its first `skipped`, are all occupied.
    #[inline]
    fn all_from(&self, digest: Digest, skipped: u32, count: u32) -> bool {
        let mut positions = self.layout.positions(digest);
        for _ in 0..skipped {
            positions.next();
        }
        self.all(&mut positions, count)
    }
}
