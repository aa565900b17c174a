//! The operations that the report speaks of, and what each asks of the memory system at least.

use crate::store::cell::{Cell, Hashing, Mode, Workload};

/// A timed operation of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Build,
    Insert,
    Hit,
    Miss,
    MissBatch,
    MissChain,
    /// Half of the keys are members.
    Half,
    /// The same keys, and the time starts at them.
    HalfFromKey,
    Remove,
    /// Two filters of half the keys become one.
    Merge,
    /// Twice the slots.
    Grow,
    /// Over all fingerprints.
    Iterate,
}

impl Operation {
    /// Whether a row is of this operation.
    pub(super) fn matches(self, row: &Cell) -> bool {
        let lookup = |mode, ratio: f64| {
            row.workload == Workload::Lookup
                && row.mode == mode
                && row.hit_ratio.is_some_and(|hits| (hits - ratio).abs() < 1e-9)
        };
        let hashing = if self == Self::HalfFromKey { Hashing::Included } else { Hashing::Digest };
        row.hashing == hashing
            && match self {
                Self::Build => row.workload == Workload::Build,
                Self::Insert => row.workload == Workload::Insert && row.mode == Mode::Single,
                Self::Hit => lookup(Mode::Single, 1.0),
                Self::Miss => lookup(Mode::Single, 0.0),
                Self::MissBatch => lookup(Mode::Batch, 0.0),
                Self::MissChain => lookup(Mode::Chain, 0.0),
                Self::Half | Self::HalfFromKey => lookup(Mode::Single, 0.5),
                Self::Remove => row.workload == Workload::Remove && row.mode == Mode::Single,
                Self::Merge => row.workload == Workload::Merge,
                Self::Grow => row.workload == Workload::Grow,
                Self::Iterate => row.workload == Workload::Iterate,
            }
    }

    /// As in the texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Insert => "insert",
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::MissBatch => "batched miss",
            Self::MissChain => "chained miss",
            Self::Half => "lookup, half hits",
            Self::HalfFromKey => "lookup from the key, half hits",
            Self::Remove => "remove",
            Self::Merge => "merge",
            Self::Grow => "grow",
            Self::Iterate => "iterate",
        }
    }

    /// Its workload and mode.
    pub(super) fn noise_key(self) -> (Workload, Mode) {
        match self {
            Self::Build => (Workload::Build, Mode::Batch),
            Self::Insert => (Workload::Insert, Mode::Single),
            Self::Remove => (Workload::Remove, Mode::Single),
            Self::Merge => (Workload::Merge, Mode::Batch),
            Self::Grow => (Workload::Grow, Mode::Batch),
            Self::Iterate => (Workload::Iterate, Mode::Batch),
            Self::MissBatch => (Workload::Lookup, Mode::Batch),
            Self::MissChain => (Workload::Lookup, Mode::Chain),
            Self::Hit | Self::Miss | Self::Half | Self::HalfFromKey => (Workload::Lookup, Mode::Single),
        }
    }
}

/// What an operation asks of the memory system at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Floor {
    /// One random cache-line read.
    Read,
    /// As many independent ones as a member's lookup needs.
    Reads,
    /// One read of which the address comes from the one before.
    Chain,
    /// The bytes of the table, one after the other.
    Stream,
}
