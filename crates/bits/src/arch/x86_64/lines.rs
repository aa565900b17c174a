//! Lines by vector instructions.

use core::arch::x86_64::{
    __m512i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_xor_si256, _mm512_add_epi8,
    _mm512_alignr_epi64, _mm512_and_si512, _mm512_andnot_si512, _mm512_cmpeq_epi8_mask,
    _mm512_cmpeq_epi16_mask, _mm512_loadu_si512, _mm512_max_epi64, _mm512_movepi8_mask, _mm512_popcnt_epi8,
    _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi64, _mm512_setzero_si512, _mm512_shldv_epi64, _mm512_shrdv_epi64, _mm512_shuffle_epi8,
    _mm512_sllv_epi64, _mm512_storeu_si512, _mm512_sub_epi8, _mm512_sub_epi64, _mm512_ternarylogic_epi64,
    _mm512_testn_epi8_mask, _mm512_xor_si512, _pdep_u64, _pext_u64,
};
use std::sync::OnceLock;

use crate::arch::Pdep;
use crate::line::{LINE, Lines, move_down, move_up};
use crate::rank_select::Select;
use crate::word::low_mask;

/// Proof that this processor has AVX2, and all that [`Pdep`] proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideLines(());

/// Proof that this processor has AVX-512F, BW, VBMI2, VPOPCNTDQ and BITALG, and all that [`WideLines`] proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WiderLines(());

impl WideLines {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        FOUND.get_or_init(has_wide).then_some(Self(()))
    }
}

impl WiderLines {
    /// The token, where the processor has the instructions. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        FOUND.get_or_init(has_wider).then_some(Self(()))
    }
}

#[cold]
fn has_wide() -> bool {
    Pdep::detect().is_some() && std::arch::is_x86_feature_detected!("avx2")
}

#[cold]
fn has_wider() -> bool {
    has_wide()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vbmi2")
        && std::arch::is_x86_feature_detected!("avx512vpopcntdq")
        && std::arch::is_x86_feature_detected!("avx512bitalg")
}

/// Deposits two ones at the `k`-th and the next one of `word`.
#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn pair_pdep(word: u64, k: u32) -> u64 {
    _pdep_u64(3_u64.checked_shl(k).unwrap_or(0), word)
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn select_pdep(word: u64, k: u32) -> u32 {
    _pdep_u64(1_u64.checked_shl(k).unwrap_or(0), word).trailing_zeros()
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn equal_bytes_avx2(line: &[u8; LINE], value: u8) -> u64 {
    let value = _mm256_set1_epi8(value.cast_signed());
    // SAFETY: (1) both halves of the 64 bytes are behind a reference. (2) The loads need no alignment.
    let (low, high) = unsafe {
        (_mm256_loadu_si256(line.as_ptr().cast()), _mm256_loadu_si256(line.as_ptr().add(32).cast()))
    };
    let equal = |half| _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, value)).cast_unsigned();
    u64::from(equal(low)) | u64::from(equal(high)) << 32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn equal_halves_avx2(line: &[u8; LINE], value: u16) -> u32 {
    let value = _mm256_set1_epi16(value.cast_signed());
    // SAFETY: (1) both halves of the 64 bytes are behind a reference. (2) The loads need no alignment.
    let (low, high) = unsafe {
        (_mm256_loadu_si256(line.as_ptr().cast()), _mm256_loadu_si256(line.as_ptr().add(32).cast()))
    };
    // Packing works in each 128 bits alone: its quarters come out as 0, 2, 1, 3.
    let packed = _mm256_packs_epi16(_mm256_cmpeq_epi16(low, value), _mm256_cmpeq_epi16(high, value));
    _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed)).cast_unsigned()
}

/// Constants for the 36 integers of 12 bits that a line ends with: 18 pairs of three bytes each, in the middle byte of which the
/// first integer has its high bits and the second its low ones.
struct Twelves {
    /// Of each byte, which of a pair's three it is.
    part: [u8; LINE],
    /// The bits of the first integer, and all of the third byte.
    first: [u8; LINE],
    /// The bits of the second integer, and all of the first byte.
    second: [u8; LINE],
    /// The bytes in which integers start.
    starts: u64,
}

static TWELVES: Twelves = {
    let mut twelves = Twelves { part: [0; LINE], first: [0xff; LINE], second: [0xff; LINE], starts: 0 };
    let mut at = 10;
    while at < LINE {
        (twelves.part[at], twelves.part[at + 1], twelves.part[at + 2]) = (0, 1, 2);
        (twelves.first[at + 1], twelves.second[at + 1]) = (0x0f, 0xf0);
        twelves.starts |= 3 << at;
        at += 3;
    }
    twelves
};

