//! Positions anywhere in the table.

use core::ops::Range;

use amq::theory::bloom;
use amq::{Digest, ResizeError, Spec, SpecError, Target};
use amq_bits::probe::Field;

use super::sealed::Sealed;
use super::{LayoutError, MOST_POSITIONS, MOST_PROBES, Places, estimate, half_full, whole};
use crate::probes::Probes;

/// m positions (bits or counters) and k probes a key, each of which may be anywhere.
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
}

impl Sealed for Layout {}

impl Places for Layout {
    type Positions = Probes;

    const R: (u32, u32) = (1, MOST_PROBES);

    #[inline]
    fn m(self) -> u64 {
        self.m
    }

    #[inline]
    fn k(self) -> u32 {
        self.k
    }

    #[inline]
    fn positions(self, digest: Digest) -> Probes {
        Probes::new(digest, self.m)
    }

    #[inline]
    fn field<const WIDTH: u32>(self, table: &[u8]) -> Option<Field<'_, WIDTH>> {
        Field::new(table, self.m)
    }

    /// (X/m)^k with X positions occupied.
    fn expected_fpr(self, occupied: impl Fn(Range<u64>) -> u64) -> f64 {
        bloom::fpr_given_state(occupied(0..self.m), self.m, self.k)
    }

    /// Swamidass and Baldi, J. Chem. Inf. Model. 2007, with the exact mean for small m.
    fn estimated_count(self, occupied: impl Fn(Range<u64>) -> u64) -> Option<f64> {
        estimate(occupied(0..self.m), self.m, self.k)
    }

    fn predicted_fpr(self, n: u64) -> f64 {
        bloom::fpr_exact(self.m, n, self.k)
    }

    /// - `Fpr`: [`bloom::smallest_bits`], m = n log2(1/ε)/ln 2 to the bit. A whole k adds up to 1.5 % to a rate below .1, and
    ///   very small filters lie higher: the plan's `fpr` is the exact mean of what is built.
    /// - `Shape`: k = r and m = ceil(capacity/α · k/ln 2): at α = 1, half the positions are occupied.
    /// - `BitsPerKey`: as many positions as that buys, and the best k for them.
    fn for_spec(spec: &Spec, width: u32) -> Result<(Self, f64), SpecError> {
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
                let positions = whole(libm::ceil(half_full(n, alpha, r)));
                (positions.ok_or(too_large)?.max(1), r, alpha)
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

    /// Because floor(floor(x m / 2^64) / 2) = floor(x (m/2) / 2^64) for even m.
    fn halved(self) -> Result<Self, ResizeError> {
        match self.m {
            slots @ 1 => Err(ResizeError::Smallest { slots }),
            slots if slots % 2 == 1 => Err(ResizeError::OddSlots { slots }),
            slots => Ok(Self { m: slots / 2, k: self.k }),
        }
    }

    fn fold_unit(self) -> u64 {
        1
    }
}
