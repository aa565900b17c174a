//! Eight words by vector instructions: one vector of AVX-512, two of AVX2.

use core::arch::x86_64::{
    __m256i, __m512i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_pd,
    _mm256_cmpeq_epi64, _mm256_cmpgt_epi64, _mm256_i64gather_epi64, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_movemask_pd, _mm256_mul_epu32, _mm256_or_si256, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_sll_epi64, _mm256_sllv_epi64, _mm256_srl_epi64, _mm256_srlv_epi64, _mm256_storeu_si256,
    _mm256_sub_epi64, _mm256_xor_si256, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpge_epu64_mask,
    _mm512_i64gather_epi64, _mm512_loadu_si512, _mm512_mul_epu32, _mm512_set1_epi64, _mm512_sll_epi64,
    _mm512_sllv_epi64, _mm512_srl_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
    _mm512_testn_epi64_mask, _mm512_xor_si512,
};

use super::blocks::{Avx2, Avx512};
use crate::block::Blocks;
use crate::lanes::{LANES, Lanes};

#[cold]
#[inline(never)]
fn out_of_bounds(len: usize) -> ! {
    panic!("one of eight words leaves a table of {len} bytes")
}

/// The offsets from this one on are those of no word of a table of `len` bytes.
#[inline]
fn end_of_offsets(len: usize) -> u64 {
    // A slice has at most 2^63 - 1 bytes, so that this is no negative number either.
    len.saturating_sub(7) as u64
}

/// Gathers with AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx2,bmi1,bmi2")]
fn gather_avx512(bytes: &[u8], offsets: __m512i) -> __m512i {
    let end = _mm512_set1_epi64(end_of_offsets(bytes.len()).cast_signed());
    if _mm512_cmpge_epu64_mask(offsets, end) != 0 {
        out_of_bounds(bytes.len());
    }
    // SAFETY: (1) each offset is below max(len - 7, 0), so that its eight bytes are inside `bytes` and
    // initialised. (2) Offsets are scaled by 1, signed, and below 2^63. (3) Gathers need no alignment.
    unsafe { _mm512_i64gather_epi64::<1>(offsets, bytes.as_ptr().cast()) }
}

/// Gathers with AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn gather_avx2(bytes: &[u8], [a, b]: [__m256i; 2]) -> [__m256i; 2] {
    let end = _mm256_set1_epi64x(end_of_offsets(bytes.len()).cast_signed());
    // An offset of 2^63 or more is a negative number: its own highest bit is set, and otherwise that of the
    // difference from the end is, where it is inside.
    let inside = |offsets: __m256i| _mm256_cmpgt_epi64(end, offsets);
    let is_negative = |offsets: __m256i| _mm256_cmpgt_epi64(_mm256_setzero_si256(), offsets);
    let all_inside = _mm256_and_si256(inside(a), inside(b));
    let any_negative = _mm256_or_si256(is_negative(a), is_negative(b));
    if _mm256_movemask_epi8(all_inside) != -1 || _mm256_movemask_epi8(any_negative) != 0 {
        out_of_bounds(bytes.len());
    }
    let gather = |offsets: __m256i| {
        // SAFETY: (1) each offset is in 0 .. max(len - 7, 0), so that its eight bytes are inside `bytes` and
        // initialised. (2) Offsets are scaled by 1 and signed. (3) Gathers need no alignment.
        unsafe { _mm256_i64gather_epi64::<1>(bytes.as_ptr().cast(), offsets) }
    };
    [gather(a), gather(b)]
}

