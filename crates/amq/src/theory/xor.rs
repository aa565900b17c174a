//! Xor filters and the thresholds of peeling.

/// Keys over cells up to which random 3-uniform hypergraphs peel: .818, 1.222 cells a key.
pub const PEELING_THRESHOLD_3: f64 = 0.818;
/// The same for 4 hashes.
pub const PEELING_THRESHOLD_4: f64 = 0.772;
/// The same for 5 hashes.
pub const PEELING_THRESHOLD_5: f64 = 0.702;
/// Keys over cells up to which 3 hashes in neighbouring segments peel (Dietzfelbinger, Walzer 2019, arXiv 1907.04749).
pub const FUSE_THRESHOLD_3: f64 = 0.918;
/// The same for 4 hashes in neighbouring segments.
pub const FUSE_THRESHOLD_4: f64 = 0.977;

/// 3 ⌈(1.23 n + 32)/3⌉: the cells of a xor filter with `n` keys by default (Graf, Lemire 2020).
///
/// A build attempt with this many succeeds with high probability at every n. In integers, so exact; `None` if the
/// result passes `u64`.
///
/// ```
/// assert_eq!(amq::theory::xor::cells(1_000), Some(1_263));
/// ```
pub fn cells(n: u64) -> Option<u64> {
    let thirds = (u128::from(n) * 123 + 3_200).div_ceil(300);
    u64::try_from(3 * thirds).ok()
}

/// 2^-r: the rate of a xor, fuse or ribbon filter with `r` bits a cell, for every filter and not only on average.
pub fn fpr(r: u32) -> f64 {
    libm::exp2(-f64::from(r))
}

/// The fewest bits a cell, at least 1, with which [`fpr`] is at most `fpr_target`; `None` if that is not in (0, 1).
pub fn cell_bits(fpr_target: f64) -> Option<u32> {
    if !super::is_rate(fpr_target) {
        return None;
    }
    (1..=1_074).find(|&r| fpr(r) <= fpr_target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_at_published_sizes() {
        for (n, per_key) in [(100, 1.55), (1_000, 1.262), (10_000, 1.233), (1_000_000, 1.230)] {
            let actual = cells(n).unwrap();
            let exact = 1.23 * n as f64 + 32.0;
            assert!(
                actual.is_multiple_of(3) && actual as f64 >= exact - 1e-6 && actual as f64 <= exact + 3.0
            );
            assert!((actual as f64 / n as f64 - per_key).abs() <= 3.0 / n as f64 + 5e-4, "{n} {actual}");
        }
        assert_eq!(cells(0), Some(33));
        assert_eq!(cells(100), Some(156));
        assert_eq!(cells(u64::MAX), None);
        let load = 1_000_000.0 / cells(1_000_000).unwrap() as f64;
        assert!(load < PEELING_THRESHOLD_3 && load > PEELING_THRESHOLD_3 - 0.01);
    }

    #[test]
    fn cell_bits_meet_the_rate() {
        assert_eq!(cell_bits(libm::exp2(-8.0)), Some(8));
        assert_eq!(cell_bits(0.01), Some(7));
        assert_eq!(cell_bits(0.9), Some(1));
        assert_eq!(cell_bits(1.0), None);
        assert_eq!(cell_bits(f64::NAN), None);
        assert_eq!(cell_bits(5e-324), Some(1_074));
    }
}
