//! A harness that sweeps filter families over n, load and width, verifies what it measures, and reports it.
//!
//! Reading order: [`cli`] is the program; [`sweep`] plans groups of filters and runs each in child processes; [`measure`] is
//! what happens in them; [`store`] keeps the samples and derives tables from them; [`report`] and [`summary`] show those;
//! [`compare`] holds two runs against each other, and [`ab`] two builds.

#![forbid(unsafe_code)]

pub mod ab;
pub mod cli;
pub mod compare;

mod list;
pub mod measure;
pub mod numbers;
#[cfg(feature = "peers")]
pub mod peers;
pub mod registry;
pub mod report;
pub mod store;
pub mod studies;
pub mod summary;
pub mod sweep;
