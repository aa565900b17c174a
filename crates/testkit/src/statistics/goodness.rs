//! Whether numbers look as they should.

use std::f64::consts::SQRT_2;

use statrs::function::{erf::erfc, gamma::checked_gamma_ur};

/// The two-sided p-value of a normal deviate.
pub fn normal_p_value(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The Kolmogorov-Smirnov distance of the values from the uniform distribution on [0, 1]. Sorts them; 0 for none.
pub fn ks_statistic(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let distances = values.iter().enumerate().map(|(i, x)| (x - i as f64 / n).max((i + 1) as f64 / n - x));
    distances.fold(0.0, f64::max)
}

/// The p-value of a Kolmogorov-Smirnov distance among `n` values: Kolmogorov's limit with the correction of Stephens (*JRSS B*
/// 1970) for finite n, right to about 1 % of itself from n = 10 on.
pub fn ks_p_value(distance: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
    if x < 0.2 {
        // The alternating series converges slowly here, and the value is 1 to twelve digits.
        return 1.0;
    }
    let terms = (1..=100).map(|j| {
        let j = f64::from(j);
        let term = (-2.0 * j * j * x * x).exp();
        if j % 2.0 == 1.0 { term } else { -term }
    });
    (2.0 * terms.sum::<f64>()).clamp(0.0, 1.0)
}

/// Pearson's statistic of counts that should all be equal: the sum of (count - mean)² / mean. It has one degree of freedom
/// less than there are counts. 0 where nothing was counted.
pub fn chi_square_statistic(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let mean = total as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - mean).powi(2) / mean).sum()
}

/// The probability of at least this much of a chi-square statistic with `degrees` degrees of freedom.
///
/// # Panics
/// If `degrees` is 0 or the statistic is negative or not finite.
pub fn chi_square_p_value(statistic: f64, degrees: u64) -> f64 {
    assert!(degrees > 0, "a chi-square statistic with no degree of freedom");
    assert!(statistic >= 0.0 && statistic.is_finite(), "{statistic} is no chi-square statistic");
    if statistic == 0.0 {
        return 1.0;
    }
    checked_gamma_ur(degrees as f64 / 2.0, statistic / 2.0).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `2 * scipy.stats.norm.sf(z)`, `SciPy` 1.17.1.
    #[test]
    fn normal_as_scipy() {
        assert!((normal_p_value(4.0) / 6.334_248_366_623_973e-5 - 1.0).abs() < 1e-9);
        assert!((normal_p_value(-1.96) / 0.049_995_790_296_440_87 - 1.0).abs() < 1e-9);
    }

    /// `scipy.stats.chi2.sf(x, df)`, `SciPy` 1.17.1.
    #[test]
    fn chi_square_as_scipy() {
        for (statistic, degrees, expected) in [
            (16.92, 9, 0.049_983_606_387_505_61),
            (5.0, 10, 0.891_178_018_914_151_3),
            (1_100.0, 1_000, 0.014_614_408_126_295_192),
            (300.0, 127, 4.960_291_953_032_207e-16),
            (0.0, 3, 1.0),
        ] {
            let actual = chi_square_p_value(statistic, degrees);
            assert!((actual / expected - 1.0).abs() < 1e-6, "{actual:e}, not {expected:e}");
        }
        assert_eq!(chi_square_statistic(&[10, 20, 30]), 10.0);
        assert_eq!(chi_square_statistic(&[0, 0]), 0.0);
    }

    /// `scipy.stats.kstest(values, "uniform")`, exact, `SciPy` 1.17.1.
    #[test]
    fn kolmogorov_smirnov_as_scipy() {
        let mut ten = [0.01, 0.2, 0.25, 0.3, 0.61, 0.75, 0.9, 0.95, 0.97, 0.99];
        let distance = ks_statistic(&mut ten);
        assert!((distance - 0.3).abs() < 1e-12);
        assert!((ks_p_value(distance, 10) / 0.270_535_574_8 - 1.0).abs() < 0.02);

        let golden = 0.618_033_988_749_894_9;
        let mut many: Vec<f64> = (1..=200).map(|i| (f64::from(i) * golden).fract().powf(1.2)).collect();
        let distance = ks_statistic(&mut many);
        assert!((distance - 0.067_985_308_188_726_61).abs() < 1e-9);
        assert!((ks_p_value(distance, 200) / 0.299_930_431_084_871_83 - 1.0).abs() < 0.02);

        assert_eq!(ks_p_value(0.0, 10), 1.0);
        assert!(ks_p_value(0.5, 1_000) < 1e-100);
    }
}
