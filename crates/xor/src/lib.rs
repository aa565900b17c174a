#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod graph;

mod thirds;

mod segments;

mod memory;

mod codec;

mod distinct;

mod peel;

mod assign;

mod source;

#[cfg(feature = "spill")]
mod spill;

mod workers;

mod partition;

mod wish;

mod sizing;

mod construction;

mod shard;

mod shards;

mod fuse_sizing;

mod stream;

mod builder;

mod look_ahead;

mod lookup;

mod eight;

mod table;

mod parts;

mod xor;

mod fuse;

pub use builder::{Build, Builder};
pub use fuse::{BinaryFuse, BinaryFuse3, BinaryFuse4};
pub use parts::{FuseParts, PartsError, XorParts};
pub use source::{Source, SourceError};
#[cfg(feature = "spill")]
pub use spill::Spill;
pub use xor::XorFilter;

/// How often a construction is tried before it is given up.
///
/// With the default size an attempt fails in at most one of six cases (xor filters near 3,000 keys), so 32 in a
/// row do not happen. The limit is for explicit loads near the threshold, where most may fail, and above it,
/// where all do and more would not help.
pub const MAX_ATTEMPTS: u32 = 32;
