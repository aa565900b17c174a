//! Blocks of a Bloom filter by vector instructions.

use core::arch::x86_64::{
    __m256i, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_testc_si256, _mm512_loadu_si512,
    _mm512_mask_set1_epi64, _mm512_mask_testn_epi64_mask, _mm512_permutexvar_epi64, _mm512_rolv_epi64,
    _mm512_set1_epi64, _mm512_setr_epi64, _mm512_srlv_epi64,
};

use super::found::{Found, has_avx2, has_avx512};
use crate::block::{Blocks, SPLIT_FACTORS, SPREAD_POSITIONS, Word, spread_contains, spread_insert};

/// Proof that this processor has AVX2, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// Proof that this processor has AVX-512F, and all that [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx2 {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: Found = Found::new();
        FOUND.get(has_avx2).then_some(Self(()))
    }
}

impl Avx512 {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: Found = Found::new();
        FOUND.get(has_avx512).then_some(Self(()))
    }
}

/// The eight bits of `hash`, one in each word.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn split_mask(hash: u32) -> __m256i {
    let factors = SPLIT_FACTORS.map(u32::cast_signed);
    let factors = _mm256_setr_epi32(
        factors[0], factors[1], factors[2], factors[3], factors[4], factors[5], factors[6], factors[7],
    );
    let products = _mm256_mullo_epi32(factors, _mm256_set1_epi32(hash.cast_signed()));
    _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(products))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn split_contains_avx2(block: &[u8; 32], hash: u32) -> bool {
    // SAFETY: (1) the 32 bytes are behind a reference. (2) The load needs no alignment.
    let block = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
    _mm256_testc_si256(block, split_mask(hash)) != 0
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn split_insert_avx2(block: &mut [u8; 32], hash: u32) {
    let mask = split_mask(hash);
    // SAFETY: (1) the 32 bytes are behind an exclusive reference. (2) Neither load nor store needs alignment.
    unsafe {
        let old = _mm256_loadu_si256(block.as_ptr().cast());
        _mm256_storeu_si256(block.as_mut_ptr().cast(), _mm256_or_si256(old, mask));
    }
}

/// One lane a position: the word that it is in is moved to its lane, and tested with its bit.
#[inline]
#[target_feature(enable = "avx512f,avx2,bmi1,bmi2")]
#[expect(clippy::cast_possible_truncation, reason = "eight bits are left")]
fn spread_contains_avx512(block: &[u8; 64], word: Word, count: u32) -> bool {
    // SAFETY: (1) the 64 bytes are behind a reference. (2) The load needs no alignment.
    let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let seven = _mm512_set1_epi64(word.seven.cast_signed());
    let word = if count < SPREAD_POSITIONS {
        seven
    } else {
        _mm512_mask_set1_epi64(seven, 1 << 7, word.eighth.cast_signed())
    };
    // The rotation takes the lowest six bits of its count, the permutation the lowest three of an index, so nothing is masked.
    let bits = _mm512_srlv_epi64(word, _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 0));
    let bits = _mm512_rolv_epi64(_mm512_set1_epi64(1), bits);
    let words = _mm512_srlv_epi64(word, _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 6));
    let words = _mm512_permutexvar_epi64(words, block);
    // Eight ones at most.
    let lanes = !(u32::MAX << count.min(SPREAD_POSITIONS)) as u8;
    _mm512_mask_testn_epi64_mask(lanes, words, bits) == 0
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline]
#[target_feature(enable = "avx512f,avx2,bmi1,bmi2")]
fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

impl Blocks for Avx2 {
    #[inline]
    fn split_contains(self, block: &[u8; 32], hash: u32) -> bool {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after all features of the function were found.
        unsafe { split_contains_avx2(block, hash) }
    }

    #[inline]
    fn split_insert(self, block: &mut [u8; 32], hash: u32) {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after all features of the function were found.
        unsafe { split_insert_avx2(block, hash) }
    }

    #[inline]
    fn spread_contains(self, block: &[u8; 64], word: Word, count: u32) -> bool {
        spread_contains(block, word, count)
    }

    #[inline]
    fn spread_insert(self, block: &mut [u8; 64], word: Word, count: u32) {
        spread_insert(block, word, count);
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after all features of the function were found.
        unsafe { with_avx2(work) }
    }
}

impl Blocks for Avx512 {
    #[inline]
    fn split_contains(self, block: &[u8; 32], hash: u32) -> bool {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after all features of the function were found.
        unsafe { split_contains_avx2(block, hash) }
    }

    #[inline]
    fn split_insert(self, block: &mut [u8; 32], hash: u32) {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after all features of the function were found.
        unsafe { split_insert_avx2(block, hash) }
    }

    #[inline]
    fn spread_contains(self, block: &[u8; 64], word: Word, count: u32) -> bool {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after all features of the function were found.
        unsafe { spread_contains_avx512(block, word, count) }
    }

    #[inline]
    fn spread_insert(self, block: &mut [u8; 64], word: Word, count: u32) {
        spread_insert(block, word, count);
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after all features of the function were found.
        unsafe { with_avx512(work) }
    }
}
