//! Bloom and counting Bloom filters of `m` positions, `n` distinct keys and `k` probes a key.
//!
//! The model: each key draws its k probes independently, with replacement, so probes of one key may coincide.

use super::occupancy::mean_power;
use super::{ceil_to_size, is_rate, power};

/// The most probes that the sizes here choose.
pub const MOST_PROBES: u32 = 64;

/// (`set`/`m`)^`k`: the rate of one filter that has `set` of its `m` positions set. 1 where m is 0.
///
/// Good for testing one filter: its false positives are binomial with this rate, whatever its hash functions drew.
pub fn fpr_given_state(set: u64, m: u64, k: u32) -> f64 {
    if m == 0 { 1.0 } else { power(set as f64 / m as f64, k) }
}

/// (1 - e^(-kn/m))^k, the common approximation (after Bloom 1970; Mitzenmacher and Broder 2004).
///
/// Good for sizing and for large filters: below the exact mean by a relative error that shrinks like k²/m, 7 % at 64
/// positions and 5 probes, 0.09 % at 10,000 and 7.
pub fn fpr_approximate(m: u64, n: u64, k: u32) -> f64 {
    fpr_at_bits_per_key(m as f64 / n as f64, k)
}

/// [`fpr_approximate`] at `bits_per_key` = m/n positions a key.
pub fn fpr_at_bits_per_key(bits_per_key: f64, k: u32) -> f64 {
    power(-libm::expm1(-f64::from(k) / bits_per_key), k)
}

/// (1 - (1-1/m)^(kn))^k: the classic form, exact for the mean share of set positions but not for the mean of its power.
///
/// Good for comparison with the literature; below [`fpr_exact`] by 5 % at 64 positions (Bose et al. 2008).
pub fn fpr_classic(m: u64, n: u64, k: u32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    power(expected_set(m, n, k) / m as f64, k)
}

/// m (1 - (1-1/m)^(kn)): the mean number of set positions.
pub fn expected_set(m: u64, n: u64, k: u32) -> f64 {
    let m = m as f64;
    -m * libm::expm1(f64::from(k) * n as f64 * libm::log1p(-1.0 / m))
}

/// `E[(X/m)^k]` over X, the set positions after kn independent throws: the exact mean rate (Bose et al. 2008;
/// Christensen, Roginsky, Jimeno 2010).
///
/// Good for filters of any size, and needed for small ones. One filter still scatters around it (with 8 probes by 41 % at
/// 10 keys, 4 % at 1,000). 0 for n = 0, else 1 for m = 0. The relative error is near 1e-13; the cost does not depend on m and n, but
/// grows as k³: microseconds at k = 8, about a millisecond at 64.
///
/// ```
/// use amq::theory::bloom;
/// let exact = bloom::fpr_exact(64, 8, 5);
/// assert!((exact - 0.023416).abs() < 5e-7);
/// assert!(exact > bloom::fpr_classic(64, 8, 5));
/// ```
pub fn fpr_exact(m: u64, n: u64, k: u32) -> f64 {
    if n == 0 { 0.0 } else { mean_power(m, f64::from(k) * n as f64, k) }
}

/// The whole k in 1..=64 with the lowest [`fpr_approximate`]: a neighbour of (m/n) ln 2.
pub fn optimal_k(m: u64, n: u64) -> u32 {
    best_k_at(m as f64 / n as f64)
}

/// [`optimal_k`] at `bits_per_key` = m/n positions a key.
pub fn best_k_at(bits_per_key: f64) -> u32 {
    let real = bits_per_key * core::f64::consts::LN_2;
    let below = (1..MOST_PROBES).rev().find(|&k| f64::from(k) <= real).unwrap_or(1);
    let above = below + 1;
    let better = fpr_at_bits_per_key(bits_per_key, above) < fpr_at_bits_per_key(bits_per_key, below);
    if better { above } else { below }
}

/// The positions a key that `fpr` takes with the best real k in 1..=64: log2(1/fpr)/ln 2 where that k is inside.
pub fn bits_per_key(fpr: f64) -> f64 {
    let real_k = -libm::log2(fpr);
    if real_k < 1.0 {
        bits_per_key_with(fpr, 1)
    } else if real_k > f64::from(MOST_PROBES) {
        bits_per_key_with(fpr, MOST_PROBES)
    } else {
        real_k / core::f64::consts::LN_2
    }
}

/// The positions a key at which [`fpr_at_bits_per_key`] is `fpr` with `k` ≥ 1 probes: -k / ln(1 - fpr^(1/k)).
pub fn bits_per_key_with(fpr: f64, k: u32) -> f64 {
    let k = f64::from(k);
    -k / libm::log1p(-libm::exp(libm::log(fpr) / k))
}

