//! Bits a key at many n: what a size costs that is not the one of a data sheet.

use anyhow::Result;

use super::{
    Axis, Coordinate, Figure, Join, Panel, Quantity, Record, Run, Scale, Shown, StudyPoint, Table, Ticks,
    Words, chart, count, groups, label, list, number, place, records, series,
};
use crate::report::data::status_text;
use crate::report::format::{round_rate, signed_percent};
use crate::store::cell::Status;

/// From here on a size is one of its kind, and no longer dominated by what is rounded up.
const LARGE: u64 = 1000;

/// Sizes this near to each other are called level.
const LEVEL: f64 = 0.03;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    // The rate next to 1 %.
    let rates = run.studies.iter().filter_map(|record| match record.point {
        StudyPoint::Space { fpr, .. } => Some(fpr),
        _ => None,
    });
    let distance = |fpr: &f64| (fpr.ln() - 0.01_f64.ln()).abs();
    let Some(rate) = rates.min_by(|a, b| distance(a).total_cmp(&distance(b))) else { return Ok(None) };
    let all = records(run, |point| matches!(point, StudyPoint::Space { fpr, .. } if *fpr == rate));
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: Vec::new(),
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let record = all.iter().find(|record| place(run, &record.filter) == Some(filter))?;
                    let points = sizes(record, Quantity::PayloadBits)
                        .map(|(n, bits)| (Coordinate::exact(n as f64), Coordinate::exact(bits)));
                    series(run, filter, points.collect(), Join::Curve)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let words = Words {
        title: format!("Bits a key at every size, ε = {}", round_rate(rate)),
        caption: caption(run, &all),
        reading: "Payload bits: all that a lookup can read; each filter built at n after n, evenly spread on the axis and hardly any a power of two. \
                  A level line costs the same at any size; one that rises to the left shows what a small set pays for blocks and slack; teeth \
                  are tables bound to powers of two. The table has each decade's extremes, studies.csv every n.",
    };
    let x = Axis::new("n, keys", Scale::Log, Ticks::Count);
    let y = Axis::new("bits / key (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table(run, &all))
}

fn sizes(record: &Record, quantity: Quantity) -> impl Iterator<Item = (u64, f64)> + '_ {
    record.of(quantity).filter_map(|value| value.n.zip(value.summary().0))
}

/// The smallest and the largest of some sizes, with their n.
fn extremes(sizes: impl Iterator<Item = (u64, f64)> + Clone) -> Option<((u64, f64), (u64, f64))> {
    let least = sizes.clone().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((least, sizes.max_by(|a, b| a.1.total_cmp(&b.1))?))
}

fn table(run: &Run<'_>, all: &[&Record]) -> Table {
    let mut table = Table::new(&[
        "filter",
        "outcome",
        "n from",
        "to",
        "bits / key, least",
        "at n",
        "bits / key, most",
        "at n",
        "most over least",
        "peak of the build, most bits / key",
    ]);
    for record in all {
        let outcome = if record.status == Status::Ok && record.reason.is_empty() {
            "ok".to_owned()
        } else {
            status_text(record.status, &record.reason)
        };
        let whole = |n: u64| Shown::exact(Some(n as f64), |_| count(n));
        for decade in (0..20).map(|exponent| 10_u64.saturating_pow(exponent)) {
            let within = |(n, _): &(u64, f64)| (decade..decade.saturating_mul(10)).contains(n);
            let sizes_here: Vec<_> = sizes(record, Quantity::PayloadBits).filter(within).collect();
            let Some((least, most)) = extremes(sizes_here.iter().copied()) else { continue };
            let peak =
                sizes(record, Quantity::PeakBits).filter(within).map(|(_, bits)| bits).max_by(f64::total_cmp);
            table.rows.push(vec![
                Shown::text(label(run, &record.filter)),
                Shown::text(&outcome),
                whole(sizes_here[0].0),
                whole(sizes_here[sizes_here.len() - 1].0),
                Shown::exact(Some(least.1), number),
                whole(least.0),
                Shown::exact(Some(most.1), number),
                whole(most.0),
                Shown::exact(Some(most.1 / least.1 - 1.0), signed_percent),
                Shown::exact(peak, number),
            ]);
        }
    }
    table
}

/// Whose size depends on which n it is, and whose does not.
fn caption(run: &Run<'_>, all: &[&Record]) -> String {
    let mut moving = Vec::new();
    let mut level = Vec::new();
    for record in all {
        let large: Vec<_> = sizes(record, Quantity::PayloadBits).filter(|(n, _)| *n >= LARGE).collect();
        let Some((least, most)) = extremes(large.iter().copied()) else { continue };
        let wider = most.1 / least.1 - 1.0;
        let name = label(run, &record.filter);
        if wider < LEVEL { level.push(name) } else { moving.push((wider, most.0, name)) }
    }
    moving.sort_by(|a, b| b.0.total_cmp(&a.0));
    let moves: Vec<String> = moving
        .iter()
        .take(4)
        .map(|(wider, n, name)| {
            format!("{name} ({} at n = {} over its smallest)", signed_percent(*wider), count(*n))
        })
        .collect();
    let mut sentences = Vec::new();
    if !moves.is_empty() {
        sentences.push(format!(
            "From n = {} on, the size depends most on n for {}.",
            count(LARGE),
            list(&moves)
        ));
    }
    if !level.is_empty() {
        sentences.push(format!("It stays within 3 % for {}.", list(&level)));
    }
    let small = all
        .iter()
        .filter_map(|record| Some((sizes(record, Quantity::PayloadBits).next()?, record)))
        .max_by(|a, b| a.0.1.total_cmp(&b.0.1));
    if let Some(((n, bits), record)) = small {
        sentences.push(format!(
            "The smallest set of {} keys costs most with {}: {} bits a key.",
            count(n),
            label(run, &record.filter),
            number(bits)
        ));
    }
    sentences.join(" ")
}
