//! Proportions: hits among trials.

use std::f64::consts::TAU;

use statrs::function::gamma::ln_gamma;

/// The two ends of an interval, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `x` lies inside.
    pub fn contains(&self, x: f64) -> bool {
        (self.low..=self.high).contains(&x)
    }
}

/// The exact interval for the rate behind `hits` of `trials`: it covers the true rate with at least probability `confidence`,
/// and leaves at most half of the rest on each side. Clopper and Pearson, *Biometrika* 1934.
///
/// The lower end is 0 at 0 hits, the upper end 1 where all trials hit; without a trial nothing is known: `[0, 1]`.
/// Costs some hundred sums of a binomial tail: microseconds at the rates of filters, below a second everywhere.
///
/// # Panics
/// If `hits > trials`, or `confidence` is not in (0, 1).
///
/// ```
/// use amq_testkit::statistics::clopper_pearson;
///
/// let interval = clopper_pearson(0, 1_000, 0.95);
/// assert_eq!(interval.low, 0.0);
/// assert!((interval.high - 0.003_682).abs() < 1e-6);
/// ```
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> Interval {
    assert!(hits <= trials, "{hits} hits in {trials} trials");
    assert!(confidence > 0.0 && confidence < 1.0, "the confidence {confidence} is not in (0, 1)");
    if trials == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let outside = (1.0 - confidence) / 2.0;
    let rate = hits as f64 / trials as f64;
    let low = if hits == 0 {
        0.0
    } else {
        // Too small a rate makes so many hits less likely than `outside`.
        bisect(0.0, rate, |p| binomial_at_least(hits, trials, p) < outside)
    };
    let high = if hits == trials {
        1.0
    } else {
        bisect(rate, 1.0, |p| binomial_at_most(hits, trials, p) >= outside)
    };
    Interval { low, high }
}

/// Where `below` turns from true to false, to the last bits of the number.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low.midpoint(high);
        if middle <= low || middle >= high || (high - low) <= 1e-14 * high {
            return middle;
        }
        if below(middle) { low = middle } else { high = middle }
    }
}

/// How many standard deviations `hits` of `trials` lie above the mean for the rate `p`: `(hits - trials·p) / sqrt(trials·p·(1-p))`.
///
/// 0 where nothing was expected and nothing came, infinite where `p` is 0 or 1 and the outcome was impossible. Close to a
/// normal deviate only where some hundred hits are expected: see [`binomial_p_value`].
pub fn z_score(hits: u64, trials: u64, p: f64) -> f64 {
    let difference = hits as f64 - trials as f64 * p;
    if difference == 0.0 { 0.0 } else { difference / (trials as f64 * p * (1.0 - p)).sqrt() }
}

/// P(X ≤ hits) for X ~ Binomial(`trials`, `p`).
///
/// # Panics
/// If `p` is not in [0, 1].
pub fn binomial_at_most(hits: u64, trials: u64, p: f64) -> f64 {
    if hits >= trials {
        assert_probability(p);
        return 1.0;
    }
    // At most `hits` hits are at least `trials - hits` misses.
    upper_tail(trials - hits, trials, 1.0 - p, p)
}

/// P(X ≥ hits) for X ~ Binomial(`trials`, `p`).
///
/// # Panics
/// If `p` is not in [0, 1].
pub fn binomial_at_least(hits: u64, trials: u64, p: f64) -> f64 {
    upper_tail(hits, trials, p, 1.0 - p)
}

/// The exact two-sided p-value of `hits` among `trials` under the rate `p`: twice the smaller tail, at most 1. It is below
/// `1 - confidence` exactly where [`clopper_pearson`] excludes `p`.
///
/// # Panics
/// If `hits > trials`, or `p` is not in [0, 1].
pub fn binomial_p_value(hits: u64, trials: u64, p: f64) -> f64 {
    assert!(hits <= trials, "{hits} hits in {trials} trials");
    (2.0 * binomial_at_most(hits, trials, p).min(binomial_at_least(hits, trials, p))).min(1.0)
}

/// The randomised lower tail: P(X < hits) + `v` P(X = hits). With a `v` drawn uniformly from [0, 1) it is uniform on [0, 1] under
/// the rate `p`, however coarse the counts are; so many such values together can be tested against the uniform distribution.
///
/// # Panics
/// If `hits > trials`, or `p` is not in [0, 1].
pub fn binomial_randomised(hits: u64, trials: u64, p: f64, v: f64) -> f64 {
    assert!(hits <= trials, "{hits} hits in {trials} trials");
    let below = hits.checked_sub(1).map_or(0.0, |less| binomial_at_most(less, trials, p));
    let up_to = binomial_at_most(hits, trials, p);
    below + v * (up_to - below)
}