/// The positions for `n` keys at `fpr` with the best real k, rounded up: n log2(1/fpr)/ln 2 for rates up to 1/2.
///
/// `n` = 0 is sized as 1. `None`: see the module [`theory`](super).
pub fn bits_for_fpr(n: u64, fpr: f64) -> Option<u64> {
    if !is_rate(fpr) {
        return None;
    }
    Some(ceil_to_size(n.max(1) as f64 * bits_per_key(fpr))?.max(1))
}

/// The positions for `n` keys at `fpr` with exactly `k` ≥ 1 probes, rounded up.
///
/// `n` = 0 is sized as 1. `None`: see the module [`theory`](super).
pub fn bits_for_fpr_with(n: u64, fpr: f64, k: u32) -> Option<u64> {
    if !is_rate(fpr) || k == 0 {
        return None;
    }
    Some(ceil_to_size(n.max(1) as f64 * bits_per_key_with(fpr, k))?.max(1))
}

/// The size and the probes that a plan for `n` keys at `fpr` takes: m = [`bits_for_fpr`], k = [`optimal_k`] there.
///
/// Sized to the position. The mean rate is not exactly `fpr`: a whole k adds up to 3.7 % (2.2 % below rates of 1/4, 1.5 % below 1/10), and a small
/// filter lies above the approximation; [`bits_for_exact_fpr`] is the size that accounts for both.
///
/// ```
/// assert_eq!(amq::theory::bloom::smallest_bits(1_000, 0.01), Some((9_586, 7)));
/// ```
pub fn smallest_bits(n: u64, fpr: f64) -> Option<(u64, u32)> {
    let n = n.max(1);
    let m = bits_for_fpr(n, fpr)?;
    Some((m, optimal_k(m, n)))
}

/// The smallest m, with its best k, at which [`fpr_exact`] is at most `fpr` for `n` keys.
///
/// Good for small filters that must keep a rate on average. A binary search: up to a few hundred evaluations of
/// [`fpr_exact`]. `n` = 0 is sized as 1. `None`: see the module [`theory`](super), or more than 64 probes would be needed.
pub fn bits_for_exact_fpr(n: u64, fpr: f64) -> Option<(u64, u32)> {
    let n = n.max(1);
    let (start, _) = smallest_bits(n, fpr)?;
    let meets = |m: u64| {
        let (k, rate) = best_exact(m, n);
        (rate <= fpr).then_some(k)
    };
    // `below` never meets the rate, `above` always does. The start is nearly right: steps from it grow twofold.
    let mut step = (start / 64).max(1);
    let (mut below, mut above) = (start, start);
    let mut k = loop {
        if let Some(k) = meets(above) {
            break k;
        }
        below = above;
        above = above.checked_add(step)?;
        step = step.checked_mul(2)?;
    };
    if below == above {
        step = (start / 1024).max(1);
        loop {
            below = above.saturating_sub(step);
            match meets(below) {
                Some(found) if below > 0 => (above, k) = (below, found),
                _ => break,
            }
            step = step.saturating_mul(2);
        }
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        match meets(middle) {
            Some(found) => (above, k) = (middle, found),
            None => below = middle,
        }
    }
    Some((above, k))
}

/// The k in 1..=64 with the lowest exact mean, found downhill from the approximate best, and that mean.
fn best_exact(m: u64, n: u64) -> (u32, f64) {
    if m == 0 {
        return (1, 1.0);
    }
    let mut best = (optimal_k(m, n), fpr_exact(m, n, optimal_k(m, n)));
    for towards in [-1, 1] {
        while let Some(k) = best.0.checked_add_signed(towards).filter(|k| (1..=MOST_PROBES).contains(k)) {
            let rate = fpr_exact(m, n, k);
            if rate >= best.1 {
                break;
            }
            best = (k, rate);
        }
    }
    best
}

/// m (e ln 2/16)^16 = 1.37e-15 m: a bound on the probability that any of `m` four-bit counters passes 15, at the best
/// k (Fan, Cao, Almeida, Broder 2000).
///
/// Good for showing that four bits are enough for distinct keys; repeated keys are another matter.
pub fn counter_overflow_bound(m: u64) -> f64 {
    m as f64 * power(core::f64::consts::E * core::f64::consts::LN_2 / 16.0, 16)
}

/// The probability that one counter of mean `mean` = kn/m holds `limit` or more: a Poisson tail. 7.07e-17 at ln 2 and 16.
pub fn counter_tail(mean: f64, limit: u64) -> f64 {
    if limit == 0 {
        return 1.0;
    }
    let Some(law) = super::distribution::Window::poisson(mean, 0.0) else { return f64::NAN };
    law.iter().filter(|&(count, _)| count >= limit).map(|(_, probability)| probability).sum()
}

