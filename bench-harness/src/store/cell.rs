//! `cells.csv`: one row per filter × cell × workload, derived from the raw samples.

use serde::{Deserialize, Serialize};

/// The version of the stored results: rises when a column changes its name or meaning.
pub const SCHEMA: u32 = 1;

/// One row. Decimal numbers in the units of the header; empty = not known.
///
/// What belongs to a filter in a cell (sizes, rates, status) is repeated in each of its workload rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// [`SCHEMA`]
    pub schema: u32,
    /// The run's name: its folder.
    pub run: String,
    /// The registered name, lower case: unique within a run.
    pub filter: String,
    /// The name for people.
    pub family: String,
    /// 1 for a foreign crate's filter, 0 for ours.
    pub peer: u8,
    /// The crate's version.
    pub version: String,
    /// Names of the capabilities, separated by spaces.
    pub capabilities: String,
    /// Distinct keys.
    pub n: u64,
    /// The false-positive rate asked for: set on the (n, ε) axis.
    pub fpr_target: Option<f64>,
    /// The load asked for: set on the (n, α, r) axis for table families.
    pub alpha_target: Option<f64>,
    /// The load that was planned.
    pub alpha: Option<f64>,
    /// Remainder bits, bits per cell, or hash functions at the design point: set to the axis' r on the (n, α, r) axis.
    pub r: Option<u32>,
    /// Places a lookup of a member reads, where computed from the digest.
    pub k: Option<u32>,
    /// `uniform`, `sequential`, `strided`, `zipf` or `file:NAME`.
    pub keys: String,
    /// The seed of this cell's keys, queries and filters.
    pub seed: u64,
    /// What was done.
    pub workload: Workload,
    /// How it was called.
    pub mode: Mode,
    /// Share of members among the looked-up keys; lookups only.
    pub hit_ratio: Option<f64>,
    /// Whether the time starts at the key or at the digest.
    pub hashing: Hashing,
    /// Whether there are numbers, and if not, why.
    pub status: Status,
    /// The reason in words, where `status` is not ok.
    pub reason: String,
    /// All bits a lookup can read, over n.
    pub payload_bits_per_key: Option<f64>,
    /// Live heap bits over n.
    pub heap_bits_per_key: Option<f64>,
    /// Highest live heap bits during the build, input not counted, over n.
    pub peak_build_bits_per_key: Option<f64>,
    /// Bytes of the stored form.
    pub file_bytes: Option<u64>,
    /// The design formula's rate: a mean over hash functions.
    pub fpr_predicted: Option<f64>,
    /// The exact rate given the table as built.
    pub fpr_expected: Option<f64>,
    /// Absent keys asked, fixed before the first.
    pub fpr_queries: Option<u64>,
    /// How many were answered "present".
    pub fpr_hits: Option<u64>,
    /// `fpr_hits / fpr_queries`.
    pub fpr: Option<f64>,
    /// Lower end of its exact (Clopper-Pearson) 95 % interval.
    pub fpr_lo95: Option<f64>,
    /// Upper end of it.
    pub fpr_hi95: Option<f64>,
    /// Standard deviations between `fpr_hits` and what `fpr_expected` lets expect.
    pub fpr_z: Option<f64>,
    /// Exact two-sided binomial p-value of `fpr_hits` under `fpr_expected`.
    pub fpr_p: Option<f64>,
    /// Members answered "absent": anything but 0 is a defect.
    pub false_negatives: Option<u64>,
    /// Attempts that the build took.
    pub build_attempts: Option<u32>,
    /// Timed repetitions, each with a fresh table.
    pub repetitions: Option<u32>,
    /// Median over the repetitions.
    pub ns_per_op: Option<f64>,
    /// Lower end of the median's order-statistic interval (of at least 95 % where there are enough repetitions).
    pub ns_per_op_lo95: Option<f64>,
    /// Upper end of it.
    pub ns_per_op_hi95: Option<f64>,
    /// The fastest repetition.
    pub ns_per_op_min: Option<f64>,
    /// Median over the repetitions of time over the time of one independent random cache-line read in a table of the same
    /// size in the same repetition; empty for other workloads than lookups, and where the distance between the quartiles of
    /// that floor's times is more than 10 % of their median.
    pub floor_multiple: Option<f64>,
    /// The same over as many independent reads as a lookup of a member needs, the column `k`; empty for lookups of absent
    /// keys too, and where `k` is.
    #[serde(default)]
    pub floor_k_multiple: Option<f64>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// All keys at once into a new filter, allocation included; per key.
    Build,
    /// One by one into an empty filter of the planned size, up to n; per key.
    Insert,
    /// Per query.
    Lookup,
    /// Members, in random order, a tenth of n; per key.
    Remove,
}

/// How it was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A plain loop of single calls.
    Single,
    /// One call for many.
    Batch,
    /// Each call depends on the answer of the last: latency.
    Chain,
}

/// Where the time starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hashing {
    /// At the digest.
    Digest,
    /// At the key.
    Included,
}

/// Whether a filter has numbers in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has.
    Ok,
    /// The family does not have the operation.
    Unsupported,
    /// The family cannot plan it.
    Infeasible,
    /// The construction gave up.
    BuildFailed,
    /// It lost a key, or a figure of it is wrong: a defect, so no times.
    VerifyFailed,
    /// The deadline passed.
    Timeout,
    /// The memory limit was reached.
    OutOfMemory,
}

impl Status {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unsupported => "unsupported",
            Self::Infeasible => "infeasible",
            Self::BuildFailed => "build failed",
            Self::VerifyFailed => "verification failed",
            Self::Timeout => "timeout",
            Self::OutOfMemory => "out of memory",
        }
    }
}
