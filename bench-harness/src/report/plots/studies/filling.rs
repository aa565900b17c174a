//! What an insert takes as the filter fills: the mean, and the slow ones.

use anyhow::Result;

use super::{
    Axis, Coordinate, Figure, Guide, Join, Panel, Quantity, Record, Run, Scale, Shown, StudyPoint, Table,
    Ticks, Words, chart, coordinate, count, label, middle, number, place, records, series,
};
use crate::report::data::status_text;
use crate::report::format::{list, percent, trimmed};
use crate::store::cell::Status;

/// The columns of the table, and the panels, which are the first of them that a filling has.
const QUANTITIES: [(Quantity, &str); 7] = [
    (Quantity::InsertNs, "mean, ns"),
    (Quantity::InsertP50, "median, ns"),
    (Quantity::InsertP99, "99 %, ns"),
    (Quantity::InsertP999, "99.9 %, ns"),
    (Quantity::InsertMax, "slowest, ns"),
    (Quantity::Moved, "slots moved, mean"),
    (Quantity::MovedMax, "slots moved, most"),
];

/// What is drawn: the last that there is of the slow ones.
const PANELS: [(Quantity, &str); 4] = [
    (Quantity::InsertNs, "Mean insert"),
    (Quantity::InsertP99, "One insert in a hundred is slower"),
    (Quantity::InsertP999, "One insert in a thousand is slower"),
    (Quantity::InsertMax, "The slowest insert of each step"),
];

/// Loads that the table and the caption speak of.
const LOADS: [f64; 7] = [0.1, 0.5, 0.75, 0.9, 0.95, 0.98, 2.0];

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((n, r)) = point(run) else { return Ok(None) };
    let all = records(run, |point| *point == StudyPoint::Filling { n, r });
    let tables: Vec<(usize, &Record)> = all
        .iter()
        .filter_map(|record| Some((place(run, &record.filter)?, *record)))
        .filter(|(filter, _)| run.filters[*filter].kind == "table")
        .collect();
    let panel = |(quantity, title): (Quantity, &str)| Panel {
        title: title.to_owned(),
        guides: vec![Guide::Vertical { x: 1.0, label: String::new() }],
        series: tables
            .iter()
            .filter_map(|(filter, record)| {
                let points = record.of(quantity).filter_map(|value| {
                    let y = coordinate(value)?;
                    // The curve is the subject; its intervals are in studies.csv.
                    Some((Coordinate::exact(value.load?), Coordinate::exact(y.mid)))
                });
                series(run, *filter, points.collect(), Join::Curve)
            })
            .collect(),
    };
    let words = Words {
        question: "What does an insert take as the filter fills?",
        title: format!("An insert as the table fills, n = {}, r = {r}", count(n)),
        caption: caption(run, &all, &tables),
        reading: "Filled key by key from empty to the first refusal, or to a load of 0.98, in steps; medians over the fillings. The mean is read \
                  off two readings of the clock a step. Single inserts are timed in another filling with one reading after each; its cost is \
                  subtracted, but not that it drains the pipeline, so that fast inserts look slower there than in the mean. The slowest of a \
                  step is often an interrupt. Bloom types, whose inserts do not depend on the load, are in the table only.",
    };
    let x = Axis::new("load α, records / slots", Scale::Linear, Ticks::Number);
    let y = Axis::new("ns / insert (log)", Scale::Log, Ticks::Count);
    // Of a step of few inserts the slowest stands for the slow ones; of many it is an interrupt.
    let many = all.iter().any(|record| record.of(Quantity::InsertP999).next().is_some());
    let left_out = if many { Quantity::InsertMax } else { Quantity::InsertP999 };
    let panels: Vec<Panel> = PANELS
        .into_iter()
        .filter(|(quantity, _)| *quantity != left_out)
        .map(panel)
        .filter(|panel| !panel.series.is_empty())
        .collect();
    chart(run, words, (&x, &y), &panels, table(run, &all))
}

/// The largest n, and the width next to 8.
fn point(run: &Run<'_>) -> Option<(u64, u32)> {
    let points = run.studies.iter().filter_map(|record| match record.point {
        StudyPoint::Filling { n, r } => Some((n, r)),
        _ => None,
    });
    points.max_by_key(|&(n, r)| (n, std::cmp::Reverse(r.abs_diff(8))))
}