#[cfg(test)]
mod tests {
    use super::super::occupancy::tests::mean_power_by_law;
    use super::super::tests::assert_printed;
    use super::*;
    use alloc::vec;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn approximation_at_published_points() {
        for (bits, k, printed) in
            [(8, 6, "2.1577"), (10, 7, "0.81937"), (12, 8, "0.31424"), (16, 11, "0.045871")]
        {
            assert_printed(100.0 * fpr_approximate(bits * 1_000, 1_000, k), printed);
            assert_eq!(optimal_k(bits * 1_000, 1_000), k);
        }
        assert_printed(100.0 * fpr_approximate(64, 8, 5), "2.1679");
        assert_printed(100.0 * fpr_classic(64, 8, 5), "2.2301");
    }

    #[test]
    fn exact_at_published_points() {
        assert_printed(100.0 * fpr_exact(64, 8, 5), "2.3416");
        assert_printed(100.0 * fpr_exact(256, 25, 7), "0.75597");
    }

    #[test]
    fn exact_agrees_with_the_law_for_small_filters() {
        for m in [2, 10, 97, 512] {
            for n in [1, 3, 10, 60] {
                for k in [1, 4, 13] {
                    let expected = mean_power_by_law(m, n * k, k);
                    let actual = fpr_exact(u64::from(m), u64::from(n), k);
                    assert!((actual / expected - 1.0).abs() < 1e-11, "{m} {n} {k}: {actual} {expected}");
                }
            }
        }
    }

    /// Inclusion and exclusion over the occupied positions, evaluated elsewhere with 400 decimal digits.
    #[test]
    fn exact_agrees_with_long_arithmetic() {
        for (m, n, k, expected) in [
            (9_586, 1_000, 7, 0.010_043_583_990_146_52),
            (1_000_000_000, 100_000_000, 7, 0.008_193_722_138_196_704),
            (1_000_000_000, 100_000_000, 64, 0.899_039_682_720_938_3),
            (3_000_000_000, 1_000_000_000, 2, 0.236_762_900_130_754_45),
            (576, 10, 40, 1.470_922_651_060_099_8e-12),
            (1_000_000, 1_000, 20, 8.588_766_136_145_605e-35),
            (1_000_000_000, 1, 9, 3.874_204_798_847_007e-73),
        ] {
            let actual = fpr_exact(m, n, k);
            assert!((actual / expected - 1.0).abs() < 2e-13, "{m} {n} {k}: {actual}");
        }
    }

    #[test]
    fn exact_agrees_with_simulated_filters() {
        let seed = 0x5eed_0001;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for (m, n, k) in [(32_u64, 4_u64, 3_u32), (64, 8, 5), (256, 25, 7)] {
            let rounds = 40_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..rounds {
                let mut set = vec![false; usize::try_from(m).unwrap()];
                for _ in 0..n * u64::from(k) {
                    // A multiply-shift of 64 random bits: biased by less than 2^-55 here.
                    let position = (u128::from(random.next_u64()) * u128::from(m)) >> 64;
                    set[usize::try_from(position).unwrap()] = true;
                }
                let rate = fpr_given_state(set.iter().filter(|&&bit| bit).count() as u64, m, k);
                sum += rate;
                squares += rate * rate;
            }
            let mean = sum / f64::from(rounds);
            let error = libm::sqrt((squares / f64::from(rounds) - mean * mean) / f64::from(rounds));
            let z = (mean - fpr_exact(m, n, k)) / error;
            assert!(z.abs() < 4.0, "seed {seed}: m {m} n {n} k {k} z {z}");
        }
    }

    #[test]
    fn exact_approaches_the_approximation_from_above() {
        for k in [1, 4, 8, 16, 64] {
            let mut last = f64::INFINITY;
            for scale in [10, 1_000, 100_000, 10_000_000] {
                let excess = fpr_exact(12 * scale, scale, k) / fpr_approximate(12 * scale, scale, k) - 1.0;
                assert!(excess > -1e-9 && (excess < last || excess.abs() < 1e-9), "{k} {scale} {excess}");
                last = excess;
            }
            assert!(last < 1e-4, "{k} {last}");
        }
    }

