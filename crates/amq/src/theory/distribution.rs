//! Binomial and Poisson probabilities without cancellation.

use alloc::vec;
use alloc::vec::Vec;

/// Below this share of the most likely outcome, a probability cannot move a sum of doubles, or underflows.
const NEGLIGIBLE: f64 = 1e-300;

/// The probabilities of `first..` outcomes, a contiguous window that leaves out only outcomes of a share below
/// [`NEGLIGIBLE`] or below the given floor.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) probabilities: Vec<f64>,
}

impl Window {
    /// Walks from the mode to both sides by the ratio of neighbours, then divides by the sum: every operation is on
    /// positive numbers, so the relative error is a few units in the last place per step, for means of any size.
    /// (Probabilities from log-gamma lose six digits at 10^9 trials.)
    fn around(mode: u64, floor: f64, up: impl Fn(f64) -> f64, down: impl Fn(f64) -> f64) -> Self {
        let mut probabilities = Vec::new();
        let mut weight = 1.0;
        let mut first = mode;
        while first > 0 {
            weight *= down(first as f64);
            if weight <= floor {
                break;
            }
            probabilities.push(weight);
            first -= 1;
        }
        probabilities.reverse();
        weight = 1.0;
        let mut outcome = mode;
        while weight > floor {
            probabilities.push(weight);
            weight *= up(outcome as f64);
            outcome += 1;
        }
        let total: f64 = probabilities.iter().sum();
        for probability in &mut probabilities {
            *probability /= total;
        }
        Self { first, probabilities }
    }

    /// The number of successes among `trials`, each with probability `p` in (0, 1). `trials` is a whole number.
    ///
    /// `None` if the mean is too large to walk through.
    pub(super) fn binomial(trials: f64, p: f64, floor: f64) -> Option<Self> {
        let odds = p / (1.0 - p);
        let mode = floor_to_count(((trials + 1.0) * p).min(trials))?;
        Some(Self::around(
            mode,
            floor.max(NEGLIGIBLE),
            |s| (trials - s) / (s + 1.0) * odds,
            |s| s / (trials - s + 1.0) / odds,
        ))
    }

    /// A Poisson variable of this mean. `None` if the mean is too large to walk through, negative or NaN.
    pub(super) fn poisson(mean: f64, floor: f64) -> Option<Self> {
        let mode = floor_to_count(mean)?;
        Some(Self::around(mode, floor.max(NEGLIGIBLE), |s| mean / (s + 1.0), |s| s / mean))
    }

    /// A variable that is always `count`.
    pub(super) fn certain(count: u64) -> Self {
        Self { first: count, probabilities: vec![1.0] }
    }

    /// Each outcome with its probability, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        // Not a range from `first`: that would step beyond the largest outcome, and it may be the largest of all.
        self.probabilities.iter().enumerate().map(|(i, &probability)| (self.first + i as u64, probability))
    }
}

/// The largest mean that a window walks through: its width is about 75 roots of the mean at most.
const LARGEST_MEAN: f64 = 1e9;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "in [0, 1e9], which is checked first"
)]
fn floor_to_count(x: f64) -> Option<u64> {
    (0.0..=LARGEST_MEAN).contains(&x).then_some(x as u64)
}

/// P(N = `count`) for a Poisson variable of mean `mean`, by the saddle-point form (Loader, "Fast and accurate computation
/// of binomial probabilities", 2000): accurate to about 1e-14 relative for counts where log-gamma would lose digits.
pub(super) fn poisson_probability(count: u64, mean: f64) -> f64 {
    if mean == 0.0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    if count == 0 {
        return libm::exp(-mean);
    }
    let x = count as f64;
    let tau = 2.0 * core::f64::consts::PI;
    libm::exp(-stirling_error(x) - deviance(x, mean)) / libm::sqrt(tau * x)
}

/// ln x! minus Stirling's formula, for a whole x ≥ 1.
fn stirling_error(x: f64) -> f64 {
    if x < 16.0 {
        let half_ln_tau = 0.918_938_533_204_672_8;
        return libm::lgamma(x + 1.0) - (x + 0.5) * libm::log(x) + x - half_ln_tau;
    }
    let square = x * x;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square)
            / square)
        / x
}

/// x ln(x/mean) + mean - x, which is never negative, without cancellation near x = mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() < 0.1 * (x + mean) {
        // With v = (x - mean)/(x + mean): ln(x/mean) = 2 atanh v, as a series.
        let v = difference / (x + mean);
        let mut sum = difference * v;
        let mut term = 2.0 * x * v;
        let mut odd = 1.0;
        loop {
            term *= v * v;
            odd += 2.0;
            let next = sum + term / odd;
            if next == sum {
                return sum;
            }
            sum = next;
        }
    }
    x * libm::log(x / mean) + mean - x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_sum_to_one_and_have_the_right_mean() {
        for (trials, p) in
            [(1.0, 0.5), (10.0, 0.999), (7.0, 1e-9), (6.4e9, 1e-9), (1e12, 3e-10), (5_000.0, 0.3)]
        {
            let window = Window::binomial(trials, p, 0.0).unwrap();
            let sum: f64 = window.probabilities.iter().sum();
            let mean: f64 = window.iter().map(|(s, q)| s as f64 * q).sum();
            assert!((sum - 1.0).abs() < 1e-13, "{trials} {p} {sum}");
            assert!((mean / (trials * p) - 1.0).abs() < 1e-12, "{trials} {p} {mean}");
        }
        for mean in [1e-12, 0.5, 1.0, 51.2, 3e5] {
            let window = Window::poisson(mean, 0.0).unwrap();
            let actual: f64 = window.iter().map(|(s, q)| s as f64 * q).sum();
            assert!((actual / mean - 1.0).abs() < 1e-12, "{mean} {actual}");
        }
        assert!(Window::poisson(f64::NAN, 0.0).is_none());
        assert!(Window::poisson(1e10, 0.0).is_none());
    }

    #[test]
    fn a_certain_outcome_may_be_the_largest_number() {
        assert!(Window::certain(u64::MAX).iter().eq([(u64::MAX, 1.0)]));
    }

    #[test]
    fn binomial_window_ends_at_the_number_of_trials() {
        let window = Window::binomial(3.0, 0.25, 0.0).unwrap();
        assert_eq!(window.first, 0);
        let expected = [27.0, 27.0, 9.0, 1.0].map(|x| x / 64.0);
        assert_eq!(window.probabilities.len(), 4);
        for (actual, expected) in window.probabilities.iter().zip(expected) {
            assert!((actual - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn single_poisson_probabilities_agree_with_the_window() {
        for mean in [0.01, 0.75, 14.0, 16.5, 900.0, 1e5] {
            for (count, expected) in Window::poisson(mean, 1e-30).unwrap().iter() {
                let actual = poisson_probability(count, mean);
                assert!((actual / expected - 1.0).abs() < 1e-11, "{mean} {count} {actual} {expected}");
            }
        }
    }
}
