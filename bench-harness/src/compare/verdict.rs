//! What is said of a cell, and by which rule.

use amq_testkit::statistics::{Shift, median, paired_shift, trimmed_shift};
use serde::Serialize;

use super::side::Timed;
use crate::store::cell::Status;
use crate::store::derive::relative_spread;
use crate::store::sample::{Point, Work};

/// A floor or a sentinel that moved by more than this share is no measure: cells that need it are unknown.
const MOVED: f64 = 0.10;

/// Fewer repetitions say nothing about their spread.
const LEAST_REPETITIONS: usize = 3;

/// How the repetitions of the two sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Two runs at two times: each repetition over the floor of its own moment, then two independent samples.
    Independent,
    /// Alternating: the i-th of one side and the i-th of the other ran one after the other, so their ratio needs no floor.
    ByRepetition,
}

/// How cells are judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Method {
    /// See [`Pairing`].
    pub pairing: Pairing,
    /// The false-discovery rate at which a cell is called different; `1 - level` is the confidence of the intervals.
    pub level: f64,
    /// By how much a cell may get worse before it is a regression.
    pub threshold: f64,
}

/// What is said of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It differs, and takes longer.
    Slower,
    /// It differs, and takes less.
    Faster,
    /// No difference that is larger than the noise.
    WithinNoise,
    /// It cannot be told, for the reason given.
    Unknown,
    /// The other side does not have the cell.
    BaseOnly,
    /// The other side does not have the cell.
    NewOnly,
    /// The family does not have the operation, on either side.
    Unsupported,
}

impl Verdict {
    /// All, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Slower,
        Self::Faster,
        Self::WithinNoise,
        Self::Unknown,
        Self::BaseOnly,
        Self::NewOnly,
        Self::Unsupported,
    ];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::WithinNoise => "within noise",
            Self::Unknown => "unknown",
            Self::BaseOnly => "in base only",
            Self::NewOnly => "in new only",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A cell of either side or both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimedCell {
    /// The filter.
    pub filter: String,
    /// Where on the axes.
    pub point: Point,
    /// What was timed.
    pub work: Work,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not known.
    pub reason: String,
    /// Medians in nanoseconds, base and new.
    pub ns: [Option<f64>; 2],
    /// Repetitions, base and new.
    pub repetitions: [usize; 2],
    /// What the times are divided by.
    pub over: Over,
    /// The change, where it could be tested.
    pub change: Option<Change>,
}

/// What times are divided by before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The floor of the same repetition.
    Floor,
    /// Nothing: the workload has no floor, or the sides alternate.
    Nothing,
}

/// By how much a cell changed: ratios are new over base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub low: f64,
    /// Its interval.
    pub high: f64,
    /// The p-value of no change.
    pub p: f64,
    /// The same, adjusted for the number of cells.
    pub adjusted_p: f64,
    /// What two measurements of one filter within a run differ by, as a ratio above 1; `None` where no run has such a pair.
    pub noise: Option<f64>,
}

impl TimedCell {
    /// Whether it is slower by more than the threshold.
    pub fn is_regression(&self, threshold: f64) -> bool {
        self.verdict == Verdict::Slower && self.change.is_some_and(|change| change.ratio > 1.0 + threshold)
    }

    /// Whether it differs when it is looked at alone, but not among so many.
    pub fn is_suspect(&self, level: f64) -> bool {
        self.verdict == Verdict::WithinNoise && self.change.is_some_and(|change| change.p <= level)
    }
}

