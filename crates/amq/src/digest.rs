//! The digest: the 64 bits that a filter sees of a key.

/// The 64-bit hash of a key under a seed.
///
/// A newtype, so that a raw number (a key, an index, a count) cannot be inserted by mistake. Every filter works on digests
/// only and takes them as uniformly distributed; a [`Key`](crate::Key) makes them. Digests are ordered as integers.
///
/// ```
/// use amq::{Digest, Key};
///
/// let digest = "some key".digest(42);
/// assert_eq!(digest, b"some key".digest(42));
/// // Mapped without bias and without a division to one of 1,000 places:
/// assert!(digest.scale(1_000) < 1_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Digest(u64);

impl Digest {
    /// A digest from a hash that was computed elsewhere.
    #[inline]
    pub const fn new(hash: u64) -> Self {
        Self(hash)
    }

    /// The 64 bits.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `floor(digest · m / 2^64)`: a place in `[0, m)`, monotone in the digest (0 for `m = 0`).
    ///
    /// Each place receives `floor` or `ceil` of `2^64 / m` digests: unbiased to within `m / 2^64`. Lemire, *Fast random
    /// integer generation in an interval*, ACM TOMACS 2019.
    #[inline]
    pub const fn scale(self, m: u64) -> u64 {
        self.scale_with_rest(m).0
    }

    /// [`scale`](Self::scale), and the low 64 bits of the product: what is left of the digest, as a fraction of one place.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a 128-bit product")]
    pub const fn scale_with_rest(self, m: u64) -> (u64, u64) {
        let product = self.0 as u128 * m as u128;
        ((product >> 64) as u64, product as u64)
    }

    /// Another digest, a bijection of this one for every seed: what a filter uses that needs a fresh hash function over the
    /// same digests. Two digests that are equal stay equal under every seed, and no others become so.
    ///
    /// The finaliser is Stafford's variant 13 of the one in `MurmurHash3`, as used by `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
    #[inline]
    #[must_use]
    pub const fn remix(self, seed: u64) -> Self {
        Self(mix(self.0.wrapping_add(seed.wrapping_mul(GOLDEN).wrapping_add(GOLDEN))))
    }
}

/// 2^64 over the golden ratio, odd: an increment whose multiples are spread evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stafford's variant 13: a bijection in which each output bit depends on all input bits.
#[inline]
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The seed of the given attempt, counted from 0, of a construction that may have to be repeated: derived from the spec's
/// seed, so that a build is deterministic.
#[inline]
pub const fn attempt_seed(seed: u64, attempt: u32) -> u64 {
    mix(seed.wrapping_add((attempt as u64).wrapping_mul(GOLDEN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_covers_the_ends_for_any_m() {
        for m in [1, 2, 3, 63, 64, 65, 1_000_003, u64::MAX] {
            assert_eq!(Digest::new(0).scale(m), 0);
            assert_eq!(Digest::new(u64::MAX).scale(m), m - 1);
        }
        assert_eq!(Digest::new(u64::MAX).scale(0), 0);
        // An index function over more than 2^32 places reaches beyond 2^32.
        assert!(Digest::new(u64::MAX - 5).scale(1 << 33) > 1 << 32);
    }

    #[test]
    fn remix_is_a_bijection_on_a_sample_and_depends_on_the_seed() {
        let mut seen: alloc::vec::Vec<u64> = (0..10_000).map(|i| Digest::new(i).remix(7).get()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
        assert_ne!(Digest::new(1).remix(7), Digest::new(1).remix(8));
    }
}
