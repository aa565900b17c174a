//! The report: one self-contained HTML file, made from stored results alone.

mod checked;
pub(crate) mod data;
mod decision;
mod embed;
pub(crate) mod format;
mod operation;
mod plots;
mod standalone;
mod tables;

use anyhow::{Context, Result};
use askama::Template;

use self::data::Run;
use self::format::{Shown, list, unbroken};
use self::plots::{Figure, Table};
pub use self::standalone::figures;
use crate::store::cell::Cell;
use crate::store::run::RunInfo;
use crate::store::study::Record;
use crate::summary::{self, Choice, Group};

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    title: String,
    runs: Vec<Section>,
    rule: String,
    data: String,
    cells: Cells,
}

/// What the page shows of a run.
struct Section {
    name: String,
    card: Option<decision::Card>,
    provenance: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    groups: Vec<SummaryTable>,
    capabilities: Table,
    figures: Vec<Figure>,
    checked: checked::Checked,
    noise: String,
    cache_note: String,
    command: String,
    sweep_toml: String,
}

/// The summary of one cell.
struct SummaryTable {
    id: String,
    title: String,
    main: bool,
    table: Table,
}

/// The table of all cells.
struct Cells {
    statuses: Vec<&'static str>,
    filters: Vec<String>,
    table: Table,
}

#[derive(Template)]
#[template(path = "table.html")]
struct TableTemplate<'a> {
    table: &'a Table,
}

impl Table {
    /// The table as HTML, escaped.
    fn html(&self) -> askama::Result<String> {
        TableTemplate { table: self }.render()
    }
}

/// A run's results, as the report takes them.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// Where they come from.
    pub info: &'a RunInfo,
    /// Every cell.
    pub cells: &'a [Cell],
    /// What studies found.
    pub studies: &'a [Record],
}

impl<'a> From<&'a (RunInfo, Vec<Cell>)> for Results<'a> {
    /// Those of a run without studies.
    fn from((info, cells): &'a (RunInfo, Vec<Cell>)) -> Self {
        Self { info, cells, studies: &[] }
    }
}

/// The report of these runs as an HTML page.
///
/// Runs are shown side by side and never mixed: times of two runs are not comparable without a common floor.
///
/// # Errors
/// If a figure or the page cannot be written, which no data should cause.
pub fn render(runs: &[Results<'_>]) -> Result<String> {
    let runs: Vec<Run> = runs.iter().map(|&results| Run::of(results)).collect();
    let names: Vec<String> = runs.iter().map(|run| run.info.run.clone()).collect();
    let page = Page {
        title: if names.is_empty() {
            "Filters, measured".to_owned()
        } else {
            format!("Filters, measured: {}", list(&names))
        },
        runs: runs.iter().enumerate().map(|(i, run)| section(i, run)).collect::<Result<_>>()?,
        rule: decision::rule(),
        data: embed::json(&runs)?,
        cells: all_cells(&runs),
    };
    page.render().context("the report's template")
}

fn section(index: usize, run: &Run<'_>) -> Result<Section> {
    let (provenance, warnings) = tables::provenance(run);
    let provenance = provenance.into_iter().map(|(name, value)| (name, unbroken(&value))).collect();
    let warnings = warnings.iter().map(|warning| unbroken(warning)).collect();
    let mut figures = plots::figures(run).with_context(|| format!("the figures of {}", run.info.run))?;
    let mut checked = checked::checked(run).with_context(|| format!("the checks of {}", run.info.run))?;
    // Two runs may have the same name.
    for figure in figures.iter_mut().chain(&mut checked.figure) {
        figure.id = format!("run-{index}-{}", figure.id);
    }
    let noise = run.noise(data::Operation::Miss).map_or_else(|| "not measured".to_owned(), format::percent);
    Ok(Section {
        name: run.info.run.clone(),

        card: decision::card(run),
        provenance,
        warnings,
        groups: summary_tables(index, run),
        capabilities: tables::capabilities(run),
        figures,
        checked,
        noise,
        cache_note: tables::cache_note(run),
        command: run.info.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        sweep_toml: run.info.sweep_toml.clone(),
    })
}

/// The (n, ε) cells, or where a run has none, all its cells.
fn summary_tables(index: usize, run: &Run<'_>) -> Vec<SummaryTable> {
    let groups = summary::of_run(run, Choice::All);
    let by_rate = |group: &Group| matches!(group.wish, data::Wish::Rate(_));
    let any = groups.iter().any(by_rate);
    let main = run.main_cell();
    let shown: Vec<Group> = groups.into_iter().filter(|group| by_rate(group) == any).collect();
    let is_main =
        |group: &Group| main.is_some_and(|(n, fpr)| group.n == n && group.wish == data::Wish::Rate(fpr));
    let first = shown.iter().position(is_main).unwrap_or(0);
    let table = |(i, group): (usize, Group)| SummaryTable {
        id: format!("summary-{index}-{i}"),
        title: group.title.clone(),
        main: i == first,
        table: summary_table(&group),
    };
    shown.into_iter().enumerate().map(table).collect()
}

fn summary_table(group: &Group) -> Table {
    let headers = ["filter", "status"].into_iter().chain(summary::COLUMNS).map(str::to_owned).collect();
    let rows = group.rows.iter().map(|row| {
        let status = if row.status.is_empty() { "ok" } else { &row.status };
        [Shown::text(&row.filter), Shown::text(status)]
            .into_iter()
            .chain(row.values.iter().cloned())
            .collect()
    });
    Table { headers, rows: rows.collect() }
}

fn all_cells(runs: &[Run<'_>]) -> Cells {
    let several = runs.len() > 1;
    let mut headers: Vec<String> = if several { vec!["run".to_owned()] } else { Vec::new() };
    headers.extend(tables::CELL_HEADERS.map(str::to_owned));
    let mut rows = Vec::new();
    let mut statuses: Vec<&str> = Vec::new();
    let mut filters: Vec<String> = Vec::new();
    for run in runs {
        for entry in &run.entries {
            let mut row = if several { vec![Shown::text(&run.info.run)] } else { Vec::new() };
            row.extend(tables::cell_row(run, entry));
            rows.push(row);
            let status = entry.status.name();
            if !statuses.contains(&status) {
                statuses.push(status);
            }
            let filter = run.filter(entry).label();
            if !filters.contains(&filter) {
                filters.push(filter);
            }
        }
    }
    Cells { statuses, filters, table: Table { headers, rows } }
}

/// A word of a command line as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::store::run::{Compiler, KeyInfo, Machine};

    /// A run about which nothing is known.
    pub(crate) fn info() -> RunInfo {
        RunInfo {
            schema: crate::store::cell::SCHEMA,
            run: String::new(),
            started: String::new(),
            finished: None,
            command: Vec::new(),
            sweep: String::new(),
            sweep_toml: String::new(),
            seed: 0,
            repetitions: 0,
            revision: String::new(),
            dirty: None,
            machine: Machine::default(),
            compiler: Compiler::default(),
            dependencies: std::collections::BTreeMap::new(),
            keys: KeyInfo::default(),
            filters: Vec::new(),
            noise: std::collections::BTreeMap::new(),
            drift: None,
            noisy: None,
            uniformity: None,
        }
    }

    #[test]
    fn a_run_without_cells_gives_a_page() {
        for runs in [vec![], vec![(info(), vec![])], vec![(info(), vec![]), (info(), vec![])]] {
            let page = render(&runs.iter().map(Results::from).collect::<Vec<_>>()).unwrap();
            assert!(page.contains("</html>"));
        }
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        assert_eq!(quoted("--n=1e4,1e6"), "--n=1e4,1e6");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