/// Whether `hits` among `trials` can come from the rate `p`: |z| ≤ 4 where at least 100 hits are expected, and else an exact
/// p-value above 6·10^-5, which is as strict. A true rate is refused once in some 16,000 independent tests.
///
/// # Panics
/// As [`binomial_p_value`].
pub fn agrees(hits: u64, trials: u64, p: f64) -> bool {
    let expected = trials as f64 * p.min(1.0 - p);
    if expected < 100.0 {
        binomial_p_value(hits, trials, p) > 6e-5
    } else {
        z_score(hits, trials, p).abs() <= 4.0
    }
}

fn assert_probability(p: f64) {
    assert!((0.0..=1.0).contains(&p), "{p} is not a probability");
}

/// P(X ≥ k) for X ~ Binomial(n, p), with q = 1 - p given as well because one of the two may be tiny.
fn upper_tail(k: u64, n: u64, p: f64, q: f64) -> f64 {
    assert_probability(p);
    if k == 0 {
        return 1.0;
    }
    if k > n || p == 0.0 {
        return 0.0;
    }
    if q == 0.0 {
        return 1.0;
    }
    if (k as f64) > n as f64 * p { sum_outwards(k, n, p, q) } else { 1.0 - sum_outwards(n - k + 1, n, q, p) }
}

/// P(X ≥ k) for k above the mean, where the terms fall from the first one on.
fn sum_outwards(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in k..n {
        term *= (n - i) as f64 / (i + 1) as f64 * (p / q);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    (probability(k, n, p, q) * sum).min(1.0)
}

/// P(X = k), by the saddle-point expansion of Loader, *Fast and accurate computation of binomial probabilities*, 2000: no
/// difference of large numbers.
pub(super) fn probability(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (x, y, size) = (k as f64, (n - k) as f64, n as f64);
    if k == 0 {
        return (size * ln_complement(p, q)).exp();
    }
    if k == n {
        return (size * ln_complement(q, p)).exp();
    }
    let exponent = stirling_error(size)
        - stirling_error(x)
        - stirling_error(y)
        - deviance(x, size * p)
        - deviance(y, size * q);
    exponent.exp() * (size / (TAU * x * y)).sqrt()
}

/// ln(1 - p), from whichever of p and q = 1 - p has not lost digits.
fn ln_complement(p: f64, q: f64) -> f64 {
    if p < 0.5 { (-p).ln_1p() } else { q.ln() }
}

/// `ln(n!)` less Stirling's formula for it, for n ≥ 1.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return ln_gamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / n
}

