//! Positions anywhere in a table by vectors that gather.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_i64gather_epi64,
    _mm512_mask_test_epi64_mask, _mm512_maskz_compress_epi64, _mm512_min_epu64, _mm512_mul_epu32,
    _mm512_mullo_epi64, _mm512_rorv_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};

use super::found::{Found, has_avx512};
use crate::lanes::lowest;
use crate::probe::{FACTORS, Field, LANES, step};

/// Proof that this processor has AVX-512F, AVX-512DQ, BMI1, BMI2 and POPCNT: it reads eight places of a table with one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Gather(());

/// Eight states of probes: of eight keys, or of one.
#[derive(Clone, Copy, Debug)]
pub struct States(__m512i);

fn has_gather() -> bool {
    has_avx512()
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("popcnt")
}

impl Gather {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: Found = Found::new();
        FOUND.get(has_gather).then_some(Self(()))
    }

    /// Calls `work` from code compiled for the features that this value proves; what is inlined into it profits.
    #[inline]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { with_gather(work) }
    }

    /// The states of eight keys.
    #[inline]
    pub fn load(self, states: &[u64; LANES]) -> States {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { load(states) }
    }

    /// The next state of each.
    #[inline]
    pub fn step(self, states: States) -> States {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { times(states, step(1)) }
    }

    /// The states of one key, whose first is `state`, after `from + 1` to `from + 8` steps.
    ///
    /// # Panics
    /// If `from` is above 64.
    #[inline]
    pub fn probes(self, state: u64, from: usize) -> States {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { probes(state, from) }
    }

    /// Of the lanes that are set in `lanes`, those whose state's position is occupied: has a bit set.
    #[inline]
    pub fn occupied<const WIDTH: u32>(self, field: Field<'_, WIDTH>, states: States, lanes: u8) -> u8 {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { occupied(field, states, lanes) }
    }

    /// Whether the positions of the first `k` steps from `state` on, 0 to 64, are all occupied: eight at a time, and where there are no more,
    /// without a branch on what is found.
    ///
    /// # Panics
    /// If `k` is above 72; of 65 to 72, the answer means nothing.
    #[inline]
    pub fn all_occupied<const WIDTH: u32>(self, field: Field<'_, WIDTH>, state: u64, k: usize) -> bool {
        let (bytes, m) = field.into_parts();
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found. (2) The parts are a field's.
        unsafe { all_occupied::<WIDTH>(bytes, m, state, k) }
    }

    /// Writes the states of the lanes that are set in `lanes` to the front of `to`; what is behind them means nothing.
    #[inline]
    pub fn keep(self, states: States, lanes: u8, to: &mut [u64; LANES]) {
        // SAFETY: (1) a `Gather` is made only by `detect`, after all features of the function were found.
        unsafe { keep(states, lanes, to) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn with_gather<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn load(states: &[u64; LANES]) -> States {
    // SAFETY: (1) the 64 bytes are behind a reference. (2) The load needs no alignment.
    States(unsafe { _mm512_loadu_si512(states.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn times(states: States, factor: u64) -> States {
    States(_mm512_mullo_epi64(states.0, _mm512_set1_epi64(factor.cast_signed())))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn probes(state: u64, from: usize) -> States {
    times(load(FACTORS[from..].first_chunk().expect("eight factors from each probe on")), state)
}

/// Takes a field apart, so that a call from code without the features passes every argument in a register.
///
/// # Safety
/// `bytes` and `m` are the parts of a `Field<WIDTH>`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
unsafe fn all_occupied<const WIDTH: u32>(bytes: &[u8], m: u32, state: u64, k: usize) -> bool {
    // SAFETY: (1) the caller's promise.
    let field = unsafe { Field::<WIDTH>::from_parts(bytes, m) };
    let round = |done: usize| {
        let lanes = lowest(k - done);
        occupied(field, probes(state, done), lanes) == lanes
    };
    let (mut all, mut done) = (round(0), LANES);
    while done < k && all {
        all = round(done);
        done += LANES;
    }
    all
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn keep(states: States, lanes: u8, to: &mut [u64; LANES]) {
    // Compressed in a register and stored whole: some processors take a hundred cycles to compress into memory.
    let front = _mm512_maskz_compress_epi64(lanes, states.0);
    // SAFETY: (1) the 64 bytes are behind an exclusive reference. (2) The store needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), front) };
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,bmi1,bmi2,popcnt")]
fn occupied<const WIDTH: u32>(field: Field<'_, WIDTH>, states: States, lanes: u8) -> u8 {
    let (bytes, m) = (field.bytes(), _mm512_set1_epi64(field.m().cast_signed()));
    // The upper half of the product of 64 and 32 bits, from two of 32 and 32.
    let upper = _mm512_mul_epu32(_mm512_srli_epi64::<32>(states.0), m);
    let lower = _mm512_srli_epi64::<32>(_mm512_mul_epu32(states.0, m));
    let positions = _mm512_srli_epi64::<32>(_mm512_add_epi64(upper, lower));
    // A word of the table is read whole, and no line but its own; the last one as far back as the end demands.
    let bits = match WIDTH {
        1 => positions,
        2 => _mm512_slli_epi64::<1>(positions),
        4 => _mm512_slli_epi64::<2>(positions),
        _ => _mm512_slli_epi64::<3>(positions),
    };
    let words = _mm512_and_si512(_mm512_srli_epi64::<3>(bits), _mm512_set1_epi64(!7));
    let last = _mm512_set1_epi64((bytes.len() as u64 - 8).cast_signed());
    let words = _mm512_min_epu64(words, last);
    let shifts = _mm512_sub_epi64(bits, _mm512_slli_epi64::<3>(words));
    // SAFETY: (1) `Field` has at least eight bytes, so `last` did not wrap, and each offset is at most that: the eight bytes read from it are
    // behind the reference. (2) The offsets are not scaled, and the gather needs no alignment. (3) Lanes that are not set are not read.
    let words = unsafe {
        _mm512_mask_i64gather_epi64::<1>(_mm512_setzero_si512(), lanes, words, bytes.as_ptr().cast())
    };
    // A position is below m, whose last bit is in the table, so a shift is at most 64 - WIDTH. It is a rotation because a compiler that
    // knows no more than the instructions guards a shift against 64.
    let field = _mm512_set1_epi64((1 << WIDTH) - 1);
    _mm512_mask_test_epi64_mask(lanes, _mm512_rorv_epi64(words, shifts), field)
}
