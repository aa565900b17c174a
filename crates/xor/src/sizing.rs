//! How many cells of how many bits.

use amq::theory::xor;
use amq::{Plan, Spec, SpecError, Target};
use amq_bits::Packed;

use crate::graph::{Graph, Thirds};

/// The widths of a cell, both included.
pub(crate) const R: (u32, u32) = (1, 32);

/// What decides the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) graph: Thirds,
    /// Of a width in [`R`].
    pub(crate) layout: Packed,
    /// `layout.bytes_for(graph.cells())`
    pub(crate) table_bytes: u64,
}

impl Size {
    /// The size for `third` cells a third of `r` bits each; `None` if one of them is out of its range.
    pub(crate) fn new(third: u64, r: u32) -> Option<Self> {
        let graph = Thirds::new(third)?;
        let layout = Packed::new(r).filter(|_| (R.0..=R.1).contains(&r))?;
        let table_bytes = layout.bytes_for(graph.cells())?;
        Some(Self { graph, layout, table_bytes })
    }

    /// The size that a spec asks for.
    ///
    /// # Errors
    /// See [`Family::plan`](amq::Family::plan).
    pub(crate) fn of(spec: &Spec) -> Result<Self, SpecError> {
        let capacity = spec.capacity();
        let too_large = SpecError::TooLarge { capacity };
        let (third, r) = match spec.checked_target()? {
            Target::Fpr(fpr) => {
                let lowest = xor::fpr(R.1);
                let r =
                    xor::cell_bits(fpr).filter(|&r| r <= R.1).ok_or(SpecError::FprTooLow { fpr, lowest })?;
                (default_third(capacity).ok_or(too_large)?, r)
            }
            Target::Shape { alpha, .. } if alpha > 1.0 => {
                return Err(SpecError::Alpha { alpha, lowest: 0.0, highest: 1.0 });
            }
            Target::Shape { r, .. } if !(R.0..=R.1).contains(&r) => {
                return Err(SpecError::Remainder { r, lowest: R.0, highest: R.1 });
            }
            Target::Shape { alpha, r } => (third_for_load(capacity, alpha).ok_or(too_large)?, r),
            Target::BitsPerKey(bits) => {
                let third = default_third(capacity).ok_or(too_large)?;
                (third, widest(bits, capacity, 3 * third)?)
            }
        };
        Self::new(third, r).ok_or(too_large)
    }

    /// The plan of a spec that this is the size of.
    pub(crate) fn plan(&self, capacity: u64) -> Plan {
        let r = self.layout.width();
        Plan {
            capacity,
            slots: self.graph.cells(),
            alpha: capacity as f64 / self.graph.cells() as f64,
            r,
            k: Some(3),
            table_bytes: self.table_bytes,
            fpr: xor::fpr(r),
        }
    }
}

/// The default: `ceil((1.23 n + 32) / 3)`, if it can be addressed.
fn default_third(n: u64) -> Option<u64> {
    xor::cells(n).map(|cells| cells / 3).filter(|&third| third <= Thirds::MAX)
}

/// `ceil(n / alpha / 3)`, at least 1, if it can be addressed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole, not negative and at most 2^58, which is checked first"
)]
fn third_for_load(n: u64, alpha: f64) -> Option<u64> {
    let third = libm::ceil(n as f64 / alpha / 3.0).max(1.0);
    (third <= Thirds::MAX as f64).then_some(third as u64)
}

/// The largest r with which `cells` cells take at most `bits` for each of `n` keys.
///
/// No budget follows from no keys: there, r is what it would be for a large table, whose cells are 1.23 a
/// key.
fn widest(bits: f64, n: u64, cells: u64) -> Result<u32, SpecError> {
    let (cells, budget) = if n == 0 { (1.23, bits.max(1.23)) } else { (cells as f64, bits * n as f64) };
    (R.0..=R.1).rev().find(|&r| cells * f64::from(r) <= budget).ok_or_else(|| SpecError::BitsPerKey {
        bits,
        lowest: cells / n as f64,
        highest: f64::INFINITY,
    })
}