/// `x ln(x / mean) + mean - x`, without cancellation where x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    // ln(x/mean) = 2 artanh(v), summed as a series.
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    let mut odd = 1.0;
    loop {
        power *= v * v;
        odd += 2.0;
        let next = sum + power / odd;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, expected: f64, relative: f64) {
        assert!((actual - expected).abs() <= relative * expected.abs(), "{actual:e}, not {expected:e}");
    }

    /// Roots of the incomplete beta function by mpmath 1.3 in 30 digits, and for large numbers, where that does not converge,
    /// `scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")` of `SciPy` 1.17.1, which has six right digits there.
    #[test]
    fn clopper_pearson_as_elsewhere() {
        for (hits, trials, low, high, precision) in [
            (0, 10, 0.0, 0.308_497_107_818_762_94, 1e-12),
            (10, 10, 0.691_502_892_181_237_1, 1.0, 1e-12),
            (0, 1_000, 0.0, 0.003_682_083_896_865_68, 1e-12),
            (3, 10, 0.066_739_511_177_734_47, 0.652_452_850_059_997_3, 1e-12),
            (37, 100_000, 0.000_260_527_106_081_731_08, 0.000_509_960_561_154_996_1, 1e-11),
            (1, 1_000_000, 2.531_780_766_379_417_8e-8, 5.571_630_655_172_244e-6, 1e-11),
            (95_367, 100_000_000, 0.000_947_629_664_199_109_1, 0.000_959_739_255_305_599_2, 1e-6),
            (500_000_000, 1_000_000_000, 0.499_969_009_748_472_36, 0.500_030_990_251_527_6, 1e-6),
            (1_000, 1_000_000_000, 9.389_728_239_297_761e-7, 1.063_952_547_068_872_7e-6, 1e-6),
        ] {
            let interval = clopper_pearson(hits, trials, 0.95);
            assert_close(interval.low, low, precision);
            assert_close(interval.high, high, precision);
            assert!(interval.contains(hits as f64 / trials as f64));
            // Each end leaves 2.5 % outside.
            if hits > 0 {
                assert_close(binomial_at_least(hits, trials, interval.low), 0.025, 1e-9);
            }
            if hits < trials {
                assert_close(binomial_at_most(hits, trials, interval.high), 0.025, 1e-9);
            }
        }
        assert_eq!(clopper_pearson(0, 0, 0.95), Interval { low: 0.0, high: 1.0 });
    }

    /// `scipy.stats.binom.cdf(k, n, p)` and `.sf(k - 1, n, p)`, `SciPy` 1.17.1.
    #[test]
    fn tails_as_scipy() {
        for (hits, trials, p, at_most, at_least) in [
            (0, 10, 0.5, 0.000_976_562_5, 1.0),
            (5, 10, 0.5, 0.623_046_875, 0.623_046_875),
            (3, 10, 0.1, 0.987_204_801_6, 0.070_190_826_4),
            (120, 10_000, 0.01, 0.977_885_512_162_539, 0.027_597_256_302_066_213),
            (400, 1_000_000, 0.000_244_140_625, 1.0, 4.173_292_449_488_148e-20),
            (0, 1_000_000_000, 1e-9, 0.367_879_440_987_502_6, 1.0),
            (10, 1_000_000_000, 1e-9, 0.999_999_989_952_234, 1.114_254_742_836_123_8e-7),
            (97_000, 100_000_000, 0.000_976_562_5, 0.017_809_685_565_926_135, 0.982_330_604_473_375_6),
            (500_100_000, 1_000_000_000, 0.5, 0.999_999_999_873_044_6, 1.270_074_179_881_551e-10),
            (50, 10_000, 0.01, 2.112_239_932_632_376_8e-8, 0.999_999_989_687_516_1),
            (2, 3, 1e-12, 1.0, 2.999_999_999_997_999_8e-24),
        ] {
            assert_close(binomial_at_most(hits, trials, p), at_most, 1e-9);
            assert_close(binomial_at_least(hits, trials, p), at_least, 1e-9);
            assert_close(binomial_p_value(hits, trials, p), (2.0 * at_most.min(at_least)).min(1.0), 1e-9);
        }
    }

    /// Against sums of products, which need no idea.
    #[test]
    fn tails_as_sums_of_products() {
        for n in 1..=12_u64 {
            for p in [1e-3, 0.3, 0.5, 0.97] {
                let mass = |k: u64| {
                    let choose: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
                    (0..k).fold(choose, |x, _| x * p) * (k..n).fold(1.0, |x, _| x * (1.0 - p))
                };
                for k in 0..=n {
                    assert_close(binomial_at_least(k, n, p), (k..=n).map(mass).sum(), 1e-11);
                    assert_close(binomial_at_most(k, n, p), (0..=k).map(mass).sum(), 1e-11);
                }
            }
        }
    }

    #[test]
    fn randomised_tails_tile_the_unit_interval() {
        for (n, p) in [(1, 0.3), (7, 0.01), (7, 0.5), (40, 0.9)] {
            let mut end = 0.0;
            for hits in 0..=n {
                assert_close(binomial_randomised(hits, n, p, 0.0) + 1.0, end + 1.0, 1e-14);
                let width = binomial_at_most(hits, n, p) - end;
                let middle = binomial_randomised(hits, n, p, 0.5);
                assert!((middle - end - width / 2.0).abs() < 1e-14, "{hits} of {n} at {p}: {middle}");
                end += width;
            }
            assert_eq!(end, 1.0);
        }
    }

    #[test]
    fn certain_and_impossible_outcomes() {
        assert_eq!(binomial_p_value(0, 100, 0.0), 1.0);
        assert_eq!(binomial_p_value(1, 100, 0.0), 0.0);
        assert_eq!(binomial_p_value(100, 100, 1.0), 1.0);
        assert_eq!(binomial_p_value(99, 100, 1.0), 0.0);
        assert_eq!(z_score(0, 100, 0.0), 0.0);
        assert_eq!(z_score(1, 100, 0.0), f64::INFINITY);
        assert!(!agrees(1, 1_000_000_000, 0.0) && agrees(0, 1_000_000_000, 0.0));
        // A tail far below what a logarithm of the complement could show.
        assert!(binomial_p_value(600, 1_000, 0.1) < 1e-200);
    }

    #[test]
    fn agreement_is_as_strict_on_both_sides_of_100_expected_hits() {
        assert_eq!(z_score(1_040, 10_000, 0.1), 4.0 / 3.0);
        assert!(agrees(1_120, 10_000, 0.1) && !agrees(1_121, 10_000, 0.1));
        // 50 expected, a standard deviation of 7.
        assert!(agrees(50, 500_000, 1e-4) && agrees(78, 500_000, 1e-4) && agrees(26, 500_000, 1e-4));
        assert!(!agrees(83, 500_000, 1e-4) && !agrees(23, 500_000, 1e-4));
        // A rate near 1 is judged by its misses.
        assert!(agrees(999_950, 1_000_000, 0.999_95) && !agrees(1_000_000, 1_000_000, 0.999_95));
    }
}
