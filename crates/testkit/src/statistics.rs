//! The statistics that turn counts and timings into statements: exact intervals and tests for proportions, the interval of a
//! median, goodness-of-fit tests, and tests of two samples.
//!
//! Everything here is a pure function of its arguments. The tails of the binomial distribution are summed term by term
//! instead of taken from a general incomplete beta function: the terms are positive, so that a probability of 10^-200 is
//! right in all its digits, and a billion trials are no special case.

mod binomial;
mod comparison;
mod goodness;
mod order;

pub use binomial::{
    Interval, agrees, binomial_at_least, binomial_at_most, binomial_p_value, binomial_randomised,
    clopper_pearson, z_score,
};
pub use comparison::{Shift, adjusted_p_values, paired_shift, trimmed_shift, two_rates_p_value};
pub use goodness::{chi_square_p_value, chi_square_statistic, ks_p_value, ks_statistic, normal_p_value};
pub use order::{MedianRanks, median, median_interval, median_ranks};
