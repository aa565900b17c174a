//! From a digest to positions: the one place that decides which bits or counters a key owns.

use amq::Digest;

/// The positions of one key among m: an endless sequence, of which a filter takes the first k.
///
/// A linear congruential generator is started at the digest, and the high half of `state · m` is the position: no division,
/// no bias beyond m/2^64, and any m up to 2^64 - 1. The i-th state is a bijection of the digest, so each probe alone is
/// exactly as uniform as the digests are; taken together, successive states form a lattice in which the multiplier, from
/// Steele and Vigna, *Computationally easy, spectrally good multipliers for congruential pseudorandom number generators*
/// (2022), leaves no thin planes. So the mean rate is that of independent probes, in filters of any size.
///
/// The generator has the full period (Hull and Dobell, *Random number generators*, 1962), so no digest, 0 included, is a fixed point:
/// the states of one key all differ. Digests that are not uniform (a plain counter, a constant half) lose no key, but their rate is
/// not the one that theory predicts: for a counter that stays below 2^64/m, probe 0 is always position 0.
///
/// What else was tried, with random digests: deviation of the mean rate from that of independent probes, in per cent
/// (standard error .2 to .3 at k = 7, .7 at k = 10, 2.3 at k = 16, m = 64), at half-full filters of m positions; and
/// multiplications a probe.
///
/// | scheme | k = 7, m = 16 / 64 / 256 / 1,024 / 4,096 | k = 10, m = 64 | k = 16, m = 64 | mul |
/// |---|---|---|---|---|
/// | this one | -.9 / -.1 / -.4 / -.2 / +.4 | -.6 | +1.4 | 2 |
/// | one random odd constant a probe | -.7 / +.4 / -.1 / -.7 / -.0 | +.1 | -.7 | 2 |
/// | double hashing: `a += b` | +82 / +76 / +19 / +3.9 / +1.0 | +697 | +6,700 | 1 |
/// | enhanced double hashing: `a += b; b += i` | +9.4 / +3.4 / +.4 / -.0 / -.1 | +9.2 | +38 | 1 |
/// | triple hashing: `a += b; b += c` | +7.9 / +6.6 / +1.3 / +.3 / +.2 | +34 | +125 | 1 |
///
/// The schemes with one multiplication let whole progressions collide: two keys whose few words nearly agree share all
/// positions. Constants agree as well as this one does, but are 64 words to load from where this has two in registers. An
/// unrolled probe, memory access and bounds check included, is 12 x86-64 instructions here and 11 with double hashing; the second
/// multiplication adds three cycles of latency, which successive keys overlap.
#[derive(Clone, Debug)]
pub struct Probes {
    state: u64,
    positions: u64,
}

/// A multiplier of good spectral quality in 2 to 8 dimensions for the modulus 2^64.
const MULTIPLIER: u64 = 0xD134_2543_DE82_EF95;

/// 2^64 over the golden ratio; any odd number would do.
const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

// What the full period takes.
const _: () = assert!(MULTIPLIER % 4 == 1 && INCREMENT % 2 == 1);

impl Probes {
    /// The positions of `digest` in `[0, positions)`.
    #[inline]
    pub const fn new(digest: Digest, positions: u64) -> Self {
        Self { state: digest.get(), positions }
    }

    /// The next position, below `positions`.
    #[inline]
    pub const fn next_position(&mut self) -> u64 {
        let position = Digest::new(self.state).scale(self.positions);
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        position
    }
}

impl Iterator for Probes {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        Some(self.next_position())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
