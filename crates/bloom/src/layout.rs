//! How many positions and how many probes: what [`Bloom`](crate::Bloom) and [`CountingBloom`](crate::CountingBloom) share.

use core::{error::Error, fmt};

use amq::theory::bloom;
use amq::{Plan, Spec, SpecError, Target};

/// The most probes a key: at more than 64 bits of digest there is nothing left to choose positions with.
pub(crate) const MOST_PROBES: u32 = bloom::MOST_PROBES;

/// The largest number of positions, so that bits and bytes of a table never overflow: 2^60.
pub(crate) const MOST_POSITIONS: u64 = 1 << 60;

/// m positions (bits or counters) and k probes a key.
///
/// ```
/// use amq_bloom::Layout;
///
/// let layout = Layout::new(9_586, 7)?;
/// assert_eq!((layout.m(), layout.k()), (9_586, 7));
/// assert!(Layout::new(0, 7).is_err() && Layout::new(64, 0).is_err() && Layout::new(64, 65).is_err());
/// # Ok::<(), amq_bloom::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Invariant: 1 to `MOST_POSITIONS`.
    m: u64,
    /// Invariant: 1 to `MOST_PROBES`.
    k: u32,
}

impl Layout {
    /// A layout of `m` positions, 1 to 2^60, and `k` probes, 1 to 64.
    ///
    /// # Errors
    /// If one of them is out of its range.
    pub const fn new(m: u64, k: u32) -> Result<Self, LayoutError> {
        if m == 0 || m > MOST_POSITIONS {
            Err(LayoutError::Positions { m })
        } else if k == 0 || k > MOST_PROBES {
            Err(LayoutError::HashFunctions { k })
        } else {
            Ok(Self { m, k })
        }
    }

    /// The positions.
    #[inline]
    pub const fn m(self) -> u64 {
        self.m
    }

    /// The probes a key.
    #[inline]
    pub const fn k(self) -> u32 {
        self.k
    }

    /// The layout for a spec where a position takes `width` bits, and the load that it means at the capacity.
    ///
    /// A capacity of 0 is sized as 1.
    pub(crate) fn for_spec(spec: &Spec, width: u32) -> Result<(Self, f64), SpecError> {
        let n = spec.capacity().max(1);
        let too_large = SpecError::TooLarge { capacity: spec.capacity() };
        let (m, k, alpha) = match spec.checked_target()? {
            Target::Fpr(fpr) => {
                let (m, k) = bloom::smallest_bits(n, fpr).ok_or(too_large)?;
                (m, k, 1.0)
            }
            Target::Shape { alpha, r } => {
                if !(1..=MOST_PROBES).contains(&r) {
                    return Err(SpecError::Remainder { r, lowest: 1, highest: MOST_PROBES });
                }
                let positions = n as f64 / alpha * (f64::from(r) / core::f64::consts::LN_2);
                (whole(libm::ceil(positions)).ok_or(too_large)?.max(1), r, alpha)
            }
            Target::BitsPerKey(bits) => {
                let positions = bits * n as f64 / f64::from(width);
                let m = whole(libm::floor(positions)).ok_or(too_large)?;
                if m == 0 {
                    let lowest = f64::from(width) / n as f64;
                    return Err(SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY });
                }
                (m, bloom::optimal_k(m, n), 1.0)
            }
        };
        let layout = Self::new(m, k).map_err(|_| too_large)?;
        Ok((layout, alpha))
    }

    /// The plan for a spec where a position takes `width` bits.
    pub(crate) fn plan(spec: &Spec, width: u32) -> Result<Plan, SpecError> {
        let (layout, alpha) = Self::for_spec(spec, width)?;
        let capacity = spec.capacity();
        Ok(Plan {
            capacity,
            slots: layout.m,
            alpha: if capacity == 0 { 0.0 } else { alpha },
            r: layout.k,
            k: Some(layout.k),
            table_bytes: layout.table_bytes(width),
            // The sum behind it may round to a little above 1 in an overfilled filter.
            fpr: bloom::fpr_exact(layout.m, capacity, layout.k).clamp(0.0, 1.0),
        })
    }

    /// Bytes of a table whose positions take `width` bits, 1 or 4.
    pub(crate) const fn table_bytes(self, width: u32) -> u64 {
        // At most 2^60 · 4.
        (self.m * width as u64).div_ceil(8)
    }

    /// Whether `table` is one of this layout: of the right length, and with nothing behind the last position.
    pub(crate) fn check_table(self, table: &[u8], width: u32) -> Result<(), LayoutError> {
        let (bytes, expected) = (table.len() as u64, self.table_bytes(width));
        if bytes != expected {
            return Err(LayoutError::TableLength { bytes, expected });
        }
        let used = self.m * u64::from(width) % 8;
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
