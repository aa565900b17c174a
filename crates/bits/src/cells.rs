//! Packed integers whose reads are compiled for their width where that is a whole number of bytes.
//!
//! [`Packed`] reads integers of every width by the same instructions: a multiplication for the bit, a load, a shift. Those of 8,
//! 16 and 32 bits need only the load. A loop that is written once, generic over [`Cells`], as a [`Job`], is compiled for the four
//! cases, and [`dispatch`] picks one, by a branch that always goes the same way for one table.
//!
//! ```
//! use amq_bits::Packed;
//! use amq_bits::cells::{Cells, Job, dispatch};
//!
//! /// The XOR of some integers of a table.
//! struct Xor<'a>(&'a [u8], &'a [u64]);
//!
//! impl Job for Xor<'_> {
//!     type Output = u64;
//!
//!     #[inline]
//!     fn run<C: Cells>(self, cells: C) -> u64 {
//!         self.1.iter().fold(0, |xor, &i| xor ^ cells.read(self.0, i)) & cells.mask()
//!     }
//! }
//!
//! let table = [1, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0];
//! assert_eq!(dispatch(Packed::new(8).unwrap(), Xor(&table, &[0, 3])), 9);
//! assert_eq!(dispatch(Packed::new(12).unwrap(), Xor(&table, &[0, 1])), 0x201 ^ 0x040);
//! ```

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled without the processor's features, or for no width"
)]

use crate::lanes::Lanes;
use crate::packed::Packed;
use crate::word::{index, load_u64};

/// A way to read the integers of a packed table: [`Whole`] for those of 8, 16 or 32 bits, [`Packed`] for every width. Their
/// numbers have to be below 2^58.
pub trait Cells: Copy {
    /// Integer `i` of `bytes` in the lowest bits; what is above them is anything. One load.
    ///
    /// # Panics
    /// Of [`Whole`]: if the integer is not inside `bytes`. Of [`Packed`], at any width: if the eight bytes from its first one
    /// on are not.
    fn read(self, bytes: &[u8], i: u64) -> u64;

    /// As [`read`](Cells::read), of eight integers. Their bits have to lie below 2^64, and their numbers below 2^32.
    ///
    /// # Panics
    /// Of [`Whole`]: if the word of eight bytes that an integer is in, which begins at a multiple of eight bytes, is not inside
    /// `bytes`. Of [`Packed`], at any width: if the eight bytes from the first one of an integer on are not.
    fn read_lanes<L: Lanes>(self, lanes: L, bytes: &[u8], i: L::Vector) -> L::Vector;

    /// The lowest bits, as many as an integer has.
    fn mask(self) -> u64;

    /// The byte that integer `i` begins in.
    fn first_byte(self, i: u64) -> u64;
}

/// Integers of `BYTES` bytes: 1, 2 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const BYTES: usize>;

impl<const BYTES: usize> Whole<BYTES> {
    /// Binary logarithm of the bytes of an integer. Any other number of bytes does not compile, whichever method is used.
    const SHIFT: u32 = {
        assert!(BYTES == 1 || BYTES == 2 || BYTES == 4, "integers of 1, 2 or 4 bytes");
        BYTES.trailing_zeros()
    };
}

impl<const BYTES: usize> Cells for Whole<BYTES> {
    #[inline]
    fn read(self, bytes: &[u8], i: u64) -> u64 {
        const { _ = Self::SHIFT };
        // The number of integers is computed once for all reads of a table, and their numbers are compared as they are.
        let (integers, _) = bytes.as_chunks::<BYTES>();
        let mut word = [0; 8];
        word[..BYTES].copy_from_slice(&integers[index(i)]);
        u64::from_le_bytes(word)
    }

    #[inline(always)]
    fn read_lanes<L: Lanes>(self, lanes: L, bytes: &[u8], i: L::Vector) -> L::Vector {
        let first = lanes.shl(i, Self::SHIFT);
        // The word of eight that the integer is in, so that no read touches two cache lines.
        let words = lanes.gather(bytes, lanes.and(first, lanes.splat(!7)));
        lanes.shr_each(words, lanes.shl(lanes.and(first, lanes.splat(7)), 3))
    }

