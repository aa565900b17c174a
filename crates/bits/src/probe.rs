//! Positions of a key anywhere in a table, and which of them are occupied: eight at a time.
//!
//! The probes of a key are a congruential sequence: [`start`] makes its first state from the digest, each [`step`] the next, and the high
//! half of `state · m` is a position below m ([`position`]). The i-th state is the first one times a constant ([`FACTORS`]), so that
//! one key's positions, or one position of eight keys, come from the same few vector instructions, and from any others the same.
//!
//! [`Gather`](crate::arch::Gather) is the token for the vectors; a [`Field`] is a table that they may read.

/// A multiplier of good spectral quality for the modulus 2^64, from Steele and Vigna, *Computationally easy, spectrally good
/// multipliers for congruential pseudorandom number generators* (2022).
const FACTOR: u64 = 0xD134_2543_DE82_EF95;

/// 2^64 over the golden ratio. It moves the one digest all whose states are 0 away from 0, which is a digest that people use.
const MASK: u64 = 0x9E37_79B9_7F4A_7C15;

/// The most probes a key.
pub const MOST_PROBES: usize = 64;

/// Keys, or probes, that are looked at together.
pub use crate::lanes::LANES;

/// The factors that make the states after 1, 2, ... steps out of the first; as many more as make any eight from a probe on.
pub const FACTORS: [u64; MOST_PROBES + LANES] = {
    let mut factors = [FACTOR; MOST_PROBES + LANES];
    let mut i = 1;
    while i < factors.len() {
        factors[i] = factors[i - 1].wrapping_mul(FACTOR);
        i += 1;
    }
    factors
};

/// The state before the first step.
#[inline]
pub const fn start(digest: u64) -> u64 {
    digest ^ MASK
}

/// The next state: a bijection.
#[inline]
pub const fn step(state: u64) -> u64 {
    state.wrapping_mul(FACTOR)
}

/// The position of a state, below `m`; 0 where there are none.
#[inline]
pub const fn position(state: u64, m: u64) -> u64 {
    ((state as u128 * m as u128) >> 64) as u64
}

/// A table of up to 2^32 - 1 positions of `WIDTH` bits: 1, 2, 4 or 8. Field i is at bit i · `WIDTH`, and bit b is bit b % 8 of byte b / 8.
///
/// It is checked once, when it is made, that every position is in the table.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, const WIDTH: u32> {
    /// Invariant: at least eight, and at least m · `WIDTH` bits.
    bytes: &'a [u8],
    /// Invariant: 1 to 2^32 - 1.
    m: u32,
}

impl<'a, const WIDTH: u32> Field<'a, WIDTH> {
    /// The base-2 logarithm of the bits of a position.
    pub(crate) const LOG: u32 = {
        assert!(WIDTH.is_power_of_two() && WIDTH <= 8, "positions have 1, 2, 4 or 8 bits");
        WIDTH.ilog2()
    };

    /// A table of `m` positions; `None` if there are none or too many, or the table is shorter than they are or than a word.
    #[inline]
    pub fn new(bytes: &'a [u8], m: u64) -> Option<Self> {
        let needed = u32::try_from(m).ok().filter(|&m| m > 0)?;
        // At most 2^35 bits.
        let fits = bytes.len() >= 8 && (m << Self::LOG).div_ceil(8) <= bytes.len() as u64;
        fits.then_some(Self { bytes, m: needed })
    }

    /// The table and the number of its positions.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), expect(dead_code, reason = "for vectors"))]
    #[inline]
    pub(crate) fn into_parts(self) -> (&'a [u8], u32) {
        (self.bytes, self.m)
    }

    /// The field that was taken apart.
    ///
    /// # Safety
    /// `bytes` and `m` are the parts of a `Field<WIDTH>`.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), expect(dead_code, reason = "for vectors"))]
    #[inline]
    pub(crate) const unsafe fn from_parts(bytes: &'a [u8], m: u32) -> Self {
        Self { bytes, m }
    }

    /// The table.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The positions.
    #[inline]
    pub fn m(self) -> u64 {
        self.m.into()
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{FACTORS, Field, LANES, MOST_PROBES, position, start, step};
    use crate::arch::Gather;

    #[test]
    fn the_factors_are_the_steps() {
        for digest in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut state = start(digest);
            for factor in FACTORS {
                state = step(state);
                assert_eq!(start(digest).wrapping_mul(factor), state);
            }
        }
    }