/// From the bytes whose bits of the first and of the second integers are as they should be: an integer is, if that holds for the
/// byte in which it starts and for the next.
#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn twelves(first: u64, second: u64) -> u64 {
    _pext_u64(second & (first >> 1), TWELVES.starts)
}

/// Two equal integers of 12 bits side by side.
#[inline]
fn twelve_twice(value: u16) -> i32 {
    i32::from(value & 0xfff) * 0x1001
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn equal_twelves_avx2(line: &[u8; LINE], value: u16) -> u64 {
    let value = _mm256_set1_epi32(twelve_twice(value));
    let half = |at: usize| {
        let load = |bytes: &[u8; LINE]| {
            // SAFETY: (1) `at` is 0 or 32, and both halves of the 64 bytes are behind a reference. (2) The load needs no alignment.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) }
        };
        let differences = _mm256_xor_si256(load(line), _mm256_shuffle_epi8(value, load(&TWELVES.part)));
        let equal = |mask: &[u8; LINE]| {
            let zero = _mm256_cmpeq_epi8(_mm256_and_si256(differences, load(mask)), _mm256_setzero_si256());
            u64::from(_mm256_movemask_epi8(zero).cast_unsigned())
        };
        (equal(&TWELVES.first), equal(&TWELVES.second))
    };
    let (low, high) = (half(0), half(32));
    twelves(low.0 | high.0 << 32, low.1 | high.1 << 32)
}

/// The first bit of each word of a line.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn word_starts() -> __m512i {
    _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448)
}

/// All bits of a line from `bit` on.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn from_bit(bit: u32) -> __m512i {
    // How far into each word: a shift by 64 and more leaves nothing, and words behind are shifted by 0.
    let into = _mm512_sub_epi64(_mm512_set1_epi64(i64::from(bit)), word_starts());
    let into = _mm512_max_epi64(into, _mm512_setzero_si512());
    _mm512_sllv_epi64(_mm512_set1_epi64(-1), into)
}

