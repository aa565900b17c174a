//! Cuckoo filters with two candidate buckets of `b` slots each and fingerprints of f bits (Fan et al. 2014).

use super::{ceil_to_size, is_rate};

/// The most that buckets of 4 hold with two choices, for large tables (Fernholz, Ramachandran 2007).
pub const LOAD_THRESHOLD_4: f64 = 0.980;

/// A load that inserting with 500 random kicks reaches in buckets of 4 with room to spare, for fingerprints of 8 bits and
/// more: it gives up at .963 in the median (10^5 buckets); 5,000 kicks or a breadth-first search reach .977.
pub const SAFE_LOAD_4: f64 = 0.94;

/// 2^f - 1: the fingerprints of `bits` bits where one value marks an empty slot.
pub fn values_beside_empty_mark(bits: u32) -> f64 {
    values(bits) - 1.0
}

/// 2^f: the fingerprints of `bits` bits where empty slots are marked elsewhere.
pub fn values(bits: u32) -> f64 {
    libm::exp2(f64::from(bits))
}

/// 1 - (1-1/v)^(2 b alpha): the mean rate with `values` = v possible fingerprints at load `alpha`.
///
/// Good for uniform fingerprints and a table filled by any search.
///
/// ```
/// use amq::theory::cuckoo;
/// let rate = cuckoo::fpr(0.94, 4, cuckoo::values_beside_empty_mark(12));
/// assert!((rate - 0.0018349).abs() < 5e-8);
/// ```
pub fn fpr(alpha: f64, bucket_slots: u32, values: f64) -> f64 {
    -libm::expm1(2.0 * f64::from(bucket_slots) * alpha * libm::log1p(-1.0 / values))
}

/// The fewest fingerprint bits, at least 2, with which [`fpr`] beside an empty mark is at most `target`.
///
/// `None` if `target` is not in (0, 1), or no number of bits is enough (`alpha` not a number).
pub fn fingerprint_bits(alpha: f64, bucket_slots: u32, target: f64) -> Option<u32> {
    if !is_rate(target) {
        return None;
    }
    (2..=1_023).find(|&bits| fpr(alpha, bucket_slots, values_beside_empty_mark(bits)) <= target)
}

/// ⌈n/(alpha b)⌉, at least 1: the buckets for `n` records at a load of at most `alpha` in (0, 1].
///
/// `None`: see the module [`theory`](super), or buckets without slots.
pub fn buckets(n: u64, alpha: f64, bucket_slots: u32) -> Option<u64> {
    if !(alpha > 0.0 && alpha <= 1.0) || bucket_slots == 0 {
        return None;
    }
    Some(ceil_to_size(n as f64 / (alpha * f64::from(bucket_slots)))?.max(1))
}

/// 2b: how many records with equal fingerprint and buckets a table can hold; one more copy of a key cannot be inserted.
pub fn most_equal(bucket_slots: u32) -> u64 {
    2 * u64::from(bucket_slots)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn rates_at_published_points() {
        for (bits, printed) in [(8, "2.9116"), (12, "0.18349"), (16, "0.011474")] {
            assert_printed(100.0 * fpr(0.94, 4, values_beside_empty_mark(bits)), printed);
        }
        assert_printed(100.0 * fpr(0.94, 4, values(8)), "2.9004");
        assert_eq!(fpr(0.0, 4, values(8)), 0.0);
    }

    #[test]
    fn sizes() {
        assert_eq!(buckets(940, 0.94, 4), Some(250));
        assert_eq!(buckets(0, 0.94, 4), Some(1));
        assert_eq!(buckets(10, 0.0, 4), None);
        assert_eq!(buckets(10, f64::NAN, 4), None);
        assert_eq!(buckets(10, 0.9, 0), None);
        assert_eq!(fingerprint_bits(0.94, 4, 0.03), Some(8));
        assert_eq!(fingerprint_bits(0.94, 4, 0.029), Some(9));
        assert_eq!(fingerprint_bits(0.94, 4, 1.0), None);
        assert_eq!(fingerprint_bits(f64::NAN, 4, 0.1), None);
        assert_eq!(most_equal(4), 8);
    }

    #[test]
    fn three_more_bits_than_the_rate() {
        for r in 2..40 {
            let ratio = fpr(1.0, 4, values(r + 3)) / libm::exp2(-f64::from(r));
            assert!(ratio < 1.0 && ratio > 0.85, "{r} {ratio}");
        }
    }
}
