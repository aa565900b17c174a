#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod probes;

mod layout;

mod batch;

mod bloom;

pub use bloom::Bloom;
pub use layout::{Layout, LayoutError};
pub use probes::Probes;
