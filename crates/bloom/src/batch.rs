//! What the two filters do alike: choose the code for a k once, and ask for memory ahead of its use.

use amq::Digest;

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
const PREFETCH_FROM: usize = 1 << 20;

/// How many keys ahead.
const LOOK_AHEAD: usize = 16;

/// Calls `visit(table, i, digests[i])` for each i in order; in a large table, `fetch(table, digests[i])` some keys before that.
#[inline]
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

/// A position of an access as an index. Where `usize` is too narrow for it, the bounds check of the access refuses.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
