//! Families of distinct integers, each key computable from its index.

use amq::{Digest, Key};

/// How 64-bit keys follow each other. Every pattern is injective on the indices `0..2^48`, so keys of different indices are
/// different keys: members are the indices `0..n`, and what comes after them is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A pseudo-random permutation of the 64-bit integers, chosen by the seed.
    Uniform,
    /// 0, 1, 2, ... from a start that the seed chooses (0 for seed 0).
    Sequential,
    /// Multiples of a stride, as pointers and page numbers are. At most 2^16, so that no two meet.
    Strided(u16),
    /// 0, 1, 2, ... with the order of their bits reversed: all the difference is in the high bits.
    BitReversed,
}

impl Pattern {
    /// One of each, for grids.
    pub const ALL: [Self; 4] = [Self::Uniform, Self::Sequential, Self::Strided(4_096), Self::BitReversed];

    /// The short name that stored results use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Sequential => "sequential",
            Self::Strided(_) => "strided",
            Self::BitReversed => "bit-reversed",
        }
    }

    /// The key of this index.
    ///
    /// # Panics
    /// If the index is 2^48 or more, or a stride is 0: keys would no longer be distinct.
    pub fn key(self, index: u64, seed: u64) -> u64 {
        assert!(index < 1 << 48, "index {index} is beyond 2^48");
        match self {
            Self::Uniform => permute(index, seed),
            Self::Sequential => index.wrapping_add(seed << 48),
            Self::Strided(stride) => {
                assert!(stride > 0, "a stride of 0 makes all keys equal");
                index * u64::from(stride)
            }
            Self::BitReversed => index.reverse_bits(),
        }
    }

    /// The keys of the indices `0..n`: the members.
    pub fn members(self, n: u64, seed: u64) -> impl Iterator<Item = u64> + Clone {
        (0..n).map(move |index| self.key(index, seed))
    }

    /// `count` keys that are not among the first `n`: those that follow them.
    pub fn absent(self, n: u64, count: u64, seed: u64) -> impl Iterator<Item = u64> + Clone {
        (n..n + count).map(move |index| self.key(index, seed))
    }

    /// The digests of the members under `digest_seed`.
    pub fn member_digests(self, n: u64, seed: u64, digest_seed: u64) -> Vec<Digest> {
        self.members(n, seed).map(|key| key.digest(digest_seed)).collect()
    }
}

/// `n` distinct digests that look random: what a good hash makes of distinct keys.
pub fn digests(n: u64, seed: u64) -> Vec<Digest> {
    (0..n).map(|index| Digest::new(permute(index, seed))).collect()
}

/// `count` distinct digests that are none of [`digests`]`(n, seed)`, for every `n ≤ 2^63`, by construction: images of other
/// indices under the same permutation.
pub fn absent_digests(count: u64, seed: u64) -> impl Iterator<Item = Digest> + Clone {
    (0..count).map(move |index| Digest::new(permute(index | 1 << 63, seed)))
}

/// A pseudo-random permutation of the 64-bit integers, chosen by the seed.
///
/// Two rounds of `MurmurHash3`'s finaliser with the seed's own constants before, between and after. Another mixer than
/// [`Digest::remix`]'s, so that a filter that remixes does not meet its own function's structure in the keys.
pub const fn permute(index: u64, seed: u64) -> u64 {
    let first = murmur(seed ^ 0x243F_6A88_85A3_08D3);
    let second = murmur(first ^ 0x1319_8A2E_0370_7344);
    murmur(murmur(index ^ first).wrapping_add(second)) ^ first.rotate_left(32)
}

/// The finaliser of `MurmurHash3` (Appleby): a bijection.
const fn murmur(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::check_distinct;
    use crate::statistics::{chi_square_p_value, chi_square_statistic, ks_p_value, ks_statistic};

    #[test]
    fn members_and_absent_keys_are_all_distinct() {
        for pattern in Pattern::ALL {
            for seed in 0..3 {
                let keys = pattern.members(20_000, seed).chain(pattern.absent(20_000, 20_000, seed));
                let digests: Vec<Digest> = keys.map(|key| key.digest(seed)).collect();
                assert_eq!(check_distinct(&digests), Ok(()), "{pattern:?}, seed {seed}");
            }
        }
        let mut all = digests(50_000, 9);
        all.extend(absent_digests(50_000, 9));
        assert_eq!(check_distinct(&all), Ok(()));
    }

    #[test]
    fn the_last_index_is_still_distinct() {
        let last = (1 << 48) - 1;
        assert_eq!(Pattern::Strided(u16::MAX).key(last, 0), last * 65_535);
        assert_eq!(Pattern::Sequential.key(5, 0), 5);
        assert_ne!(Pattern::Sequential.key(5, 1), 5);
        assert_eq!(Pattern::BitReversed.key(1, 0), 1 << 63);
    }

    #[test]
    fn the_permutation_looks_uniform_and_depends_on_the_seed() {
        for seed in 0..8 {
            let sample = digests(100_000, seed);
            let mut fractions: Vec<f64> = sample.iter().map(|d| d.get() as f64 / 2_f64.powi(64)).collect();
            let distance = ks_statistic(&mut fractions);
            assert!(ks_p_value(distance, sample.len()) > 1e-5, "seed {seed}: distance {distance}");
            for shift in [0, 8, 30, 56] {
                let mut counts = [0; 256];
                for digest in &sample {
                    counts[usize::from(digest.get().to_le_bytes()[shift / 8])] += 1;
                }
                let p = chi_square_p_value(chi_square_statistic(&counts), 255);
                assert!(p > 1e-5, "seed {seed}, byte {}: p = {p}", shift / 8);
            }
        }
        assert_ne!(digests(3, 1), digests(3, 2));
        assert_eq!(digests(3, 1), digests(3, 1));
    }
}
