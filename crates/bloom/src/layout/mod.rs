//! Where the bits or counters of a key are: anywhere ([`Layout`]), or all in one block ([`BlockLayout`]).

mod blocks;
mod free;

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Range;
use core::{error::Error, fmt};

use amq::theory::bloom;
use amq::{Digest, Plan, ResizeError, Spec, SpecError};
use amq_bits::probe::Field;

pub(crate) use blocks::Words;
pub use blocks::{BlockKind, BlockLayout, CounterLine, Split, Spread};
pub use free::Layout;

/// The most probes a key: at more than 64 bits of digest there is nothing left to choose positions with.
pub(crate) const MOST_PROBES: u32 = bloom::MOST_PROBES;

/// The largest number of positions, so that bits and bytes of a table never overflow: 2^60.
pub(crate) const MOST_POSITIONS: u64 = 1 << 60;

/// What only this crate may implement.
pub(crate) mod sealed {
    /// See the module.
    pub trait Sealed {}
}

/// A layout: how many positions there are, and which k of them a key owns. Implemented by [`Layout`] and [`BlockLayout`] only.
///
/// What a position holds, a bit or a counter, is the filter's business.
pub trait Places: sealed::Sealed + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// The positions of one key, one after the other; it owns the first k.
    type Positions: Iterator<Item = u64>;

    /// The lowest and the highest k of a [`Target::Shape`](amq::Target::Shape).
    const R: (u32, u32);

    /// Positions in the table.
    fn m(self) -> u64;

    /// Probes a key.
    fn k(self) -> u32;

    /// The positions of `digest`, each below m. Equal positions count once.
    fn positions(self, digest: Digest) -> Self::Positions;

    /// The table as one whose positions vectors can make, if it is one: see [`amq_bits::probe`]. Here, it is not.
    fn field<const WIDTH: u32>(self, _table: &[u8]) -> Option<Field<'_, WIDTH>> {
        None
    }

    /// The probability that all k positions of a random digest are occupied, from `occupied(range)`, the number of positions
    /// in a range that are.
    fn expected_fpr(self, occupied: impl Fn(Range<u64>) -> u64) -> f64;

    /// The number of distinct keys for which the occupied positions are the mean number; `None` if that is no number, because a
    /// table or a block is full.
    fn estimated_count(self, occupied: impl Fn(Range<u64>) -> u64) -> Option<f64>;

    /// The mean of [`expected_fpr`](Self::expected_fpr) over hash functions with `n` distinct keys.
    fn predicted_fpr(self, n: u64) -> f64;

    /// The layout for a spec where a position takes `width` bits, and the load that it means at the capacity. A capacity of 0 is
    /// sized as 1.
    ///
    /// # Errors
    /// If the spec makes no sense or no table.
    fn for_spec(spec: &Spec, width: u32) -> Result<(Self, f64), SpecError>;

    /// The layout of half the size, in which position p of this one has become p/2 or, in blocks, the same place of block b/2.
    ///
    /// # Errors
    /// If the size is odd or the smallest.
    fn halved(self) -> Result<Self, ResizeError>;

    /// Where the positions `2i` and `2i + 1` of this layout, for a layout without blocks, or of blocks of this many positions, are
    /// folded into one another: the number of positions that stay together.
    fn fold_unit(self) -> u64;

    /// The plan for a spec where a position takes `width` bits.
    ///
    /// # Errors
    /// As [`for_spec`](Self::for_spec).
    fn plan(spec: &Spec, width: u32) -> Result<Plan, SpecError> {
        let (layout, alpha) = Self::for_spec(spec, width)?;
        let capacity = spec.capacity();
        Ok(Plan {
            capacity,
            slots: layout.m(),
            alpha: if capacity == 0 { 0.0 } else { alpha },
            r: layout.k(),
            k: Some(layout.k()),
            table_bytes: layout.table_bytes(width),
            // The sum behind it may round to a little above 1 in an overfilled filter.
            fpr: layout.predicted_fpr(capacity).clamp(0.0, 1.0),
        })
    }

    /// Bytes of a table whose positions take `width` bits, 1 to 8.
    fn table_bytes(self, width: u32) -> u64 {
        // At most 2^60 · 8 bits.
        (self.m() * u64::from(width)).div_ceil(8)
    }

    /// Whether `table` is one of this layout: of the right length, and with nothing behind the last position.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check_table(self, table: &[u8], width: u32) -> Result<(), LayoutError> {
        let (bytes, expected) = (table.len() as u64, self.table_bytes(width));
        if bytes != expected {
            return Err(LayoutError::TableLength { bytes, expected });
        }
        let used = self.m() * u64::from(width) % 8;
        match table.last() {
            Some(last) if used != 0 && last >> used != 0 => Err(LayoutError::Padding { last: *last }),
            _ => Ok(()),
        }
    }
}

/// A whole number of positions, if it is small enough to be one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole and between 0 and 2^60, which is checked first"
)]
fn whole(positions: f64) -> Option<u64> {
    (0.0..=MOST_POSITIONS as f64).contains(&positions).then_some(positions as u64)
}

/// The positions at which `k` probes a key set half of them at `n`/`alpha` keys.
fn half_full(n: u64, alpha: f64, k: u32) -> f64 {
    n as f64 / alpha * (f64::from(k) / core::f64::consts::LN_2)
}

/// The n at which `occupied` of m positions are the mean number; `None` if that is no number.
fn estimate(occupied: u64, m: u64, k: u32) -> Option<f64> {
    if occupied == 0 {
        return Some(0.0);
    }
    let positions = m as f64;
    // With one position ln(1 - 1/m) has no value, but then it is occupied, and so are all.
    (occupied < m)
        .then(|| libm::log1p(-(occupied as f64) / positions) / (f64::from(k) * libm::log1p(-1.0 / positions)))
}

/// Positions, probes or a table that make no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// No positions, or too many.
    Positions {
        /// The positions asked for.
        m: u64,
    },
    /// No hash functions, or too many.
    HashFunctions {
        /// The hash functions asked for.
        k: u32,
    },
    /// The table is shorter or longer than the positions need.
    TableLength {
        /// Bytes given.
        bytes: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// Something is stored behind the last position.
    Padding {
        /// The last byte.
        last: u8,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Positions { m } => write!(f, "{m} positions are not in 1 to {MOST_POSITIONS}"),
            Self::HashFunctions { k } => write!(f, "{k} hash functions are not in 1 to {MOST_PROBES}"),
            Self::TableLength { bytes, expected } => {
                write!(f, "the table has {bytes} bytes, the positions take {expected}")
            }
            Self::Padding { last } => {
                write!(f, "the last byte, {last:#04x}, has bits behind the last position")
            }
        }
    }
}

impl Error for LayoutError {}
