//! What tests and measurements of filters share: statistics, key generators, reference models and a conformance suite.
#![forbid(unsafe_code)]

pub mod keys;
pub mod statistics;