/// Bit i of `mask` as answer i.
#[inline]
fn answers(mask: u64) -> [bool; LANES] {
    const LOW: u64 = u64::MAX / 0xff;
    debug_assert!(mask < 1 << LANES, "{mask:#x} has more than eight bits");
    // The mask in every byte, of which each keeps another bit; 127 more is at least 128 where that is set. Written out, as
    // comparisons of one bit each become a hundred instructions.
    let alone = mask.wrapping_mul(LOW) & 0x8040_2010_0804_0201;
    let ones = ((alone + LOW * 0x7f) >> 7) & LOW;
    // SAFETY: (1) both types have eight bytes. (2) Each byte is 0 or 1, by the last mask.
    unsafe { core::mem::transmute(ones.to_le_bytes()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn are_zero_avx2(vectors: [__m256i; 2]) -> [bool; LANES] {
    let [low, high] = vectors.map(|vector| {
        let zero = _mm256_cmpeq_epi64(vector, _mm256_setzero_si256());
        // Four bits.
        u64::from(_mm256_movemask_pd(_mm256_castsi256_pd(zero)).cast_unsigned())
    });
    answers(high << 4 | low)
}

/// The methods whose code is one instruction for each vector, by the token's intrinsic.
macro_rules! by_lane {
    ($($method:ident($a:ident, $b:ident) => $work:expr;)*) => {$(
        #[inline]
        fn $method(self, $a: Self::Vector, $b: Self::Vector) -> Self::Vector {
            // SAFETY: (1) the token is made only by `detect`, after all features of the intrinsics were found.
            unsafe { $work }
        }
    )*};
}

/// The shifts of all lanes by one number.
macro_rules! by_number {
    ($($method:ident($a:ident, $by:ident) => $work:expr;)*) => {$(
        #[inline]
        fn $method(self, $a: Self::Vector, by: u32) -> Self::Vector {
            // SAFETY: (1) the token is made only by `detect`, after all features of the intrinsics were found.
            unsafe {
                let $by = _mm_cvtsi32_si128(by.cast_signed());
                $work
            }
        }
    )*};
}

impl Lanes for Avx512 {
    type Vector = __m512i;

    #[inline]
    fn splat(self, word: u64) -> __m512i {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after AVX-512F was found.
        unsafe { _mm512_set1_epi64(word.cast_signed()) }
    }

    #[inline]
    fn load(self, words: [u64; LANES]) -> __m512i {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after AVX-512F was found. (2) The array has the 64 bytes
        // of a vector, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    fn store(self, a: __m512i) -> [u64; LANES] {
        let mut words = [0; LANES];
        // SAFETY: (1) an `Avx512` is made only by `detect`, after AVX-512F was found. (2) The array has the 64 bytes
        // of a vector, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), a) };
        words
    }

    by_lane! {
        add(a, b) => _mm512_add_epi64(a, b);
        sub(a, b) => _mm512_sub_epi64(a, b);
        xor(a, b) => _mm512_xor_si512(a, b);
        and(a, b) => _mm512_and_si512(a, b);
        shl_each(a, by) => _mm512_sllv_epi64(a, by);
        shr_each(a, by) => _mm512_srlv_epi64(a, by);
        product(a, b) => _mm512_mul_epu32(a, b);
    }

    by_number! {
        shl(a, by) => _mm512_sll_epi64(a, by);
        shr(a, by) => _mm512_srl_epi64(a, by);
    }

    #[inline]
    fn gather(self, bytes: &[u8], offsets: __m512i) -> __m512i {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after all features of the function were found.
        unsafe { gather_avx512(bytes, offsets) }
    }

    #[inline]
    fn are_zero(self, a: __m512i) -> [bool; LANES] {
        // SAFETY: (1) an `Avx512` is made only by `detect`, after AVX-512F was found.
        answers(unsafe { _mm512_testn_epi64_mask(a, a) }.into())
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        Blocks::run(self, work)
    }
}

impl Lanes for Avx2 {
    type Vector = [__m256i; 2];

    #[inline]
    fn splat(self, word: u64) -> Self::Vector {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after AVX2 was found.
        [unsafe { _mm256_set1_epi64x(word.cast_signed()) }; 2]
    }

    #[inline]
    fn load(self, words: [u64; LANES]) -> Self::Vector {
        let (halves, _) = words.as_chunks::<4>();
        // SAFETY: (1) an `Avx2` is made only by `detect`, after AVX2 was found. (2) Each half has the 32 bytes of a
        // vector, and the load needs no alignment.
        core::array::from_fn(|i| unsafe { _mm256_loadu_si256(halves[i].as_ptr().cast()) })
    }

    #[inline]
    fn store(self, a: Self::Vector) -> [u64; LANES] {
        let mut words = [0; LANES];
        for (half, a) in words.as_chunks_mut::<4>().0.iter_mut().zip(a) {
            // SAFETY: (1) an `Avx2` is made only by `detect`, after AVX2 was found. (2) Each half has the 32 bytes of
            // a vector, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), a) };
        }
        words
    }

    by_lane! {
        add(a, b) => [_mm256_add_epi64(a[0], b[0]), _mm256_add_epi64(a[1], b[1])];
        sub(a, b) => [_mm256_sub_epi64(a[0], b[0]), _mm256_sub_epi64(a[1], b[1])];
        xor(a, b) => [_mm256_xor_si256(a[0], b[0]), _mm256_xor_si256(a[1], b[1])];
        and(a, b) => [_mm256_and_si256(a[0], b[0]), _mm256_and_si256(a[1], b[1])];
        shl_each(a, by) => [_mm256_sllv_epi64(a[0], by[0]), _mm256_sllv_epi64(a[1], by[1])];
        shr_each(a, by) => [_mm256_srlv_epi64(a[0], by[0]), _mm256_srlv_epi64(a[1], by[1])];
        product(a, b) => [_mm256_mul_epu32(a[0], b[0]), _mm256_mul_epu32(a[1], b[1])];
    }

    by_number! {
        shl(a, by) => [_mm256_sll_epi64(a[0], by), _mm256_sll_epi64(a[1], by)];
        shr(a, by) => [_mm256_srl_epi64(a[0], by), _mm256_srl_epi64(a[1], by)];
    }

    #[inline]
    fn gather(self, bytes: &[u8], offsets: Self::Vector) -> Self::Vector {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after all features of the function were found.
        unsafe { gather_avx2(bytes, offsets) }
    }

    #[inline]
    fn are_zero(self, a: Self::Vector) -> [bool; LANES] {
        // SAFETY: (1) an `Avx2` is made only by `detect`, after all features of the function were found.
        unsafe { are_zero_avx2(a) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        Blocks::run(self, work)
    }
}
