//! A run's rows, pivoted: one entry for each filter in each cell, with its sizes, its rate and its times.

use std::collections::HashMap;

use amq::Capability;
use amq::theory::bounds;

use super::Results;
use super::format::{PEER, Shown, number, percent, range, rate, rate_range};
pub(crate) use super::operation::{Floor, Operation};
use crate::store::cell::{Cell, Status};
use crate::store::derive::noise_key;
use crate::store::run::{FilterInfo, NoiseFloor, RunInfo};
use crate::store::study::Record;

/// Fewer hits than this, and the measured rate is too coarse to judge space by: the expected one takes its place.
const HITS_FOR_SPACE: u64 = 100;

/// This far below the rate asked for, a structure is no filter.
const EXACT: f64 = 1e-6;

/// What a cell asks for besides n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    /// A false-positive rate.
    Rate(f64),
    /// A load (table families only) and a width.
    Shape {
        /// The load asked for.
        alpha: Option<f64>,
        /// The width asked for.
        r: u32,
    },
}

/// A number and its 95 % interval, which is not known of a median of fewer than six.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) mid: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

impl Measured {
    fn new(mid: Option<f64>, lo: Option<f64>, hi: Option<f64>) -> Option<Self> {
        let mid = finite(mid)?;
        let interval = finite(lo).zip(finite(hi)).map(|(lo, hi)| (lo.min(mid), hi.max(mid)));
        Some(Self { mid, interval })
    }

    /// The ends of the interval; where it is not known, the number itself: for drawing, not for telling numbers apart.
    pub(crate) fn ends(self) -> (f64, f64) {
        self.interval.unwrap_or((self.mid, self.mid))
    }

    /// Text and interval in a unit.
    pub(crate) fn shown(self, print: impl Fn(f64) -> String) -> Shown {
        let detail = self.interval.map_or_else(String::new, |(lo, hi)| range(lo, hi, &print));
        Shown { main: print(self.mid), detail, key: Some(self.mid) }
    }

    /// The interval in brackets, after a space; nothing if it is not known.
    pub(crate) fn bracketed(self) -> String {
        self.interval.map_or_else(String::new, |(lo, hi)| format!(" ({})", range(lo, hi, number)))
    }
}

/// A measured false-positive rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    /// Seen, with its exact interval.
    Seen(Measured),
    /// No false positive among the queries: below this, at 95 %.
    Below(f64),
}

/// One filter in one cell.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    /// The row that speaks for the cell: sizes and rates.
    pub(crate) row: &'a Cell,
    /// All rows of the cell.
    pub(crate) rows: Vec<&'a Cell>,
    /// Index into [`Run::filters`].
    pub(crate) filter: usize,
    pub(crate) wish: Wish,
    pub(crate) status: Status,
    pub(crate) reason: &'a str,
}

impl<'a> Entry<'a> {
    fn of(rows: Vec<&'a Cell>, filter: usize) -> Option<Self> {
        let defect = rows.iter().find(|row| row.status == Status::VerifyFailed);
        let row =
            defect.or_else(|| rows.iter().find(|row| row.status == Status::Ok)).or(rows.first()).copied()?;
        // Verified but without any time, as after an interruption: the sizes and the rate stand.
        let verified = row.status == Status::Unsupported && row.false_negatives == Some(0);
        let status = if verified { Status::Ok } else { row.status };
        Some(Self { wish: wish(row), status, reason: &row.reason, row, rows, filter })
    }

    pub(crate) fn ok(&self) -> bool {
        self.status == Status::Ok
    }

    /// A filter's size only counts where the filter works.
    fn size(&self, value: Option<f64>) -> Option<f64> {
        finite(value).filter(|_| self.ok())
    }

    /// Payload bits a key, or heap bits where a foreign filter cannot tell its payload.
    pub(crate) fn bits(&self) -> Option<f64> {
        self.size(self.row.payload_bits_per_key).or(self.size(self.row.heap_bits_per_key))
    }

    pub(crate) fn heap_bits(&self) -> Option<f64> {
        self.size(self.row.heap_bits_per_key)
    }

