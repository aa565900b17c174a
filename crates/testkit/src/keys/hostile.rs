//! Digests that no good hash makes: what the raw interface may be given.

use amq::Digest;

use super::pattern::permute;

/// A kind of digest set that breaks assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// The digest 0, n times.
    AllZero,
    /// The digest 2^64 - 1, n times.
    AllOnes,
    /// Low 32 bits constant, high ones random.
    LowConstant,
    /// High 32 bits constant, low ones random: all in one place of most tables.
    HighConstant,
    /// The largest digests: all in the last slot of a table.
    LastSlot,
    /// The smallest digests, all with fingerprint 0.
    FingerprintZero,
    /// Powers of two and their neighbours, over and over.
    PowersOfTwo,
}

impl Hostile {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::AllZero,
        Self::AllOnes,
        Self::LowConstant,
        Self::HighConstant,
        Self::LastSlot,
        Self::FingerprintZero,
        Self::PowersOfTwo,
    ];

    /// `n` of them, with duplicates where the kind has no more.
    pub fn digests(self, n: u64, seed: u64) -> Vec<Digest> {
        let random = |index| permute(index, seed);
        let one = |index: u64| match self {
            Self::AllZero => 0,
            Self::AllOnes => u64::MAX,
            Self::LowConstant => random(index) | u64::from(u32::MAX),
            Self::HighConstant => random(index) >> 32 | 0xDEAD_BEEF << 32,
            Self::LastSlot => u64::MAX - index,
            Self::FingerprintZero => index,
            Self::PowersOfTwo => (1_u64 << (index / 3 % 64)).wrapping_add(index % 3).wrapping_sub(1),
        };
        (0..n).map(|index| Digest::new(one(index))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_what_it_says() {
        for kind in Hostile::ALL {
            let set = kind.digests(200, 1);
            assert_eq!(set.len(), 200);
            for digest in set.iter().map(|digest| digest.get()) {
                assert!(
                    match kind {
                        Hostile::AllZero => digest == 0,
                        Hostile::AllOnes => digest == u64::MAX,
                        Hostile::LowConstant => digest << 32 == 0xFFFF_FFFF << 32,
                        Hostile::HighConstant => digest >> 32 == 0xDEAD_BEEF,
                        Hostile::LastSlot => digest > u64::MAX - 200,
                        Hostile::FingerprintZero => digest < 200,
                        Hostile::PowersOfTwo =>
                            [0, 1, u64::MAX].iter().any(|&near| digest.wrapping_add(near).is_power_of_two()),
                    },
                    "{kind:?}: {digest:#x}"
                );
            }
        }
        assert!(Hostile::PowersOfTwo.digests(200, 0).contains(&Digest::new(1 << 63)));
    }
}
