//! `cells.csv`: one row per filter × cell × workload, derived from the raw samples.

use amq::Capability;
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
    /// `uniform`, `sequential`, `strided`, `bit-reversed`, `zipf` or `file:NAME`.
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
    /// Records inserted: `n`, or more where keys repeat (`zipf`). Loads and times are over records, bits over `n`.
    #[serde(default)]
    pub records: Option<u64>,
    /// As `floor_multiple`, but over reads of which none can start before the one before it has ended; chain mode only.
    #[serde(default)]
    pub floor_chain_multiple: Option<f64>,
    /// Median over the repetitions of the time for all records over that of reading as many bytes as the planned table has,
    /// one after the other; merge, grow and iterate only.
    #[serde(default)]
    pub floor_stream_multiple: Option<f64>,
    /// Randomised lower-tail p-value of `fpr_hits` under `fpr_expected`: P(X < hits) + v P(X = hits) with a v drawn from
    /// [0, 1) under the run's seed. Uniform on [0, 1] for a filter that keeps its expectation, however few the hits.
    #[serde(default)]
    pub fpr_p_randomised: Option<f64>,
    /// Independent seeds (keys, table and queries) whose rates were measured: 1, or more in verification cells. The other
    /// columns are those of the first.
    #[serde(default)]
    pub fpr_seeds: Option<u32>,
    /// Mean of `fpr_expected` over these seeds.
    #[serde(default)]
    pub fpr_expected_mean: Option<f64>,
    /// Standard errors between `fpr_expected_mean` and `fpr_predicted`; empty below 3 seeds and where the expectation does not
    /// depend on the seed.
    #[serde(default)]
    pub fpr_predicted_z: Option<f64>,
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
    /// At n keys, a tenth of them are replaced by others: one removal and one insertion each, in turn or all in two batches;
    /// per replaced key.
    Churn,
    /// Two filters of half the keys each make one of all, by the multiset sum where the family has it, by the union elsewhere;
    /// per key.
    Merge,
    /// A filter of all keys gets twice the slots; per key.
    Grow,
    /// Over every stored fingerprint; per key.
    Iterate,
}

impl Workload {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Build,
        Self::Insert,
        Self::Lookup,
        Self::Remove,
        Self::Churn,
        Self::Merge,
        Self::Grow,
        Self::Iterate,
    ];

    /// The name in `cells.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Insert => "insert",
            Self::Lookup => "lookup",
            Self::Remove => "remove",
            Self::Churn => "churn",
            Self::Merge => "merge",
            Self::Grow => "grow",
            Self::Iterate => "iterate",
        }
    }

    /// Whether it is a pass over whole tables: what is held against a pass over bare memory.
    pub const fn is_pass(self) -> bool {
        matches!(self, Self::Merge | Self::Grow | Self::Iterate)
    }

    /// What a family has to be able to do for it: all of one of these sets.
    const fn needs(self) -> &'static [&'static [Capability]] {
        match self {
            Self::Build | Self::Lookup => &[&[]],
            Self::Insert => &[&[Capability::Insert]],
            // What is removed was inserted one by one before.
            Self::Remove | Self::Churn => &[&[Capability::Insert, Capability::Remove]],
            Self::Merge => &[&[Capability::MultisetAlgebra], &[Capability::Union]],
            Self::Grow => &[&[Capability::Grow]],
            Self::Iterate => &[&[Capability::Fingerprints]],
        }
    }

    /// What a family that `can` do some things lacks for it, in words; `None` if nothing.
    pub fn lacks(self, can: impl Fn(Capability) -> bool) -> Option<String> {
        let names = |set: &[Capability]| {
            let missing = set.iter().filter(|&&needed| !can(needed));
            missing.map(|needed| needed.name()).collect::<Vec<_>>().join(" and no ")
        };
        let missing: Vec<_> = self.needs().iter().map(|set| names(set)).collect();
        (!missing.iter().any(String::is_empty))
            .then(|| format!("the family has no {}", missing.join(" and no ")))
    }
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
