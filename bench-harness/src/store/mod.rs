//! Stored results: `run.json` (provenance), `samples.jsonl` (every raw sample, append-only: the one source of truth) and, derived
//! from it, `cells.csv`.

pub mod cell;
pub mod derive;
pub mod folder;
pub mod machine;
pub mod run;
pub mod sample;
pub mod study;