    #[test]
    fn exact_at_the_edges() {
        assert_eq!(fpr_exact(100, 0, 7), 0.0);
        assert_eq!(fpr_exact(1, 1, 7), 1.0);
        assert_eq!(fpr_exact(0, 1, 7), 1.0);
        assert_eq!(fpr_exact(0, 0, 7), 0.0);
        assert_eq!(
            (fpr_given_state(0, 0, 3), fpr_given_state(0, 8, 3), fpr_given_state(4, 8, 3)),
            (1.0, 0.0, 0.125)
        );
        assert_eq!(fpr_exact(2, u64::MAX, 64), 1.0);
        assert!((fpr_exact(u64::MAX, u64::MAX, 1) + libm::expm1(-1.0)).abs() < 1e-14);
        // One key, one probe: exactly 1/m.
        assert!((fpr_exact(1_000_000_007, 1, 1) * 1_000_000_007.0 - 1.0).abs() < 1e-14);
        // One key, two probes: E[(X/m)²] = (1/m · 1 + (1-1/m) · 4)/m².
        let m = 1e9;
        let expected = (1.0 / m + (1.0 - 1.0 / m) * 4.0) / (m * m);
        assert!((fpr_exact(1_000_000_000, 1, 2) / expected - 1.0).abs() < 1e-13);
        // Ten keys at 1e-12, where sums of alternating terms have no digit left.
        let (m, k) = smallest_bits(10, 1e-12).unwrap();
        let expected = mean_power_by_law(u32::try_from(m).unwrap(), 10 * k, k);
        assert!((fpr_exact(m, 10, k) / expected - 1.0).abs() < 1e-11);
        assert!(fpr_exact(1_000_000_000, 100_000_000, 64) > 0.0);
    }

    #[test]
    fn exact_is_monotone() {
        for k in [1, 6, 20] {
            let mut last = 0.0;
            for n in 1..200 {
                let rate = fpr_exact(300, n, k);
                assert!(rate >= last);
                last = rate;
            }
            for m in 2..300 {
                assert!(fpr_exact(m + 1, 20, k) < fpr_exact(m, 20, k) || fpr_exact(m, 20, k) > 1.0 - 1e-9);
            }
        }
    }

    #[test]
    fn sizes_to_the_position() {
        assert_eq!(smallest_bits(1_000, 0.01), Some((9_586, 7)));
        assert_eq!(smallest_bits(0, 0.5), Some((2, 1)));
        assert_eq!(smallest_bits(1_000_000, libm::exp2(-8.0)).unwrap().1, 8);
        for fpr in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(smallest_bits(10, fpr), None);
            assert_eq!(bits_for_exact_fpr(10, fpr), None);
        }
        assert_eq!(smallest_bits(u64::MAX, 0.01), None);
        assert_eq!(bits_for_fpr_with(10, 0.5, 0), None);
    }

    #[test]
    fn a_whole_k_costs_little() {
        let mut fpr = 0.999;
        let n = 10_000_000;
        while fpr > 1e-25 {
            let (m, k) = smallest_bits(n, fpr).unwrap();
            let excess = fpr_approximate(m, n, k) / fpr - 1.0;
            let most = if fpr < 0.1 {
                0.015
            } else if fpr < 0.25 {
                0.022
            } else {
                0.037
            };
            assert!(excess > -1e-6 && excess < most, "{fpr} {m} {k} {excess}");
            assert!(bits_for_fpr_with(n, fpr, k).unwrap() >= m - 1);
            fpr *= 0.93;
        }
    }

    #[test]
    fn best_k_is_the_best_of_all() {
        for tenths in 1..1200 {
            let bits = f64::from(tenths) / 10.0;
            let best = best_k_at(bits);
            let least = (1..=MOST_PROBES).map(|k| fpr_at_bits_per_key(bits, k)).fold(f64::INFINITY, f64::min);
            assert_eq!(fpr_at_bits_per_key(bits, best), least, "{bits}");
        }
    }

    #[test]
    fn exact_sizes_are_the_smallest() {
        for n in [1, 2, 10, 100, 3_000] {
            for fpr in [0.9, 0.5, 0.1, 0.01, 1e-4] {
                let (m, k) = bits_for_exact_fpr(n, fpr).unwrap();
                assert!(fpr_exact(m, n, k) <= fpr, "{n} {fpr} {m} {k}");
                let least = (1..=MOST_PROBES).map(|k| fpr_exact(m - 1, n, k)).fold(f64::INFINITY, f64::min);
                assert!(m == 1 || least > fpr, "{n} {fpr} {m} {k} {least}");
            }
        }
        assert!(bits_for_exact_fpr(1_000_000, 1e-3).is_some());
    }

    #[test]
    fn four_bit_counters_are_enough() {
        assert!((counter_overflow_bound(1) / 1.3677e-15 - 1.0).abs() < 5e-5);
        assert!((counter_tail(core::f64::consts::LN_2, 16) / 7.07e-17 - 1.0).abs() < 1e-3);
        assert_eq!(counter_tail(0.5, 0), 1.0);
        assert!(counter_tail(0.5, 1) > counter_tail(0.5, 2));
    }
}
