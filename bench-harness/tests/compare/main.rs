//! Comparisons of two runs: of made-up samples, and from the command line.

#[path = "../common/mod.rs"]
mod common;

mod command;
mod synthetic;
mod verdicts;
