//! From digests to fingerprints and their two parts: the arithmetic of the family.

use amq::Digest;

/// `m` slots and `r` remainder bits: M = m·2^r fingerprints, 0 to M - 1, with M ≤ 2^64.
///
/// The fingerprint of a digest is F = floor(digest · M / 2^64): monotone in the digest, and uniform to within M/2^64 for any m,
/// not only for powers of two. Its high part, the quotient Q = floor(F / 2^r) in `[0, m)`, is the slot where a record is at
/// home; its low part, the remainder R = F mod 2^r, is what the slot stores.
///
/// M itself may be 2^64 and then needs 65 bits, so that nothing here multiplies it out in 64.
///
/// ```
/// use amq::Digest;
/// use amq_quotient::Geometry;
///
/// let geometry = Geometry::new(8, 3).expect("2 slots or more, and M is at most 2^64");
/// assert_eq!(geometry.fingerprints(), 64);
/// assert_eq!(geometry.split(Digest::new(u64::MAX)), (7, 7));
/// let digest = geometry.smallest_digest(geometry.join(2, 5));
/// assert_eq!(geometry.split(digest), (2, 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Invariant: at least 2, and `slots << r` is at most 2^64.
    slots: u64,
    /// Invariant: 1 to 63.
    r: u32,
}

impl Geometry {
    /// `None` unless m ≥ 2, r ≥ 1 and m·2^r ≤ 2^64.
    #[inline]
    pub const fn new(slots: u64, r: u32) -> Option<Self> {
        // Two slots or more leave at most 63 bits, so that no shift below is by 64 or by 0.
        if slots < 2 || r < 1 || r > 63 || slots > 1 << (64 - r) { None } else { Some(Self { slots, r }) }
    }

    /// m: the number of slots.
    #[inline]
    pub const fn slots(self) -> u64 {
        self.slots
    }

    /// r: the number of remainder bits.
    #[inline]
    pub const fn r(self) -> u32 {
        self.r
    }

    /// M = m·2^r, at most 2^64.
    #[inline]
    pub const fn fingerprints(self) -> u128 {
        (self.slots as u128) << self.r
    }

    /// The most records that a table of m slots takes, m - 1: with one slot empty every search ends.
    #[inline]
    pub const fn highest_records(self) -> u64 {
        self.slots - 1
    }

    /// (quotient, remainder) of a digest: one multiplication.
    ///
    /// As floor(digest·m·2^r / 2^64) keeps all of the high half of digest·m and the top r bits of its low half, they are the two
    /// parts, and no product exceeds 128 bits even for M = 2^64.
    #[inline]
    pub const fn split(self, digest: Digest) -> (u64, u64) {
        let (quotient, rest) = digest.scale_with_rest(self.slots);
        (quotient, rest >> (64 - self.r))
    }

    /// The fingerprint of a digest, in `[0, M)`.
    #[inline]
    pub const fn fingerprint(self, digest: Digest) -> u64 {
        let (quotient, remainder) = self.split(digest);
        self.join(quotient, remainder)
    }

    /// (quotient, remainder) of a fingerprint.
    #[inline]
    pub const fn parts(self, fingerprint: u64) -> (u64, u64) {
        (fingerprint >> self.r, fingerprint & ((1 << self.r) - 1))
    }

    /// The fingerprint of a quotient below m and a remainder below 2^r.
    #[inline]
    pub const fn join(self, quotient: u64, remainder: u64) -> u64 {
        (quotient << self.r) | remainder
    }

    /// The smallest digest with this fingerprint, ceil(F · 2^64 / M): how to insert a chosen fingerprint. Every fingerprint has
    /// a digest, because M ≤ 2^64.
    ///
    /// # Panics
    /// If the fingerprint is not below M.
    pub fn smallest_digest(self, fingerprint: u64) -> Digest {
        assert!(
            u128::from(fingerprint) < self.fingerprints(),
            "fingerprint {fingerprint} is not below {}",
            self.fingerprints()
        );
        let digest = (u128::from(fingerprint) << (64 - self.r)).div_ceil(u128::from(self.slots));
        Digest::new(u64::try_from(digest).expect("F < M, so the quotient is below 2^64"))
    }

