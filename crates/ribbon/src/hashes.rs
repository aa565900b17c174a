//! From digests to hashes, sorted by where their windows start.
//!
//! A hash is put where its part of the slots lies, and each part is then sorted in the cache. Windows start the later the
//! higher the hash is, so that hashes come out ascending, and duplicates are neighbours.

use amq::Digest;
use amq_bits::Table;

use crate::geometry::Layer;
use crate::memory::Raw;
use crate::ranges::Ranges;
use crate::workers::join;

/// How digests become hashes of a layer, and these are put into its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition<'a> {
    pub(crate) layer: &'a Layer,
    pub(crate) ranges: Ranges,
    /// Of the hash function.
    pub(crate) seed: u64,
}

impl Partition<'_> {
    /// Puts the hashes of `digests` into their parts. `next` has one entry for each part, for each of the threads; at the end,
    /// the last of them has the end of each part.
    pub(crate) fn run(&self, digests: &[Digest], hashes: &mut Table, next: &mut [usize], threads: usize) {
        let parts = self.ranges.parts();
        let chunk = digests.len().div_ceil(threads).max(1);
        next.fill(0);
        self.for_each(digests, chunk, next, &|_, at| *at += 1);
        // From counts to places: by part, and in a part by thread.
        let mut sum = 0;
        for part in 0..parts {
            for thread in 0..threads {
                let at = &mut next[thread * parts + part];
                (*at, sum) = (sum, sum + *at);
            }
        }
        self.put(digests, chunk, hashes, next);
    }

    #[cfg(all(feature = "rayon", not(loom), target_has_atomic = "64"))]
    fn put(&self, digests: &[Digest], chunk: usize, hashes: &mut Table, next: &mut [usize]) {
        // An ordinary store each: no two threads have a place in common, and all end before anybody reads.
        let places = hashes.words_shared();
        self.for_each(digests, chunk, next, &|hash, at| {
            places[*at].store(hash.to_le(), core::sync::atomic::Ordering::Relaxed);
            *at += 1;
        });
    }

    #[cfg(not(all(feature = "rayon", not(loom), target_has_atomic = "64")))]
    fn put(&self, digests: &[Digest], chunk: usize, hashes: &mut Table, next: &mut [usize]) {
        use amq_bits::StoreMut;

        let places = hashes.bytes_mut().as_chunks_mut().0;
        let parts = self.ranges.parts();
        for (digests, next) in digests.chunks(chunk).zip(next.chunks_mut(parts)) {
            for digest in digests {
                let (hash, part) = self.hash(*digest);
                places[next[part]] = hash.to_le_bytes();
                next[part] += 1;
            }
        }
    }

    /// Calls `work` for each hash and the entry of its part; each thread has `chunk` digests, and entries of its own.
    fn for_each(
        &self,
        digests: &[Digest],
        chunk: usize,
        next: &mut [usize],
        work: &(impl Fn(u64, &mut usize) + Sync),
    ) {
        let left = next.len() / self.ranges.parts() / 2;
        if left > 0 {
            let (digests, more) = digests.split_at((chunk * left).min(digests.len()));
            let (next, more_next) = next.split_at_mut(self.ranges.parts() * left);
            join(
                || self.for_each(digests, chunk, next, work),
                || self.for_each(more, chunk, more_next, work),
            );
            return;
        }
        for &digest in digests {
            let (hash, part) = self.hash(digest);
            work(hash, &mut next[part]);
        }
    }

    /// The hash of a digest, and its part.
    #[inline]
    fn hash(&self, digest: Digest) -> (u64, usize) {
        let hash = digest.remix(self.seed).get();
        (hash, self.ranges.part(self.layer.start(hash)))
    }
}

/// Sorts the parts of a range, which end at `ends` (the first begins at 0), and moves their distinct hashes to the front; their
/// number.
pub(crate) fn sort(hashes: &mut [Raw], ends: impl Iterator<Item = usize>) -> usize {
    let (mut from, mut len) = (0, 0);
    for to in ends {
        sort_hashes(&mut hashes[from..to]);
        for i in from..to {
            // In no part but its own can there be a hash again.
            if i == from || hashes[i] != hashes[len - 1] {
                hashes[len] = hashes[i];
                len += 1;
            }
        }
        from = to;
    }
    len
}

/// Sorts hashes.
pub(crate) fn sort_hashes(hashes: &mut [Raw]) {
    hashes.sort_unstable_by_key(|&hash| u64::from_le_bytes(hash));
}

/// What a key that a layer has bumped is to the next layer, whose number is `layer`: a fresh hash.
#[inline]
pub(crate) fn rehash(hash: u64, layer: usize) -> u64 {
    Digest::new(hash).remix(layer as u64).get()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    use amq::Digest;
    use amq_bits::{StoreMut, Table};

    use super::{Partition, sort};
    use crate::geometry::Geometry;
    use crate::ranges::Ranges;
    use crate::width::W64;

    #[test]
    fn sorted_and_distinct_at_every_number_of_parts() {
        for n in [0_usize, 1, 2, 100, 3_000, 100_000, 700_000] {
            for (copies, threads) in [(1, 1), (3, 1), (1, 2), (3, 3)] {
                let digests: Vec<_> = (0..n as u64).map(|i| Digest::new(i / copies)).collect();
                let geometry = Geometry::new::<W64>(n.max(64) as u64).unwrap();
                let layer = geometry.first();
                let ranges = Ranges::of::<W64>(layer);
                let mut table = Table::zeroed(8 * n as u64).unwrap();
                let mut next = vec![0; threads * ranges.parts()];
                Partition { layer, ranges, seed: 7 }.run(&digests, &mut table, &mut next, threads);
                let hashes = table.bytes_mut().as_chunks_mut().0;
                let len = sort(hashes, next[(threads - 1) * ranges.parts()..].iter().copied());
                let expected: BTreeSet<_> = digests.iter().map(|digest| digest.remix(7).get()).collect();
                let found = hashes[..len].iter().map(|&hash| u64::from_le_bytes(hash));
                assert!(found.eq(expected), "{n} digests, {copies} copies, {threads} threads");
            }
        }
    }
}
