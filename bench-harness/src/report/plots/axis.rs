//! Axes: ranges that any input gives, and ticks that any range gets.

use super::super::format;

/// How an axis maps numbers to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

impl Scale {
    /// Whether the axis has a place for `x`.
    pub(crate) fn takes(self, x: f64) -> bool {
        x.is_finite() && (self == Self::Linear || x > 0.0)
    }
}

/// How an axis prints its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticks {
    /// As numbers.
    Number,
    /// As false-positive rates.
    Rate,
    /// As counts.
    Count,
    /// As signed percentages of a share.
    Percent,
}

impl Ticks {
    pub(crate) fn print(self, x: f64) -> String {
        match self {
            Self::Rate => format::round_rate(x),
            Self::Count if x >= 1000.0 => format::power_of_ten(x),
            Self::Number | Self::Count => format::trimmed(x),
            Self::Percent => format!("{} %", format::trimmed((x * 1e6).round() / 1e4)),
        }
    }
}

/// An axis, without its range.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) ticks: Ticks,
    /// Largest first.
    pub(crate) direction: Direction,
    /// A number that the range has to hold: 0 on axes whose zero means something, 1 on ratios.
    pub(crate) includes: Option<f64>,
}

/// Which end of an axis is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Rising,
    Falling,
}

impl Axis {
    pub(crate) fn new(label: &str, scale: Scale, ticks: Ticks) -> Self {
        Self { label: label.to_owned(), scale, ticks, direction: Direction::Rising, includes: None }
    }

    pub(crate) fn falling(self) -> Self {
        Self { direction: Direction::Falling, ..self }
    }

    pub(crate) fn including(self, x: f64) -> Self {
        Self { includes: Some(x), ..self }
    }
}

/// A range with `lo < hi`, both finite, and positive on a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    scale: Scale,
}

impl Range {
    /// The padded range of what the scale has a place for; `None` if that is nothing.
    ///
    /// On a logarithmic scale a zero has no place: the smallest positive number is the floor.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<Self> {
        let (lo, hi) = values
            .into_iter()
            .filter(|&x| scale.takes(x))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        if lo > hi {
            return None;
        }
        // Padding is relative, so that equal numbers of any size get a range that floating point can tell apart.
        let (lo, hi) = match scale {
            Scale::Linear if hi - lo > 1e-9 * lo.abs().max(hi.abs()) => {
                let padding = (hi - lo) * 0.06;
                // A range from 0 on starts there.
                (if lo == 0.0 { 0.0 } else { lo - padding }, hi + padding)
            }
            Scale::Linear if lo == 0.0 => (-1.0, 1.0),
            Scale::Linear => (lo - lo.abs() * 0.1, hi + hi.abs() * 0.1),
            Scale::Log => {
                let padding = (hi / lo).powf(0.06).max(1.15);
                (lo / padding, hi * padding)
            }
        };
        let range = Self { lo, hi, scale };
        (lo < hi && scale.takes(lo) && scale.takes(hi) && (hi - lo).is_finite()).then_some(range)
    }

    /// The place of `x`: 0 at the low end, 1 at the high end.
    pub(crate) fn place(self, x: f64) -> f64 {
        match self.scale {
            Scale::Linear => (x - self.lo) / (self.hi - self.lo),
            Scale::Log => (x / self.lo).ln() / (self.hi / self.lo).ln(),
        }
    }

    /// Between 2 and about 8 numbers to label, ascending, all inside the range.
    pub(crate) fn ticks(self) -> Vec<f64> {
        let ticks = match self.scale {
            Scale::Linear => linear_ticks(self.lo, self.hi),
            Scale::Log => log_ticks(self.lo, self.hi),
        };
        if ticks.len() < 2 { vec![self.lo, self.hi] } else { ticks }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, at most 7.
fn linear_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let rough = (hi - lo) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&step| step >= rough).unwrap_or(rough);
    let first = (lo / step).ceil();
    // Counted, not accumulated: a step below the last digit must not make the loop endless.
    (0..=7_i32)
        .map(|i| (first + f64::from(i)) * step)
        .filter(|&x| x >= lo && x <= hi)
        .map(|x| if x == 0.0 { 0.0 } else { x })
        .collect()
}

/// Powers of ten; where they are too few, 1, 2 and 5 times them; where those are too few, linear ones.
fn log_ticks(lo: f64, hi: f64) -> Vec<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents of finite doubles are below 400")]
    let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let multiples = |factors: &[f64]| -> Vec<f64> {
        (first..=last)
            // `parse` gives the double next to the power, which `powi` does not always.
            .flat_map(|e| factors.iter().map(move |f| format!("{f}e{e}").parse().unwrap_or(f64::NAN)))
            .filter(|&x| x >= lo && x <= hi)
            .collect()
    };
    let decades = multiples(&[1.0]);
    if decades.len() >= 3 {
        let stride = decades.len().div_ceil(7);
        return decades.into_iter().step_by(stride).collect();
    }
    let fine = multiples(&[1.0, 2.0, 5.0]);
    if fine.len() >= 3 { fine } else { linear_ticks(lo, hi) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(values: &[f64], scale: Scale) -> Option<Range> {
        let range = Range::of(values.iter().copied(), scale)?;
        assert!(range.lo < range.hi, "{values:?} {range:?}");
        let ticks = range.ticks();
        assert!((2..=8).contains(&ticks.len()), "{values:?} {ticks:?}");
        assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{values:?} {ticks:?}");
        assert!(ticks.iter().all(|&x| (range.lo..=range.hi).contains(&x)), "{values:?} {ticks:?}");
        Some(range)
    }

    #[test]
    fn degenerate_input_gets_a_range_or_none() {
        for scale in [Scale::Linear, Scale::Log] {
            assert_eq!(checked(&[], scale), None);
            assert_eq!(checked(&[f64::NAN, f64::INFINITY], scale), None);
            for values in [
                &[7.0][..],
                &[5.0, 5.0, 5.0],
                &[3e10, 3e10],
                &[1e-12],
                &[1e300, 1e300],
                &[2.0, 8.0],
                &[0.2, 0.8],
                &[1e-2, 0.0, 1e-4],
                &[190.0, 3000.0],
                &[f64::NAN, 1.0],
                &[1e-9, 1e9],
                &[1.0, 1.0 + 1e-15],
            ] {
                assert!(checked(values, scale).is_some(), "{values:?} {scale:?}");
            }
        }
        assert!(checked(&[0.0, 0.0], Scale::Linear).is_some());
        assert_eq!(checked(&[0.0, -1.0], Scale::Log), None);
    }

    #[test]
    fn log_floor_is_the_smallest_positive_number() {
        let range = Range::of([0.0, 1e-4, 1e-2], Scale::Log).unwrap();
        assert!(range.lo > 1e-5 && range.lo < 1e-4);
    }

    #[test]
    fn narrow_log_axes_have_ticks() {
        assert_eq!(Range::of([2.0, 8.0], Scale::Log).unwrap().ticks(), [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Range::of([0.2, 0.8], Scale::Log).unwrap().ticks().len(), 4);
        assert_eq!(Range::of([1e-4, 1e-2], Scale::Log).unwrap().ticks(), [1e-4, 1e-3, 1e-2]);
    }
}