    pub(crate) fn peak_bits(&self) -> Option<f64> {
        self.size(self.row.peak_build_bits_per_key)
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        if !self.ok() {
            return None;
        }
        let row = self.row;
        if row.fpr_hits == Some(0) {
            return finite(row.fpr_hi95).map(Rate::Below);
        }
        Measured::new(row.fpr, row.fpr_lo95, row.fpr_hi95).map(Rate::Seen)
    }

    pub(crate) fn expected(&self) -> Option<f64> {
        self.size(self.row.fpr_expected).filter(|&rate| rate > 0.0)
    }

    /// Whether it keeps whole digests (a hash set, a sorted array): wrong only where two of them are equal, a million times
    /// more accurate than asked, and so no filter at this rate.
    pub(crate) fn exact(&self) -> bool {
        let asked = match self.wish {
            Wish::Rate(fpr) => fpr,
            Wish::Shape { r, .. } => f64::from(r).exp2().recip(),
        };
        self.row.fpr_expected.is_some_and(|expected| expected < asked * EXACT)
            && self.row.fpr_hits.unwrap_or(0) == 0
    }

    /// Bits a key over the information-theoretic bound, minus one.
    pub(crate) fn overhead(&self) -> Option<f64> {
        let rate = match self.rate() {
            Some(Rate::Seen(rate)) if self.row.fpr_hits.unwrap_or(0) >= HITS_FOR_SPACE => Some(rate.mid),
            _ => self.expected(),
        };
        let rate = rate.filter(|rate| (0.0..1.0).contains(rate) && *rate > 0.0)?;
        finite(Some(bounds::overhead(self.bits()?, rate)))
    }

    /// The same in words. Below the bound there is no filter: where the interval of the measured rate reaches down to it, no
    /// more is known.
    pub(crate) fn over_bound(&self) -> Option<String> {
        let overhead = self.overhead()?;
        let bits = self.bits()?;
        let least = match self.rate() {
            Some(Rate::Seen(rate)) if self.row.fpr_hits.unwrap_or(0) >= HITS_FOR_SPACE => {
                bounds::overhead(bits, rate.ends().0)
            }
            _ => overhead,
        };
        Some(if overhead.min(least) <= 0.0 {
            "at the bound as far as its rate is known".to_owned()
        } else {
            format!("{} over the bound at its own rate", percent(overhead))
        })
    }

    fn row_of(&self, operation: Operation) -> Option<&'a Cell> {
        self.rows.iter().copied().find(|row| operation.matches(row))
    }

    /// Nanoseconds an operation; never for a filter with a defect.
    pub(crate) fn time(&self, operation: Operation) -> Option<Measured> {
        let row = self.row_of(operation).filter(|row| self.ok() && row.status == Status::Ok)?;
        Measured::new(row.ns_per_op, row.ns_per_op_lo95, row.ns_per_op_hi95).filter(|time| time.mid > 0.0)
    }

    /// Time in multiples of what the memory system asks for; `None` too where that was not steady.
    pub(crate) fn multiple(&self, operation: Operation, floor: Floor) -> Option<f64> {
        let row = self.row_of(operation).filter(|row| self.ok() && row.status == Status::Ok)?;
        finite(match floor {
            Floor::Read => row.floor_multiple,
            Floor::Reads => row.floor_k_multiple,
            Floor::Chain => row.floor_chain_multiple,
            Floor::Stream => row.floor_stream_multiple,
        })
    }

    /// The same for a table: where there is a time and no multiple, the floor was not steady.
    pub(crate) fn shown_multiple(&self, operation: Operation, floor: Floor) -> Shown {
        match (self.multiple(operation, floor), self.time(operation)) {
            (None, Some(_)) => Shown::missing("floor unsteady"),
            (multiple, _) => Shown::exact(multiple, number),
        }
    }

    pub(crate) fn shown_time(&self, operation: Operation) -> Shown {
        match (self.time(operation), self.row_of(operation)) {
            (Some(time), _) => time.shown(number),
            (None, Some(row)) if !has_operation(row) => Shown::missing("unsupported"),
            (None, Some(row)) if row.status != Status::Ok => {
                Shown::missing(status_text(row.status, &row.reason))
            }
            (None, Some(_)) => Shown::missing("not measured"),
            (None, None) => Shown::missing(""),
        }
    }

    pub(crate) fn shown_rate(&self) -> Shown {
        match self.rate() {
            Some(Rate::Seen(Measured { mid, interval })) => Shown {
                main: rate(mid),
                detail: interval.map_or_else(String::new, |(lo, hi)| rate_range(mid, lo, hi)),
                key: Some(mid),
            },
            Some(Rate::Below(bound)) => Shown {
                main: format!("< {}", rate(bound)),
                detail: "no false positive seen".to_owned(),
                key: Some(bound),
            },
            None => Shown::missing(""),
        }
    }

    /// `ok`, or the status and its reason.
    pub(crate) fn status_text(&self) -> String {
        status_text(self.status, self.reason)
    }
}

