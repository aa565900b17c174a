//! What a filter is, beside how fast: its status, sizes and rate of false positives.

use serde::Serialize;

use super::side::Built;
use crate::store::cell::{Cell, Status};
use crate::store::sample::Point;

/// A filter at a point, on either side or both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuiltCell {
    /// The filter.
    pub filter: String,
    /// Where on the axes.
    pub point: Point,
    /// Base and new; `None` where that side does not have it.
    pub sides: [Option<State>; 2],
    /// p-value of both rates being one, where both were measured.
    pub rate_p: Option<f64>,
    /// The same, adjusted for the number of cells.
    pub rate_adjusted_p: Option<f64>,
    /// What changed.
    pub findings: Vec<Finding>,
}

/// A filter at a point, on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// Whether it has numbers.
    pub status: Status,
    /// Why not.
    pub reason: String,
    /// Bits a key, in the order of [`Size::ALL`].
    pub sizes: [Option<f64>; 4],
    /// Queries with absent keys.
    pub queries: Option<u64>,
    /// Answered "present".
    pub hits: Option<u64>,
}

/// A size in bits a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// All that a lookup can read.
    Payload,
    /// Live on the heap.
    Heap,
    /// Most on the heap during the build.
    PeakBuild,
    /// The stored form.
    File,
}

impl Size {
    /// All.
    pub const ALL: [Self; 4] = [Self::Payload, Self::Heap, Self::PeakBuild, Self::File];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Heap => "heap",
            Self::PeakBuild => "peak of the build",
            Self::File => "file",
        }
    }
}

/// Something that changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What.
    pub what: What,
    /// New over base, where both are numbers.
    pub ratio: Option<f64>,
    /// Whether it is worse by more than the threshold.
    pub regression: bool,
}

/// See [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A size, which is the same in every run of the same code.
    Size(Size),
    /// The rate, by more than chance.
    Rate,
    /// The status.
    Status,
}

impl What {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size(size) => size.name(),
            Self::Rate => "false-positive rate",
            Self::Status => "status",
        }
    }
}

impl State {
    fn of(cell: &Cell) -> Self {
        let per_key = |bytes: u64| bytes as f64 * 8.0 / cell.n.max(1) as f64;
        Self {
            status: state_of(cell),
            reason: if state_of(cell) == Status::Ok { String::new() } else { cell.reason.clone() },
            sizes: [
                cell.payload_bits_per_key,
                cell.heap_bits_per_key,
                cell.peak_build_bits_per_key,
                cell.file_bytes.map(per_key),
            ],
            queries: cell.fpr_queries,
            hits: cell.fpr_hits,
        }
    }

    /// The measured rate.
    pub fn rate(&self) -> Option<f64> {
        let (hits, queries) = self.hits.zip(self.queries)?;
        (queries > 0).then(|| hits as f64 / queries as f64)
    }
}

/// The filter's status: a workload that the family does not have is not the filter's failure.
fn state_of(cell: &Cell) -> Status {
    if cell.status == Status::Unsupported { Status::Ok } else { cell.status }
}

impl BuiltCell {
    /// What both sides, or the one that has it, know; `rate_p` is yet to be adjusted and the findings to be made.
    pub(super) fn new(base: Option<&Built<'_>>, new: Option<&Built<'_>>) -> Option<Self> {
        let any = base.or(new)?;
        let sides = [base, new].map(|side| side.map(|built| State::of(&built.cell)));
        let rate = |side: &Option<State>| side.as_ref().and_then(|state| state.hits.zip(state.queries));
        let rate_p = rate(&sides[0]).zip(rate(&sides[1])).map(|(base, new)| {
            let capped = |(hits, queries): (u64, u64)| (hits.min(queries), queries);
            amq_testkit::statistics::two_rates_p_value(capped(base), capped(new))
        });
        Some(Self {
            filter: any.cell.filter.clone(),
            point: any.point,
            sides,
            rate_p,
            rate_adjusted_p: None,
            findings: Vec::new(),
        })
    }

    /// Fills in the findings, when the adjusted p-value is known.
    pub(super) fn find(&mut self, level: f64, threshold: f64) {
        let [Some(base), Some(new)] = &self.sides else { return };
        let mut findings = Vec::new();
        if base.status != new.status {
            // What had numbers and has none any more is worse than any number.
            let regression = base.status == Status::Ok;
            findings.push(Finding { what: What::Status, ratio: None, regression });
        }
        for (size, (base, new)) in Size::ALL.iter().zip(base.sizes.iter().zip(new.sizes)) {
            if let Some((base, new)) = base.zip(new).filter(|(base, new)| base != new) {
                let regression = new > base * (1.0 + threshold);
                let ratio = Some(new / base).filter(|ratio| ratio.is_finite());
                findings.push(Finding { what: What::Size(*size), ratio, regression });
            }
        }
        if self.rate_adjusted_p.is_some_and(|p| p <= level)
            && let Some((base, new)) = base.rate().zip(new.rate())
        {
            let regression = new > base * (1.0 + threshold);
            let ratio = Some(new / base).filter(|ratio| ratio.is_finite());
            findings.push(Finding { what: What::Rate, ratio, regression });
        }
        self.findings = findings;
    }
}
