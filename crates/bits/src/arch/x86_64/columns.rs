//! Columns by the instruction that counts ones, of one word and of eight.

use core::arch::x86_64::{
    _mm512_maskz_loadu_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_ternarylogic_epi64, _mm512_test_epi64_mask,
};
use std::sync::OnceLock;

use crate::columns::{Columns, selected, words};
use crate::lanes::lowest;

/// Proof that this processor has POPCNT, LZCNT, BMI1 and BMI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popcnt(());

/// Proof that this processor has AVX-512F and VPOPCNTDQ, and all that [`Popcnt`] proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popcnt512(());

impl Popcnt {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        FOUND.get_or_init(has_popcnt).then_some(Self(()))
    }
}

impl Popcnt512 {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        FOUND.get_or_init(has_popcnt_512).then_some(Self(()))
    }
}

#[cold]
fn has_popcnt() -> bool {
    // Miri interprets no functions with features that the target lacks.
    !cfg!(miri)
        && std::arch::is_x86_feature_detected!("popcnt")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
}

#[cold]
fn has_popcnt_512() -> bool {
    has_popcnt()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vpopcntdq")
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn parities_popcnt<const N: usize>(bytes: &[u8], blocks: [usize; N], masks: [u64; N], columns: u32) -> u32 {
    let words = words(bytes, blocks, columns);
    let mut parities = 0;
    for column in 0..columns as usize {
        parities |= (selected(&words, masks, column).count_ones() & 1) << column;
    }
    parities
}

#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt")]
fn parities_512<const N: usize>(bytes: &[u8], blocks: [usize; N], masks: [u64; N], columns: u32) -> u32 {
    /// The truth table of `sum ^ (word & mask)`.
    const ADD: i32 = 0b0111_1000;
    let words = words(bytes, blocks, columns);
    let columns = columns as usize;
    let masks = masks.map(|mask| _mm512_set1_epi64(mask.cast_signed()));
    let mut parities = 0;
    for first in (0..columns).step_by(8) {
        let present = lowest(columns - first);
        let mut sum = _mm512_setzero_si512();
        for (words, mask) in words.iter().zip(masks) {
            // SAFETY: (1) `words` returned slices of `columns` words of eight bytes, and `first` is below that. (2) Only the
            // words present are read: at most `columns - first`. (3) The load needs no alignment.
            let eight = unsafe { _mm512_maskz_loadu_epi64(present, words.as_ptr().add(first).cast()) };
            sum = _mm512_ternarylogic_epi64::<ADD>(sum, eight, mask);
        }
        let odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(sum), _mm512_set1_epi64(1));
        parities |= u32::from(odd) << first;
    }
    parities
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn with_popcnt<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt")]
fn with_512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

impl Columns for Popcnt {
    #[inline]
    fn parities<const N: usize>(
        self,
        bytes: &[u8],
        blocks: [usize; N],
        masks: [u64; N],
        columns: u32,
    ) -> u32 {
        // SAFETY: (1) a `Popcnt` is made only by `detect`, after all features of `parities_popcnt` were found.
        unsafe { parities_popcnt(bytes, blocks, masks, columns) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `Popcnt` is made only by `detect`, after all features of `with_popcnt` were found.
        unsafe { with_popcnt(work) }
    }
}

impl Columns for Popcnt512 {
    #[inline]
    fn parities<const N: usize>(
        self,
        bytes: &[u8],
        blocks: [usize; N],
        masks: [u64; N],
        columns: u32,
    ) -> u32 {
        // SAFETY: (1) a `Popcnt512` is made only by `detect`, after all features of `parities_512` were found.
        unsafe { parities_512(bytes, blocks, masks, columns) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `Popcnt512` is made only by `detect`, after all features of `with_512` were found.
        unsafe { with_512(work) }
    }
}
