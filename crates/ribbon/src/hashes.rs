//! The hashes of the keys, sorted.
//!
//! Sorted hashes are sorted by the start of their windows, and duplicates are neighbours. Sorting is by parts: a hash is
//! put where its part of the range lies, and each part is then sorted in the cache.

use alloc::vec::Vec;

use amq::{BuildError, Digest};

use crate::layout::index;

/// Hashes of a part: as many as a first-level cache holds, with room for what else is in use.
const PART: usize = 2_048;

/// The most parts: each is a place that is written to in turn, and beyond some thousands these fall out of the caches.
const MAX_PARTS: usize = 4_096;

/// A vector of `len` copies of `value`, or an error instead of an abort.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, BuildError> {
    let mut vector = Vec::new();
    vector
        .try_reserve_exact(len)
        .map_err(|_| BuildError::OutOfMemory { bytes: (size_of::<T>() as u64).saturating_mul(len as u64) })?;
    vector.resize(len, value);
    Ok(vector)
}

/// The distinct hashes of `digests` under `seed`, ascending, in `hashes`, which has one place for each digest; their number.
///
/// # Errors
/// If there is no memory for the counters of the parts: a few kilobytes.
pub(crate) fn sort(digests: &[Digest], seed: u64, hashes: &mut [u64]) -> Result<usize, BuildError> {
    let parts = (digests.len() / PART).clamp(1, MAX_PARTS);
    let part = |hash: Digest| index(hash.scale(parts as u64));
    // Where the next hash of each part goes; at first its count, and one place behind.
    let mut next = filled(0, parts + 1)?;
    for digest in digests {
        next[part(digest.remix(seed)) + 1] += 1;
    }
    for i in 1..=parts {
        next[i] += next[i - 1];
    }
    for digest in digests {
        let hash = digest.remix(seed);
        let at = &mut next[part(hash)];
        hashes[*at] = hash.get();
        *at += 1;
    }
    // Each entry has moved on to the end of its part.
    let mut from = 0;
    for &to in &next[..parts] {
        hashes[from..to].sort_unstable();
        from = to;
    }
    Ok(deduplicate(hashes))
}

/// Moves the distinct ones of sorted hashes to the front and returns their number.
fn deduplicate(hashes: &mut [u64]) -> usize {
    let Some(first) = (1..hashes.len()).find(|&i| hashes[i] == hashes[i - 1]) else { return hashes.len() };
    let mut len = first;
    for i in first..hashes.len() {
        if hashes[i] != hashes[len - 1] {
            hashes[len] = hashes[i];
            len += 1;
        }
    }
    len
}

/// What a key that a layer has bumped is to the next layer, whose number is `layer`: a fresh hash.
#[inline]
pub(crate) fn rehash(hash: u64, layer: usize) -> u64 {
    Digest::new(hash).remix(layer as u64).get()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec::Vec;

    use amq::Digest;

    use super::{MAX_PARTS, PART, filled, sort};

    #[test]
    fn sorted_and_distinct_at_every_number_of_parts() {
        for n in [0, 1, 2, 100, 2 * PART - 1, 2 * PART, 100_000, (MAX_PARTS + 1) * PART] {
            for copies in [1, 3] {
                let digests: Vec<_> = (0..n as u64).map(|i| Digest::new(i / copies)).collect();
                let mut hashes = filled(0, n).unwrap();
                let len = sort(&digests, 7, &mut hashes).unwrap();
                let expected: BTreeSet<_> = digests.iter().map(|digest| digest.remix(7).get()).collect();
                assert!(hashes[..len].iter().eq(&expected), "{n} digests, {copies} copies");
            }
        }
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(filled(0_u64, usize::MAX).is_err());
        assert!(filled(0_u64, usize::MAX / 8).is_err());
    }
}
