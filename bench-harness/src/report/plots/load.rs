//! Times of the table families against the load.

use std::collections::BTreeMap;

use anyhow::Result;

use super::super::data::{Entry, Operation, Run, Wish};
use super::super::format::{Shown, count, number, trimmed};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Join, Panel, Series};
use super::{Figure, Table, Words, chart, groups, name, series};

/// The operations, one panel each.
const OPERATIONS: [Operation; 3] = [Operation::Hit, Operation::Miss, Operation::Insert];

/// A width in the middle of those that are used: taken where several are equally well covered.
const USUAL_WIDTH: u32 = 8;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((n, r)) = cell(run) else { return Ok(None) };
    let at =
        |entry: &&Entry| entry.row.n == n && matches!(entry.wish, Wish::Shape { r: width, .. } if width == r);
    let entries: Vec<&Entry> = run.shown().filter(at).collect();
    let panels: Vec<Panel> = OPERATIONS
        .into_iter()
        .map(|operation| Panel {
            title: format!("{} against load, r = {r}", capital(operation.name())),
            guides: Vec::new(),
            series: lines(run, &entries, operation),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table = Table::new(&["filter", "α", "hit, ns", "miss, ns", "insert, ns"]);
    for entry in &entries {
        let mut row = vec![Shown::text(name(run, entry)), Shown::exact(load(entry), trimmed)];
        row.extend(OPERATIONS.map(|operation| {
            if entry.ok() { entry.shown_time(operation) } else { Shown::missing(entry.status_text()) }
        }));
        table.rows.push(row);
    }
    let words = Words {
        question: "What does filling a table do to its times?",
        title: format!("Time against load, n = {}, r = {r}", count(n)),
        caption: caption(run, &entries),
        reading: "Lines: families with a table of slots. Levels: the fastest family of each kind whose times do not depend on a load; the others \
                  are in the table. Single calls, from the digest; bars: interval of the median.",
    };
    let x = Axis::new("load α, records / slots", Scale::Linear, Ticks::Number);
    let y = Axis::new("ns / operation (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table)
}

/// The largest n of the load axis, and the width with most cells there.
fn cell(run: &Run<'_>) -> Option<(u64, u32)> {
    let loaded = || {
        run.shown().filter_map(|entry| match entry.wish {
            Wish::Shape { alpha: Some(_), r } => Some((entry.row.n, r)),
            _ => None,
        })
    };
    let n = loaded().map(|cell| cell.0).max()?;
    let mut widths: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, r) in loaded().filter(|cell| cell.0 == n) {
        *widths.entry(r).or_default() += 1;
    }
    let (r, _) =
        widths.into_iter().max_by_key(|&(r, cells)| (cells, std::cmp::Reverse(r.abs_diff(USUAL_WIDTH))))?;
    Some((n, r))
}

/// The load asked for, or what was planned.
fn load(entry: &Entry) -> Option<f64> {
    entry.row.alpha_target.and(entry.row.alpha.or(entry.row.alpha_target))
}

/// The families with a load, and of those without, the fastest of each kind.
fn lines(run: &Run<'_>, entries: &[&Entry], operation: Operation) -> Vec<Series> {
    let mut lines = Vec::new();
    for (_, filters) in groups(run) {
        let mut levels = Vec::new();
        for filter in filters {
            let own = || entries.iter().filter(|entry| entry.filter == filter);
            let loaded: Vec<_> = own()
                .filter_map(|entry| Some((Coordinate::exact(load(entry)?), entry.time(operation)?.into())))
                .collect();
            if loaded.is_empty() {
                let mut free = own().filter(|entry| entry.row.alpha_target.is_none());
                levels.extend(free.find_map(|entry| entry.time(operation)).map(|time| (filter, time)));
            }
            lines.extend(series(run, filter, loaded, Join::Line));
        }
        let fastest = levels.into_iter().min_by(|a, b| a.1.mid.total_cmp(&b.1.mid));
        lines.extend(fastest.and_then(|(filter, level)| {
            series(run, filter, vec![(Coordinate::exact(0.0), level.into())], Join::Level)
        }));
    }
    lines
}

/// How much slower the most loaded table is, for each family and operation.
fn caption(run: &Run<'_>, entries: &[&Entry]) -> String {
    let mut sentences = Vec::new();
    for filter in 0..run.filters.len() {
        let mut own: Vec<(f64, &Entry)> = entries
            .iter()
            .filter(|entry| entry.filter == filter && entry.ok())
            .filter_map(|entry| Some((load(entry)?, *entry)))
            .collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        let changes: Vec<String> = OPERATIONS
            .into_iter()
            .filter_map(|operation| {
                let mut timed = own.iter().filter_map(|(_, entry)| entry.time(operation));
                let (first, last) = (timed.next()?, timed.next_back()?);
                Some(match run.differ(operation, first, last) {
                    Some(false) => format!("{} within noise", operation.name()),
                    Some(true) => format!("{} {}×", operation.name(), number(last.mid / first.mid)),
                    None => format!(
                        "{} {}× (not told from noise)",
                        operation.name(),
                        number(last.mid / first.mid)
                    ),
                })
            })
            .collect();
        if let ([(low, entry), .., (high, _)], false) = (own.as_slice(), changes.is_empty()) {
            if high / low < 1.01 {
                sentences.push(format!(
                    "{} has a load of {} whatever is asked for",
                    name(run, entry),
                    trimmed(*low)
                ));
                continue;
            }
            sentences.push(format!(
                "{} from α = {} to {}: {}",
                name(run, entry),
                trimmed(*low),
                trimmed(*high),
                changes.join(", ")
            ));
        }
    }
    if sentences.is_empty() {
        "Each family was measured at one load only.".to_owned()
    } else {
        format!("What filling the table does to the time: {}.", sentences.join("; "))
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
