//! From a wish to m and r.

use amq::{Plan, Spec, SpecError, Target, theory};

use crate::{Geometry, Layout};

/// By how many bits a table may exceed a wish for bits a key, being made of whole blocks and padded.
const ROUNDING_BITS: f64 = 1_024.0;

/// 2^63: no table has so many slots.
const SLOTS_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// The plan, and the layout that it stands for.
pub(crate) fn plan<L: Layout>(spec: &Spec) -> Result<(Plan, L), SpecError> {
    let n = spec.capacity();
    let layout: L = match spec.checked_target()? {
        Target::Fpr(fpr) => for_rate(n, fpr)?,
        Target::Shape { alpha, r } => for_shape(n, alpha, r)?,
        Target::BitsPerKey(bits) => for_bits(n, bits)?,
    };
    let geometry = layout.geometry();
    let plan = Plan {
        capacity: n,
        slots: geometry.slots(),
        alpha: n as f64 / geometry.slots() as f64,
        r: geometry.r(),
        k: None,
        table_bytes: layout.table_bytes(),
        fpr: predicted(n, geometry),
    };
    Ok((plan, layout))
}

fn predicted(n: u64, geometry: Geometry) -> f64 {
    theory::quotient::fpr(n, geometry.slots(), geometry.r())
}

/// The highest r of the layout with which m slots have at most 2^64 fingerprints.
fn highest_r<L: Layout>(slots: u64) -> u32 {
    (L::R.0..=L::R.1).rev().find(|&r| Geometry::new(slots, r).is_some()).unwrap_or(0)
}

/// The load and the remainder bits, literally.
fn for_shape<L: Layout>(n: u64, alpha: f64, r: u32) -> Result<L, SpecError> {
    let (lowest, highest) = L::R;
    if r < lowest || r > highest {
        return Err(SpecError::Remainder { r, lowest, highest });
    }
    if alpha > 1.0 {
        return Err(SpecError::Alpha { alpha, lowest: 0.0, highest: 1.0 });
    }
    let too_large = SpecError::TooLarge { capacity: n };
    let slots = theory::quotient::slots(n, alpha).ok_or(too_large)?;
    let highest = highest_r::<L>(slots);
    if highest < lowest {
        return Err(too_large);
    }
    let geometry = Geometry::new(slots, r).ok_or(SpecError::Remainder { r, lowest, highest })?;
    L::new(geometry).ok_or(too_large)
}

/// The r, and a load of at most [`Layout::DESIGN_LOAD`], with the fewest bits among those whose predicted rate is at most `fpr`; of
/// equals the one with the lower load.
fn for_rate<L: Layout>(n: u64, fpr: f64) -> Result<L, SpecError> {
    let too_large = SpecError::TooLarge { capacity: n };
    let fewest = theory::quotient::slots(n, L::DESIGN_LOAD).ok_or(too_large)?;
    // If not even the narrowest slots fit, the capacity is to blame and not the rate.
    Geometry::new(fewest, L::R.0).and_then(L::new).ok_or(too_large)?;
    let mut best: Option<L> = None;
    let mut exists = false;
    for r in L::R.0..=L::R.1 {
        let Some(geometry) = fewest_slots(n, fewest, r, fpr).and_then(|slots| Geometry::new(slots, r)) else {
            continue;
        };
        exists = true;
        if let Some(layout) = L::new(geometry)
            && best.is_none_or(|best| layout.payload_bits() < best.payload_bits())
        {
            best = Some(layout);
        }
    }
    best.ok_or(if exists {
        too_large
    } else {
        let largest = libm::exp2(64.0);
        let lowest = -libm::expm1(n as f64 * libm::log1p(-1.0 / largest));
        SpecError::FprTooLow { fpr, lowest }
    })
}

/// The smallest m ≥ `fewest` at which `n` keys with r remainder bits have a predicted rate of at most `fpr`; `None` if it is 2^63
/// or more.
fn fewest_slots(n: u64, fewest: u64, r: u32, fpr: f64) -> Option<u64> {
    if n == 0 {
        return Some(fewest);
    }
    // 1 - (1 - 1/M)^n ≤ fpr, solved for M.
    let fingerprints = -1.0 / libm::expm1(libm::log1p(-fpr) / n as f64);
    // A few units in the last place below, against rounding; from there on upwards, by as little as a float can tell.
    let start = libm::floor(fingerprints * libm::exp2(-f64::from(r)) * (1.0 - 4.0 * f64::EPSILON));
    if start.is_nan() || start >= SLOTS_LIMIT {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, at least 0 and below 2^63"
    )]
    let mut slots = fewest.max(start as u64);
    for _ in 0..64 {
        if theory::quotient::fpr(n, slots, r) <= fpr {
            return Some(slots);
        }
        slots = slots.checked_add(1 + (slots >> 52))?;
    }
    None
}

/// The largest r at [`Layout::DESIGN_LOAD`] whose slots have at most `bits` bits a key, padding aside, and whose table as a whole does
/// not exceed that by much: for a few slots, a narrower r may have a much smaller block. Without keys there is nothing to
/// divide by, and r is what a large table would have.
fn for_bits<L: Layout>(n: u64, bits: f64) -> Result<L, SpecError> {
    let too_large = SpecError::TooLarge { capacity: n };
    let slots = theory::quotient::slots(n, L::DESIGN_LOAD).ok_or(too_large)?;
    let budget = if n == 0 { bits * L::DESIGN_LOAD * slots as f64 } else { bits * n as f64 };
    let layouts = || (L::R.0..=L::R.1).rev().filter_map(|r| Geometry::new(slots, r)).filter_map(L::new);
    let narrowest = layouts().next_back().ok_or(too_large)?;
    let fits = |layout: &L| {
        let whole = layout.table_bytes() as f64 * 8.0;
        layout.payload_bits() as f64 <= budget && whole <= budget + ROUNDING_BITS
    };
    layouts().find(fits).ok_or_else(|| {
        let keys = if n == 0 { L::DESIGN_LOAD * slots as f64 } else { n as f64 };
        let lowest = narrowest.payload_bits() as f64 / keys;
        SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY }
    })
}
