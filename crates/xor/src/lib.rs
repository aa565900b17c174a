#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod graph;

mod memory;

mod look_ahead;

mod peel;

mod assign;

mod build;

mod sizing;

mod xor;

pub use build::MAX_ATTEMPTS;
pub use xor::{PartsError, XorFilter, XorParts};
