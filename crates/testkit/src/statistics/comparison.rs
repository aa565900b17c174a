//! Whether two samples differ, and by how much; and what is left of many such answers when chance has had its share.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::Interval;
use super::binomial::probability;

/// A fifth of the values is cut off at each end before the mean is taken: enough that one interrupted repetition of nine has
/// no say, little enough that a normal sample loses 4 % of its information.
const CUT: usize = 5;

/// A difference of locations, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The difference of the trimmed means.
    pub estimate: f64,
    /// Its interval at the confidence asked for.
    pub interval: Interval,
    /// The two-sided p-value of no difference: below `1 - confidence` exactly where the interval leaves out 0.
    pub p: f64,
}

/// By how much the values of `new` lie above those of `base`, which are independent of them: the difference of the 20 %
/// trimmed means, with Welch's degrees of freedom. Yuen, *Biometrika* 1974.
///
/// Of times one takes the logarithms, so that the difference is that of a ratio. `None` with fewer than three values on a
/// side, or one that is not finite.
///
/// # Panics
/// If `confidence` is not in (0, 1).
///
/// ```
/// use amq_testkit::statistics::trimmed_shift;
///
/// let base = [10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1, 9.9, 25.0];
/// let new = base.map(|x| x + 1.0);
/// let shift = trimmed_shift(&base, &new, 0.99).unwrap();
/// assert!((shift.estimate - 1.0).abs() < 1e-9 && shift.interval.low > 0.7 && shift.p < 1e-4);
/// ```
pub fn trimmed_shift(base: &[f64], new: &[f64], confidence: f64) -> Option<Shift> {
    let (base, new) = (Trimmed::of(base)?, Trimmed::of(new)?);
    let variance = base.variance + new.variance;
    let degrees = if variance > 0.0 {
        variance.powi(2) / (base.variance.powi(2) / base.degrees + new.variance.powi(2) / new.degrees)
    } else {
        base.degrees + new.degrees
    };
    Some(judge(new.mean - base.mean, variance, degrees, confidence))
}

/// By how much `differences` of pairs lie above 0: their 20 % trimmed mean, with Tukey and `McLaughlin`'s interval,
/// *Sankhyā A* 1963.
///
/// `None` with fewer than three values, or one that is not finite.
///
/// # Panics
/// If `confidence` is not in (0, 1).
pub fn paired_shift(differences: &[f64], confidence: f64) -> Option<Shift> {
    let Trimmed { mean, variance, degrees } = Trimmed::of(differences)?;
    Some(judge(mean, variance, degrees, confidence))
}

/// A trimmed mean.
#[derive(Clone, Copy)]
struct Trimmed {
    mean: f64,
    /// Of the mean.
    variance: f64,
    degrees: f64,
}

impl Trimmed {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let cut = sorted.len() / CUT;
        let kept = sorted.len() - 2 * cut;
        let mean = sorted[cut..][..kept].iter().sum::<f64>() / kept as f64;
        // What was cut off counts as often as the outermost values that were kept.
        let (lowest, highest) = (sorted[cut], sorted[cut + kept - 1]);
        let winsorized = || sorted.iter().map(|value| value.clamp(lowest, highest));
        let middle = winsorized().sum::<f64>() / sorted.len() as f64;
        let squares = winsorized().map(|value| (value - middle).powi(2)).sum::<f64>();
        let degrees = kept as f64 - 1.0;
        Some(Self { mean, variance: squares / (kept as f64 * degrees), degrees })
    }
}

fn judge(estimate: f64, variance: f64, degrees: f64, confidence: f64) -> Shift {
    assert!(confidence > 0.0 && confidence < 1.0, "the confidence {confidence} is not in (0, 1)");
    let error = variance.sqrt();
    // Values without any spread: two constants differ or they do not.
    let Some(student) = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| error > 0.0) else {
        let p = if estimate == 0.0 { 1.0 } else { 0.0 };
        return Shift { estimate, interval: Interval { low: estimate, high: estimate }, p };
    };
    let reach = error * student.inverse_cdf(f64::midpoint(1.0, confidence));
    Shift {
        estimate,
        interval: Interval { low: estimate - reach, high: estimate + reach },
        p: (2.0 * student.sf((estimate / error).abs())).min(1.0),
    }
}

