//! `samples.jsonl`: one JSON object a line, in the order in which things happened. Everything else is derived from it.

use serde::{Deserialize, Serialize};

use super::cell::{Hashing, Mode, Status, Workload};
use super::run::{FilterInfo, KeyInfo};
use super::study::Record;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Sample {
    /// The first line: what all others belong to.
    Run(Header),
    /// A group begins.
    GroupStart(GroupStart),
    /// A filter was built and verified, or not.
    Verify(Verify),
    /// A workload of a filter was timed.
    Time(Time),
    /// A filter fell out while it was timed.
    Fault(Fault),
    /// A floor was timed.
    Floor(Floor),
    /// The clock that a group was timed with.
    Clock(ClockCheck),
    /// A piece of work that is always the same was timed beside the filters.
    Sentinel(Sentinel),
    /// How busy the machine was before and after a group.
    Environment(Environment),
    /// The group is complete: a run that was interrupted goes on after the last such line.
    GroupDone(GroupDone),
    /// A filter at a point of a study, complete in itself.
    Study(Record),
}

/// What decides the results of a run, next to the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`](super::cell::SCHEMA)
    pub schema: u32,
    /// The run's name: its folder.
    pub run: String,
    /// The sweep as TOML, with what the command line changed.
    pub sweep_toml: String,
    /// The seed that everything derives from.
    pub seed: u64,
    /// The keys.
    pub keys: KeyInfo,
    /// The path of the key file, as it was given.
    pub key_file: Option<String>,
    /// A hash of all keys in order, so that another file is not taken for the same.
    pub key_hash: u64,
    /// The filters, in the order of reports.
    pub filters: Vec<FilterInfo>,
}

/// Where on the axes a group lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "axis", rename_all = "snake_case")]
pub enum Point {
    /// Every filter at its best parameters for a rate.
    Rate {
        /// Keys.
        n: u64,
        /// False-positive rate asked for.
        fpr: f64,
    },
    /// Tables at a load and a width.
    Load {
        /// Keys.
        n: u64,
        /// Records over slots.
        alpha: f64,
        /// Remainder bits.
        r: u32,
    },
}

impl Point {
    /// The number of keys.
    pub const fn n(&self) -> u64 {
        match *self {
            Self::Rate { n, .. } | Self::Load { n, .. } => n,
        }
    }
}

/// See [`Sample::GroupStart`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupStart {
    /// Its number, from 0.
    pub group: usize,
    /// Where it lies.
    pub point: Point,
    /// The seed of its keys, queries and filters.
    pub seed: u64,
    /// The filters that take part.
    pub filters: Vec<String>,
    /// What is timed.
    pub works: Vec<Work>,
    /// Records inserted, where they are more than the distinct keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// What is timed, of a filter in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// What is done.
    pub workload: Workload,
    /// How it is called.
    pub mode: Mode,
    /// Share of members; lookups only.
    pub hit_ratio: Option<f64>,
    /// Where the time starts.
    pub hashing: Hashing,
}

/// See [`Sample::Verify`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verify {
    /// The group.
    pub group: usize,
    /// The filter.
    pub filter: String,
    /// Whether it passed.
    pub status: Status,
    /// Why not.
    pub reason: String,
    /// What was found out, as far as it came.
    pub facts: Facts,
}

/// What a verification finds out about a filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Load planned.
    pub alpha: Option<f64>,
    /// Width planned.
    pub r: Option<u32>,
    /// Places a member's lookup reads.
    pub k: Option<u32>,
    /// Bytes of the table planned.
    pub table_bytes: Option<u64>,
    /// Rate predicted.
    pub fpr_predicted: Option<f64>,
    /// Attempts of the build.
    pub build_attempts: Option<u32>,
    /// What the filter says a lookup can read.
    pub payload_bits: Option<u64>,
    /// Live bytes on the heap after the build, as the allocator counted them.
    pub heap_bytes: Option<u64>,
    /// Most bytes on the heap during the build.
    pub peak_bytes: Option<u64>,
    /// Exact rate of the table as built.
    pub fpr_expected: Option<f64>,
    /// Members answered "absent", over all phases.
    pub false_negatives: Option<u64>,
    /// Absent keys asked.
    pub fpr_queries: Option<u64>,
    /// Answered "present".
    pub fpr_hits: Option<u64>,
    /// Other absent keys asked, because the first answers contradicted the expected rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fpr_queries_again: Option<u64>,
    /// Answered "present": a filter that this contradicts as well has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fpr_hits_again: Option<u64>,
    /// Bytes of the stored form.
    pub file_bytes: Option<u64>,
    /// What it refused to do, as it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// What other seeds gave, in verification cells: other keys, another table, other queries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fpr_seeds: Vec<SeedRate>,
}

