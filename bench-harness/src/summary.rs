//! The summary: the filters of each (n, ε) side by side, for the terminal and for the report.

use comfy_table::{
    Attribute, Cell as TextCell, CellAlignment, ContentArrangement, Table as TextTable, presets,
};

use crate::report::data::{Entry, Floor, Operation, Run, Wish};
use crate::report::format::{Shown, count, number, round_rate, signed_percent, trimmed};
use crate::store::cell::Cell;
use crate::store::run::RunInfo;

/// What to summarise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// Every cell.
    All,
    /// One (n, ε).
    At {
        /// Distinct keys.
        n: u64,
        /// The rate asked for.
        fpr: f64,
    },
}

/// Cells with their filters.
#[derive(Clone, Debug)]
pub struct Summary {
    /// By run, n and wish.
    pub groups: Vec<Group>,
}

/// A cell: one n and one wish, all filters.
#[derive(Clone, Debug)]
pub struct Group {
    /// The run.
    pub run: String,
    /// Distinct keys.
    pub n: u64,
    /// What was asked for.
    pub wish: Wish,
    /// For people.
    pub title: String,
    /// One a filter, in the order of the run.
    pub rows: Vec<Row>,
}

/// A filter in a cell.
#[derive(Clone, Debug)]
pub struct Row {
    /// The filter.
    pub filter: String,
    /// Why there are no numbers; empty if there are.
    pub status: String,
    /// One for each of [`COLUMNS`].
    pub values: Vec<Shown>,
}

/// The columns beside the filter, with their units.
pub const COLUMNS: [&str; 10] = [
    "bits/key",
    "over bound",
    "measured FPR",
    "build ns",
    "insert ns",
    "hit ns",
    "miss ns",
    "batched ns",
    "miss × read",
    "remove ns",
];

impl Summary {
    /// The chosen cells of these runs.
    pub fn of(runs: &[(RunInfo, Vec<Cell>)], choice: Choice) -> Self {
        let runs: Vec<Run> = runs.iter().map(|(info, cells)| Run::new(info, cells)).collect();
        Self { groups: runs.iter().flat_map(|run| of_run(run, choice)).collect() }
    }
}

pub(crate) fn of_run(run: &Run<'_>, choice: Choice) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for entry in run.shown() {
        let chosen = match choice {
            Choice::All => true,
            Choice::At { n, fpr } => entry.row.n == n && entry.wish == Wish::Rate(fpr),
        };
        if !chosen {
            continue;
        }
        let (n, wish) = (entry.row.n, entry.wish);
        let row = Row {
            filter: run.filter(entry).label(),
            status: if entry.ok() { String::new() } else { entry.status_text() },
            values: values(entry),
        };
        match groups.iter_mut().find(|group| group.n == n && group.wish == wish) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                run: run.info.run.clone(),
                n,
                wish,
                title: title(n, wish),
                rows: vec![row],
            }),
        }
    }
    groups.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    groups
}

/// The (n, ε) cells first, by n and falling ε, then the shapes.
fn order(group: &Group) -> (u8, u64, f64, f64) {
    match group.wish {
        Wish::Rate(fpr) => (0, group.n, -fpr, 0.0),
        Wish::Shape { alpha, r } => (1, group.n, f64::from(r), alpha.unwrap_or(0.0)),
    }
}

fn title(n: u64, wish: Wish) -> String {
    let wish = match wish {
        Wish::Rate(fpr) => format!("ε = {}", round_rate(fpr)),
        Wish::Shape { alpha: Some(alpha), r } => format!("α = {}, r = {r}", trimmed(alpha)),
        Wish::Shape { alpha: None, r } => format!("r = {r}, no load"),
    };
    format!("n = {}, {wish}", count(n))
}

fn values(entry: &Entry<'_>) -> Vec<Shown> {
    if !entry.ok() {
        return COLUMNS.iter().map(|_| Shown::missing("")).collect();
    }
    vec![
        Shown::exact(entry.bits(), number),
        Shown::exact(entry.overhead().filter(|_| !entry.exact()), signed_percent),
        entry.shown_rate(),
        entry.shown_time(Operation::Build),
        entry.shown_time(Operation::Insert),
        entry.shown_time(Operation::Hit),
        entry.shown_time(Operation::Miss),
        entry.shown_time(Operation::MissBatch),
        entry.shown_multiple(Operation::Miss, Floor::Read),
        entry.shown_time(Operation::Remove),
    ]
}

/// The summary for a terminal: each run's (n, ε) cells, or where it has none, its other cells.
pub fn text(runs: &[(RunInfo, Vec<Cell>)]) -> String {
    let mut out = String::new();
    for (info, cells) in runs {
        let groups = of_run(&Run::new(info, cells), Choice::All);
        let by_rate = groups.iter().any(|group| matches!(group.wish, Wish::Rate(_)));
        for group in groups.iter().filter(|group| matches!(group.wish, Wish::Rate(_)) == by_rate) {
            if runs.len() > 1 {
                out.extend([printable(&group.run), ": ".to_owned()]);
            }
            out.extend([group.title.as_str(), "\n", &group_text(group), "\n\n"]);
        }
    }
    if out.is_empty() {
        out.push_str("no cells\n");
    } else {
        out.push_str("Medians; the intervals are in report.html and cells.csv. “<”: no false positive seen, upper bound at 95 %.\n");
    }
    out
}

fn group_text(group: &Group) -> String {
    let mut table = TextTable::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    let headers = std::iter::once("filter").chain(COLUMNS);
    table.set_header(headers.map(|header| TextCell::new(header).add_attribute(Attribute::Bold)));
    for row in group.rows.iter().filter(|row| row.status.is_empty()) {
        let name = std::iter::once(TextCell::new(printable(&row.filter)));
        let values =
            row.values.iter().map(|value| TextCell::new(&value.main).set_alignment(CellAlignment::Right));
        table.add_row(name.chain(values));
    }
    // What has no numbers stands below with its reason: nothing is dropped, and nothing is a zero.
    let failed = group.rows.iter().filter(|row| !row.status.is_empty());
    let failed = failed.map(|row| format!("{}: {}", printable(&row.filter), printable(&row.status)));
    std::iter::once(table.to_string()).chain(failed).collect::<Vec<_>>().join("\n")
}

/// Text from elsewhere without what would steer a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}
