//! What can go wrong, as types.

use core::{error::Error, fmt};

use amq_bits::AllocError;

/// A [`Spec`](crate::Spec) that a family cannot plan.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// The false-positive rate is not in (0, 1).
    Fpr {
        /// The rate asked for.
        fpr: f64,
    },
    /// The family cannot reach so low a rate at this capacity.
    FprTooLow {
        /// The rate asked for.
        fpr: f64,
        /// The lowest that it can.
        lowest: f64,
    },
    /// The load is out of the family's range.
    Alpha {
        /// The load asked for.
        alpha: f64,
        /// The lower end.
        lowest: f64,
        /// The upper end.
        highest: f64,
    },
    /// The width is out of the family's range.
    Remainder {
        /// The width asked for.
        r: u32,
        /// The lowest, included.
        lowest: u32,
        /// The highest, included.
        highest: u32,
    },
    /// The number of bits per key is out of the family's range.
    BitsPerKey {
        /// The bits asked for.
        bits: f64,
        /// The lower end.
        lowest: f64,
        /// The upper end.
        highest: f64,
    },
    /// The table would have more places or bytes than can be addressed.
    TooLarge {
        /// The capacity asked for.
        capacity: u64,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fpr { fpr } => {
                write!(f, "the false-positive rate {fpr:?} is not between 0 and 1, both excluded")
            }
            Self::FprTooLow { fpr, lowest } => {
                write!(
                    f,
                    "the false-positive rate {fpr:?} is too low for this family, the lowest is {lowest:?}"
                )
            }
            Self::Alpha { alpha, lowest, highest } => {
                write!(f, "the load alpha = {alpha:?} is not above {lowest} and at most {highest}")
            }
            Self::Remainder { r, lowest, highest } => write!(f, "r = {r} is not in {lowest} to {highest}"),
            Self::BitsPerKey { bits, lowest, highest } => {
                write!(f, "{bits:?} bits per key are not above {lowest} and at most {highest}")
            }
            Self::TooLarge { capacity } => {
                write!(f, "a table for {capacity} keys would be larger than can be addressed")
            }
        }
    }
}

impl Error for SpecError {}

/// A filter that could not be built. Nothing is left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The spec cannot be planned.
    Spec(SpecError),
    /// The allocator refused.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The build needs more memory than it may use.
    MemoryLimit {
        /// Bytes that it could be done with, the table included.
        needed: u64,
        /// Bytes that it may use.
        limit: u64,
    },
    /// More records than the planned table can hold.
    Full {
        /// Records given.
        records: u64,
        /// Records that fit.
        limit: u64,
    },
    /// A randomised construction failed as often as it may be tried.
    Exhausted {
        /// Keys per cell that was tried.
        alpha: f64,
        /// The load up to which large tables of this kind can be built.
        threshold: f64,
        /// Attempts made.
        attempts: u32,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "the allocator refused {bytes} bytes"),
            Self::MemoryLimit { needed, limit } => {
                write!(f, "the build needs {needed} bytes and may use {limit}")
            }
            Self::Full { records, limit } => {
                write!(f, "{records} records do not fit, the planned table holds {limit}")
            }
            Self::Exhausted { alpha, threshold, attempts } => write!(
                f,
                "construction failed in {attempts} attempts at alpha = {alpha:.4}, large tables can be built up to {threshold}"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Spec(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SpecError> for BuildError {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<AllocError> for BuildError {
    fn from(error: AllocError) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

/// A record, or a batch of them, that was not inserted. The filter is byte for byte as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// The structure cannot take so many more.
    Full {
        /// Records that were to be inserted.
        records: u64,
        /// Records stored.
        len: u64,
        /// Records that can be stored at most.
        limit: u64,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { records, len, limit } => {
                write!(f, "no place for {records} more: {len} of at most {limit} records are stored")
            }
        }
    }
}

impl Error for InsertError {}

/// Two filters that do not fit together, or a result that cannot be made. The operands are as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// Keys were digested under different seeds.
    Seed {
        /// Of the left operand.
        left: u64,
        /// Of the right operand.
        right: u64,
    },
    /// Different numbers of bits, counters or fingerprints, in a family where they have to agree.
    Size {
        /// Of the left operand.
        left: u128,
        /// Of the right operand.
        right: u128,
    },
    /// Different numbers of hash functions.
    HashFunctions {
        /// Of the left operand.
        left: u32,
        /// Of the right operand.
        right: u32,
    },
    /// The result has more records than a table over these fingerprints can take: no remainder bit is left to give.
    RemainderExhausted {
        /// Records of the result.
        records: u64,
    },
    /// The allocator refused the result.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// No operands at all.
    Empty,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed { left, right } => write!(f, "the seeds differ: {left} and {right}"),
            Self::Size { left, right } => write!(f, "the sizes differ: {left} and {right}"),
            Self::HashFunctions { left, right } => {
                write!(f, "the numbers of hash functions differ: {left} and {right}")
            }
            Self::RemainderExhausted { records } => {
                write!(f, "no remainder bit is left for a table of {records} records")
            }
            Self::OutOfMemory { bytes } => write!(f, "the allocator refused {bytes} bytes"),
            Self::Empty => f.write_str("there is nothing to merge"),
        }
    }
}

impl Error for MergeError {}

impl From<AllocError> for MergeError {
    fn from(error: AllocError) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

/// A table that could not change its size. The filter is byte for byte as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// Growing takes a bit from the remainder, and one is left.
    RemainderExhausted,
    /// The remainder is as wide as this layout can store.
    RemainderFull {
        /// The widest.
        highest: u32,
    },
    /// Shrinking halves the slots, and their number is odd.
    OddSlots {
        /// Slots.
        slots: u64,
    },
    /// Shrinking halves the slots, and there are no fewer than these.
    Smallest {
        /// Slots.
        slots: u64,
    },
    /// The records do not fit into half the slots.
    Full {
        /// Records stored.
        records: u64,
        /// Records that half the slots hold.
        limit: u64,
    },
    /// The table would be larger than can be addressed.
    TooLarge,
    /// The allocator refused.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemainderExhausted => f.write_str("no remainder bit is left to grow by"),
            Self::RemainderFull { highest } => {
                write!(f, "the remainder already has {highest} bits, the most there are")
            }
            Self::OddSlots { slots } => write!(f, "{slots} slots cannot be halved"),
            Self::Smallest { slots } => write!(f, "{slots} slots are the fewest that there are"),
            Self::Full { records, limit } => {
                write!(f, "{records} records do not fit, half the slots hold {limit}")
            }
            Self::TooLarge => f.write_str("the table would be larger than can be addressed"),
            Self::OutOfMemory { bytes } => write!(f, "the allocator refused {bytes} bytes"),
        }
    }
}

impl Error for ResizeError {}

impl From<AllocError> for ResizeError {
    fn from(error: AllocError) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

/// A table that contradicts itself: a defect of the code or of the bytes it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvariantError {
    /// What does not hold.
    pub what: &'static str,
    /// The slot, cell or byte where.
    pub at: u64,
}

impl fmt::Display for InvariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.at, self.what)
    }
}

impl Error for InvariantError {}