/// An operation that a family has and a filter refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// What was to be done.
    pub workload: Workload,
    /// Why it was not.
    pub reason: String,
}

/// The false positives of one table under one seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRate {
    /// The seed of its keys, table and queries.
    pub seed: u64,
    /// Exact rate of the table as built.
    pub expected: f64,
    /// Absent keys asked.
    pub queries: u64,
    /// Answered "present".
    pub hits: u64,
}

/// See [`Sample::Time`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The group.
    pub group: usize,
    /// The filter.
    pub filter: String,
    /// Whether this is the second measurement of the same filter, for the noise floor.
    pub twin: bool,
    /// What was timed.
    pub work: Work,
    /// Nanoseconds for one operation, by repetition.
    pub ns: Vec<f64>,
}

/// See [`Sample::Fault`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// The group.
    pub group: usize,
    /// The filter.
    pub filter: String,
    /// What became of it.
    pub status: Status,
    /// Why.
    pub reason: String,
}

/// See [`Sample::Floor`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The group.
    pub group: usize,
    /// Bytes of the table read: filters whose table is within 5 % of it share the floor.
    pub table_bytes: u64,
    /// The filters that do.
    pub filters: Vec<String>,
    /// How it is read.
    #[serde(default)]
    pub access: Access,
    /// Cache lines read for one operation.
    pub reads: u32,
    /// Nanoseconds for one operation in the fastest coding, by repetition; fewer than repetitions where there was no memory
    /// for the table.
    pub ns: Vec<f64>,
}

/// How a floor reads its table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Independent random cache lines.
    #[default]
    Random,
    /// Random cache lines of which each can be asked for only when the one before it is there.
    Chain,
    /// One cache line after the other.
    Stream,
}

/// See [`Sample::Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockCheck {
    /// The group.
    pub group: usize,
    /// The smallest difference of two readings that is not 0, in nanoseconds.
    pub resolution_ns: f64,
    /// What one reading costs, in nanoseconds.
    pub cost_ns: f64,
    /// The core that the timing was kept on; `None` where the system does not allow it.
    pub core: Option<u32>,
}

/// See [`Sample::Sentinel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// The group.
    pub group: usize,
    /// Nanoseconds for a step of a chain of multiplications, by repetition: the processor's frequency, and what it is shared with.
    pub compute_ns: Vec<f64>,
    /// Nanoseconds for a random read of a table of fixed size, by repetition: caches and memory, and what they are shared with.
    pub memory_ns: Vec<f64>,
}

/// See [`Sample::Environment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The group.
    pub group: usize,
    /// Before its first measurement.
    pub before: Surroundings,
    /// After its last.
    pub after: Surroundings,
}

/// What else goes on in the machine, as far as the system tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Load average over a minute.
    pub load_average: Option<f64>,
    /// Ticks of all processors since the machine started, idle ones included.
    pub ticks: Option<u64>,
    /// Those of them that a hypervisor took for others.
    pub stolen_ticks: Option<u64>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Transparent huge pages: the kernel's setting.
    pub huge_pages: Option<String>,
    /// Bytes that are in huge pages.
    pub huge_bytes: Option<u64>,
}

/// See [`Sample::GroupDone`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDone {
    /// The group.
    pub group: usize,
    /// How long it took.
    pub seconds: f64,
}
