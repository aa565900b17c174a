//! Lookups, alone and in batches.

use amq::{Digest, assert_same_length};
use amq_bits::Packed;
use amq_bits::prefetch::prefetch_read;

use crate::look_ahead::{self, Steps};
use crate::memory::index;

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay in the second-level
/// cache of a core of today, where the look-ahead costs more than the misses.
const PREFETCH_FROM: usize = 1 << 20;

/// What a filter asks of its table.
pub(crate) trait Ask {
    /// Cells of the table: an array.
    type Edge: Copy + IntoIterator<Item = u64>;

    /// The cells of a digest, and the fingerprint that they have to XOR to.
    fn ask(&self, digest: Digest) -> (Self::Edge, u64);

    /// How cells lie in the table.
    fn layout(&self) -> Packed;

    /// The table.
    fn bytes(&self) -> &[u8];
}

/// Whether the cells give the answer of a member.
#[inline]
fn answer<A: Ask>(layout: Packed, bytes: &[u8], (edge, fingerprint): (A::Edge, u64)) -> bool {
    // Cells of whole bytes need no shift. The branch always goes the same way in one filter.
    let rest = if layout.width() == 8 {
        edge.into_iter().fold(fingerprint, |rest, cell| rest ^ u64::from(bytes[index(cell)]))
    } else {
        edge.into_iter().fold(fingerprint, |rest, cell| rest ^ layout.get(bytes, cell))
    };
    rest == 0
}

/// One lookup.
#[inline]
pub(crate) fn contains<A: Ask>(filter: &A, digest: Digest) -> bool {
    answer::<A>(filter.layout(), filter.bytes(), filter.ask(digest))
}

/// As many lookups as there are digests.
pub(crate) fn contains_batch<A: Ask>(filter: &A, digests: &[Digest], answers: &mut [bool]) {
    assert_same_length(digests, answers);
    let (layout, bytes) = (filter.layout(), filter.bytes());
    if bytes.len() < PREFETCH_FROM {
        for (answer, &digest) in answers.iter_mut().zip(digests) {
            *answer = self::answer::<A>(layout, bytes, filter.ask(digest));
        }
    } else {
        look_ahead::run(&mut Batch { filter, layout, bytes, digests, answers }, digests.len());
    }
}

/// A batch of lookups that looks ahead.
struct Batch<'a, A> {
    filter: &'a A,
    layout: Packed,
    bytes: &'a [u8],
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

impl<A: Ask> Steps for Batch<'_, A> {
    type Prepared = (A::Edge, u64);

    #[inline]
    fn prepare(&self, i: usize) -> Self::Prepared {
        let question = self.filter.ask(self.digests[i]);
        for cell in question.0 {
            // A cell of the table: its bits are fewer than 2^64.
            prefetch_read(self.bytes, index((cell * u64::from(self.layout.width())) >> 3));
        }
        question
    }

    #[inline]
    fn finish(&mut self, i: usize, question: Self::Prepared) {
        self.answers[i] = answer::<A>(self.layout, self.bytes, question);
    }
}
