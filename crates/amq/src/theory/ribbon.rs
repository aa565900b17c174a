//! Ribbon filters (Dillinger, Walzer 2021): space over r bits a key, by kind, for ribbons of `width` columns.

use core::ops::RangeInclusive;

use super::ceil_to_size;

/// The overhead of bumped ribbon retrieval, 0.1 to 0.5 % by its parameters (Dillinger, Hübschle-Schneider, Sanders,
/// Walzer 2022, arXiv 2109.01892).
pub const BUMPED_OVERHEAD: RangeInclusive<f64> = 0.001..=0.005;

/// (4 + r/4)/width: the cells beyond one a key of a homogeneous ribbon filter, as a fraction.
///
/// Good for widths of 16 to 128. Its build cannot fail, but with too few cells the rate grows above 2^-r.
pub fn homogeneous_overhead(width: u32, r: u32) -> f64 {
    (4.0 + f64::from(r) / 4.0) / f64::from(width)
}

/// ⌈n (1 + [`homogeneous_overhead`])⌉ cells. `None`: see the module [`theory`](super), or a width of 0.
pub fn homogeneous_cells(n: u64, width: u32, r: u32) -> Option<u64> {
    ceil_to_size(n as f64 * (1.0 + homogeneous_overhead(width, r)))
}

/// -.0251 + .0083 log2 n, at least 0: the overhead of a standard ribbon of width 64, whose build mostly succeeds.
///
/// A fit to measurements, good from a few thousand keys up; it grows with n, so large sets are split.
pub fn standard_overhead_64(n: u64) -> f64 {
    (-0.0251 + 0.0083 * libm::log2(n as f64)).max(0.0)
}

/// -.0176 + .0038 log2 n, at least 0: the same for width 128.
pub fn standard_overhead_128(n: u64) -> f64 {
    (-0.0176 + 0.0038 * libm::log2(n as f64)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn overheads_at_published_points() {
        assert_printed(100.0 * homogeneous_overhead(64, 8), "9.4");
        assert_printed(100.0 * homogeneous_overhead(64, 15), "12.1");
        assert_printed(100.0 * standard_overhead_128(1_000_000), "5.8");
        assert!(standard_overhead_64(1_000_000) > standard_overhead_128(1_000_000));
        assert_eq!(standard_overhead_64(0), 0.0);
    }

    #[test]
    fn homogeneous_sizes() {
        assert_eq!(homogeneous_cells(1_000, 64, 8), Some(1_094));
        assert_eq!(homogeneous_cells(0, 64, 8), Some(0));
        assert_eq!(homogeneous_cells(10, 0, 8), None);
        assert_eq!(homogeneous_cells(u64::MAX, 64, 8), None);
    }
}