/// The exact two-sided p-value of two rates being one: twice the smaller tail of the hypergeometric distribution of the hits
/// in the first sample, given those in both. Fisher 1935. At most 1; 1 where one of the samples has no trial.
///
/// # Panics
/// If there are more hits than trials, or more trials than a `u64` counts.
///
/// ```
/// use amq_testkit::statistics::two_rates_p_value;
///
/// assert!((two_rates_p_value((8, 10), (1, 6)) - 0.048_951_048_951_05).abs() < 1e-12);
/// ```
pub fn two_rates_p_value(first: (u64, u64), second: (u64, u64)) -> f64 {
    let ((x, n), (y, m)) = (first, second);
    assert!(x <= n && y <= m, "{x} hits in {n} trials, {y} in {m}");
    let trials = n.checked_add(m).expect("fewer than 2^64 trials");
    let hits = x + y;
    if n == 0 || m == 0 || hits == 0 || hits == trials {
        return 1.0;
    }
    // The tail away from the mean; that of the first sample's hits upwards is that of the second's downwards.
    let above = x as f64 * trials as f64 >= hits as f64 * n as f64;
    let tail = if above { tail_upwards(x, n, m, hits) } else { tail_upwards(y, m, n, hits) };
    (2.0 * tail).min(1.0)
}

