//! What all filters do alike: choose the code for a k once, and many keys at a time.

use core::hint::black_box;

use amq::Digest;
use amq_bits::prefetch::prefetch_stream;

/// Evaluates an expression in which the constant `K` is k where that is 2 to 16, and else 0: see [`probes`].
///
/// With k known to the compiler, loops over the probes are unrolled: worth up to a factor of two in time.
macro_rules! with_probes {
    ($k:expr, $constant:ident => $body:expr) => {
        $crate::batch::with_probes!(@match $k, $constant, $body, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@match $k:expr, $constant:ident, $body:expr, $($known:literal)*) => {
        match $k {
            $($known => $crate::batch::with_probes!(@case $known, $constant, $body),)*
            _ => $crate::batch::with_probes!(@case 0, $constant, $body),
        }
    };
    (@case $known:literal, $constant:ident, $body:expr) => {{
        const $constant: u32 = $known;
        $body
    }};
}
pub(crate) use with_probes;

/// The number of probes inside a function that [`with_probes!`](with_probes) calls: `K`, or, where that is 0, the layout's.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the loops around it are unrolled only if this is a constant")]
pub(crate) const fn probes<const K: u32>(k: u32) -> u32 {
    if K == 0 { k } else { K }
}

/// Tables from this size on are fetched ahead: smaller ones live in the second-level cache, where it only costs.
pub(crate) const PREFETCH_FROM: usize = 2 << 20;

/// How many keys ahead.
const LOOK_AHEAD: usize = 16;

/// Calls `visit(table, i, digests[i])` for each i in order; in a large table, one of at least [`PREFETCH_FROM`] `bytes`,
/// `fetch(table, digests[i])` some keys before that.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "so that it is compiled for the processor's features where the caller is"
)]
pub(crate) fn rolling<T>(
    mut table: T,
    bytes: usize,
    digests: &[Digest],
    fetch: impl Fn(&T, Digest),
    mut visit: impl FnMut(&mut T, usize, Digest),
) {
    if bytes < PREFETCH_FROM {
        for (i, &digest) in digests.iter().enumerate() {
            prefetch_stream(digests, i);
            visit(&mut table, i, digest);
        }
        return;
    }
    for &digest in digests.iter().take(LOOK_AHEAD) {
        fetch(&table, digest);
    }
    for (i, &digest) in digests.iter().enumerate() {
        prefetch_stream(digests, i + LOOK_AHEAD);
        if let Some(&next) = digests.get(i + LOOK_AHEAD) {
            fetch(&table, next);
        }
        visit(&mut table, i, digest);
    }
}

/// Keys of a batch that are looked up in the same way, before their answers decide about the next ones.
pub(crate) const CHUNK: usize = 1024;

/// Keys before the first decision.
const SAMPLE: usize = 64;

/// Looks up many keys, up to [`CHUNK`] at a time, by `hits` where most of the last ones were present and by `misses` where not.
///
/// In a table without blocks a present key costs k lines and an absent one about two, and what is fast for one is slow for the other: all
/// lines of a present key are wanted at once; of an absent key only the first few are, which keys that have come so far share without a
/// branch. So the answers of one chunk decide how the next is looked up; with hits and misses mixed at random the choice hardly matters.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "so that it is compiled for the processor's features where the caller is"
)]
pub(crate) fn adaptive(
    digests: &[Digest],
    answers: &mut [bool],
    mut hits: impl FnMut(&[Digest], &mut [bool]),
    mut misses: impl FnMut(&[Digest], &mut [bool]),
) {
    let (mut start, mut mostly_hits) = (0, false);
    while start < digests.len() {
        let length = if start == 0 { SAMPLE } else { CHUNK };
        let end = digests.len().min(start + length);
        let (digests, answers) = (&digests[start..end], &mut answers[start..end]);
        if mostly_hits {
            hits(digests, answers);
        } else {
            misses(digests, answers);
        }
        mostly_hits = answers.iter().filter(|&&answer| answer).count() * 2 > answers.len();
        start = end;
    }
}

/// The number of digests that are present, each looked up on its own, as [`count_hits`](amq::Amq::count_hits) wants it: with a barrier that
/// keeps lookups apart. What this is inlined into chooses the processor's code once.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "so that it is compiled for the processor's features where the caller is"
)]
pub(crate) fn one_by_one(digests: &[Digest], contains: impl Fn(Digest) -> bool) -> u64 {
    digests.iter().map(|&digest| u64::from(black_box(contains(digest)))).sum()
}

/// A position of an access as an index. Where `usize` is too narrow for it, the bounds check of the access refuses.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
