//! `run.json`: where the numbers of a run come from.

use std::collections::BTreeMap;

use amq::{Descriptor, Kind};
use serde::{Deserialize, Serialize};

use crate::registry;

/// Provenance of a run: what a reader needs to judge its numbers and to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`SCHEMA`](super::cell::SCHEMA)
    pub schema: u32,
    /// The folder's name: UTC time and revision.
    pub run: String,
    /// When it started, RFC 3339, UTC.
    pub started: String,
    /// When it ended; `None` while it runs or where it was interrupted.
    pub finished: Option<String>,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// The sweep's name.
    pub sweep: String,
    /// The sweep as it was carried out, as TOML.
    pub sweep_toml: String,
    /// The seed that everything derives from.
    pub seed: u64,
    /// Repetitions of every timed workload.
    pub repetitions: u32,
    /// Git revision of the program's sources; empty if unknown.
    pub revision: String,
    /// Whether the sources had uncommitted changes; `None` if unknown.
    pub dirty: Option<bool>,
    /// The machine.
    pub machine: Machine,
    /// The compiler and its flags.
    pub compiler: Compiler,
    /// Versions of the dependencies that decide numbers.
    pub dependencies: BTreeMap<String, String>,
    /// The keys.
    pub keys: KeyInfo,
    /// The filters that took part.
    pub filters: Vec<FilterInfo>,
    /// By workload and mode (`lookup single`), what two measurements of the same filter in one group differ by: see
    /// [`NoiseFloor`]. Runs of earlier versions have it by workload alone.
    pub noise: BTreeMap<String, NoiseFloor>,
    /// How far the sentinel moved: see [`Drift`].
    #[serde(default)]
    pub drift: Option<Drift>,
    /// What makes the machine noisy, with what to do about each; empty where nothing does. `None` in runs of earlier versions
    /// and in those that have no group yet.
    #[serde(default)]
    pub noisy: Option<Vec<Disturbance>>,
    /// Whether the false positives of all cells together are as expected: see [`Uniformity`].
    #[serde(default)]
    pub uniformity: Option<Uniformity>,
}

/// How far a piece of work that is always the same moved between the groups of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Groups in which it was timed.
    pub groups: u32,
    /// Of the chain of multiplications: the largest group's median over the smallest's, minus one.
    pub compute: f64,
    /// The same of the random reads.
    pub memory: f64,
}

/// One thing that makes the times of a run doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// What was seen, with its figure and its limit.
    pub seen: String,
    /// What to do about it.
    pub remedy: String,
}

/// The randomised p-values of all cells whose filters tell what they expect, tested against the uniform distribution
/// (Kolmogorov and Smirnov).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uniformity {
    /// How many p-values: one for each table that expects at least one hit, whichever of its seeds.
    pub cells: u32,
    /// The largest distance between their distribution and the uniform one.
    pub distance: f64,
    /// The probability of at least this distance.
    pub p: f64,
}

/// The machine, as the operating system describes it; what it does not tell is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Logical cores available.
    pub cores: u32,
    /// Data caches of the first core.
    pub caches: Vec<Cache>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Operating system and kernel.
    pub os: String,
    /// Architecture.
    pub arch: String,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Transparent huge pages: the kernel's setting.
    pub huge_pages: Option<String>,
    /// Load average over a minute, at the start.
    pub load_average: Option<f64>,
    /// Share of time stolen by the hypervisor during the run.
    pub steal: Option<f64>,
    /// The clock's resolution and its cost for one reading, nanoseconds.
    pub clock_resolution_ns: f64,
    /// See above.
    pub clock_cost_ns: f64,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Bytes.
    pub bytes: u64,
}

/// The compiler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compiler {
    /// `rustc --version`.
    pub rustc: String,
    /// Target triple.
    pub target: String,
    /// Profile and `RUSTFLAGS`.
    pub flags: String,
}

/// The keys of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyInfo {
    /// As in the `keys` column.
    pub source: String,
    /// Keys read, duplicates included (file) or as many as the largest cell (generated).
    pub read: u64,
    /// Distinct keys.
    pub distinct: u64,
    /// Duplicates removed.
    pub duplicates: u64,
    /// Sum of the lengths of the distinct keys in bytes (file).
    pub bytes: u64,
}

/// A filter that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterInfo {
    /// As in the `filter` column.
    pub name: String,
    /// As in the `family` column.
    pub title: String,
    /// `table`, `bloom` or `static`.
    pub kind: String,
    /// The foreign crate, if it is one.
    pub peer: Option<String>,
    /// The crate's version.
    pub version: String,
    /// Names of its capabilities.
    pub capabilities: Vec<String>,
    /// Lowest and highest r.
    pub r: (u32, u32),
}

/// How far two measurements of one and the same filter (an A/A pair: two tables, one group, one worker) lie apart. A
/// difference between two filters that is not larger is not called one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Groups with such a pair. (The lookups of one pair at several hit ratios are no independent pairs.)
    pub pairs: u32,
    /// Median of |ln(ratio of medians)|: the same whichever of the two is first.
    pub median: f64,
    /// Its 95th percentile (the largest, if there are fewer than 20 values).
    pub p95: f64,
}

impl FilterInfo {
    /// A descriptor as it is stored with the results.
    pub fn of(descriptor: &Descriptor) -> Self {
        Self {
            name: descriptor.name.into(),
            title: descriptor.title.into(),
            kind: kind_name(descriptor.kind).into(),
            peer: descriptor.peer.map(|peer| peer.krate.into()),
            version: registry::version(descriptor).into(),
            capabilities: descriptor.capabilities.iter().map(|capability| capability.name().into()).collect(),
            r: descriptor.r,
        }
    }
}

/// The name of a kind in tables and files.
pub const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Table => "table",
        Kind::Bloom => "bloom",
        Kind::Static => "static",
    }
}
