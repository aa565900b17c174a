//! What the literature predicts: sizes, false-positive rates, lengths of runs and clusters, loads, and how many
//! queries a measurement needs.
//!
//! Every function is a formula with its source and with what it is good for. Planners size filters with them, tests hold
//! measurements against them, reports draw them. They use `libm` only, so that a size never depends on the machine.
//!
//! | module | what it answers |
//! |---|---|
//! | [`bounds`] | the fewest bits a key that any filter can have |
//! | [`bloom`] | Bloom and counting Bloom filters: the usual formulas, the exact mean, sizes |
//! | [`blocked`] | Bloom filters whose probes stay in one block |
//! | [`quotient`] | quotient filters: rate, space, runs, clusters, stretches |
//! | [`probing`] | probes of linear probing |
//! | [`cuckoo`] | cuckoo filters: rate and load |
//! | [`xor`] | xor filters: cells, peeling thresholds |
//! | [`fuse`] | binary fuse filters: segments and cells |
//! | [`ribbon`] | ribbon filters: overhead by kind |
//! | [`queries`] | queries for a precision, what zero hits mean, cost per query |
//!
//! Conventions: a false-positive rate `fpr` is a probability in (0, 1), a load `alpha` is a fraction, a size is a `u64`.
//! Rates are means over hash functions unless a name says `given_state`: one small filter scatters around its mean.
//! A size is `None` where the wish has no size: a rate outside (0, 1), a load that is not positive, or a result of 2^63
//! or more. Rates outside their range give whatever the formula gives, often NaN, and never a panic.

pub mod blocked;
pub mod bloom;
pub mod bounds;
pub mod cuckoo;
mod distribution;
pub mod fuse;
mod occupancy;
pub mod probing;
pub mod queries;
pub mod quotient;
pub mod ribbon;
pub mod xor;

/// 2^63: sizes computed in floating point stay below it.
const SIZE_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// `x` rounded up to a whole size, or `None` if it is NaN, negative, or 2^63 and more.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole and in [0, 2^63), which is checked first"
)]
fn ceil_to_size(x: f64) -> Option<u64> {
    let whole = libm::ceil(x);
    (0.0..SIZE_LIMIT).contains(&whole).then_some(whole as u64)
}

/// Whether `fpr` is a rate that a filter can be asked for.
fn is_rate(fpr: f64) -> bool {
    fpr > 0.0 && fpr < 1.0
}

/// `x` to a whole power, with `x^0 = 1`.
fn power(x: f64, exponent: u32) -> f64 {
    libm::pow(x, f64::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_refuse_what_is_no_size() {
        assert_eq!(ceil_to_size(0.2), Some(1));
        assert_eq!(ceil_to_size(-0.0), Some(0));
        assert_eq!(ceil_to_size(7.0), Some(7));
        for x in [f64::NAN, f64::INFINITY, -1.0, SIZE_LIMIT] {
            assert_eq!(ceil_to_size(x), None, "{x}");
        }
    }

    /// Asserts that `actual` printed with the digits of `printed` is `printed`.
    pub(super) fn assert_printed(actual: f64, printed: &str) {
        let digits = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        assert_eq!(alloc::format!("{actual:.digits$}"), printed, "{actual}");
    }
}
