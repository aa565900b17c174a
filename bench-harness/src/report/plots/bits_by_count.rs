//! Bits a key against n: what small sets cost, and what a size costs that is not the one of a data sheet. From the study that
//! builds at many n, or where a run has none, from its cells.

use anyhow::Result;

use super::super::data::{Entry, Run, status_text};
use super::super::format::{Shown, count, few_of, list, number, round_rate, signed_percent};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Join, Panel};
use super::{Figure, Table, Words, chart, groups, name, series};
use crate::store::cell::Status;
use crate::store::study::{Quantity, Record, StudyPoint};

/// From here on a size is one of its kind, and no longer dominated by what is rounded up.
const LARGE: u64 = 1000;

/// As many sizes from there on, before anything is said of them.
const ENOUGH: usize = 3;

/// Sizes this near to each other are called level.
const LEVEL: f64 = 0.03;

/// A filter's payload bits a key at each n, ascending in n.
struct Sizes {
    filter: usize,
    label: String,
    points: Vec<(u64, f64)>,
}

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    of_study(run).map_or_else(|| of_cells(run), |figure| figure.map(Some))
}

fn of_study(run: &Run<'_>) -> Option<Result<Figure>> {
    // The rate next to 1 %.
    let rates = run.studies.iter().filter_map(|record| match record.point {
        StudyPoint::Space { fpr, .. } => Some(fpr),
        _ => None,
    });
    let distance = |fpr: &f64| (fpr.ln() - 0.01_f64.ln()).abs();
    let rate = rates.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let here = |record: &&Record| matches!(record.point, StudyPoint::Space { fpr, .. } if fpr == rate);
    let mut records: Vec<(Sizes, &Record)> = run
        .studies
        .iter()
        .filter(here)
        .filter_map(|record| {
            let filter = run.filters.iter().position(|filter| filter.name == record.filter)?;
            let label = run.filters[filter].label();
            Some((Sizes { filter, label, points: sizes(record, Quantity::PayloadBits).collect() }, record))
        })
        .collect();
    // They come in the order in which they end.
    records.sort_by_key(|(sizes, _)| sizes.filter);
    let table = decades(&records);
    let all: Vec<Sizes> = records.into_iter().map(|(sizes, _)| sizes).collect();
    let words = Words {
        question: "What does a set cost that is small, or of an odd size?",
        title: format!("Bits a key at every size, ε = {}", round_rate(rate)),
        caption: caption(&all),
        reading: "Payload bits: all that a lookup can read; each filter built at n after n, evenly spread on the axis and hardly any a power of two. \
                  A level line costs the same at any size; one that rises to the left shows what a small set pays for blocks and slack; teeth \
                  are tables bound to powers of two. The table has each decade's extremes, studies.csv every n.",
    };
    draw(run, words, &all, Join::Curve, table).transpose()
}

fn of_cells(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((_, fpr)) = run.main_cell() else { return Ok(None) };
    let cells = run.rate_cells();
    let here = cells.iter().filter(|cell| cell.1 == fpr).flat_map(|&cell| run.at(cell));
    let entries: Vec<&Entry> = here.filter(|entry| !entry.exact()).collect();
    let of = |filter: usize| {
        let own = entries.iter().filter(|entry| entry.filter == filter);
        let points = own.filter_map(|entry| Some((entry.row.n, entry.bits()?))).collect();
        Sizes { filter, label: run.filters[filter].label(), points }
    };
    let all: Vec<Sizes> = (0..run.filters.len()).map(of).filter(|sizes| !sizes.points.is_empty()).collect();
    let mut table = Table::new(&["filter", "n", "payload bits / key", "heap bits / key", "file bytes"]);
    for entry in &entries {
        let file = entry.row.file_bytes.filter(|_| entry.ok());
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            whole(entry.row.n),
            if entry.ok() { Shown::exact(entry.bits(), number) } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.heap_bits(), number),
            file.map_or_else(|| Shown::missing(""), whole),
        ]);
    }
    let words = Words {
        question: "What does a set cost that is small, or of an odd size?",
        title: format!("Bits a key against n, ε = {}", round_rate(fpr)),
        caption: caption(&all),
        reading: "Payload bits: all that a lookup can read. A level line costs the same at any size; one that rises to the left shows what a \
                  small set pays for blocks and slack; teeth are tables bound to powers of two.",
    };
    draw(run, words, &all, Join::Line, table)
}

fn draw(run: &Run<'_>, words: Words, all: &[Sizes], join: Join, table: Table) -> Result<Option<Figure>> {
    let line = |filter: usize| {
        let points = &all.iter().find(|sizes| sizes.filter == filter)?.points;
        let place = |&(n, bits): &(u64, f64)| (Coordinate::exact(n as f64), Coordinate::exact(bits));
        series(run, filter, points.iter().map(place).collect(), join)
    };
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: Vec::new(),
            series: filters.into_iter().filter_map(line).collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let x = Axis::new("n, keys", Scale::Log, Ticks::Count);
    let y = Axis::new("bits / key (log)", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table)
}

fn sizes(record: &Record, quantity: Quantity) -> impl Iterator<Item = (u64, f64)> + '_ {
    record.of(quantity).filter_map(|value| value.n.zip(value.summary().0))
}

fn whole(n: u64) -> Shown {
    Shown { main: count(n), detail: String::new(), key: Some(n as f64) }
}

/// The smallest and the largest of some sizes, with their n.
fn extremes(sizes: &[(u64, f64)]) -> Option<((u64, f64), (u64, f64))> {
    let least = sizes.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((least, sizes.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?))
}

/// A row for each filter and decade.
fn decades(records: &[(Sizes, &Record)]) -> Table {
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
    for (own, record) in records {
        let outcome = if record.status == Status::Ok && record.reason.is_empty() {
            "ok".to_owned()
        } else {
            status_text(record.status, &record.reason)
        };
        for decade in (0..20).map(|exponent| 10_u64.saturating_pow(exponent)) {
            let within = |(n, _): &(u64, f64)| (decade..decade.saturating_mul(10)).contains(n);
            let here: Vec<_> = own.points.iter().copied().filter(within).collect();
            let Some((least, most)) = extremes(&here) else { continue };
            let peak =
                sizes(record, Quantity::PeakBits).filter(within).map(|(_, bits)| bits).max_by(f64::total_cmp);
            table.rows.push(vec![
                Shown::text(&own.label),
                Shown::text(&outcome),
                whole(here[0].0),
                whole(here[here.len() - 1].0),
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

/// Whose size depends on which n it is, whose does not, and who is worst for a small set.
fn caption(all: &[Sizes]) -> String {
    let mut moving = Vec::new();
    let mut level = Vec::new();
    for own in all {
        let large: Vec<_> = own.points.iter().copied().filter(|(n, _)| *n >= LARGE).collect();
        let Some((least, most)) = extremes(&large).filter(|_| large.len() >= ENOUGH) else { continue };
        let wider = most.1 / least.1 - 1.0;
        if wider < LEVEL { level.push(own.label.clone()) } else { moving.push((wider, most.0, &own.label)) }
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
        sentences.push(format!("It stays within 3 % for {}.", few_of(&level, all.len())));
    }
    let small = all.iter().filter_map(|own| Some((*own.points.first()?, own)));
    if let Some(((n, bits), own)) = small.max_by(|a, b| a.0.1.total_cmp(&b.0.1)) {
        sentences.push(format!(
            "The smallest set, of {} keys, costs most with {}: {} bits a key.",
            count(n),
            own.label,
            number(bits)
        ));
    }
    sentences.join(" ")
}
