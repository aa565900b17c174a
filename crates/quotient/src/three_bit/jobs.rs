//! The operations as jobs: compiled once for each way to handle lines.

use amq::Digest;
use amq_bits::line::{Job, Lines, dispatch};

use super::ThreeBit;
use crate::layout::look_ahead;

#[inline]
pub(super) fn contains(layout: &ThreeBit, bytes: &[u8], digest: Digest) -> bool {
    dispatch(Contains { layout, bytes, digest })
}

/// Writes one answer for each digest, of which there are as many.
pub(super) fn contains_batch(layout: &ThreeBit, bytes: &[u8], digests: &[Digest], answers: &mut [bool]) {
    dispatch(ContainsBatch { layout, bytes, digests, answers });
}

#[inline]
pub(super) fn insert(layout: &ThreeBit, bytes: &mut [u8], digest: Digest) -> u64 {
    dispatch(Insert { layout, bytes, digest })
}

#[inline]
pub(super) fn remove(layout: &ThreeBit, bytes: &mut [u8], digest: Digest) -> bool {
    dispatch(Remove { layout, bytes, digest })
}

struct Contains<'a> {
    layout: &'a ThreeBit,
    bytes: &'a [u8],
    digest: Digest,
}

impl Job for Contains<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> bool {
        self.layout.find(lines, self.bytes, self.layout.home(self.digest))
    }
}

struct ContainsBatch<'a> {
    layout: &'a ThreeBit,
    bytes: &'a [u8],
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

impl Job for ContainsBatch<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) {
        let Self { layout, bytes, digests, answers } = self;
        for (answer, next) in answers.iter_mut().zip(look_ahead(bytes.len(), digests)) {
            next.prefetch(layout, bytes);
            *answer = layout.find(lines, bytes, layout.home(next.digest));
        }
    }
}

struct Insert<'a> {
    layout: &'a ThreeBit,
    bytes: &'a mut [u8],
    digest: Digest,
}

impl Job for Insert<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> u64 {
        self.layout.insert_record(lines, self.bytes, self.layout.home(self.digest))
    }
}

struct Remove<'a> {
    layout: &'a ThreeBit,
    bytes: &'a mut [u8],
    digest: Digest,
}

impl Job for Remove<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lines>(self, lines: L) -> bool {
        self.layout.remove_record(lines, self.bytes, self.layout.home(self.digest))
    }
}
