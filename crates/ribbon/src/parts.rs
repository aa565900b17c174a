//! A filter taken apart, to be put together again over the same table.

use core::fmt;

use crate::build::MAX_ATTEMPTS;

/// The numbers that, with the table, make a [`BumpedRibbon`](crate::BumpedRibbon).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RibbonParts {
    /// Slots of all layers, at least one window; they decide the layers.
    pub slots: u64,
    /// Bits of a slot, 1 to 32.
    pub r: u32,
    /// The seed of the spec.
    pub seed: u64,
    /// Attempts that the build took, 1 to [`MAX_ATTEMPTS`]; they decide the hash function.
    pub attempts: u32,
    /// Distinct digests stored, at most as many as there are slots.
    pub len: u64,
}

/// Parts that no filter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// No table has so many slots of so many bits.
    Size {
        /// Slots of all layers.
        slots: u64,
        /// Bits of a slot.
        r: u32,
    },
    /// No build takes so many attempts.
    Attempts {
        /// The number given.
        attempts: u32,
    },
    /// More keys than slots.
    Len {
        /// The number of keys given.
        len: u64,
        /// Slots of the table.
        slots: u64,
    },
    /// The table has another number of bytes.
    Bytes {
        /// The number given.
        bytes: u64,
        /// The number that the parts need.
        expected: u64,
    },
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { slots, r } => write!(f, "{slots} slots of {r} bits are not a ribbon filter"),
            Self::Attempts { attempts } => write!(f, "{attempts} attempts are not in 1 to {MAX_ATTEMPTS}"),
            Self::Len { len, slots } => write!(f, "{len} keys are more than {slots} slots"),
            Self::Bytes { bytes, expected } => write!(f, "the table has {bytes} bytes instead of {expected}"),
        }
    }
}

impl core::error::Error for PartsError {}