/// A filter of a run.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) title: String,
    /// `table`, `bloom`, `static`, or empty where the run does not say.
    pub(crate) kind: String,
    pub(crate) peer: Option<String>,
    pub(crate) version: String,
    pub(crate) capabilities: Vec<String>,
    pub(crate) r: Option<(u32, u32)>,
}

impl Filter {
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|own| own == capability)
    }

    /// The short name, with a mark on foreign filters.
    pub(crate) fn label(&self) -> String {
        if self.peer.is_some() { format!("{}{PEER}", self.name) } else { self.name.clone() }
    }
}

/// One run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) info: &'a RunInfo,
    pub(crate) filters: Vec<Filter>,
    /// Every filter in every cell, in the order of the rows.
    pub(crate) entries: Vec<Entry<'a>>,
    /// The key set that figures show, where a run has several.
    pub(crate) keys: &'a str,
    /// What studies found.
    pub(crate) studies: &'a [Record],
}

impl<'a> Run<'a> {
    pub(crate) fn of(Results { info, cells, studies }: Results<'a>) -> Self {
        Self { studies, ..Self::new(info, cells) }
    }

    pub(crate) fn new(info: &'a RunInfo, rows: &'a [Cell]) -> Self {
        let mut filters: Vec<Filter> = info.filters.iter().map(from_info).collect();
        let mut groups: Vec<(usize, Vec<&Cell>)> = Vec::new();
        let mut places = HashMap::new();
        for row in rows {
            let filter = filters.iter().position(|filter| filter.name == row.filter).unwrap_or_else(|| {
                filters.push(from_row(row));
                filters.len() - 1
            });
            let wish =
                (row.fpr_target.map(f64::to_bits), row.alpha_target.map(f64::to_bits), shape_width(row));
            let place = *places.entry((filter, row.n, wish, &row.keys, row.seed)).or_insert_with(|| {
                groups.push((filter, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(row);
        }
        let entries: Vec<_> =
            groups.into_iter().filter_map(|(filter, rows)| Entry::of(rows, filter)).collect();
        let keys = most_frequent_keys(&entries);
        Self { info, filters, entries, keys, studies: &[] }
    }

    pub(crate) fn filter(&self, entry: &Entry) -> &Filter {
        &self.filters[entry.filter]
    }

    /// The entries that figures are made from: one key set, whatever their status.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| entry.row.keys == self.keys)
    }

    /// The (n, ε) cells, ascending in n, descending in ε.
    pub(crate) fn rate_cells(&self) -> Vec<(u64, f64)> {
        let mut cells: Vec<(u64, f64)> = Vec::new();
        for entry in self.shown() {
            if let Wish::Rate(fpr) = entry.wish
                && !cells.contains(&(entry.row.n, fpr))
            {
                cells.push((entry.row.n, fpr));
            }
        }
        cells.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        cells
    }

    /// The cell that texts speak of: the largest n, and the ε next to 1 %.
    pub(crate) fn main_cell(&self) -> Option<(u64, f64)> {
        let distance = |fpr: f64| (fpr.ln() - 0.01_f64.ln()).abs();
        let cells = self.rate_cells();
        let works = |cell: &&(u64, f64)| self.at(**cell).any(Entry::ok);
        let n = cells.iter().filter(works).map(|cell| cell.0).max()?;
        cells.into_iter().filter(|cell| cell.0 == n).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
    }

    /// The filters of an (n, ε) cell.
    pub(crate) fn at(&self, (n, fpr): (u64, f64)) -> impl Iterator<Item = &Entry<'a>> {
        self.shown().filter(move |entry| entry.row.n == n && entry.wish == Wish::Rate(fpr))
    }

    /// How far two measurements of the same filter lie apart in 95 of 100 pairs, for this operation.
    pub(crate) fn noise(&self, operation: Operation) -> Option<f64> {
        let (workload, mode) = operation.noise_key();
        let noise = &self.info.noise;
        // Runs of earlier versions do not tell the modes apart.
        let known = noise.get(&noise_key(workload, mode)).or_else(|| noise.get(workload.name()));
        let largest = || noise.values().max_by(|a, b| a.p95.total_cmp(&b.p95));
        known.or_else(largest).map(|NoiseFloor { p95, .. }| *p95).filter(|p95| p95.is_finite())
    }

    /// Whether two times differ by more than the noise floor and their intervals do not overlap. `None` if no noise floor
    /// was measured, or they lie further apart than it but have no intervals.
    pub(crate) fn differ(&self, operation: Operation, a: Measured, b: Measured) -> Option<bool> {
        let apart = (a.mid / b.mid).ln().abs();
        if apart <= self.noise(operation)? {
            return Some(false);
        }
        let ((a_lo, a_hi), (b_lo, b_hi)) = a.interval.zip(b.interval)?;
        Some(a_hi < b_lo || b_hi < a_lo)
    }
}

/// A finite number.
fn finite(x: Option<f64>) -> Option<f64> {
    x.filter(|x| x.is_finite())
}

/// Whether the family has the operation of a row.
fn has_operation(row: &Cell) -> bool {
    let can = |needed: Capability| row.capabilities.split_whitespace().any(|own| own == needed.name());
    row.workload.lacks(can).is_none()
}

/// `r` is part of the wish on the (n, α, r) axis only: elsewhere it is the family's own choice.
fn shape_width(row: &Cell) -> Option<u32> {
    if row.fpr_target.is_some() { None } else { row.r }
}

fn wish(row: &Cell) -> Wish {
    row.fpr_target.map_or_else(|| Wish::Shape { alpha: row.alpha_target, r: row.r.unwrap_or(0) }, Wish::Rate)
}

fn most_frequent_keys<'a>(entries: &[Entry<'a>]) -> &'a str {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match counts.iter_mut().find(|(keys, _)| *keys == entry.row.keys) {
            Some((_, count)) => *count += 1,
            None => counts.push((&entry.row.keys, 1)),
        }
    }
    // The first of equals, so that the choice does not depend on the order of a sort.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or("", |(keys, _)| keys)
}

fn from_info(info: &FilterInfo) -> Filter {
    Filter {
        name: info.name.clone(),
        title: info.title.clone(),
        kind: info.kind.clone(),
        peer: info.peer.clone(),
        version: info.version.clone(),
        capabilities: info.capabilities.clone(),
        r: Some(info.r),
    }
}

fn from_row(row: &Cell) -> Filter {
    Filter {
        name: row.filter.clone(),
        title: row.family.clone(),
        kind: String::new(),
        peer: (row.peer != 0).then(|| row.filter.clone()),
        version: row.version.clone(),
        capabilities: row.capabilities.split_whitespace().map(str::to_owned).collect(),
        r: None,
    }
}

/// The name of a status, with the reason.
pub(crate) fn status_text(status: Status, reason: &str) -> String {
    let name = status.name();
    if reason.is_empty() { name.to_owned() } else { format!("{name}: {reason}") }
}
