#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod probes;

mod layout;

mod batch;

mod bloom;

mod counters;

mod counting;

pub use bloom::Bloom;
pub use counting::CountingBloom;
pub use layout::{Layout, LayoutError};
pub use probes::Probes;
