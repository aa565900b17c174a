//! Answers, one by one and in batches that look ahead.

use amq::Digest;
use amq_bits::Store;
use amq_bits::prefetch::prefetch_read;

use crate::layout::Layout;
use crate::ribbon::{BumpedRibbon, Question};
use crate::width::Width;

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay in the second-level cache of a
/// core of today, where the look-ahead costs more than the misses.
const PREFETCH_FROM: usize = 1 << 20;

/// Steps between the request for a line and its use.
const DISTANCE: usize = 16;

/// Whether the slots that count XOR to the fingerprint.
#[inline]
pub(crate) fn answer<W: Width>(bytes: &[u8], layout: &Layout, question: &Question) -> bool {
    let columns = layout.r() as usize;
    let mut found = 0;
    let mut blocks: [&[[u8; 8]]; 3] = [&[]; 3];
    for (block, &at) in blocks.iter_mut().zip(&question.blocks[..W::BLOCKS]) {
        *block = bytes[at..at + layout.block_bytes()].as_chunks::<8>().0;
    }
    for column in 0..columns {
        let mut sum = 0;
        for (block, mask) in blocks[..W::BLOCKS].iter().zip(question.masks) {
            sum ^= u64::from_le_bytes(block[column]) & mask;
        }
        found |= (sum.count_ones() & 1) << column;
    }
    found == question.fingerprint
}

/// Answers all.
pub(crate) fn run<W: Width, S: Store>(
    filter: &BumpedRibbon<W, S>,
    bytes: &[u8],
    layout: &Layout,
    digests: &[Digest],
    answers: &mut [bool],
) {
    if bytes.len() < PREFETCH_FROM {
        for (out, &digest) in answers.iter_mut().zip(digests) {
            *out = answer::<W>(bytes, layout, &filter.question(bytes, digest));
        }
        return;
    }
    let mut ring = [Question::default(); DISTANCE];
    for (out, digests) in answers.chunks_mut(DISTANCE).zip(digests.chunks(DISTANCE)) {
        for (question, &digest) in ring.iter_mut().zip(digests) {
            *question = filter.question(bytes, digest);
            for &at in &question.blocks[..W::BLOCKS] {
                prefetch_read(bytes, at);
            }
        }
        for (out, question) in out.iter_mut().zip(&ring) {
            *out = answer::<W>(bytes, layout, question);
        }
    }
}