/// Stores `moved` where `from <= bit < to`.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn store_range(line: &mut [u8; LINE], old: __m512i, moved: __m512i, from: u32, to: u32) {
    /// The truth table of `mask ? moved : old`.
    const CHOOSE: i32 = 0b1100_1010;
    let mask = _mm512_andnot_si512(from_bit(to), from_bit(from));
    let new = _mm512_ternarylogic_epi64::<CHOOSE>(mask, moved, old);
    // SAFETY: (1) the 64 bytes are behind an exclusive reference. (2) The store needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), new) }
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn load(line: &[u8; LINE]) -> __m512i {
    // SAFETY: (1) the 64 bytes are behind a reference. (2) The load needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn move_up_avx512(line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
    let old = load(line);
    let below = _mm512_alignr_epi64::<7>(old, _mm512_setzero_si512());
    let moved = _mm512_shldv_epi64(old, below, _mm512_set1_epi64(i64::from(by)));
    store_range(line, old, moved, from + by, to + by);
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn move_down_avx512(line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
    let old = load(line);
    let above = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), old);
    let moved = _mm512_shrdv_epi64(old, above, _mm512_set1_epi64(i64::from(by)));
    store_range(line, old, moved, from, to);
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn equal_bytes_avx512(line: &[u8; LINE], value: u8) -> u64 {
    _mm512_cmpeq_epi8_mask(load(line), _mm512_set1_epi8(value.cast_signed()))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn equal_halves_avx512(line: &[u8; LINE], value: u16) -> u32 {
    _mm512_cmpeq_epi16_mask(load(line), _mm512_set1_epi16(value.cast_signed()))
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn equal_twelves_avx512(line: &[u8; LINE], value: u16) -> u64 {
    let value = _mm512_shuffle_epi8(_mm512_set1_epi32(twelve_twice(value)), load(&TWELVES.part));
    let differences = _mm512_xor_si512(load(line), value);
    twelves(
        _mm512_testn_epi8_mask(differences, load(&TWELVES.first)),
        _mm512_testn_epi8_mask(differences, load(&TWELVES.second)),
    )
}

/// Constants for counting the ones up to each of 64 bits, as the ones in the bytes before that bit's byte and those in it.
struct Prefixes {
    /// In word j, the bits of the bytes before j.
    before: [u8; LINE],
    /// In each byte of word j, j: to be looked up in two words of their own.
    byte: [u8; LINE],
    /// In byte i of each word, the bits up to i.
    up_to: [u8; LINE],
    /// In each byte of a word, the lowest one of the word.
    lowest: [u8; LINE],
}

static PREFIXES: Prefixes = {
    let mut prefixes = Prefixes { before: [0; LINE], byte: [0; LINE], up_to: [0; LINE], lowest: [0; LINE] };
    let mut at = 0_u8;
    while at < 64 {
        let (i, word, byte) = (at as usize, at / 8, at % 8);
        prefixes.before[i] = if byte < word { 0xff } else { 0 };
        prefixes.byte[i] = word;
        prefixes.up_to[i] = 0xff >> (7 - byte);
        prefixes.lowest[i] = word % 2 * 8;
        at += 1;
    }
    prefixes
};

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn first_fewer_avx512(a: u64, b: u64, from: u32) -> u32 {
    let (a, b) = (_mm512_set1_epi64(a.cast_signed()), _mm512_set1_epi64(b.cast_signed()));
    let [before, byte, up_to, lowest] =
        [&PREFIXES.before, &PREFIXES.byte, &PREFIXES.up_to, &PREFIXES.lowest].map(|bytes| load(bytes));
    // No sum exceeds 64, so that a byte has a sign to spare.
    let ones_before = |word| _mm512_popcnt_epi64(_mm512_and_si512(word, before));
    let ones_in = |word| _mm512_popcnt_epi8(_mm512_and_si512(_mm512_shuffle_epi8(word, byte), up_to));
    let more_before = _mm512_shuffle_epi8(_mm512_sub_epi64(ones_before(a), ones_before(b)), lowest);
    let more = _mm512_add_epi8(more_before, _mm512_sub_epi8(ones_in(a), ones_in(b)));
    (_mm512_movepi8_mask(more) & !low_mask(from)).trailing_zeros()
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx512bitalg,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

impl Select for WideLines {
    #[inline]
    fn select_or_64(self, word: u64, k: u32) -> u32 {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { select_pdep(word, k) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { with_avx2(work) }
    }
}

impl Lines for WideLines {
    const WHOLE: bool = true;

    #[inline]
    fn pair(self, word: u64, k: u32) -> u64 {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { pair_pdep(word, k) }
    }

    #[inline]
    fn equal_bytes(self, line: &[u8; LINE], value: u8) -> u64 {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_bytes_avx2(line, value) }
    }

    #[inline]
    fn equal_halves(self, line: &[u8; LINE], value: u16) -> u32 {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_halves_avx2(line, value) }
    }

    #[inline]
    fn equal_twelves(self, line: &[u8; LINE], value: u16) -> u64 {
        // SAFETY: (1) a `WideLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_twelves_avx2(line, value) }
    }

    #[inline]
    fn move_up(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        // Without shifts across lanes, words are as fast as vectors of 256 bits.
        move_up(line, from, to, by);
    }

    #[inline]
    fn move_down(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        move_down(line, from, to, by);
    }
}

impl Select for WiderLines {
    #[inline]
    fn select_or_64(self, word: u64, k: u32) -> u32 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { select_pdep(word, k) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { with_avx512(work) }
    }
}

impl Lines for WiderLines {
    const WHOLE: bool = true;

    #[inline]
    fn pair(self, word: u64, k: u32) -> u64 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { pair_pdep(word, k) }
    }

    #[inline]
    fn equal_bytes(self, line: &[u8; LINE], value: u8) -> u64 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_bytes_avx512(line, value) }
    }

    #[inline]
    fn equal_halves(self, line: &[u8; LINE], value: u16) -> u32 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_halves_avx512(line, value) }
    }

    #[inline]
    fn equal_twelves(self, line: &[u8; LINE], value: u16) -> u64 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { equal_twelves_avx512(line, value) }
    }

    #[inline]
    fn first_fewer(self, a: u64, b: u64, from: u32) -> u32 {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { first_fewer_avx512(a, b, from) }
    }

    #[inline]
    fn move_up(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { move_up_avx512(line, from, to, by) }
    }

    #[inline]
    fn move_down(self, line: &mut [u8; LINE], from: u32, to: u32, by: u32) {
        // SAFETY: (1) a `WiderLines` is made only by `detect`, after all features of the function were found.
        unsafe { move_down_avx512(line, from, to, by) }
    }
}