    /// Twice the slots over the same fingerprints; `None` if no remainder bit is left to give.
    pub const fn doubled(self) -> Option<Self> {
        // m ≤ 2^(64-r) and r ≥ 2, so twice m still fits; `new` refuses r = 0.
        if self.r < 2 { None } else { Self::new(self.slots * 2, self.r - 1) }
    }

    /// Half the slots over the same fingerprints; `None` if m is odd or 2.
    pub const fn halved(self) -> Option<Self> {
        if self.slots.is_multiple_of(2) { Self::new(self.slots / 2, self.r + 1) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sizes_up_to_2_to_the_64_exist() {
        assert!(Geometry::new(0, 8).is_none());
        assert!(Geometry::new(1, 8).is_none());
        assert!(Geometry::new(2, 0).is_none());
        assert!(Geometry::new(2, 64).is_none());
        assert!(Geometry::new(2, u32::MAX).is_none());
        assert!(Geometry::new(3, 63).is_none());
        assert!(Geometry::new(u64::MAX, 1).is_none());
        assert!(Geometry::new((1 << 10) + 1, 54).is_none());
        for (slots, r) in [(1 << 10, 54), (2, 63), (1 << 63, 1), (1 << 7, 57)] {
            assert_eq!(Geometry::new(slots, r).unwrap().fingerprints(), 1 << 64);
        }
    }

    #[test]
    fn fingerprints_are_the_exact_floor_of_the_product() {
        for (slots, r) in [(2, 1), (3, 1), (8, 3), (1_000_003, 9), (1 << 10, 54), (1023, 54), (1 << 63, 1)] {
            let geometry = Geometry::new(slots, r).unwrap();
            for digest in [0, 1, 2, 77, 1 << 20, 1 << 63, (1 << 63) - 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
                // Long multiplication by halves of the digest: no intermediate exceeds 2^96.
                let (high, low) = (u128::from(digest >> 32), u128::from(digest & 0xFFFF_FFFF));
                let expected =
                    (high * geometry.fingerprints() + ((low * geometry.fingerprints()) >> 32)) >> 32;
                let fingerprint = geometry.fingerprint(Digest::new(digest));
                assert_eq!(u128::from(fingerprint), expected, "{geometry:?} {digest}");
                assert_eq!(geometry.parts(fingerprint), geometry.split(Digest::new(digest)));
            }
        }
    }

    #[test]
    fn the_smallest_digest_is_the_first_of_its_fingerprint() {
        for (slots, r) in [(2, 1), (3, 1), (8, 3), (7, 5), (1_000_003, 9), (1 << 10, 54), (1023, 54)] {
            let geometry = Geometry::new(slots, r).unwrap();
            let last = u64::try_from(geometry.fingerprints() - 1).unwrap();
            for fingerprint in (0..64.min(last)).chain([last / 3, last / 2, last - 1, last]) {
                let digest = geometry.smallest_digest(fingerprint);
                assert_eq!(geometry.fingerprint(digest), fingerprint, "{geometry:?}");
                if let Some(before) = digest.get().checked_sub(1) {
                    assert_eq!(geometry.fingerprint(Digest::new(before)), fingerprint - 1, "{geometry:?}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "fingerprint 64 is not below 64")]
    fn a_fingerprint_out_of_range_has_no_digest() {
        Geometry::new(8, 3).unwrap().smallest_digest(64);
    }

    #[test]
    fn doubling_and_halving_keep_the_fingerprints() {
        let geometry = Geometry::new(10, 3).unwrap();
        let doubled = geometry.doubled().unwrap();
        assert_eq!((doubled.slots(), doubled.r()), (20, 2));
        assert_eq!(doubled.fingerprints(), geometry.fingerprints());
        assert_eq!(doubled.halved(), Some(geometry));
        assert_eq!(Geometry::new(10, 1).unwrap().doubled(), None);
        assert_eq!(Geometry::new(5, 3).unwrap().halved(), None);
        assert_eq!(Geometry::new(2, 3).unwrap().halved(), None);
        assert_eq!(Geometry::new(1 << 63, 1).unwrap().doubled(), None);
    }
}
