//! Quotient filters of `m` slots with `r` remainder bits, at a load `alpha` = records/m in (0, 1).
//!
//! Lengths are in the limit of large tables with hashed (uniform) fingerprints.

use super::distribution::{Window, poisson_probability};
use super::{ceil_to_size, is_rate};

/// The slots for `n` records at a load of at most `alpha` in (0, 1]: max(⌈n/alpha⌉, n + 1, 2), because one slot stays empty.
///
/// `None`: see the module [`theory`](super).
pub fn slots(n: u64, alpha: f64) -> Option<u64> {
    if !(alpha > 0.0 && alpha <= 1.0) {
        return None;
    }
    let with_load = ceil_to_size(n as f64 / alpha)?;
    Some(with_load.max(n.checked_add(1)?).max(2))
}

/// The fewest remainder bits, at least 1, with which [`fpr_at_load`] is at most `fpr`.
///
/// `None` if `fpr` is not in (0, 1) or `alpha` is not positive.
pub fn remainder_bits(alpha: f64, fpr: f64) -> Option<u32> {
    if !is_rate(fpr) || alpha.is_nan() || alpha <= 0.0 {
        return None;
    }
    (1..=1_100).find(|&r| fpr_at_load(alpha, r) <= fpr)
}

/// The number of possible fingerprints M = m 2^r, as a float: M may be 2^64 and more.
fn fingerprints(m: u64, r: u32) -> f64 {
    m as f64 * libm::exp2(f64::from(r))
}

/// `distinct`/M, exactly: the rate of one filter of `m` slots that holds `distinct` different fingerprints.
///
/// Good for testing one filter: its false positives are binomial with this rate.
pub fn fpr_given_state(distinct: u64, m: u64, r: u32) -> f64 {
    distinct as f64 / fingerprints(m, r)
}

/// 1 - (1-1/M)^n: the mean rate with `n` distinct keys (Bender et al. 2012).
pub fn fpr(n: u64, m: u64, r: u32) -> f64 {
    -libm::expm1(n as f64 * libm::log1p(-1.0 / fingerprints(m, r)))
}

/// `alpha` 2^-r: the usual approximation of [`fpr`], slightly above it (by alpha 2^-r / 2, relatively).
///
/// ```
/// assert!((amq::theory::quotient::fpr_at_load(0.596, 8) - 0.002328).abs() < 5e-7);
/// ```
pub fn fpr_at_load(alpha: f64, r: u32) -> f64 {
    alpha * libm::exp2(-f64::from(r))
}

/// (r + 3)/alpha bits a key: three state bits a slot (Bender et al. 2012).
pub fn bits_per_key_three_bit(alpha: f64, r: u32) -> f64 {
    (f64::from(r) + 3.0) / alpha
}

/// (r + 2.125)/alpha bits a key: two bit vectors and an 8-bit offset per 64 slots (Pandey et al. 2017).
///
/// Overflow slots, and padding that fits a block to cache lines, come on top.
pub fn bits_per_key_rank_select(alpha: f64, r: u32) -> f64 {
    (f64::from(r) + 2.125) / alpha
}

/// alpha/(1 - e^-alpha): the mean length of a non-empty run, the records of one quotient.
pub fn mean_run(alpha: f64) -> f64 {
    -alpha / libm::expm1(-alpha)
}

/// alpha/((e^alpha - 1)(1 - alpha)): the mean length of a cluster, which starts with an unshifted record and goes up to
/// the next one or to an empty slot.
pub fn mean_cluster(alpha: f64) -> f64 {
    alpha / (libm::expm1(alpha) * (1.0 - alpha))
}

/// 1 + alpha/(1-alpha)²: the mean length of the cluster that a random record lies in, `E[L²]/E[L]`.
///
/// Good for the work of a lookup: it meets long clusters more often than [`mean_cluster`] says, 91 slots instead of 6 at
/// a load of .9. Derived from the law: L = 1 + the slots that the N - 1 shifted records of the first run lead to, N a
/// Poisson variable given that it is positive, each adding an independent Borel number (mean 1/(1-alpha), variance
/// alpha/(1-alpha)³). Simulated tables stay a little below it at high loads, because the longest clusters are rare.
pub fn mean_cluster_of_record(alpha: f64) -> f64 {
    let free = 1.0 - alpha;
    1.0 + alpha / (free * free)
}

/// The probability that a cluster has `length` slots: the law of cluster lengths.
///
/// P(1) = alpha/(e^alpha - 1), and for longer ones, by the ballot theorem, the sum over i ≥ 1 records that the first run
/// shifts of P(i + 1 records | at least one) · i/(length-1) · P(length-1-i records in length-1 slots), all Poisson.
/// Good for histograms. Costs at most a few hundred Poisson probabilities. 0 for length 0.
pub fn cluster_length_probability(alpha: f64, length: u64) -> f64 {
    match length {
        0 => 0.0,
        1 => alpha / libm::expm1(alpha),
        _ => {
            let rest = length - 1;
            let Some(run) = Window::poisson(alpha, 0.0) else { return f64::NAN };
            let sum: f64 = run
                .iter()
                .filter(|&(records, _)| records >= 2 && records - 1 <= rest)
                .map(|(records, probability)| {
                    let shifted = records - 1;
                    let later = poisson_probability(rest - shifted, alpha * rest as f64);
                    probability * (shifted as f64 / rest as f64) * later
                })
                .sum();
            -sum / libm::expm1(-alpha)
        }
    }
}

