//! Where a key goes: the hypergraph whose vertices are the cells and whose edges are the keys.
//!
//! Everything about a key derives from two 64-bit words: the *hash*, which is the digest remixed under the
//! seed of the attempt, and a second word that a wide multiplication makes of the hash. Remixing is a
//! bijection, so that two distinct digests never have the same hash, at any number of keys.
//!
//! Why two words: three indices over thirds of 2^32 cells take 96 bits, and a fingerprint up to 32 more. From
//! one word they would share bits from 2^21 cells a third on, and a fingerprint that shares bits with the
//! indices is no longer independent of the cells it is compared with.

use amq::Digest;

/// A rule that gives each hash the cells whose XOR is its fingerprint.
pub(crate) trait Graph: Copy {
    /// The cells of one key: an array.
    type Edge: Copy + Default + AsRef<[u64]> + IntoIterator<Item = u64>;

    /// The number of cells.
    fn cells(&self) -> u64;

    /// The cells of a hash: pairwise different, each below [`cells`](Self::cells), for every 64-bit hash.
    fn edge(&self, hash: u64) -> Self::Edge;
}

/// The second word: the two halves of a 128-bit product, folded.
///
/// Each of its bits depends on all bits of the hash: the low half carries upwards, the high half carries the
/// rest.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
pub(crate) const fn second_word(hash: u64) -> u64 {
    /// The first 64 fractional bits of the square root of 3: odd, and with no pattern to it.
    const ROOT_3: u64 = 0xBB67_AE85_84CA_A73B;
    let product = hash as u128 * ROOT_3 as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The fingerprint of a hash: its `mask` lowest bits, where `mask` is at most 32 ones. Every value is
/// ordinary data, 0 too.
///
/// Low bits of the second word, where the indices take high bits: they meet only where a third has more than
/// 2^(64 - r) cells.
#[inline]
pub(crate) const fn fingerprint(hash: u64, mask: u64) -> u64 {
    second_word(hash) & mask
}

/// Three hash functions, each over a third of the cells of its own, so that the cells of a key always differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thirds {
    /// Cells of one third, at least 1.
    third: u64,
}

impl Thirds {
    /// The most cells of a third: all cells together are indices of a packed table, below 2^58.
    pub(crate) const MAX: u64 = (1 << 58) / 3;

    /// Thirds of this many cells; `None` unless that is 1 to [`MAX`](Self::MAX).
    pub(crate) const fn new(third: u64) -> Option<Self> {
        if 1 <= third && third <= Self::MAX { Some(Self { third }) } else { None }
    }

    pub(crate) const fn third(self) -> u64 {
        self.third
    }
}

impl Graph for Thirds {
    type Edge = [u64; 3];

    #[inline]
    fn cells(&self) -> u64 {
        3 * self.third
    }

    /// The first two indices come from the high and the low half of the hash, the third from the second word.
    /// Multiply-shift reads from the top, so that they use disjoint bits up to 2^32 cells a third.
    #[inline]
    fn edge(&self, hash: u64) -> [u64; 3] {
        let index = |word| Digest::new(word).scale(self.third);
        [index(hash), self.third + index(hash.rotate_left(32)), 2 * self.third + index(second_word(hash))]
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec;

    use super::{Graph, Thirds, fingerprint};

    #[test]
    fn cells_lie_in_their_thirds_at_every_size() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for third in [1, 2, 3, 11, 1 << 20, 1 << 32, (1 << 40) + 7, Thirds::MAX] {
            let graph = Thirds::new(third).unwrap();
            assert_eq!(graph.cells(), 3 * third);
            for hash in (0..1000).map(|_| rng.next_u64()).chain([0, 1, u64::MAX, 1 << 32, u64::MAX << 32]) {
                for (i, cell) in (0..).zip(graph.edge(hash)) {
                    assert!((i * third..(i + 1) * third).contains(&cell), "{hash:#x} of {third}");
                }
            }
        }
        assert_eq!(Thirds::new(0), None);
        assert_eq!(Thirds::new(Thirds::MAX + 1), None);
    }

    /// An index function over more than 2^32 cells that reached only 2^32 of them would build, and be slow to
    /// fail.
    #[test]
    fn every_third_is_used_to_its_end() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for third in [1_000, 1 << 33, 1 << 40] {
            let graph = Thirds::new(third).unwrap();
            let mut highest = [0; 3];
            let mut odd = [0; 3];
            for _ in 0..10_000 {
                for (i, cell) in graph.edge(rng.next_u64()).into_iter().enumerate() {
                    let index = cell - i as u64 * third;
                    highest[i] = highest[i].max(index);
                    odd[i] += index & 1;
                }
            }
            assert!(highest.iter().all(|&index| index >= third - third / 100), "{highest:?} of {third}");
            assert!(odd.iter().all(|&count| (4_700..5_300).contains(&count)), "{odd:?} of {third}");
        }
    }

    /// Chi-square over the joint distribution of four bits each of any two of: the high and low bits of the
    /// three indices, and the fingerprint. Tables of up to 2^31 cells a third, whose index bits and 32
    /// fingerprint bits are more than one word has.
    #[test]
    fn indices_and_fingerprint_are_pairwise_independent() {
        const SAMPLES: u32 = 400_000;
        for third in [1 << 10, 3 << 20, 5 << 28] {
            let graph = Thirds::new(third).unwrap();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(third);
            let mut joint = vec![[0_u32; 256]; 64];
            for _ in 0..SAMPLES {
                let hash = rng.next_u64();
                let edge = graph.edge(hash);
                let index = |i: usize| edge[i] - i as u64 * third;
                let print = fingerprint(hash, u64::from(u32::MAX));
                let nibble = |x: u64| usize::try_from(x & 15).unwrap();
                let views = [
                    nibble(index(0)),
                    nibble(index(1)),
                    nibble(index(2)),
                    nibble(index(0) * 16 / third),
                    nibble(index(1) * 16 / third),
                    nibble(index(2) * 16 / third),
                    nibble(print),
                    nibble(print >> 28),
                ];
                for (a, &x) in views.iter().enumerate() {
                    for (b, &y) in views.iter().enumerate().skip(a + 1) {
                        joint[8 * a + b][16 * x + y] += 1;
                    }
                }
            }
            let expected = f64::from(SAMPLES) / 256.0;
            for (pair, counts) in joint.iter().enumerate().filter(|(pair, _)| pair / 8 < pair % 8) {
                let chi: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2)).sum();
                // 255 degrees of freedom: mean 255, standard deviation 22.6; five of them above.
                assert!(
                    chi / expected < 368.0,
                    "views {} and {} of {third}: {}",
                    pair / 8,
                    pair % 8,
                    chi / expected
                );
            }
        }
    }
}
