//! Bits a key against n: what small sets cost.

use anyhow::Result;

use super::super::data::{Entry, Run};
use super::super::format::{Shown, count, number, round_rate, signed_percent};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Join, Panel};
use super::{Figure, Table, Words, chart, groups, name, names, series, studies};

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    // The study says the same at more n.
    if studies::has_space(run) {
        return Ok(None);
    }
    let Some((_, fpr)) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> = run
        .rate_cells()
        .iter()
        .filter(|cell| cell.1 == fpr)
        .flat_map(|&cell| run.at(cell))
        .filter(|entry| !entry.exact())
        .collect();
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: Vec::new(),
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let own = entries.iter().filter(|entry| entry.filter == filter);
                    let points = own.filter_map(|entry| {
                        Some((Coordinate::exact(entry.row.n as f64), Coordinate::exact(entry.bits()?)))
                    });
                    series(run, filter, points.collect(), Join::Line)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table = Table::new(&["filter", "n", "payload bits / key", "heap bits / key", "file bytes"]);
    for entry in &entries {
        let file = entry.row.file_bytes.filter(|_| entry.ok());
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(Some(entry.row.n as f64), |_| count(entry.row.n)),
            if entry.ok() { Shown::exact(entry.bits(), number) } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.heap_bits(), number),
            file.map_or_else(
                || Shown::missing(""),
                |size| Shown { main: count(size), detail: String::new(), key: Some(size as f64) },
            ),
        ]);
    }
    let words = Words {
        title: format!("Bits a key against n, ε = {}", round_rate(fpr)),
        caption: caption(run, &entries),
        reading: "Payload bits: all that a lookup can read. A level line costs the same at any size; one that rises to the left shows what a \
                  small set pays for blocks and slack; teeth are tables bound to powers of two.",
    };
    let x = Axis::new("n, keys", Scale::Log, Ticks::Count);
    let y = Axis::new("bits / key (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table)
}

/// Which filters' size moves with n, and by how much.
fn caption(run: &Run<'_>, entries: &[&Entry]) -> String {
    let mut spread: Vec<(f64, u64, &Entry)> = Vec::new();
    let mut level: Vec<&Entry> = Vec::new();
    for filter in 0..run.filters.len() {
        let own = || entries.iter().filter(move |entry| entry.filter == filter);
        let sizes = || own().filter_map(|entry| Some((entry.bits()?, entry.row.n, *entry)));
        let least = sizes().min_by(|a, b| a.0.total_cmp(&b.0));
        let most = sizes().max_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some(least), Some(most)) = (least, most) {
            let wider = most.0 / least.0 - 1.0;
            if wider < 0.02 { level.push(most.2) } else { spread.push((wider, most.1, most.2)) }
        }
    }
    spread.sort_by(|a, b| b.0.total_cmp(&a.0));
    let moves: Vec<String> = spread
        .iter()
        .take(3)
        .map(|(wider, n, entry)| {
            format!(
                "{} ({} at n = {} over its smallest)",
                name(run, entry),
                signed_percent(*wider),
                count(*n)
            )
        })
        .collect();
    let moving = if moves.is_empty() {
        String::new()
    } else {
        format!("Size depends most on n for {}. ", super::super::format::list(&moves))
    };
    let steady = if level.is_empty() {
        String::new()
    } else {
        format!("It stays within 2 % for {}.", names(run, level))
    };
    format!("{moving}{steady}")
}
