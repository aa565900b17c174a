//! What a filter consists of besides its table.

use core::fmt;

use crate::MAX_ATTEMPTS;

/// The numbers that, with the table, make a [`XorFilter`](crate::XorFilter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XorParts {
    /// Cells of each third, at least 1.
    pub cells_per_third: u64,
    /// Bits of a cell, 1 to 32.
    pub r: u32,
    /// The seed of the spec.
    pub seed: u64,
    /// Attempts that the build took, 1 to [`MAX_ATTEMPTS`]; they decide the hash function.
    pub attempts: u32,
    /// Distinct digests stored, at most as many as there are cells.
    pub len: u64,
}

/// The numbers that, with the table, make a [`BinaryFuse`](crate::BinaryFuse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseParts {
    /// Cells.
    pub cells: u64,
    /// Cells of a segment, a power of two.
    pub segment_length: u64,
    /// Bits of a cell, 1 to 32.
    pub r: u32,
    /// The seed of the spec.
    pub seed: u64,
    /// Attempts that the build took, 1 to [`MAX_ATTEMPTS`]; they decide the hash function.
    pub attempts: u32,
    /// Distinct digests stored, at most as many as there are cells.
    pub len: u64,
}

/// Parts that no filter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// No table has so many cells of so many bits.
    Size {
        /// Cells of each third.
        cells_per_third: u64,
        /// Bits of a cell.
        r: u32,
    },
    /// No table has so many cells of so many bits in segments of this length.
    Segments {
        /// Cells.
        cells: u64,
        /// Cells of a segment, a power of two.
        segment_length: u64,
        /// Bits of a cell.
        r: u32,
    },
    /// No build takes so many attempts.
    Attempts {
        /// The number given.
        attempts: u32,
    },
    /// More keys than cells.
    Len {
        /// The number of keys given.
        len: u64,
        /// Cells of the table.
        cells: u64,
    },
    /// The table has another number of bytes.
    Bytes {
        /// The number given.
        bytes: u64,
        /// The number that the parts need.
        expected: u64,
    },
    /// The directory of the table says something impossible.
    Shard {
        /// The first shard that cannot be.
        shard: u64,
    },
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { cells_per_third, r } => {
                write!(f, "three times {cells_per_third} cells of {r} bits are not a xor filter")
            }
            Self::Segments { cells, segment_length, r } => {
                write!(f, "{cells} cells of {r} bits in segments of {segment_length} are not a fuse filter")
            }
            Self::Shard { shard } => write!(f, "shard {shard} is not as a build leaves it"),
            Self::Attempts { attempts } => {
                write!(f, "{attempts} attempts are not in 1 to {MAX_ATTEMPTS}")
            }
            Self::Len { len, cells } => write!(f, "{len} keys are more than {cells} cells"),
            Self::Bytes { bytes, expected } => write!(f, "the table has {bytes} bytes instead of {expected}"),
        }
    }
}

impl core::error::Error for PartsError {}
