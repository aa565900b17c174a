//! The hot accesses as plain functions, so that their machine code can be read:
//!
//! ```text
//! cargo rustc --release -p amq-bits --example assembly -- --emit asm -C lto=off -C debuginfo=0
//! ```
//!
//! and then look for the labels `packed_get` and so on in `target/release/examples/assembly-*.s`.

use std::hint::black_box;

use amq_bits::rank_select::{Job, Select, dispatch, rank};
use amq_bits::word::load_u64;
use amq_bits::{Packed, Portable};

/// Width known at run time.
#[inline(never)]
fn packed_get(layout: Packed, bytes: &[u8], i: u64) -> u64 {
    layout.get(bytes, i)
}

/// Width known to the compiler.
#[inline(never)]
fn packed_get_13(bytes: &[u8], i: u64) -> u64 {
    const LAYOUT: Packed = Packed::new(13).unwrap();
    LAYOUT.get(bytes, i)
}

#[inline(never)]
fn packed_set(layout: Packed, bytes: &mut [u8], i: u64, value: u64) {
    layout.set(bytes, i, value);
}

#[inline(never)]
fn word_load(bytes: &[u8], offset: usize) -> u64 {
    load_u64(bytes, offset)
}

/// In a loop, the mask and the limit of the offsets are computed once.
#[inline(never)]
fn packed_sum(layout: Packed, bytes: &[u8], indices: &[u64]) -> u64 {
    indices.iter().fold(0, |sum, &i| sum ^ layout.get(bytes, i))
}

#[inline(never)]
fn portable_select(word: u64, k: u32) -> u32 {
    Portable.select_or_64(word, k)
}

struct SumOfSelects<'a>(&'a [u64]);

impl Job for SumOfSelects<'_> {
    type Output = u64;

    #[inline]
    fn run<S: Select>(self, select: S) -> u64 {
        self.0.iter().map(|&word| u64::from(select.select_or_64(word, rank(word, 32)))).sum()
    }
}

/// Holds a loop with one PDEP, one TZCNT and one POPCNT a word, and no call.
#[inline(never)]
fn dispatched_selects(words: &[u64]) -> u64 {
    dispatch(SumOfSelects(words))
}

fn main() {
    let layout = black_box(Packed::new(13).expect("1 to 57"));
    let mut bytes = [0; 64];
    let bytes = black_box(&mut bytes[..]);
    packed_set(layout, bytes, black_box(5), black_box(77));
    assert_eq!(packed_get(layout, bytes, black_box(5)), 77);
    assert_eq!(packed_get_13(bytes, black_box(5)), 77);
    assert_eq!(packed_sum(layout, bytes, black_box(&[4, 5])), 77);
    assert_eq!(word_load(bytes, black_box(8)) >> 1, 77);
    assert_eq!(portable_select(black_box(0b1010), black_box(1)), 3);
    assert_eq!(dispatched_selects(black_box(&[0b1010, 3 << 32])), 64 + 32);
}