/// alpha/((1 - alpha)(1 - e^-alpha)): the mean length of a maximal stretch without an empty slot, one or more clusters.
pub fn mean_stretch(alpha: f64) -> f64 {
    mean_run(alpha) / (1.0 - alpha)
}

/// ln m/(alpha - 1 - ln alpha): a bound on the longest cluster among `m` slots, up to a factor 1 + o(1).
///
/// Good for sizing buffers and for noticing a bad hash; real tables stay below it by a factor of 2 to 4.
pub fn longest_cluster_bound(m: u64, alpha: f64) -> f64 {
    libm::log(m as f64) / (alpha - 1.0 - libm::log(alpha))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(slots(0, 0.5), Some(2));
        assert_eq!(slots(1, 1.0), Some(2));
        assert_eq!(slots(100, 1.0), Some(101));
        assert_eq!(slots(90, 0.9), Some(100));
        assert_eq!(slots(u64::MAX, 1.0), None);
        assert_eq!(slots(1 << 40, 1e-12), None);
        for alpha in [0.0, -0.5, 1.01, f64::NAN] {
            assert_eq!(slots(10, alpha), None);
        }
        assert_eq!(remainder_bits(0.5, libm::exp2(-9.0)), Some(8));
        assert_eq!(remainder_bits(0.9, 0.01), Some(7));
        assert_eq!(remainder_bits(0.9, 0.99), Some(1));
        assert_eq!(remainder_bits(0.9, 0.0), None);
        assert_eq!(remainder_bits(f64::NAN, 0.1), None);
    }

    #[test]
    fn rates() {
        assert_printed(100.0 * fpr_at_load(0.596, 8), "0.2328");
        assert_eq!(fpr_given_state(3, 8, 3), 3.0 / 64.0);
        assert_eq!(fpr(0, 8, 3), 0.0);
        assert!((fpr(1, 1_000_003, 40) * 1_000_003.0 * libm::exp2(40.0) - 1.0).abs() < 1e-14);
        assert!((fpr(596_000, 1_000_000, 8) / fpr_at_load(0.596, 8) - 1.0).abs() < 0.0012);
        assert!(fpr(u64::MAX, 1 << 63, 1) > 0.6);
    }

    #[test]
    fn space() {
        assert_eq!(bits_per_key_three_bit(0.5, 9), 24.0);
        assert_eq!(bits_per_key_rank_select(0.5, 8), 20.25);
    }

    #[test]
    fn mean_lengths_at_published_loads() {
        for (alpha, run, cluster, stretch) in
            [(0.5, "1.27", "1.54", "2.54"), (0.75, "1.42", "2.69", "5.69"), (0.9, "1.52", "6.17", "15.17")]
        {
            assert_printed(mean_run(alpha), run);
            assert_printed(mean_cluster(alpha), cluster);
            assert_printed(mean_stretch(alpha), stretch);
        }
        assert_printed(mean_run(0.95), "1.55");
        assert_printed(mean_cluster(0.95), "11.98");
        assert_printed(mean_stretch(0.95), "30.98");
    }

    #[test]
    fn cluster_law_at_published_loads() {
        for (alpha, law) in [(0.75, ["0.6714", "0.1189", "0.0562"]), (0.9, ["0.6166", "0.1128", "0.0550"])] {
            for (length, printed) in (1..).zip(law) {
                assert_printed(cluster_length_probability(alpha, length), printed);
            }
        }
        assert_printed(mean_cluster_of_record(0.5), "3.0");
        assert_printed(mean_cluster_of_record(0.75), "13.0");
        assert_printed(mean_cluster_of_record(0.9), "91.0");
    }

    #[test]
    fn cluster_law_sums_to_one_and_has_the_closed_moments() {
        for (alpha, longest) in [(0.05, 60), (0.5, 300), (0.75, 1_500), (0.9, 9_000)] {
            let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
            for length in (1..=longest).rev() {
                let probability = cluster_length_probability(alpha, length);
                sum += probability;
                mean += probability * length as f64;
                square += probability * (length * length) as f64;
            }
            assert!((sum - 1.0).abs() < 1e-10, "{alpha} {sum}");
            assert!((mean / mean_cluster(alpha) - 1.0).abs() < 1e-9, "{alpha} {mean}");
            assert!((square / mean / mean_cluster_of_record(alpha) - 1.0).abs() < 1e-7, "{alpha} {square}");
        }
        assert_eq!(cluster_length_probability(0.5, 0), 0.0);
    }

    #[test]
    fn longest_cluster() {
        assert_printed(longest_cluster_bound(1 << 17, 0.75), "313");
        assert_printed(longest_cluster_bound(1 << 17, 0.9), "2198");
    }

    #[test]
    fn lengths_grow_with_the_load() {
        let mut last = [0.0; 4];
        for percent in 1..100 {
            let alpha = f64::from(percent) / 100.0;
            let now =
                [mean_run(alpha), mean_cluster(alpha), mean_cluster_of_record(alpha), mean_stretch(alpha)];
            assert!(now.iter().zip(last).all(|(now, last)| *now > last && *now >= 1.0), "{alpha}");
            last = now;
        }
    }
}
