//! A comparison in words and tables: what the terminal and a review both show.

use super::verdict::TimedCell;
use super::{BuiltCell, Comparison, Over, Pairing, Size, State, Verdict};
use crate::report::format::{number, percent, rate, signed_percent};
use crate::store::cell::{Hashing, Status};
use crate::store::derive::mode_name;
use crate::store::sample::{Point, Work};
use crate::sweep::groups;

/// Rows of the tables at the top.
const MOST: usize = 5;

/// A table for people.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) headers: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<const COLUMNS: usize>(
        title: impl Into<String>,
        headers: [&'static str; COLUMNS],
        rows: impl Iterator<Item = [String; COLUMNS]>,
    ) -> Self {
        Self { title: title.into(), headers: headers.into(), rows: rows.map(Into::into).collect() }
    }
}

pub(super) fn point(point: &Point) -> String {
    groups::describe(point)
}

/// `lookup single, 50 % hits`.
pub(super) fn work(work: &Work) -> String {
    let mut text = format!("{} {}", work.workload.name(), mode_name(work.mode));
    if let Some(ratio) = work.hit_ratio {
        text.extend([", ", &percent(ratio), " hits"]);
    }
    if work.hashing == Hashing::Included {
        text.push_str(", hashing included");
    }
    text
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// `+4.2 %` for a ratio of 1.042.
fn change(ratio: f64) -> String {
    signed_percent(ratio - 1.0)
}

/// What it comes to, in sentences.
pub(super) fn conclusions(comparison: &Comparison) -> Vec<String> {
    let (summary, method) = (&comparison.summary, comparison.method);
    let verdicts: Vec<_> = Verdict::ALL
        .iter()
        .zip(summary.verdicts)
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    let threshold = percent(method.threshold);
    let level = percent(method.level);
    let regression = if summary.is_regression() {
        format!(
            "Regression: {} times and {} sizes, rates or statuses are worse by more than {threshold}.",
            summary.slower, summary.worse
        )
    } else {
        format!("No regression beyond {threshold}.")
    };
    let beyond = match method.pairing {
        Pairing::Independent => " and differ by more than a filter from itself",
        Pairing::ByRepetition => "",
    };
    let samples = match method.pairing {
        Pairing::Independent => {
            "Lookups and passes over tables are divided by the floor of their repetition; other times stand as they are, and \
             are unknown where the sentinel moved."
        }
        Pairing::ByRepetition => {
            "Times are compared within pairs of repetitions that ran one after the other."
        }
    };
    vec![
        regression,
        format!("{} cells with times: {}.", comparison.timed.len(), verdicts.join(", ")),
        format!(
            "{} of them were tested: {} differ at the {level} level when each is looked at alone, {} would by chance. \
             Faster or slower are those that are left at a false-discovery rate of {level}{beyond}.",
            summary.tested,
            summary.alone,
            number(summary.by_chance)
        ),
        format!(
            "{} sizes, rates and statuses of {} filters at points of the axes changed.",
            summary.findings,
            comparison.built.len()
        ),
        samples.into(),
    ]
}

/// What is true of both sides, and what is not.
pub(super) fn provenance(comparison: &Comparison) -> Table {
    let [base, new] = &comparison.sides;
    let row = |name: &str, base: &str, new: &str| [name.into(), base.into(), new.into()];
    let differing = comparison.differences.iter().map(|(name, base, new)| row(name, base, new));
    let same = base
        .facts
        .iter()
        .filter(|(name, value)| new.facts.get(*name) == Some(value))
        .map(|(name, value)| row(name, value, "the same"));
    let rows = std::iter::once(row("name", &base.name, &new.name)).chain(differing).chain(same);
    Table::new("Where the numbers come from", ["what", "base", "new"], rows)
}

/// The tables at the top, those with rows.
pub(super) fn highlights(comparison: &Comparison) -> Vec<Table> {
    let most = |title: &str, verdict| {
        let cells = comparison.most(verdict);
        let title = match cells.len() {
            0..=MOST => title.to_owned(),
            all => format!("{title}: the {MOST} largest of {all}"),
        };
        times(title, cells.into_iter().take(MOST))
    };
    let level = comparison.method.level;
    let suspects = || comparison.timed.iter().filter(|cell| cell.is_suspect(level));
    let tables = [
        most("Slower", Verdict::Slower),
        most("Faster", Verdict::Faster),
        findings(comparison),
        times("Within the noise, but different if each were the only cell", suspects()),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// A row for each of the cells.
pub(super) fn times<'a>(title: impl Into<String>, cells: impl Iterator<Item = &'a TimedCell>) -> Table {
    const HEADERS: [&str; 11] = [
        "filter", "point", "workload", "base ns", "new ns", "change", "interval", "noise", "p", "verdict",
        "reason",
    ];
    let row = |cell: &TimedCell| {
        let [ratio, interval, noise, p] = cell.change.map_or_else(Default::default, |shift| {
            let over = if cell.over == Over::Floor { " of the floor" } else { "" };
            [
                change(shift.ratio) + over,
                format!("{} to {}", change(shift.low), change(shift.high)),
                shift.noise.map_or_else(String::new, |noise| format!("±{}", percent(noise - 1.0))),
                number(shift.p),
            ]
        });
        let [base, new] = cell.ns.map(maybe);
        let verdict = cell.verdict.name().to_owned();
        let (point, work) = (point(&cell.point), work(&cell.work));
        [cell.filter.clone(), point, work, base, new, ratio, interval, noise, p, verdict, cell.reason.clone()]
    };
    Table::new(title, HEADERS, cells.map(row))
}

fn findings(comparison: &Comparison) -> Table {
    let rows = comparison.built.iter().flat_map(|cell| {
        cell.findings.iter().map(|finding| {
            let [base, new] = cell.sides.each_ref().map(|side| {
                side.as_ref().map_or_else(String::new, |state| match finding.what {
                    super::What::Size(size) => bits(state, size),
                    super::What::Rate => seen(state),
                    super::What::Status => status(state),
                })
            });
            let by = finding.ratio.map_or_else(String::new, change);
            let verdict = if finding.regression { "regression" } else { "" };
            let what = finding.what.name().to_owned();
            [cell.filter.clone(), point(&cell.point), what, base, new, by, verdict.into()]
        })
    });
    let headers = ["filter", "point", "what", "base", "new", "change", "verdict"];
    Table::new("Sizes, rates and statuses that changed", headers, rows)
}

/// Sizes and rates of all filters, base and new side by side where they differ.
pub(super) fn sizes<'a>(title: impl Into<String>, cells: impl Iterator<Item = &'a BuiltCell>) -> Table {
    const HEADERS: [&str; 9] =
        ["filter", "point", "payload bits/key", "heap", "peak", "file", "FPR", "p", "status"];
    let row = |cell: &BuiltCell| {
        let both = |show: &dyn Fn(&State) -> String| {
            let [base, new] =
                cell.sides.each_ref().map(|side| side.as_ref().map_or_else(|| "–".to_owned(), show));
            if base == new { base } else { format!("{base} → {new}") }
        };
        let [payload, heap, peak, file] = Size::ALL.map(|size| both(&|state| bits(state, size)));
        let p = maybe(cell.rate_p);
        let (seen, status) = (both(&seen), both(&status));
        [cell.filter.clone(), point(&cell.point), payload, heap, peak, file, seen, p, status]
    };
    Table::new(title, HEADERS, cells.map(row))
}

fn bits(state: &State, size: Size) -> String {
    let place = Size::ALL.iter().position(|&other| other == size);
    // To the byte at a million keys: any change shows.
    place.and_then(|place| state.sizes[place]).map_or_else(String::new, |bits| format!("{bits:.5}"))
}

fn seen(state: &State) -> String {
    match (state.rate(), state.hits, state.queries) {
        (Some(measured), Some(hits), Some(queries)) => format!("{} ({hits}/{queries})", rate(measured)),
        _ => String::new(),
    }
}

fn status(state: &State) -> String {
    match state.status {
        Status::Ok => Status::Ok.name().into(),
        other => format!("{}: {}", other.name(), state.reason),
    }
}
