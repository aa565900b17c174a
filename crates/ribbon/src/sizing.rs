//! How many slots of how many bits.

use amq::theory::xor;
use amq::{Plan, Spec, SpecError, Target};

use crate::geometry::{BLOCK, Geometry, MAX_SLOTS, last_slots};
use crate::layout::Layout;
use crate::width::Width;

/// The widths of a slot, both included.
pub(crate) const R: (u32, u32) = (1, 32);

/// What decides the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
}

impl Size {
    /// The size of `slots` slots of `r` bits each; `None` if one of them is out of its range.
    pub(crate) fn new<W: Width>(slots: u64, r: u32) -> Option<Self> {
        let geometry = Geometry::new::<W>(slots)?;
        (R.0..=R.1).contains(&r).then(|| Self { geometry, layout: Layout::new(&geometry, r) })
    }

    /// The size that a spec asks for.
    ///
    /// # Errors
    /// See [`Family::plan`](amq::Family::plan).
    pub(crate) fn of<W: Width>(spec: &Spec) -> Result<Self, SpecError> {
        let capacity = spec.capacity();
        let too_large = SpecError::TooLarge { capacity };
        let (slots, r) = match spec.checked_target()? {
            Target::Fpr(fpr) => {
                let lowest = xor::fpr(R.1);
                let r =
                    xor::cell_bits(fpr).filter(|&r| r <= R.1).ok_or(SpecError::FprTooLow { fpr, lowest })?;
                (default_slots::<W>(capacity).ok_or(too_large)?, r)
            }
            Target::Shape { alpha, .. } if alpha > 1.0 => {
                return Err(SpecError::Alpha { alpha, lowest: 0.0, highest: 1.0 });
            }
            Target::Shape { r, .. } if !(R.0..=R.1).contains(&r) => {
                return Err(SpecError::Remainder { r, lowest: R.0, highest: R.1 });
            }
            Target::Shape { alpha, r } => (slots_for_load::<W>(capacity, alpha).ok_or(too_large)?, r),
            Target::BitsPerKey(bits) => {
                let slots = default_slots::<W>(capacity).ok_or(too_large)?;
                (slots, widest::<W>(bits, capacity, slots).ok_or(too_large)??)
            }
        };
        Self::new::<W>(slots, r).ok_or(too_large)
    }

    /// The plan of a spec that this is the size of.
    pub(crate) fn plan(&self, capacity: u64) -> Plan {
        let r = self.layout.r();
        Plan {
            capacity,
            slots: self.geometry.slots(),
            alpha: capacity as f64 / self.geometry.slots() as f64,
            r,
            k: None,
            table_bytes: self.layout.bytes(),
            fpr: xor::fpr(r),
        }
    }
}

/// The default: enough that nearly every attempt succeeds, in whole blocks.
fn default_slots<W: Width>(n: u64) -> Option<u64> {
    let one_layer = n.checked_add(n / W::SPARE.one_layer + 4)?;
    let layers = n.checked_add(n / 1_024 + n.isqrt() * W::SPARE.root / 8 + W::SPARE.some)?;
    let slots = if one_layer <= last_slots::<W>() { one_layer } else { layers };
    let slots = slots.max(u64::from(W::BITS)).checked_next_multiple_of(BLOCK)?;
    (slots <= MAX_SLOTS).then_some(slots)
}

/// `ceil(n / alpha)`, at least one window, if it can be addressed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole, not negative and at most 2^50, which is checked first"
)]
fn slots_for_load<W: Width>(n: u64, alpha: f64) -> Option<u64> {
    let slots = libm::ceil(n as f64 / alpha).max(f64::from(W::BITS));
    (slots <= MAX_SLOTS as f64).then_some(slots as u64)
}

/// The largest r with which the table of `slots` slots takes at most `bits` for each of `n` keys; `None` if there is no such
/// table at all.
///
/// No budget follows from no keys: there, r is what it would be for a large table, as long as one window of it takes at most
/// 128 bytes.
fn widest<W: Width>(bits: f64, n: u64, slots: u64) -> Option<Result<u32, SpecError>> {
    if n == 0 {
        let highest = (1024 / W::BITS).min(R.1);
        let r = (R.0..=highest).rev().find(|&r| f64::from(r) * 1.01 <= bits);
        return Some(Ok(r.unwrap_or(R.0)));
    }
    let geometry = Geometry::new::<W>(slots)?;
    let payload = |r| Layout::new(&geometry, r).bytes() as f64 * 8.0;
    let budget = bits * n as f64;
    let r = (R.0..=R.1).rev().find(|&r| payload(r) <= budget);
    let highest = f64::INFINITY;
    Some(r.ok_or_else(|| SpecError::BitsPerKey { bits, lowest: payload(R.0) / n as f64, highest }))
}
