//! What all filters do alike: choose the code for a k once, and many keys at a time.

use amq::Digest;

use crate::layout::Places;

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
const PREFETCH_FROM: usize = 2 << 20;

/// How many keys ahead.
const LOOK_AHEAD: usize = 16;

/// Calls `visit(table, i, digests[i])` for each i in order; in a large table, `fetch(table, digests[i])` some keys before that.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "so that it is compiled for the processor's features where the caller is"
)]
pub(crate) fn rolling<T: AsRef<[u8]>>(
    mut table: T,
    digests: &[Digest],
    fetch: impl Fn(&[u8], Digest),
    mut visit: impl FnMut(&mut T, usize, Digest),
) {
    if table.as_ref().len() < PREFETCH_FROM {
        for (i, &digest) in digests.iter().enumerate() {
            visit(&mut table, i, digest);
        }
        return;
    }
    for &digest in digests.iter().take(LOOK_AHEAD) {
        fetch(table.as_ref(), digest);
    }
    for (i, &digest) in digests.iter().enumerate() {
        if let Some(&next) = digests.get(i + LOOK_AHEAD) {
            fetch(table.as_ref(), next);
        }
        visit(&mut table, i, digest);
    }
}

/// Keys of a batch that are looked up in the same way, before their answers decide about the next ones.
const CHUNK: usize = 1024;

/// Keys before the first decision.
const SAMPLE: usize = 64;

/// Lookups in a table without blocks, where a present key costs k lines and an absent one about two.
///
/// What is fast for one is slow for the other: all lines of a present key are wanted, and best asked for ahead of their use
/// ([`rolling`]); of an absent key only the first few are, which keys that have come so far ([`survivors`](Self::survivors))
/// share without a branch. So the answers of one chunk decide how the next is looked up; with hits and misses mixed at random the
/// choice hardly matters.
pub(crate) struct Lookups<'a, P, F> {
    pub(crate) table: &'a [u8],
    pub(crate) layout: P,
    /// In the lowest bit, whether a position is occupied; the others mean nothing.
    pub(crate) occupied: F,
}

impl<P: Places, F: Fn(&[u8], u64) -> u8> Lookups<'_, P, F> {
    /// Looks up each. `fetch` asks for all lines of a key.
    #[inline]
    pub(crate) fn run<const K: u32>(
        &self,
        digests: &[Digest],
        answers: &mut [bool],
        fetch: impl Fn(&[u8], Digest),
    ) {
        let (mut start, mut mostly_hits) = (0, false);
        while start < digests.len() {
            let length = if start == 0 { SAMPLE } else { CHUNK };
            let end = digests.len().min(start + length);
            let (digests, answers) = (&digests[start..end], &mut answers[start..end]);
            if mostly_hits {
                rolling(self.table, digests, &fetch, |_, i, digest| answers[i] = self.contains::<K>(digest));
            } else {
                self.survivors::<K>(digests, answers);
            }
            mostly_hits = answers.iter().filter(|&&answer| answer).count() * 2 > answers.len();
            start = end;
        }
    }

    /// One lookup. The first few probes are made without a branch: a processor that guesses after each loses more time to wrong guesses
    /// than to probes, as each is a coin toss at the design point. The rest is for keys that are probably present.
    #[inline]
    pub(crate) fn contains<const K: u32>(&self, digest: Digest) -> bool {
        const FIRST: u32 = 3;
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
        let stages = if self.table.len() < PREFETCH_FROM { [2, 2] } else { [1, 1] };
        let mut done = stages[0].min(k);
        for (i, &digest) in (0..).zip(digests) {
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

/// A position of an access as an index. Where `usize` is too narrow for it, the bounds check of the access refuses.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
