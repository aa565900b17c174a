//! Medians and their intervals: what timings are reported by.

use super::{Interval, binomial_at_most};

/// The median: the middle value, or the mean of the middle two. Sorts the slice. `None` if it is empty.
///
/// NaN sorts as the largest number, so that it cannot pass for a fast time.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    let upper = *values.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { values[n / 2 - 1].midpoint(upper) })
}

/// Which order statistics enclose the median of the population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianRanks {
    /// The rank of the lower end, counted from 1.
    pub low: usize,
    /// The rank of the upper end, counted from 1.
    pub high: usize,
    /// The probability that the interval covers the median, whatever the (continuous) distribution.
    pub coverage: f64,
}

/// The narrowest symmetric ranks among `repetitions` values that cover the median with at least probability `confidence`;
/// `None` if even the extremes do not (below 6 values for 0.95).
///
/// ```
/// use amq_testkit::statistics::median_ranks;
///
/// let ranks = median_ranks(9, 0.95).unwrap();
/// assert_eq!((ranks.low, ranks.high), (2, 8));
/// assert!((ranks.coverage - 0.961).abs() < 1e-3);
/// ```
pub fn median_ranks(repetitions: usize, confidence: f64) -> Option<MedianRanks> {
    // The interval from rank i to rank n + 1 - i misses the median if fewer than i values are below it, or above it.
    (1..=repetitions.div_ceil(2))
        .map(|low| MedianRanks {
            low,
            high: repetitions + 1 - low,
            coverage: 1.0 - 2.0 * binomial_at_most(low as u64 - 1, repetitions as u64, 0.5),
        })
        .take_while(|ranks| ranks.coverage >= confidence)
        .last()
}

/// The values at the [`median_ranks`]. Sorts the slice.
pub fn median_interval(values: &mut [f64], confidence: f64) -> Option<Interval> {
    let ranks = median_ranks(values.len(), confidence)?;
    values.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: values[ranks.low - 1], high: values[ranks.high - 1] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [5.0, 1.0]), Some(3.0));
        assert_eq!(median(&mut [9.0, -1.0, 4.0]), Some(4.0));
        assert!(median(&mut [f64::NAN, 1.0, 2.0]) == Some(2.0));
    }

    /// `1 - 2 * scipy.stats.binom.cdf(low - 1, n, 0.5)`, `SciPy` 1.17.1.
    #[test]
    fn ranks_as_scipy() {
        for (n, low, high, coverage) in [
            (6, 1, 6, 0.968_75),
            (9, 2, 8, 0.960_937_5),
            (15, 4, 12, 0.964_843_75),
            (31, 10, 22, 0.970_550_626_516_342_3),
            (101, 41, 61, 0.953_955_933_070_657_2),
        ] {
            let ranks = median_ranks(n, 0.95).unwrap();
            assert_eq!((ranks.low, ranks.high), (low, high));
            assert!((ranks.coverage - coverage).abs() < 1e-12);
        }
        for n in 0..6 {
            assert_eq!(median_ranks(n, 0.95), None);
        }
    }

    #[test]
    fn the_interval_of_nine() {
        let mut values = [9.0, 2.0, 7.0, 4.0, 5.0, 6.0, 3.0, 8.0, 1.0];
        assert_eq!(median_interval(&mut values, 0.95), Some(Interval { low: 2.0, high: 8.0 }));
        assert_eq!(median_interval(&mut [1.0, 2.0], 0.95), None);
    }
}
