//! Lookups of positions that may be anywhere, eight positions at a time, on processors that gather.
//!
//! A single lookup takes eight probes of one key, a batch of absent keys one probe of eight keys. The answers are those of
//! [`Lookups`](crate::lookup::Lookups).

use amq::Digest;
use amq_bits::arch::Gather;
use amq_bits::lanes::lowest;
use amq_bits::prefetch::prefetch_stream;
use amq_bits::probe::{Field, LANES, start};

use crate::batch::{CHUNK, adaptive, index, one_by_one};
use crate::layout::Places;

/// A table of positions of `WIDTH` bits, to look up keys of k probes in.
#[derive(Clone, Copy)]
pub(crate) struct Gathers<'a, const WIDTH: u32> {
    gather: Gather,
    field: Field<'a, WIDTH>,
    k: u32,
}

impl<'a, const WIDTH: u32> Gathers<'a, WIDTH> {
    /// `None` if the processor cannot gather, or the table is not one that it may gather from.
    #[inline]
    pub(crate) fn new(table: &'a [u8], layout: impl Places) -> Option<Self> {
        let field = layout.field(table)?;
        Some(Self { gather: Gather::detect()?, field, k: layout.k() })
    }

    /// One lookup.
    #[inline]
    pub(crate) fn contains(self, digest: Digest) -> bool {
        self.is_present(digest)
    }

    /// As [`contains`](Self::contains) for each; returns the number of those present.
    #[inline]
    pub(crate) fn count_hits(self, digests: &[Digest]) -> u64 {
        self.gather.run(
            #[inline(always)]
            || one_by_one(digests, |digest| self.is_present(digest)),
        )
    }

    /// Many lookups.
    #[inline]
    pub(crate) fn contains_batch(self, digests: &[Digest], answers: &mut [bool]) {
        self.gather.run(
            #[inline(always)]
            || {
                let hits = |digests: &[Digest], answers: &mut [bool]| {
                    for (i, (answer, &digest)) in answers.iter_mut().zip(digests).enumerate() {
                        prefetch_stream(digests, i);
                        *answer = self.is_present(digest);
                    }
                };
                adaptive(digests, answers, hits, |digests, answers| self.survivors(digests, answers));
            },
        );
    }

    /// Eight probes together, and most filters have no more. Fewer at first would read fewer lines of absent keys, but branch on what they
    /// find: where hits and misses are mixed, and in tables beyond the caches, the wrong guesses cost more than the lines.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn is_present(self, digest: Digest) -> bool {
        self.gather.all_occupied(self.field, start(digest.get()), self.k as usize)
    }

    /// Up to [`CHUNK`] lookups, one probe at a time, each for those keys only whose earlier positions were all occupied: their
    /// states move up, and so do the numbers of the keys.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn survivors(self, digests: &[Digest], answers: &mut [bool]) {
        // A group is written whole, whatever is left of it.
        let mut states = [0; CHUNK + LANES];
        let mut places = [0; CHUNK + LANES];
        for ((i, digest), (state, place)) in (0..).zip(digests).zip(states.iter_mut().zip(places.iter_mut()))
        {
            prefetch_stream(digests, index(i));
            (*state, *place) = (start(digest.get()), i);
        }
        let mut count = digests.len().min(CHUNK);
        for _ in 0..self.k {
            let mut left = 0;
            for at in (0..count).step_by(LANES) {
                let group = self.gather.step(self.gather.load(eight(&mut states, at)));
                let occupied = self.gather.occupied(self.field, group, lowest(count - at));
                let keys = self.gather.load(eight(&mut places, at));
                self.gather.keep(group, occupied, eight(&mut states, left));
                self.gather.keep(keys, occupied, eight(&mut places, left));
                left += occupied.count_ones() as usize;
            }
            count = left;
        }
        answers.fill(false);
        for &place in &places[..count] {
            answers[index(place)] = true;
        }
    }
}

/// Eight of a chunk's numbers, from `at` on.
#[inline]
fn eight(numbers: &mut [u64; CHUNK + LANES], at: usize) -> &mut [u64; LANES] {
    numbers[at..].first_chunk_mut().expect("eight numbers from each place of a chunk on")
}
