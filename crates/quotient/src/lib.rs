#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod algebra;
mod filter;
mod fingerprint;
mod layout;
mod resize;
mod sizing;
mod sorted;
mod three_bit;

pub use filter::{Filter, PartsError, QuotientFilter, Records};
pub use fingerprint::Geometry;
pub use layout::{Layout, OutOfMemory};
pub use three_bit::{SlotView, ThreeBit};
