//! Bits a key against the time of a miss, one panel for each ε.

use anyhow::Result;

use super::super::data::{Entry, Operation, Run};
use super::super::format::{Shown, count, number, round_rate};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Join, Panel};
use super::{Figure, Table, Words, chart, frontier, name, names, series};

/// More panels than this are not compared any more.
const PANELS: usize = 6;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((n, fpr)) = run.main_cell() else { return Ok(None) };
    let cells: Vec<_> = run.rate_cells().into_iter().filter(|cell| cell.0 == n).collect();
    let panels: Vec<Panel> = cells
        .iter()
        .take(PANELS)
        .map(|&cell| Panel {
            title: format!("ε = {}", round_rate(cell.1)),
            guides: Vec::new(),
            series: run
                .at(cell)
                .filter(|entry| !entry.exact())
                .filter_map(|entry| {
                    let point = (entry.time(Operation::Miss)?.into(), Coordinate::exact(entry.bits()?));
                    series(run, entry.filter, vec![point], Join::Points)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table = Table::new(&["filter", "ε asked", "miss, ns", "bits / key"]);
    for entry in cells.iter().flat_map(|&cell| run.at(cell)) {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(entry.row.fpr_target, round_rate),
            if entry.ok() { entry.shown_time(Operation::Miss) } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.bits(), number),
        ]);
    }
    let words = Words {
        question: "What does a faster lookup cost in space?",
        title: format!("Bits a key against the time of a miss, n = {}", count(n)),
        caption: caption(run, (n, fpr)),
        reading: "Further down is smaller, further left is faster: the lower left corner wins. Single lookups of absent keys, from the \
                  digest; bars: interval of the median.",
    };
    let x = Axis::new("miss, ns / lookup (log)", Scale::Log, Ticks::Number);
    let y = Axis::new("bits / key (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table)
}

fn caption(run: &Run<'_>, cell: (u64, f64)) -> String {
    let points: Vec<(f64, f64, &Entry)> = run
        .at(cell)
        .filter(|entry| !entry.exact())
        .filter_map(|entry| Some((entry.time(Operation::Miss)?.mid, entry.bits()?, entry)))
        .collect();
    let best = frontier(&points);
    let at = format!("At ε = {}", round_rate(cell.1));
    let choice = match best.as_slice() {
        [] => format!("{at} nothing was timed."),
        [(time, bits, entry)] => {
            format!(
                "{at} {} is both the smallest and the fastest: {} bits/key, {} ns.",
                name(run, entry),
                number(*bits),
                number(*time)
            )
        }
        [fastest, .., smallest] => format!(
            "{at} the choice is between {}: the others are both larger and slower than one of them. From the fastest, {} ({} ns, {} \
             bits/key), to the smallest, {} ({} ns, {} bits/key), {} of the space goes for {}× the time.",
            names(run, best.iter().map(|point| point.2)),
            name(run, fastest.2),
            number(fastest.0),
            number(fastest.1),
            name(run, smallest.2),
            number(smallest.0),
            number(smallest.1),
            super::super::format::percent(1.0 - smallest.1 / fastest.1),
            number(smallest.0 / fastest.0)
        ),
    };
    format!("{choice}{}", exact(run, cell))
}

/// What the smallest exact set costs: not drawn, as it would flatten the rest.
fn exact(run: &Run<'_>, cell: (u64, f64)) -> String {
    let sets = run.at(cell).filter(|entry| entry.exact()).filter_map(|entry| Some((entry.bits()?, entry)));
    let smallest = sets.min_by(|a, b| a.0.total_cmp(&b.0));
    smallest.map_or_else(String::new, |(bits, entry)| {
        let time = entry
            .time(Operation::Miss)
            .map_or_else(String::new, |time| format!(" and {} ns", number(time.mid)));
        format!(
            " Not drawn: exact answers, which take at least {} bits/key{time} ({}).",
            number(bits),
            name(run, entry)
        )
    })
}
