//! How many queries a measurement of a rate needs, what it can conclude, and what a query costs.

use super::{ceil_to_size, is_rate};

/// The two-sided 95 % point of the normal distribution.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// (z / `relative_error`)² / fpr: the negative queries with which a measured rate lies within `relative_error` of `fpr`,
/// at the confidence of `z` standard deviations ([`Z_95`]: 384/fpr for 10 %).
///
/// Good for rates well below 1, where hits are nearly Poisson; an upper bound otherwise. `None` if `fpr` is not in (0, 1)
/// or the precision is not positive.
pub fn for_precision(fpr: f64, relative_error: f64, z: f64) -> Option<u64> {
    if !is_rate(fpr) || relative_error.is_nan() || relative_error <= 0.0 {
        return None;
    }
    let deviations = z / relative_error;
    ceil_to_size(deviations * deviations / fpr)
}

/// The negative queries with which a rate that is `relative_error` above `fpr` is noticed: its |z| passes `z_limit`, with
/// the power of `z_power` standard deviations (1.88 for 97 %).
///
/// ((L + P √(1+e)) / e)² / fpr with the limit L, the power P and the relative error e, because a higher rate also scatters
/// more: about 3,600/fpr for 10 % at |z| > 4 with 97 %. `None` as in [`for_precision`].
pub fn to_notice(fpr: f64, relative_error: f64, z_limit: f64, z_power: f64) -> Option<u64> {
    for_precision(fpr, relative_error, z_limit + z_power * libm::sqrt(1.0 + relative_error))
}

/// 1 - (1-confidence)^(1/q): the rate that `q` negative queries without a hit leave possible, one-sided.
///
/// Good for any q; 1 without queries. About 3/q at 95 %.
pub fn zero_hit_bound(q: u64, confidence: f64) -> f64 {
    -libm::expm1(libm::log1p(-confidence) / q as f64)
}

/// What a filter stands in front of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// The share of queries for keys that are present, in [0, 1].
    pub present: f64,
    /// The cost of the access that a negative answer saves, in the unit of the lookup time.
    pub cost: f64,
}

/// lookup + P(absent) · fpr · cost + P(present) · cost: the mean cost of a query through a filter (Lang, Neumann,
/// Kemper, Boncz 2019).
///
/// Good for choosing a filter: a slow one with few false positives wins where the access is expensive.
pub fn cost_per_query(lookup: f64, fpr: f64, access: Access) -> f64 {
    lookup + (1.0 - access.present) * fpr * access.cost + access.present * access.cost
}

/// The access cost from which a filter that is `slower` by lookup time but has the lower rate costs less than another.
///
/// Each filter is (lookup time, fpr). 0 if the "slower" one is no slower, `None` if it never wins: its rate is not lower,
/// or no query is absent.
pub fn break_even_cost(faster: (f64, f64), slower: (f64, f64), present: f64) -> Option<f64> {
    let saved = (1.0 - present) * (faster.1 - slower.1);
    if saved > 0.0 { Some(((slower.0 - faster.0) / saved).max(0.0)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn queries_at_published_rates() {
        for (r, expected) in [(8.0, 98e3), (12.0, 1.6e6), (16.0, 25e6)] {
            let queries = for_precision(libm::exp2(-r), 0.1, Z_95).unwrap() as f64;
            assert!((queries / expected - 1.0).abs() < 0.02, "{r} {queries}");
        }
        let per_rate = for_precision(1e-6, 0.1, Z_95).unwrap() as f64 * 1e-6;
        assert_printed(per_rate, "384");
        let per_rate = to_notice(1e-6, 0.1, 4.0, 1.88).unwrap() as f64 * 1e-6;
        assert!(per_rate > 3_550.0 && per_rate < 3_600.0, "{per_rate}");
        assert_eq!(for_precision(0.0, 0.1, Z_95), None);
        assert_eq!(for_precision(0.5, 0.0, Z_95), None);
        assert_eq!(for_precision(1e-300, 0.1, Z_95), None);
    }

    #[test]
    fn zero_hits() {
        assert!((zero_hit_bound(1_000_000, 0.95) * 1e6 / 3.0 - 1.0).abs() < 0.002);
        assert_eq!(zero_hit_bound(0, 0.95), 1.0);
        assert!((zero_hit_bound(1, 0.95) - 0.95).abs() < 1e-15);
    }

    #[test]
    fn costs_cross_at_the_break_even() {
        let (fast, slow, present) = ((10.0, 0.01), (25.0, 0.001), 0.25);
        let cost = break_even_cost(fast, slow, present).unwrap();
        let at = |filter: (f64, f64), cost| cost_per_query(filter.0, filter.1, Access { present, cost });
        assert!((at(fast, cost) - at(slow, cost)).abs() < 1e-9);
        assert!(at(fast, cost / 2.0) < at(slow, cost / 2.0));
        assert!(at(fast, cost * 2.0) > at(slow, cost * 2.0));
        assert_eq!(break_even_cost(slow, fast, present), None);
        assert_eq!(break_even_cost(fast, slow, 1.0), None);
        assert_eq!(break_even_cost((10.0, 0.1), (5.0, 0.01), 0.0), Some(0.0));
    }
}
