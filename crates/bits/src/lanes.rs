//! Eight 64-bit words at a time: the arithmetic that turns eight digests into places of a table, and the reads
//! of these places together.
//!
//! Hot loops are written once, generic over [`Lanes`], as a [`Job`], and [`dispatch`] picks the version once for the whole loop.
//! Where there are no vectors it gives the work back: one word at a time is then the better loop, and its answers are the same.
//!
//! ```
//! use amq_bits::lanes::{Job, Lanes, dispatch};
//!
//! /// Which of eight words of a table, at these bytes, are odd.
//! struct Odd<'a>(&'a [u8], [u64; 8]);
//!
//! impl Job for Odd<'_> {
//!     type Output = [bool; 8];
//!
//!     #[inline(always)] // into the code compiled for the processor's features
//!     fn run<L: Lanes>(self, lanes: L) -> [bool; 8] {
//!         let words = lanes.gather(self.0, lanes.load(self.1));
//!         let even = lanes.add(words, lanes.splat(1));
//!         lanes.are_zero(lanes.and(even, lanes.splat(1)))
//!     }
//! }
//!
//! let table: Vec<u8> = (0..16).collect();
//! let offsets = [0, 1, 2, 3, 4, 5, 6, 7];
//! let odd = dispatch(Odd(&table, offsets))
//!     .unwrap_or_else(|Odd(table, offsets)| offsets.map(|at| table[usize::try_from(at).unwrap()] % 2 == 1));
//! assert_eq!(odd, [false, true, false, true, false, true, false, true]);
//! ```

#![expect(clippy::inline_always, reason = "what is not inlined is compiled without the processor's features")]

use crate::arch::{Avx2, Avx512};

/// Words that are handled at once.
pub const LANES: usize = 8;

/// The lowest `count` lanes, or all where there are fewer.
///
/// Shifted in 32 bits: a shift of eight bits is made by a count in CL, and writing CL keeps the rest of its register, so that in a loop of
/// lookups each would wait for the answer of the one before.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "eight bits are left")]
pub const fn lowest(count: usize) -> u8 {
    let count = if count < LANES { count } else { LANES };
    !(u32::MAX << count) as u8
}

