#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod reduced;

mod width;

mod geometry;

mod layout;

mod ranges;

mod workers;

mod hashes;

mod band;

mod bump;

mod memory;

mod substitute;

mod build;

mod sizing;

mod builder;

mod parts;

mod probe;

mod batch;

mod ribbon;

pub use build::MAX_ATTEMPTS;
pub use builder::{Build, Builder};
pub use parts::{PartsError, RibbonParts};
pub use ribbon::{BumpedRibbon, RibbonFilter, WideRibbonFilter};
pub use width::{W64, W128, Width};
