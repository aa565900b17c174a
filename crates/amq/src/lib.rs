#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod digest;
mod error;
mod filter;
mod key;
mod registry;
mod spec;
pub mod theory;

pub use digest::{Digest, attempt_seed};
pub use error::{BuildError, InsertError, InvariantError, MergeError, ResizeError, SpecError};
pub use filter::{
    Amq, Count, Family, Fingerprints, Grow, Histogram, Insert, Intersect, MultisetAlgebra, Remove,
    SharedInsert, Shrink, Stats, Union, assert_same_length,
};
pub use key::{Hashed, Key};
pub use registry::{Build, Capability, Capable, Combined, Descriptor, Erased, Kind, Peer, Visitor};
pub use spec::{Plan, Space, Spec, Target};
