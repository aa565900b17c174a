#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
pub mod store;

pub mod table;

pub mod atomic;

pub mod word;

pub mod packed;

pub mod rank_select;

pub mod block;

pub mod probe;

pub mod line;

pub mod columns;

pub mod lanes;

pub mod cells;

pub mod arch;

pub mod prefetch;

#[cfg(feature = "counting-allocator")]
pub mod counting;

pub use packed::Packed;
pub use rank_select::{Portable, Select};
pub use store::{Store, StoreMut};
pub use table::{AllocError, Table};

/// How the crate's property tests run: `cases` random inputs, a handful where each instruction is interpreted.
#[cfg(test)]
fn cases(cases: u32) -> proptest::test_runner::Config {
    let cases = if cfg!(miri) { 4 } else { cases };
    // No file of failed inputs: a failing test prints its shrunken input, which belongs in a test of its own.
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