/// What a record has of a quantity at the step that ends at a load, or just before.
fn at(record: &Record, quantity: Quantity, load: f64) -> Option<f64> {
    let near =
        |value: &&&super::Value| value.load.is_some_and(|own| own <= load + 1e-9 && own > load - 0.045);
    let values: Vec<_> = record.of(quantity).collect();
    values.iter().rfind(near).and_then(|value| value.summary().0)
}

fn table(run: &Run<'_>, all: &[&Record]) -> Table {
    let mut table = Table::new(&["filter", "outcome", "load"]);
    table.headers.extend(QUANTITIES.map(|(_, header)| header.to_owned()));
    for record in all {
        let outcome = match middle(record, Quantity::RefusalLoad) {
            Some(load) => format!("refused at {}", number(load)),
            None => status_text(record.status, &record.reason),
        };
        for load in LOADS {
            if at(record, Quantity::InsertNs, load).is_none() {
                continue;
            }
            let mut row = vec![
                Shown::text(label(run, &record.filter)),
                Shown::text(&outcome),
                Shown::exact(Some(load), trimmed),
            ];
            row.extend(QUANTITIES.map(|(quantity, _)| Shown::exact(at(record, quantity, load), number)));
            table.rows.push(row);
        }
        if record.status != Status::Ok && record.values.is_empty() {
            let mut row = vec![Shown::text(label(run, &record.filter)), Shown::text(outcome)];
            row.extend((0..=QUANTITIES.len()).map(|_| Shown::missing("")));
            table.rows.push(row);
        }
    }
    table
}

fn caption(run: &Run<'_>, all: &[&Record], tables: &[(usize, &Record)]) -> String {
    let mut sentences = Vec::new();
    for (_, record) in tables {
        let mean = |load| at(record, Quantity::InsertNs, load);
        let Some((half, high)) = mean(0.5).zip(last_before(record, 0.95)) else { continue };
        let refused = middle(record, Quantity::RefusalLoad)
            .map_or_else(String::new, |load| format!(", refuses at {}", number(load)));
        sentences.push(format!(
            "{} {} to {} ns ({}×{refused})",
            label(run, &record.filter),
            number(half),
            number(high),
            number(high / half)
        ));
    }
    let tables_say = if sentences.is_empty() {
        "No table was filled beyond half of its slots.".to_owned()
    } else {
        format!("Mean insert from half load to the last step up to 0.95: {}.", sentences.join("; "))
    };
    format!("{tables_say}{}{}", moves(run, tables), bloom(run, all))
}

/// The mean of the last step up to a load.
fn last_before(record: &Record, load: f64) -> Option<f64> {
    let steps =
        record.of(Quantity::InsertNs).filter(|value| value.load.is_some_and(|own| own <= load + 1e-9));
    steps.last().and_then(|value| value.summary().0)
}

fn moves(run: &Run<'_>, tables: &[(usize, &Record)]) -> String {
    let moved = |load| {
        let all =
            tables.iter().filter_map(move |(_, record)| Some((*record, at(record, Quantity::Moved, load)?)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let Some(((record, half), (_, high))) = moved(0.5).zip(moved(0.95)) else { return String::new() };
    format!(
        " The reason, where it is told: an insert into {} moves {} slots in the mean at half load and {} at 0.95.",
        label(run, &record.filter),
        number(half),
        number(high)
    )
}

/// How much the inserts of Bloom types change up to twice their capacity.
fn bloom(run: &Run<'_>, all: &[&Record]) -> String {
    let changes: Vec<(String, f64)> = all
        .iter()
        .filter(|record| place(run, &record.filter).is_some_and(|filter| run.filters[filter].kind == "bloom"))
        .filter_map(|record| {
            let change = at(record, Quantity::InsertNs, 2.0)? / at(record, Quantity::InsertNs, 0.5)? - 1.0;
            Some((label(run, &record.filter), change))
        })
        .collect();
    if changes.is_empty() {
        return String::new();
    }
    let moving: Vec<String> = changes
        .iter()
        .filter(|(_, change)| change.abs() > 0.25)
        .map(|(name, change)| {
            format!("{name} ({}{})", if *change < 0.0 { "" } else { "+" }, percent(*change))
        })
        .collect();
    let steady = changes.len() - moving.len();
    let moving = if moving.is_empty() { String::new() } else { format!("; {} by more", list(&moving)) };
    format!(
        " Of {} Bloom types filled to twice their capacity, the inserts of {steady} change by less than 25 %{moving}.",
        changes.len()
    )
}
