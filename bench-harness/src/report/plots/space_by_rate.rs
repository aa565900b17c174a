//! Bits a key against the measured rate, with the bound and the Pareto frontier.

use amq::theory::bounds;
use anyhow::Result;

use super::super::data::{Entry, Rate, Run};
use super::super::format::{Shown, count, number, round_rate, signed_percent};
use super::axis::{Axis, Scale, Ticks};
use super::canvas::Ink;
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, frontier, groups, name, names, series};

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((n, fpr)) = run.main_cell() else { return Ok(None) };
    let cells = run.rate_cells();
    let entries: Vec<&Entry> = cells
        .iter()
        .filter(|cell| cell.0 == n)
        .flat_map(|&cell| run.at(cell))
        .filter(|entry| !entry.exact())
        .collect();
    let placed: Vec<(f64, f64, &Entry)> = entries
        .iter()
        .filter_map(|&entry| match entry.rate()? {
            Rate::Seen(rate) => Some((rate.mid, entry.bits()?, entry)),
            Rate::Below(_) => None,
        })
        .collect();
    let frontier = frontier(&placed);
    let lowest = placed.iter().map(|point| point.0).fold(fpr, f64::min);
    let highest = placed.iter().map(|point| point.0).fold(fpr, f64::max);
    let steps = |i: i32| lowest * (highest / lowest).powf(f64::from(i) / 40.0);
    let bound: Vec<_> = (0..=40).map(|i| (steps(i), bounds::static_bits_per_key(steps(i)))).collect();
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: vec![
                Guide::Curve {
                    points: staircase(&frontier),
                    label: "Pareto frontier".to_owned(),
                    ink: Ink::Frontier,
                },
                Guide::Curve {
                    points: bound.clone(), label: "bound log₂(1/ε)".to_owned(), ink: Ink::Bound
                },
            ],
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let own = entries.iter().filter(|entry| entry.filter == filter);
                    let points = own
                        .filter_map(|entry| Some((entry.rate()?.into(), Coordinate::exact(entry.bits()?))))
                        .collect();
                    series(run, filter, points, Join::Line)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let words = Words {
        question: "What does a false-positive rate cost in space?",
        title: format!("Bits a key against measured rate, n = {}", count(n)),
        caption: caption(run, (n, fpr), &frontier),
        reading: "Lower is smaller, further right is more accurate. Payload bits; horizontal bars: exact 95 % interval of the rate. \
                  The grey steps are the fewest bits at which any filter, of any panel, is at least so accurate.",
    };
    let x =
        Axis::new("measured false-positive rate (smaller to the right)", Scale::Log, Ticks::Rate).falling();
    let y = Axis::new("bits / key (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table(run, &entries))
}

/// The frontier as a line: between two filters one takes the more accurate one, so it goes in steps.
fn staircase(frontier: &[(f64, f64, &Entry)]) -> Vec<(f64, f64)> {
    let next = frontier.iter().skip(1).map(Some).chain([None]);
    let corners = frontier
        .iter()
        .zip(next)
        .flat_map(|(&(x, y, _), next)| [Some((x, y)), next.map(|&(edge, _, _)| (edge, y))]);
    corners.flatten().collect()
}

fn caption(run: &Run<'_>, (n, fpr): (u64, f64), frontier: &[(f64, f64, &Entry)]) -> String {
    let mut sized: Vec<(f64, &Entry)> = run
        .at((n, fpr))
        .filter(|entry| !entry.exact() && super::super::decision::delivers(entry, fpr))
        .filter_map(|entry| Some((entry.bits()?, entry)))
        .collect();
    sized.sort_by(|a, b| a.0.total_cmp(&b.0));
    let over = |entry: &Entry| entry.over_bound().map_or_else(String::new, |over| format!(", {over}"));
    let cell = format!("At ε = {} and n = {}", round_rate(fpr), count(n));
    let ends = match sized.as_slice() {
        [] => format!("{cell} no filter delivered the rate. "),
        [(bits, entry)] => {
            format!("{cell} {} takes {} bits/key{}. ", name(run, entry), number(*bits), over(entry))
        }
        [(bits, entry), .., (most, last)] => format!(
            "{cell} {} is the smallest that delivers the rate: {} bits/key{}; the largest, {}, takes {} ({}×). ",
            name(run, entry),
            number(*bits),
            over(entry),
            name(run, last),
            number(*most),
            number(most / bits)
        ),
    };
    if frontier.is_empty() {
        ends
    } else {
        format!(
            "{ends}Over all rates, nothing else is both smaller and more accurate than {}.",
            names(run, frontier.iter().map(|point| point.2))
        )
    }
}

fn table(run: &Run<'_>, entries: &[&Entry]) -> Table {
    let mut table = Table::new(&[
        "filter",
        "ε asked",
        "measured rate",
        "bits / key",
        "bound at that rate",
        "over the bound",
    ]);
    for entry in entries {
        let bound = match entry.rate() {
            Some(Rate::Seen(rate)) => Some(bounds::static_bits_per_key(rate.mid)),
            _ => entry.expected().map(bounds::static_bits_per_key),
        };
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(entry.row.fpr_target, round_rate),
            if entry.ok() { entry.shown_rate() } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.bits(), number),
            Shown::exact(bound, number),
            Shown::exact(entry.overhead(), signed_percent),
        ]);
    }
    table
}