/// Tests a cell that both sides have. The verdict is [`Verdict::WithinNoise`] until all cells are known.
///
/// # Errors
/// Why it cannot be tested.
pub(super) fn test(base: &Timed<'_>, new: &Timed<'_>, method: Method) -> Result<(Shift, Over), String> {
    for (side, timed) in [("base", base), ("new", new)] {
        if timed.status != Status::Ok {
            return Err(format!("{side}: {}: {}", timed.status.name(), timed.reason));
        }
        if timed.ns.len() < LEAST_REPETITIONS {
            return Err(format!("{side}: {} repetitions, fewer than {LEAST_REPETITIONS}", timed.ns.len()));
        }
    }
    let confidence = 1.0 - method.level;
    let (shift, over) = match method.pairing {
        Pairing::ByRepetition => {
            if let (Some(base), Some(new)) = (base.floor, new.floor) {
                stands_still("the floor", paired_shift(&differences(base, new)?, confidence))?;
            }
            (paired_shift(&differences(base.ns, new.ns)?, confidence), Over::Nothing)
        }
        Pairing::Independent => {
            let (over, [base, new]) = match (base.floor, new.floor) {
                (Some(base_floor), Some(new_floor)) => {
                    floors_agree(base_floor, new_floor)?;
                    let base = differences(base_floor, base.ns)?;
                    (Over::Floor, [base, differences(new_floor, new.ns)?])
                }
                (None, None) => {
                    sentinels_agree(base, new)?;
                    (Over::Nothing, [base.ns, new.ns].map(logarithms))
                }
                (None, _) => return Err("base: no floor was measured".into()),
                (_, None) => return Err("new: no floor was measured".into()),
            };
            (trimmed_shift(&base, &new, confidence), over)
        }
    };
    shift.map(|shift| (shift, over)).ok_or_else(|| "a time is not a positive number".into())
}

fn logarithms(ns: &[f64]) -> Vec<f64> {
    ns.iter().map(|ns| ns.ln()).collect()
}

/// ln(over/under) by repetition.
fn differences(under: &[f64], over: &[f64]) -> Result<Vec<f64>, String> {
    if under.len() != over.len() {
        return Err(format!("{} repetitions against {}", under.len(), over.len()));
    }
    Ok(under.iter().zip(over).map(|(under, over)| (over / under).ln()).collect())
}

/// Neither floor may have moved while it was measured, nor one against the other.
fn floors_agree(base: &[f64], new: &[f64]) -> Result<(), String> {
    for (side, floor) in [("base", base), ("new", new)] {
        match relative_spread(floor) {
            Some(spread) if spread <= MOVED => {}
            Some(spread) => return Err(format!("{side}: its floor moved by {:.0} %", spread * 100.0)),
            None => return Err(format!("{side}: no floor was measured")),
        }
    }
    medians_agree("the floor", base, new)
}

/// For what has no floor: the machine computed and read memory as fast in one run as in the other. Runs that did not time
/// this are taken at their word.
fn sentinels_agree(base: &Timed<'_>, new: &Timed<'_>) -> Result<(), String> {
    let Some((base, new)) = base.sentinel.zip(new.sentinel) else { return Ok(()) };
    medians_agree("the sentinel's computing", &base.compute_ns, &new.compute_ns)?;
    medians_agree("the sentinel's reading", &base.memory_ns, &new.memory_ns)
}

fn medians_agree(what: &str, base: &[f64], new: &[f64]) -> Result<(), String> {
    let Some((base, new)) = median(&mut base.to_vec()).zip(median(&mut new.to_vec())) else {
        return Err(format!("{what} was not measured"));
    };
    let moved = (new / base).ln().abs();
    if moved <= MOVED.ln_1p() { Ok(()) } else { Err(has_moved(what, moved)) }
}

fn has_moved(what: &str, logarithm: f64) -> String {
    format!("{what} moved by {:.0} % between the sides", logarithm.exp_m1() * 100.0)
}

/// Whether what should be the same on both sides is; where it varies so much that this cannot be told, it is.
fn stands_still(what: &str, shift: Option<Shift>) -> Result<(), String> {
    let shift = shift.ok_or_else(|| format!("{what} was not measured"))?;
    let moved = shift.estimate.abs();
    let certain = shift.interval.low > 0.0 || shift.interval.high < 0.0;
    if certain && moved > MOVED.ln_1p() { Err(has_moved(what, moved)) } else { Ok(()) }
}