    #[inline]
    fn mask(self) -> u64 {
        u64::MAX >> (64 - (8 << Self::SHIFT))
    }

    #[inline]
    fn first_byte(self, i: u64) -> u64 {
        i << Self::SHIFT
    }
}

impl Cells for Packed {
    #[inline]
    fn read(self, bytes: &[u8], i: u64) -> u64 {
        let bit = self.first_bit(i);
        load_u64(bytes, index(bit >> 3)) >> (bit & 7)
    }

    #[inline(always)]
    fn read_lanes<L: Lanes>(self, lanes: L, bytes: &[u8], i: L::Vector) -> L::Vector {
        let bit = lanes.product(i, lanes.splat(self.width().into()));
        lanes.shr_each(lanes.gather(bytes, lanes.shr(bit, 3)), lanes.and(bit, lanes.splat(7)))
    }

    #[inline]
    fn mask(self) -> u64 {
        Self::mask(self)
    }

    #[inline]
    fn first_byte(self, i: u64) -> u64 {
        self.first_bit(i) >> 3
    }
}

/// Work that is compiled once for each way to read integers.
pub trait Job {
    /// What the work returns.
    type Output;

    /// Does the work.
    fn run<C: Cells>(self, cells: C) -> Self::Output;
}

/// Runs `job` with the shortest reads for the layout.
#[inline(always)]
pub fn dispatch<J: Job>(layout: Packed, job: J) -> J::Output {
    match layout.width() {
        8 => job.run(Whole::<1>),
        16 => job.run(Whole::<2>),
        32 => job.run(Whole::<4>),
        _ => job.run(layout),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::vec::Vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::{Cells, Job, dispatch};
    use crate::arch::{Avx2, Avx512};
    use crate::lanes::Lanes;
    use crate::packed::Packed;

    struct Check<'a>(Packed, &'a [u8], u64);

    impl Check<'_> {
        fn lanes<L: Lanes>(&self, cells: impl Cells, lanes: L) {
            for first in 0..self.2 - 7 {
                let i: [u64; 8] = core::array::from_fn(|lane| first + lane as u64);
                let found = lanes.store(cells.read_lanes(lanes, self.1, lanes.load(i)));
                let expected = i.map(|i| self.0.get(self.1, i));
                assert_eq!(found.map(|word| word & cells.mask()), expected, "{first} of {:?}", self.0);
            }
        }
    }

    impl Job for Check<'_> {
        type Output = ();

        fn run<C: Cells>(self, cells: C) {
            let Self(layout, bytes, len) = self;
            assert_eq!(cells.mask(), layout.mask());
            for i in 0..len {
                assert_eq!(cells.first_byte(i), i * u64::from(layout.width()) / 8);
                assert_eq!(cells.read(bytes, i) & cells.mask(), layout.get(bytes, i), "{i} of {layout:?}");
            }
            if let Some(avx2) = Avx2::detect() {
                self.lanes(cells, avx2);
            }
            if let Some(avx512) = Avx512::detect() {
                self.lanes(cells, avx512);
            }
        }
    }

    struct Read<'a>(&'a [u8], u64);

    impl Job for Read<'_> {
        type Output = u64;

        fn run<C: Cells>(self, cells: C) -> u64 {
            cells.read(self.0, self.1) & cells.mask()
        }
    }

    #[test]
    fn every_way_reads_what_a_packed_table_holds() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for width in 1..=Packed::MAX_WIDTH {
            let layout = Packed::new(width).unwrap();
            for len in [8, 9, 40] {
                let bytes = layout.bytes_for(len).unwrap();
                let bytes: Vec<u8> = (0..bytes).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
                dispatch(layout, Check(layout, &bytes, len));
            }
        }
    }

    #[test]
    fn nothing_outside_is_read() {
        for width in [8, 12, 16, 32] {
            let layout = Packed::new(width).unwrap();
            let bytes = [0; 32];
            for i in [32 * 8 / u64::from(width), 1 << 40, (1 << 58) - 1] {
                assert!(catch_unwind(|| dispatch(layout, Read(&bytes, i))).is_err(), "{i} of {width} bits");
            }
        }
    }
}