/// A way to handle eight words that this processor has; holding the value proves it.
///
/// Arithmetic is that of `u64` in each lane, and wraps.
pub trait Lanes: Copy + Send + Sync + 'static {
    /// Eight words.
    type Vector: Copy;

    /// The same word in each lane.
    fn splat(self, word: u64) -> Self::Vector;

    /// Lane i is word i.
    fn load(self, words: [u64; LANES]) -> Self::Vector;

    /// Word i is lane i.
    fn store(self, a: Self::Vector) -> [u64; LANES];

    /// `a + b`
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a - b`
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a ^ b`
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a & b`
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a << by`; 0 from 64 on.
    fn shl(self, a: Self::Vector, by: u32) -> Self::Vector;

    /// `a >> by`; 0 from 64 on.
    fn shr(self, a: Self::Vector, by: u32) -> Self::Vector;

    /// `a << by`, by lane; 0 from 64 on.
    fn shl_each(self, a: Self::Vector, by: Self::Vector) -> Self::Vector;

    /// `a >> by`, by lane; 0 from 64 on.
    fn shr_each(self, a: Self::Vector, by: Self::Vector) -> Self::Vector;

    /// The product of the low 32 bits of `a` and those of `b`: all of its 64 bits.
    fn product(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The words of `bytes` that begin at these bytes: eight unaligned little-endian loads.
    ///
    /// # Panics
    /// If one of the words is not inside `bytes`.
    fn gather(self, bytes: &[u8], offsets: Self::Vector) -> Self::Vector;

    /// Which lanes are 0.
    fn are_zero(self, a: Self::Vector) -> [bool; LANES];

    /// `a · b`, its high and its low half: two words of 64 bits.
    #[inline(always)]
    fn wide_product(self, a: Self::Vector, b: Self::Vector) -> (Self::Vector, Self::Vector) {
        let low_half = self.splat(u64::from(u32::MAX));
        let (a_high, b_high) = (self.shr(a, 32), self.shr(b, 32));
        let low = self.product(a, b);
        // (2^32 - 1)^2 + 2^32 - 1 < 2^64: no sum overflows.
        let middle = self.add(self.product(a_high, b), self.shr(low, 32));
        let carried = self.add(self.product(a, b_high), self.and(middle, low_half));
        let high = self.add(self.product(a_high, b_high), self.shr(middle, 32));
        (self.add(high, self.shr(carried, 32)), self.add(self.shl(carried, 32), self.and(low, low_half)))
    }

    /// The low 64 bits of `a · b`.
    #[inline(always)]
    fn low_product(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        let crossed = self.add(self.product(self.shr(a, 32), b), self.product(a, self.shr(b, 32)));
        self.add(self.product(a, b), self.shl(crossed, 32))
    }

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it profits.
    fn run<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Work that is compiled once for each way to handle eight words.
///
/// Give `run` the attribute `#[inline(always)]`: what is not inlined is compiled without the processor's features, and every
/// operation in it becomes a call. The answer is the same in any case.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs `job` with the widest vectors of this processor.
///
/// Costs a load and a branch more than the work itself, and a call.
///
/// # Errors
/// The job itself, not done, on a processor that gathers no words.
#[inline]
pub fn dispatch<J: Job>(job: J) -> Result<J::Output, J> {
    if let Some(avx512) = Avx512::detect() {
        return Ok(Lanes::run(
            avx512,
            #[inline(always)]
            || job.run(avx512),
        ));
    }
    match Avx2::detect() {
        Some(avx2) => Ok(Lanes::run(
            avx2,
            #[inline(always)]
            || job.run(avx2),
        )),
        None => Err(job),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{LANES, Lanes, lowest};
    use crate::arch::{Avx2, Avx512};

    const SEED: u64 = 5;

    /// Runs `check` with each version that this processor has.
    macro_rules! for_each_version {
        ($check:ident) => {
            if let Some(avx2) = Avx2::detect() {
                $check(avx2);
            }
            if let Some(avx512) = Avx512::detect() {
                $check(avx512);
            }
        };
    }

    #[test]
    fn the_lowest_lanes_are_as_many_as_asked_for() {
        assert_eq!([0, 1, 7, 8, 9, usize::MAX].map(lowest), [0, 1, 0x7f, 0xff, 0xff, 0xff]);
    }

    /// Words with long runs of equal bits, next to random ones: where carries and signs go wrong.
    fn words(rng: &mut Xoshiro256PlusPlus) -> [u64; LANES] {
        core::array::from_fn(|_| match rng.next_u64() % 4 {
            0 => rng.next_u64(),
            1 => u64::MAX << (rng.next_u64() % 64),
            2 => u64::MAX >> (rng.next_u64() % 64),
            _ => rng.next_u64() % 70,
        })
    }

    fn arithmetic<L: Lanes>(lanes: L) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for _ in 0..if cfg!(miri) { 10 } else { 5_000 } {
            let (a, b) = (words(&mut rng), words(&mut rng));
            let by = u32::try_from(rng.next_u64() % 66).unwrap();
            let (x, y) = (lanes.load(a), lanes.load(b));
            let check = |name: &str, found: L::Vector, expected: &dyn Fn(u64, u64) -> u64| {
                let expected: [u64; LANES] = core::array::from_fn(|i| expected(a[i], b[i]));
                assert_eq!(lanes.store(found), expected, "{name} of {a:x?} and {b:x?} or {by}, seed {SEED}");
            };
            let shl = |a: u64, by: u64| u32::try_from(by).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0);
            let shr = |a: u64, by: u64| u32::try_from(by).ok().and_then(|by| a.checked_shr(by)).unwrap_or(0);
            let half = |a: u64| a & u64::from(u32::MAX);
            let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
            check("load", x, &|a, _| a);
            check("splat", lanes.splat(a[0]), &|_, _| a[0]);
            check("add", lanes.add(x, y), &u64::wrapping_add);
            check("sub", lanes.sub(x, y), &u64::wrapping_sub);
            check("xor", lanes.xor(x, y), &|a, b| a ^ b);
            check("and", lanes.and(x, y), &|a, b| a & b);
            check("shl", lanes.shl(x, by), &|a, _| shl(a, by.into()));
            check("shr", lanes.shr(x, by), &|a, _| shr(a, by.into()));
            check("shl_each", lanes.shl_each(x, y), &shl);
            check("shr_each", lanes.shr_each(x, y), &shr);
            check("product", lanes.product(x, y), &|a, b| half(a) * half(b));
            check("low_product", lanes.low_product(x, y), &u64::wrapping_mul);
            let (high, low) = lanes.wide_product(x, y);
            check("wide_product", low, &u64::wrapping_mul);
            check("wide_product", high, &|a, b| u64::try_from(wide(a, b) >> 64).unwrap());
            let sparse = a.map(|a| if a % 3 == 0 { 0 } else { a });
            assert_eq!(lanes.are_zero(lanes.load(sparse)), sparse.map(|a| a == 0));
        }
    }

    fn gathers<L: Lanes>(lanes: L) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for len in [0_usize, 1, 7, 8, 9, 15, 16, 200] {
            let bytes: Vec<u8> = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
            let word = |offset: u64| {
                let rest = bytes.get(usize::try_from(offset).unwrap()..)?;
                rest.first_chunk().map(|word| u64::from_le_bytes(*word))
            };
            for offset in (0..len as u64 + 9).chain([1 << 32, 1 << 63, u64::MAX - 7, u64::MAX]) {
                // One word at the offset in question, the others somewhere inside.
                for lane in 0..LANES {
                    let mut offsets = [0; LANES].map(|_| rng.next_u64() % (len.max(8) - 7) as u64);
                    offsets[lane] = offset;
                    let expected: Option<Vec<u64>> = offsets.iter().map(|&offset| word(offset)).collect();
                    // What panics is bounds checks only: `bytes` stays as it is.
                    let gather = AssertUnwindSafe(|| lanes.store(lanes.gather(&bytes, lanes.load(offsets))));
                    assert_eq!(
                        catch_unwind(gather).ok().map(Vec::from),
                        expected,
                        "{offsets:?} of {len}, seed {SEED}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_version_computes_as_words_do() {
        for_each_version!(arithmetic);
    }

    #[test]
    fn every_version_reads_what_is_inside_and_nothing_else() {
        for_each_version!(gathers);
    }
}
