//! Lookups, alone and in batches.

use amq::{Digest, assert_same_length};
use amq_bits::Packed;
use amq_bits::cells::{self, Cells};
use amq_bits::lanes;
use amq_bits::prefetch::{prefetch_read, prefetch_stream};

use crate::eight::{Eight, LANES};
use crate::look_ahead::{self, Steps};
use crate::memory::index;

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay, all or most of them, in the
/// second-level cache of a core of today, where the look-ahead costs more than the misses.
pub(crate) const PREFETCH_FROM: usize = 2 << 20;

/// What a filter of `K` hash functions asks of its table.
pub(crate) trait Ask<const K: usize> {
    /// The cells of a digest, and what they have to XOR to: a word whose lowest bits, as many as a cell has, are the
    /// fingerprint.
    fn ask(&self, digest: Digest) -> ([u64; K], u64);

    /// As [`ask`](Self::ask), for eight digests, of a table of fewer than 2^32 cells.
    fn ask_lanes<L: lanes::Lanes>(&self, lanes: L, digests: L::Vector) -> ([L::Vector; K], L::Vector);

    /// How cells lie in the table.
    fn layout(&self) -> Packed;

    /// The number of cells.
    fn cells(&self) -> u64;

    /// The table.
    fn bytes(&self) -> &[u8];
}

/// Whether the cells give the answer of a member.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that what is known of a lookup stays in registers")]
fn answer<const K: usize>(cells: impl Cells, bytes: &[u8], (edge, print): ([u64; K], u64)) -> bool {
    edge.into_iter().fold(print, |rest, cell| rest ^ cells.read(bytes, cell)) & cells.mask() == 0
}

/// One lookup. Inlined, or the call would be a tenth of it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that what is known of a lookup stays in registers")]
pub(crate) fn contains<const K: usize, A: Ask<K>>(filter: &A, digest: Digest) -> bool {
    cells::dispatch(filter.layout(), Single { bytes: filter.bytes(), question: filter.ask(digest) })
}

/// One lookup whose cells are known.
struct Single<'a, const K: usize> {
    bytes: &'a [u8],
    question: ([u64; K], u64),
}

impl<const K: usize> cells::Job for Single<'_, K> {
    type Output = bool;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that what is known of a lookup stays in registers")]
    fn run<C: Cells>(self, cells: C) -> bool {
        answer(cells, self.bytes, self.question)
    }
}

/// As many lookups as there are digests.
pub(crate) fn contains_batch<const K: usize, A: Ask<K>>(
    filter: &A,
    digests: &[Digest],
    answers: &mut [bool],
) {
    assert_same_length(digests, answers);
    cells::dispatch(filter.layout(), Batch { filter, digests, answers });
}

/// Many lookups.
struct Batch<'a, const K: usize, A> {
    filter: &'a A,
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

impl<const K: usize, A: Ask<K>> cells::Job for Batch<'_, K, A> {
    type Output = ();

    #[inline]
    fn run<C: Cells>(self, cells: C) {
        let Self { filter, digests, answers } = self;
        let (groups, rest) = digests.as_chunks::<LANES>();
        let (answers, rest_answers) = answers.as_chunks_mut();
        let one_by_one = |Eight { groups, answers, .. }: Eight<'_, K, A, C>| {
            one_by_one(filter, cells, groups.as_flattened(), answers.as_flattened_mut());
        };
        let eight = Eight { filter, cells, groups, answers };
        if u32::try_from(filter.cells()).is_ok() {
            lanes::dispatch(eight).unwrap_or_else(one_by_one);
        } else {
            one_by_one(eight);
        }
        self::one_by_one(filter, cells, rest, rest_answers);
    }
}

/// A batch without vectors.
#[inline(never)]
pub(crate) fn one_by_one<const K: usize, A: Ask<K>>(
    filter: &A,
    cells: impl Cells,
    digests: &[Digest],
    answers: &mut [bool],
) {
    let bytes = filter.bytes();
    if bytes.len() < PREFETCH_FROM {
        for (i, (answer, &digest)) in answers.iter_mut().zip(digests).enumerate() {
            prefetch_stream(digests, i);
            *answer = self::answer(cells, bytes, filter.ask(digest));
        }
    } else {
        look_ahead::run(&mut OneByOne { filter, cells, bytes, digests, answers }, digests.len());
    }
}

/// A batch that looks ahead.
struct OneByOne<'a, const K: usize, A, C> {
    filter: &'a A,
    cells: C,
    bytes: &'a [u8],
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

impl<const K: usize, A: Ask<K>, C: Cells> Steps for OneByOne<'_, K, A, C> {
    type Prepared = ([u64; K], u64);

    #[inline]
    fn prepare(&self, i: usize) -> Self::Prepared {
        prefetch_stream(self.digests, i);
        let question = self.filter.ask(self.digests[i]);
        for cell in question.0 {
            prefetch_read(self.bytes, index(self.cells.first_byte(cell)));
        }
        question
    }

    #[inline]
    fn finish(&mut self, i: usize, question: Self::Prepared) {
        self.answers[i] = answer(self.cells, self.bytes, question);
    }
}