/// P(X ≥ x) for the hits X in the first of two samples of n and m trials with so many hits in all, x not below the mean.
fn tail_upwards(x: u64, n: u64, m: u64, hits: u64) -> f64 {
    let trials = (n + m) as f64;
    let (p, q) = (hits as f64 / trials, (n + m - hits) as f64 / trials);
    // Loader's form of the hypergeometric probability: a quotient of binomial ones, any p will do and this one is stable.
    let at = probability(x, n, p, q) * probability(hits - x, m, p, q) / probability(hits, n + m, p, q);
    let (mut term, mut sum) = (1.0, 1.0);
    for x in x..n.min(hits) {
        // The second sample has `hits - x` hits and as many misses less than its trials; one of each changes places.
        let misses = m - (hits - x);
        term *= ((n - x) as f64 / (x + 1) as f64) * ((hits - x) as f64 / (misses + 1) as f64);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    (at * sum).min(1.0)
}

/// The p-values adjusted for their number, in the same order: where those up to a level q are called differences, no more than
/// the share q of the calls is expected to be chance (the false-discovery rate; where there is no difference at all, the
/// probability of any call is at most q). Benjamini and Hochberg, *JRSS B* 1995; holds for independent tests and for those
/// that err in the same direction.
pub fn adjusted_p_values(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_unstable_by(|&i, &j| p[j].total_cmp(&p[i]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (larger, i) in order.into_iter().enumerate() {
        let rank = p.len() - larger;
        least = least.min(p[i] * p.len() as f64 / rank as f64);
        adjusted[i] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    /// `scipy.stats.ttest_ind(new, base, equal_var=False, trim=0.2)` and its interval; the paired case after the same formulas
    /// with `scipy.stats.t`; `SciPy` 1.17.1.
    #[test]
    fn shifts_as_scipy() {
        let base = [1.0, 1.2, 0.9, 1.1, 1.05, 0.95, 1.3, 1.15, 3.0];
        let new = [1.4, 1.5, 1.35, 1.2, 1.45, 1.6, 1.3, 1.55, 0.2, 1.42];
        let shift = trimmed_shift(&base, &new, 0.99).unwrap();
        assert!(near(shift.estimate, 0.296_190_476_190_476_34), "{shift:?}");
        assert!(near(shift.p, 0.002_514_110_070_142_355_4), "{shift:?}");
        assert!(near(shift.interval.low, 0.060_177_772_553_086_87), "{shift:?}");
        assert!(near(shift.interval.high, 0.532_203_179_827_865_8), "{shift:?}");
        let shift = paired_shift(&[0.1, 0.2, -0.05, 0.15, 0.12, 0.3, 0.05, 0.08, 2.0], 0.95).unwrap();
        assert!(near(shift.estimate, 1.0 / 7.0) && near(shift.p, 0.015_178_276_294_657_223), "{shift:?}");
        assert!(near(shift.interval.low, 0.038_906_236_102_886_31), "{shift:?}");
    }

    /// Twice the smaller of `hypergeom.sf(x - 1)` and `hypergeom.cdf(x)`, `SciPy` 1.17.1.
    #[test]
    fn two_rates_as_scipy() {
        for (first, second, expected) in [
            ((40_000, 4_000_000), (40_900, 4_000_000), 0.001_488_848_180_246_389_7),
            ((3, 1000), (30, 2000), 0.002_450_221_889_633_832),
            ((0, 1000), (9, 1000), 0.003_836_271_588_491_578_4),
        ] {
            for found in [two_rates_p_value(first, second), two_rates_p_value(second, first)] {
                assert!((found / expected - 1.0).abs() < 1e-6, "{first:?} {second:?}: {found}");
            }
        }
        for (first, second) in [((0, 0), (5, 9)), ((0, 8), (0, 9)), ((7, 7), (9, 9)), ((5, 10), (5, 10))] {
            assert_eq!(two_rates_p_value(first, second), 1.0);
        }
    }

    #[test]
    fn adjusted_as_by_hand() {
        let adjusted = adjusted_p_values(&[0.04, 0.01, 0.03, 0.9]);
        for (found, expected) in adjusted.iter().zip([0.16 / 3.0, 0.04, 0.16 / 3.0, 0.9]) {
            assert!(near(*found, expected), "{adjusted:?}");
        }
        assert_eq!(adjusted_p_values(&[]), []);
    }

    #[test]
    fn constants_differ_or_do_not() {
        let shift = trimmed_shift(&[1.0; 4], &[1.0; 9], 0.95).unwrap();
        assert_eq!((shift.estimate, shift.p), (0.0, 1.0));
        assert_eq!(paired_shift(&[0.5; 3], 0.95).unwrap().p, 0.0);
        assert_eq!(trimmed_shift(&[1.0; 2], &[1.0; 9], 0.95), None);
        assert_eq!(paired_shift(&[1.0, f64::NAN, 2.0], 0.95), None);
    }

    /// Samples as timings are: normal, some a tenth of the time far too long, some nearly constant.
    #[test]
    fn a_true_null_is_refused_no_more_often_than_promised() {
        const TRIALS: u32 = 20_000;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(19);
        for outliers in [0.0, 0.1] {
            let mut value = || {
                // The sum of twelve uniform values has variance 1.
                let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
                if rng.random::<f64>() < outliers { normal + 10.0 } else { normal }
            };
            let (mut two, mut pairs) = (0_u32, 0_u32);
            for _ in 0..TRIALS {
                let base: [f64; 9] = std::array::from_fn(|_| value());
                let new: [f64; 9] = std::array::from_fn(|_| value());
                let differences: [f64; 9] = std::array::from_fn(|i| new[i] - base[i]);
                two += u32::from(trimmed_shift(&base, &new, 0.99).unwrap().p <= 0.01);
                pairs += u32::from(paired_shift(&differences, 0.99).unwrap().p <= 0.01);
            }
            for refused in [two, pairs] {
                // 200 expected at most; five standard deviations above.
                assert!(refused < 270, "{refused} of {TRIALS} with {outliers} outliers");
            }
        }
    }
}
