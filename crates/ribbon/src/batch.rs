//! Lookups: one by one, and in batches that look ahead, each the best way that the processor has to sum columns.

use amq::Digest;
use amq_bits::columns::{Columns, Job};
use amq_bits::prefetch::{prefetch_read, prefetch_stream};

use crate::probe::{Probe, Prober};
use crate::width::Width;

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay in the second-level cache of a
/// core of today, where the look-ahead costs more than the misses.
const PREFETCH_FROM: usize = 1 << 20;

/// Lookups between the request for their lines and their use. Two to six lines each, and a core of today has 10 to 50 line
/// fills in flight.
const DISTANCE: usize = 16;

/// One lookup.
pub(crate) struct One<'a, W> {
    pub(crate) prober: &'a Prober<W>,
    pub(crate) bytes: &'a [u8],
    pub(crate) digest: Digest,
}

impl<W: Width> Job for One<'_, W> {
    type Output = bool;

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn run<C: Columns>(self, columns: C) -> bool {
        self.prober.answer(columns, self.bytes, &self.prober.probe(self.bytes, self.digest))
    }
}

/// A lookup for each digest.
pub(crate) struct Batch<'a, W> {
    pub(crate) prober: &'a Prober<W>,
    pub(crate) bytes: &'a [u8],
    pub(crate) digests: &'a [Digest],
    pub(crate) answers: &'a mut [bool],
}

impl<W: Width> Job for Batch<'_, W> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn run<C: Columns>(self, columns: C) {
        let Self { prober, bytes, digests, answers } = self;
        let prober = *prober;
        if bytes.len() < PREFETCH_FROM {
            for (i, (answer, &digest)) in answers.iter_mut().zip(digests).enumerate() {
                prefetch_stream(digests, i);
                *answer = prober.answer(columns, bytes, &prober.probe(bytes, digest));
            }
            return;
        }
        let window_bytes = W::BLOCKS * prober.size.layout.block_bytes();
        let mut ring = [Probe::default(); DISTANCE];
        // One loop for the start, the middle and the end, so that both halves of a lookup are in one place and inlined there.
        // No slice has so many elements that the sum could overflow.
        for i in 0..digests.len() + DISTANCE {
            let slot = &mut ring[i % DISTANCE];
            if let Some(due) = i.checked_sub(DISTANCE) {
                answers[due] = prober.answer(columns, bytes, slot);
            }
            if let Some(&digest) = digests.get(i) {
                prefetch_stream(digests, i);
                *slot = prober.probe(bytes, digest);
                prefetch(bytes, slot.at, window_bytes);
            }
        }
    }
}

/// Asks for all lines of so many bytes, a few hundred at most.
#[inline]
fn prefetch(bytes: &[u8], at: usize, count: usize) {
    const LINE: usize = 64;
    for line in (0..count).step_by(LINE) {
        prefetch_read(bytes, at.wrapping_add(line));
    }
    // Where they begin inside of a line, they end in one more.
    prefetch_read(bytes, at.wrapping_add(count - 1));
}
