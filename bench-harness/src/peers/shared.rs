//! What the peers share: keys out of digests, sizes that can be addressed, and plans of filters that come in
//! one width.

use core::hint::black_box;

use amq::{BuildError, Digest, Plan, Spec, SpecError, Target};

/// The digests as the integers that foreign filters take for keys.
///
/// A copy: 8 bytes a key that count towards the peak, and a time that a caller with integer keys would not
/// need, far below that of any build.
///
/// # Errors
/// If the memory cannot be had.
pub(super) fn keys(digests: &[Digest]) -> Result<Vec<u64>, BuildError> {
    let mut keys = Vec::new();
    keys.try_reserve_exact(digests.len()).map_err(|_| out_of_memory(digests))?;
    keys.extend(digests.iter().map(|digest| digest.get()));
    Ok(keys)
}

/// The digests in ascending order, each once.
///
/// # Errors
/// If the memory cannot be had.
pub(super) fn distinct(digests: &[Digest]) -> Result<Vec<Digest>, BuildError> {
    let mut distinct = Vec::new();
    distinct.try_reserve_exact(digests.len()).map_err(|_| out_of_memory(digests))?;
    distinct.extend_from_slice(digests);
    distinct.sort_unstable();
    distinct.dedup();
    Ok(distinct)
}

fn out_of_memory(digests: &[Digest]) -> BuildError {
    BuildError::OutOfMemory { bytes: (digests.len() as u64).saturating_mul(8) }
}

/// Whether the allocator would give `bytes` at once: foreign filters end the program where it refuses.
///
/// The block is given back untouched before the filter asks for its own, so it adds nothing to a peak.
///
/// # Errors
/// If it would not.
pub(super) fn check_memory(bytes: u64) -> Result<(), BuildError> {
    let refused = BuildError::OutOfMemory { bytes };
    let size = usize::try_from(bytes).map_err(|_| refused)?;
    let mut block = Vec::<u8>::new();
    block.try_reserve_exact(size).map_err(|_| refused)?;
    // Otherwise an optimiser may leave out an allocation that nobody uses, and find that it succeeds.
    black_box(&block);
    Ok(())
}

/// A size in bytes, if there is one and a table of it can be addressed.
///
/// # Errors
/// [`SpecError::TooLarge`] otherwise.
pub(super) fn addressable(capacity: u64, bytes: Option<u64>) -> Result<u64, SpecError> {
    let most = u64::try_from(isize::MAX).unwrap_or(u64::MAX);
    bytes.filter(|&bytes| bytes <= most).ok_or(SpecError::TooLarge { capacity })
}

/// `keys` over `slots`, 0 where there are no slots.
pub(super) fn load(keys: u64, slots: u64) -> f64 {
    if slots == 0 { 0.0 } else { keys as f64 / slots as f64 }
}

/// `plan`, if it is what `spec` asks for: the plan of a filter that leaves no choice.
///
/// A rate is met if the predicted one is not above it; a shape if its r is the filter's, whatever its load,
/// because the crate sets the load; bits per key if the plan takes no more of them.
///
/// # Errors
/// If the spec is invalid or asks for less than the filter's rate, for another width, or for fewer bits.
pub(super) fn without_choice(spec: &Spec, plan: Plan) -> Result<Plan, SpecError> {
    match spec.checked_target()? {
        Target::Fpr(fpr) if plan.fpr > fpr => Err(SpecError::FprTooLow { fpr, lowest: plan.fpr }),
        Target::Shape { r, .. } if r != plan.r => {
            Err(SpecError::Remainder { r, lowest: plan.r, highest: plan.r })
        }
        Target::BitsPerKey(bits) => {
            let lowest = plan.payload_bits() as f64 / plan.capacity.max(1) as f64;
            if lowest > bits {
                return Err(SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY });
            }
            Ok(plan)
        }
        Target::Fpr(_) | Target::Shape { .. } => Ok(plan),
    }
}

/// 2^`exponent`, of the powers of two the one whose ratio to `slots` is nearest to 1, but at least `lowest`,
/// itself a power of two.
pub(super) fn nearest_power_of_two(slots: f64, lowest: u64) -> Option<u64> {
    let mut power = lowest;
    // The middle between two powers is their geometric mean.
    while power as f64 * core::f64::consts::SQRT_2 < slots {
        power = power.checked_mul(2)?;
    }
    Some(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_digests_are_sorted_and_single() {
        let digests = [5, 9, 5, 0, u64::MAX, 0].map(Digest::new);
        assert_eq!(distinct(&digests).unwrap(), [0, 5, 9, u64::MAX].map(Digest::new));
        assert_eq!(keys(&digests).unwrap(), [5, 9, 5, 0, u64::MAX, 0]);
    }

    #[test]
    fn memory_that_nobody_has_is_refused() {
        assert_eq!(check_memory(1 << 20), Ok(()));
        for bytes in [1 << 62, u64::MAX] {
            assert_eq!(check_memory(bytes), Err(BuildError::OutOfMemory { bytes }));
        }
    }

    #[test]
    fn powers_of_two_are_nearest_by_ratio() {
        let found = [0.0, 64.0, 90.0, 91.0, 181.0, 182.0].map(|slots| nearest_power_of_two(slots, 64));
        assert_eq!(found, [64, 64, 64, 128, 128, 256].map(Some));
        assert_eq!(nearest_power_of_two(f64::INFINITY, 64), None);
        assert_eq!(nearest_power_of_two(1.0, 1 << 20), Some(1 << 20));
    }
}