    #[test]
    fn positions_are_below_their_number() {
        for m in [1, 2, 1000, u64::MAX] {
            assert_eq!((position(0, m), position(u64::MAX, m)), (0, m - 1));
        }
        assert_eq!(position(u64::MAX, 0), 0);
    }

    #[test]
    fn tables_that_are_too_short_or_too_large_are_refused() {
        let bytes = [0; 16];
        assert!(Field::<1>::new(&bytes, 128).is_some() && Field::<1>::new(&bytes, 129).is_none());
        assert!(Field::<4>::new(&bytes, 32).is_some() && Field::<4>::new(&bytes, 33).is_none());
        assert!(Field::<8>::new(&bytes, 16).is_some() && Field::<8>::new(&bytes, 17).is_none());
        assert!(Field::<1>::new(&bytes, 0).is_none() && Field::<1>::new(&bytes[..7], 1).is_none());
        assert!(Field::<1>::new(&bytes, 1 << 32).is_none() && Field::<1>::new(&bytes, u64::MAX).is_none());
    }

    /// Whether a position is occupied, one bit at a time: the model.
    fn occupied<const WIDTH: u32>(bytes: &[u8], position: u64) -> bool {
        let first = position * u64::from(WIDTH);
        (first..first + u64::from(WIDTH)).any(|bit| crate::word::get_bit(bytes, bit))
    }

    fn agrees_with_the_model<const WIDTH: u32>(gather: Gather, rng: &mut Xoshiro256PlusPlus) {
        for len in (8..40).chain([64, 1000, 4099]) {
            for fill in [0, 1, 2, 5] {
                // The more draws are combined, the fewer bits are set.
                let mut bytes: Vec<u8> = vec![0xff; len];
                for _ in 0..fill {
                    for byte in &mut bytes {
                        *byte &= rng.next_u32().to_le_bytes()[0];
                    }
                }
                let most = len as u64 * 8 / u64::from(WIDTH);
                let m = most - u64::from(rng.next_u32()) % most.min(9);
                let field = Field::<WIDTH>::new(&bytes, m).unwrap();
                let digests: [u64; LANES] = std::array::from_fn(|i| match i {
                    0 => start(0),
                    1 => start(u64::MAX),
                    _ => rng.next_u64(),
                });
                let lanes = rng.next_u32().to_le_bytes()[0];
                let model = |states: [u64; LANES]| {
                    (0..LANES)
                        .filter(|&i| lanes >> i & 1 != 0 && occupied::<WIDTH>(&bytes, position(states[i], m)))
                        .fold(0, |mask, i| mask | 1 << i)
                };
                let mut states = digests.map(start);
                let mut vector = gather.load(&states);
                for _ in 0..3 {
                    (states, vector) = (states.map(step), gather.step(vector));
                    assert_eq!(gather.occupied(field, vector, lanes), model(states), "{WIDTH} {len} {m}");
                }
                let mut kept = [0; LANES];
                gather.keep(vector, lanes, &mut kept);
                let expected: Vec<u64> =
                    (0..LANES).filter(|&i| lanes >> i & 1 != 0).map(|i| states[i]).collect();
                assert_eq!(kept[..expected.len()], expected);
                for k in [0, 1, 2, 7, 8, 9, 16, 30, MOST_PROBES] {
                    for state in digests {
                        let expected = FACTORS[..k].iter().all(|&factor| {
                            occupied::<WIDTH>(&bytes, position(state.wrapping_mul(factor), m))
                        });
                        assert_eq!(gather.all_occupied(field, state, k), expected, "{WIDTH} {len} {m} {k}");
                    }
                }
                for from in [0, 3, MOST_PROBES - 1] {
                    let state = start(digests[2]);
                    let probes = std::array::from_fn(|i| state.wrapping_mul(FACTORS[from + i]));
                    let vector = gather.probes(state, from);
                    assert_eq!(
                        gather.occupied(field, vector, lanes),
                        model(probes),
                        "{WIDTH} {len} {m} {from}"
                    );
                }
            }
        }
    }

    #[test]
    fn vectors_agree_with_one_position_at_a_time() {
        let Some(gather) = Gather::detect() else { return };
        let rng = &mut Xoshiro256PlusPlus::seed_from_u64(11);
        agrees_with_the_model::<1>(gather, rng);
        agrees_with_the_model::<2>(gather, rng);
        agrees_with_the_model::<4>(gather, rng);
        agrees_with_the_model::<8>(gather, rng);
    }
}
