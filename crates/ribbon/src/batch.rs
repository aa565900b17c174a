//! Lookups: one by one, and in batches that look ahead, each the best way that the processor has to sum columns.

use amq::Digest;
use amq_bits::Store;
use amq_bits::columns::{Columns, Job};
use amq_bits::prefetch::prefetch_read;

use crate::ribbon::{BumpedRibbon, Question};
use crate::width::Width;

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay in the second-level cache of a
/// core of today, where the look-ahead costs more than the misses.
const PREFETCH_FROM: usize = 1 << 20;

/// Lookups between the request for their lines and their use. Two to six lines each, and a core of today has 10 to 50 line
/// fills in flight.
const DISTANCE: usize = 16;

/// One lookup.
pub(crate) struct One<'a, W: Width, S: Store> {
    pub(crate) filter: &'a BumpedRibbon<W, S>,
    pub(crate) bytes: &'a [u8],
    pub(crate) digest: Digest,
}

impl<W: Width, S: Store> Job for One<'_, W, S> {
    type Output = bool;

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn run<C: Columns>(self, columns: C) -> bool {
        answer(self.filter, columns, self.bytes, &self.filter.question(self.bytes, self.digest))
    }
}

/// A lookup for each digest.
pub(crate) struct Batch<'a, W: Width, S: Store> {
    pub(crate) filter: &'a BumpedRibbon<W, S>,
    pub(crate) bytes: &'a [u8],
    pub(crate) digests: &'a [Digest],
    pub(crate) answers: &'a mut [bool],
}

impl<W: Width, S: Store> Job for Batch<'_, W, S> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn run<C: Columns>(self, columns: C) {
        let Self { filter, bytes, digests, answers } = self;
        if bytes.len() < PREFETCH_FROM {
            for (out, &digest) in answers.iter_mut().zip(digests) {
                *out = answer(filter, columns, bytes, &filter.question(bytes, digest));
            }
            return;
        }
        let mut ring = [Question::default(); DISTANCE];
        // One loop for the start, the middle and the end, so that both halves of a lookup are in one place and inlined there.
        // No slice has so many elements that the sum could overflow.
        for i in 0..digests.len() + DISTANCE {
            let slot = &mut ring[i % DISTANCE];
            if let Some(due) = i.checked_sub(DISTANCE) {
                answers[due] = answer(filter, columns, bytes, slot);
            }
            if let Some(&digest) = digests.get(i) {
                *slot = filter.question(bytes, digest);
                prefetch::<W>(bytes, slot, filter.block_bytes());
            }
        }
    }
}

/// Whether the slots that count XOR to the fingerprint.
#[expect(clippy::inline_always, reason = "into the code compiled for the features")]
#[inline(always)]
fn answer<W: Width, S: Store, C: Columns>(
    filter: &BumpedRibbon<W, S>,
    columns: C,
    bytes: &[u8],
    question: &Question,
) -> bool {
    W::parities(columns, bytes, question.blocks, question.masks, filter.r()) == question.fingerprint
}

/// Asks for all lines that a window lies in.
#[inline]
fn prefetch<W: Width>(bytes: &[u8], question: &Question, block_bytes: usize) {
    const LINE: usize = 64;
    for &at in &question.blocks[..W::BLOCKS] {
        for line in (at..at + block_bytes).step_by(LINE) {
            prefetch_read(bytes, line);
        }
    }
    // Blocks are neighbours, and where they begin inside of a line, the last one may end in one more.
    let [.., last] = &question.blocks[..W::BLOCKS] else { return };
    prefetch_read(bytes, last + block_bytes - 1);
}
