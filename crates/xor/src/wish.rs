//! What a spec asks for: a shape of the table, and the bits of a cell.

use amq::theory::xor;
use amq::{Spec, SpecError, Target};

/// The widths of a cell, both included.
pub(crate) const R: (u32, u32) = (1, 32);

/// How a family shapes its table.
pub(crate) trait Shape: Sized {
    /// Cells a key of a large table.
    const CELLS_PER_KEY: f64;

    /// The default for `n` keys; `None` if it cannot be addressed.
    fn for_keys(n: u64) -> Option<Self>;

    /// For a number of cells, whole and at least 0 but perhaps far too large; `n` keys are expected.
    fn for_cells(cells: f64, n: u64) -> Option<Self>;

    /// Bits that a lookup may read, with cells of `r` bits.
    fn bits(&self, r: u32) -> f64;
}

/// The shape and the width that a spec asks for.
///
/// # Errors
/// See [`Family::plan`](amq::Family::plan).
pub(crate) fn resolve<S: Shape>(spec: &Spec) -> Result<(S, u32), SpecError> {
    let n = spec.capacity();
    let too_large = SpecError::TooLarge { capacity: n };
    match spec.checked_target()? {
        Target::Fpr(fpr) => {
            let lowest = xor::fpr(R.1);
            let r = xor::cell_bits(fpr).filter(|&r| r <= R.1).ok_or(SpecError::FprTooLow { fpr, lowest })?;
            Ok((S::for_keys(n).ok_or(too_large)?, r))
        }
        Target::Shape { alpha, .. } if alpha > 1.0 => {
            Err(SpecError::Alpha { alpha, lowest: 0.0, highest: 1.0 })
        }
        Target::Shape { r, .. } if !(R.0..=R.1).contains(&r) => {
            Err(SpecError::Remainder { r, lowest: R.0, highest: R.1 })
        }
        Target::Shape { alpha, r } => {
            Ok((S::for_cells(libm::ceil(n as f64 / alpha), n).ok_or(too_large)?, r))
        }
        Target::BitsPerKey(bits) => {
            let shape = S::for_keys(n).ok_or(too_large)?;
            let r = widest(bits, n, &shape)?;
            Ok((shape, r))
        }
    }
}

/// The largest r with which the table takes at most `bits` for each of `n` keys.
///
/// No budget follows from no keys: there, r is what it would be for a large table.
fn widest<S: Shape>(bits: f64, n: u64, shape: &S) -> Result<u32, SpecError> {
    let taken = |r| if n == 0 { S::CELLS_PER_KEY * f64::from(r) } else { shape.bits(r) };
    let budget = if n == 0 { bits.max(S::CELLS_PER_KEY) } else { bits * n as f64 };
    (R.0..=R.1).rev().find(|&r| taken(r) <= budget).ok_or_else(|| SpecError::BitsPerKey {
        bits,
        lowest: shape.bits(R.0) / n as f64,
        highest: f64::INFINITY,
    })
}
