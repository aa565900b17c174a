#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod conformance;
pub mod exact;
pub mod keys;
pub mod model;
pub mod stateful;
pub mod statistics;

/// The project's README: its examples compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
