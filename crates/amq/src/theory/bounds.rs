//! The fewest bits a key that any filter can have.

/// log2(1/`fpr`) bits a key: no filter over a static set takes less (Carter, Floyd, Gill, Markowsky, Wegman 1978).
///
/// Good for judging space: [`overhead`] is relative to it. Tight for sets small against their universe.
///
/// ```
/// assert_eq!(amq::theory::bounds::static_bits_per_key(1.0 / 256.0), 8.0);
/// ```
pub fn static_bits_per_key(fpr: f64) -> f64 {
    -libm::log2(fpr)
}

/// log2(1/`fpr`) + log2 e bits a key: the bound for filters that take inserts and deletes (arXiv 2510.18129).
pub fn dynamic_bits_per_key(fpr: f64) -> f64 {
    static_bits_per_key(fpr) + core::f64::consts::LOG2_E
}

/// Bits a key over the static bound at `fpr`, minus one: 0.44 for a Bloom filter at its best, 0 for the bound itself.
pub fn overhead(bits_per_key: f64, fpr: f64) -> f64 {
    bits_per_key / static_bits_per_key(fpr) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_at_powers_of_two() {
        assert_eq!(static_bits_per_key(libm::exp2(-16.0)), 16.0);
        assert!((dynamic_bits_per_key(0.5) - 2.4427).abs() < 5e-5);
        assert_eq!(overhead(12.0, libm::exp2(-8.0)), 0.5);
    }
}
