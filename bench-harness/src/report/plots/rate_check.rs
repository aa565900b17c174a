//! Measured over expected rate: whether the filters deliver what their state promises.

use amq_testkit::statistics::agrees;
use anyhow::Result;

use super::super::data::{Entry, Rate, Run};
use super::super::format::{Shown, count, number, percent, rate};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, groups, name, series};

/// Fewer expected hits than this say little about a rate: the table has them.
const HITS: f64 = 10.0;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let entries: Vec<&Entry> =
        run.shown().filter(|entry| entry.expected().is_some() && entry.rate().is_some()).collect();
    let drawn: Vec<&Entry> = entries.iter().copied().filter(|entry| expected_hits(entry) >= HITS).collect();
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: vec![Guide::Horizontal { y: 1.0, label: "as expected".to_owned() }],
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let own = drawn.iter().filter(|entry| entry.filter == filter);
                    series(run, filter, own.filter_map(|entry| point(entry)).collect(), Join::Unlabelled)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table =
        Table::new(&["filter", "n", "queries", "hits", "measured", "expected", "measured / expected", "z"]);
    for entry in &entries {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(Some(entry.row.n as f64), |_| count(entry.row.n)),
            whole(entry.row.fpr_queries),
            whole(entry.row.fpr_hits),
            entry.shown_rate(),
            Shown::exact(entry.expected(), rate),
            point(entry).map_or_else(|| Shown::missing(""), |(_, ratio)| shown_ratio(ratio)),
            Shown::exact(entry.row.fpr_z, |z| format!("{z:.2}")),
        ]);
    }
    let words = Words {
        question: "Is each measured rate the one that the filter expects of itself?",
        title: "Measured over expected false-positive rate".to_owned(),
        caption: caption(run, &drawn, entries.len()),
        reading: "One point for each filter and cell, all n and widths. Bars: exact 95 % interval of the measured rate. The expected rate is \
                  computed from the filter's own state, not from a design formula, so only chance is left.",
    };
    let x = Axis::new("expected false-positive rate", Scale::Log, Ticks::Rate).falling();
    let y = Axis::new("measured / expected", Scale::Log, Ticks::Number).including(1.0);
    chart(run, words, (&x, &y), &panels, table)
}

fn whole(n: Option<u64>) -> Shown {
    n.map_or_else(
        || Shown::missing(""),
        |n| Shown { main: count(n), detail: String::new(), key: Some(n as f64) },
    )
}

fn shown_ratio(ratio: Coordinate) -> Shown {
    let bound = if ratio.bound { "< " } else { "" };
    let detail =
        if ratio.bound { String::new() } else { super::super::format::range(ratio.lo, ratio.hi, number) };
    Shown { main: format!("{bound}{}", number(ratio.mid)), detail, key: Some(ratio.mid) }
}

fn expected_hits(entry: &Entry) -> f64 {
    entry.expected().unwrap_or(0.0) * entry.row.fpr_queries.unwrap_or(0) as f64
}

fn point(entry: &Entry) -> Option<(Coordinate, Coordinate)> {
    let expected = entry.expected()?;
    let ratio = match entry.rate()? {
        Rate::Seen(seen) => {
            let (lo, hi) = seen.ends();
            Coordinate::interval(seen.mid / expected, lo / expected, hi / expected)
        }
        Rate::Below(bound) => Coordinate::below(bound / expected),
    };
    Some((Coordinate::exact(expected), ratio))
}

/// Whether chance hardly explains the hits: by the exact probability where few are expected.
fn strays(entry: &Entry) -> bool {
    let row = entry.row;
    let counted = row.fpr_hits.zip(row.fpr_queries).filter(|(hits, queries)| hits <= queries);
    counted
        .zip(row.fpr_expected.filter(|expected| (0.0..=1.0).contains(expected)))
        .is_some_and(|((hits, queries), expected)| !agrees(hits, queries, expected))
}

fn caption(run: &Run<'_>, drawn: &[&Entry], all: usize) -> String {
    if drawn.is_empty() {
        return format!("None of {all} cells has enough expected hits to judge.");
    }
    let covered = drawn.iter().filter_map(|entry| point(entry)).filter(|(_, ratio)| {
        if ratio.bound { ratio.mid >= 1.0 } else { (ratio.lo..=ratio.hi).contains(&1.0) }
    });
    let share = covered.count() as f64 / drawn.len() as f64;
    let alarms: Vec<&Entry> = drawn.iter().copied().filter(|entry| strays(entry)).collect();
    let verdict = if alarms.is_empty() {
        "No filter strays from its expected rate beyond chance".to_owned()
    } else {
        format!(
            "{} strays from what its state lets expect further than chance does once in 16,000 cells",
            super::names(run, alarms)
        )
    };
    let largest =
        drawn.iter().filter_map(|entry| Some((entry.row.fpr_z?, *entry))).filter(|(z, _)| z.is_finite());
    let largest = largest.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let largest = largest.map_or_else(String::new, |(z, entry)| {
        let side = if z < 0.0 { "below" } else { "above" };
        format!(
            " The largest deviation is {:.1} standard deviations {side} it ({}, n = {}).",
            z.abs(),
            name(run, entry),
            count(entry.row.n)
        )
    });
    let left = all - drawn.len();
    let left = if left == 0 {
        String::new()
    } else {
        format!(" {left} cells with fewer than 10 expected hits are in the table only.")
    };
    format!(
        "{verdict}: the 95 % interval holds the expected rate in {} of {} cells.{largest}{left}",
        percent(share),
        drawn.len()
    )
}
