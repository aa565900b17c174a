//! Space over the information-theoretic bound, against ε.

use anyhow::Result;

use super::super::data::{Entry, Run};
use super::super::format::{Shown, count, number, percent, round_rate, signed_percent};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, groups, name, names, series};

/// A filter that is always this far over the bound is only named: it would flatten all the others.
const LIMIT: f64 = 1.5;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((n, fpr)) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> = run
        .rate_cells()
        .iter()
        .filter(|cell| cell.0 == n)
        .flat_map(|&cell| run.at(cell))
        .filter(|entry| !entry.exact())
        .collect();
    let point = |entry: &Entry| {
        Some((Coordinate::exact(entry.row.fpr_target?), Coordinate::exact(entry.overhead()?)))
    };
    let beyond = |filter: usize| {
        let least = entries
            .iter()
            .filter(|entry| entry.filter == filter)
            .filter_map(|entry| entry.overhead())
            .min_by(f64::total_cmp);
        least.is_some_and(|least| least > LIMIT)
    };
    let outside: Vec<&Entry> = entries.iter().copied().filter(|entry| beyond(entry.filter)).collect();
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: vec![Guide::Horizontal {
                y: std::f64::consts::LOG2_E - 1.0,
                label: "Bloom's optimum".to_owned(),
            }],
            series: filters
                .into_iter()
                .filter(|&filter| !beyond(filter))
                .filter_map(|filter| {
                    let points = entries
                        .iter()
                        .filter(|entry| entry.filter == filter)
                        .filter_map(|entry| point(entry))
                        .collect();
                    series(run, filter, points, Join::Line)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table = Table::new(&["filter", "ε asked", "bits / key", "over the bound"]);
    for entry in &entries {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(entry.row.fpr_target, round_rate),
            Shown::exact(entry.bits(), number),
            if entry.ok() {
                Shown::exact(entry.overhead(), signed_percent)
            } else {
                Shown::missing(entry.status_text())
            },
        ]);
    }
    let words = Words {
        question: "How near to the least possible space is each filter?",
        title: format!("Space over the bound against ε, n = {}", count(n)),
        caption: format!("{}{}", caption(run, n, fpr, &entries), named(run, &outside)),
        reading: "0 % is log₂(1/ε), which no filter over a static set goes below. The rate is the measured one where at least 100 \
                  false positives were seen, else the expected one. Dashed: +44 %, a Bloom filter at its best. A little below 0 % is chance in the measured rate.",
    };
    let x = Axis::new("ε asked for (smaller to the right)", Scale::Log, Ticks::Rate).falling();
    let y = Axis::new("bits over the bound", Scale::Linear, Ticks::Percent).including(0.0);
    chart(run, words, (&x, &y), &panels, table)
}

/// The best filter at the coarsest and at the finest rate, and how many stay under Bloom's optimum.
fn caption(run: &Run<'_>, n: u64, fpr: f64, entries: &[&Entry]) -> String {
    let best_at = |wish: f64| {
        let at = entries.iter().filter(|entry| entry.row.fpr_target == Some(wish));
        at.filter_map(|entry| Some((entry.overhead()?, *entry))).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut wishes: Vec<f64> =
        run.rate_cells().iter().filter(|cell| cell.0 == n).map(|cell| cell.1).collect();
    wishes.dedup();
    let ends = [wishes.first(), wishes.last().filter(|_| wishes.len() > 1)];
    let said: Vec<String> = ends
        .into_iter()
        .flatten()
        .filter_map(|&wish| {
            let (overhead, entry) = best_at(wish)?;
            Some(format!("at ε = {} {} ({})", round_rate(wish), name(run, entry), signed_percent(overhead)))
        })
        .collect();
    let main: Vec<f64> = entries
        .iter()
        .filter(|entry| entry.row.fpr_target == Some(fpr))
        .filter_map(|entry| entry.overhead())
        .collect();
    let under = main.iter().filter(|&&overhead| overhead < std::f64::consts::LOG2_E - 1.0).count();
    format!(
        "Closest to the bound: {}. At ε = {} {under} of {} filters take less than a Bloom filter's optimum, {} over the bound.",
        said.join("; "),
        round_rate(fpr),
        main.len(),
        percent(std::f64::consts::LOG2_E - 1.0)
    )
}

/// The filters beyond the figure.
fn named(run: &Run<'_>, outside: &[&Entry]) -> String {
    if outside.is_empty() {
        return String::new();
    }
    format!(
        " Beyond the figure, always more than {} over: {}.",
        percent(LIMIT),
        names(run, outside.iter().copied())
    )
}
