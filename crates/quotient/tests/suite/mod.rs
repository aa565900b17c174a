//! What holds for every layout: one suite, compiled once for each, which calls its filter `Tested`.

pub(crate) mod common;

mod algebra;
mod examples;
mod large;
mod laws;
mod long_run;
mod operations;
mod parts;
mod plan;
mod resize;
mod stateful;
