//! The time of a miss against n, with the sizes of the caches.

use anyhow::Result;

use super::super::data::{Entry, Floor, Operation, Run};
use super::super::format::{Shown, bytes, count, number, round_rate};
use super::axis::{Axis, Scale, Ticks};
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, groups, name, series};

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some((_, fpr)) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> =
        run.rate_cells().iter().filter(|cell| cell.1 == fpr).flat_map(|&cell| run.at(cell)).collect();
    let typical = typical_bits(&entries);
    let panels: Vec<Panel> = groups(run)
        .into_iter()
        .map(|(title, filters)| Panel {
            title: title.to_owned(),
            guides: caches(run, typical),
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let own = entries.iter().filter(|entry| entry.filter == filter);
                    let points = own.filter_map(|entry| {
                        Some((Coordinate::exact(entry.row.n as f64), entry.time(Operation::Miss)?.into()))
                    });
                    series(run, filter, points.collect(), Join::Line)
                })
                .collect(),
        })
        .filter(|panel| !panel.series.is_empty())
        .collect();
    let mut table = Table::new(&["filter", "n", "table", "miss, ns", "× one random read"]);
    for entry in &entries {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(Some(entry.row.n as f64), |_| count(entry.row.n)),
            Shown::exact(table_bytes(entry), |size| bytes(whole(size))),
            if entry.ok() { entry.shown_time(Operation::Miss) } else { Shown::missing(entry.status_text()) },
            entry.shown_multiple(Operation::Miss, Floor::Read),
        ]);
    }
    let marks = typical.map_or_else(String::new, |bits| {
        format!(
            " The cache marks stand where a table of {} bits/key, the median here, fills the cache.",
            number(bits)
        )
    });
    let words = Words {
        question: "What does a larger set do to the time of a lookup?",
        title: format!("Time of a miss against n, ε = {}", round_rate(fpr)),
        caption: format!("{}{marks}", caption(run, &entries)),
        reading: "Single lookups of absent keys, from the digest, both axes logarithmic; bars: interval of the median.",
    };
    let x = Axis::new("n, keys", Scale::Log, Ticks::Count);
    let y = Axis::new("miss, ns / lookup", Scale::Log, Ticks::Number);
    chart(run, words, (&x, &y), &panels, table)
}

/// The median size of the filters shown, which places the marks of the caches.
fn typical_bits(entries: &[&Entry]) -> Option<f64> {
    let mut bits: Vec<f64> =
        entries.iter().filter(|entry| !entry.exact()).filter_map(|entry| entry.bits()).collect();
    bits.sort_by(f64::total_cmp);
    bits.get(bits.len() / 2).copied().filter(|&bits| bits > 0.0)
}

fn caches(run: &Run<'_>, bits: Option<f64>) -> Vec<Guide> {
    let Some(bits) = bits else { return Vec::new() };
    let caches = &run.info.machine.caches;
    caches
        .iter()
        .map(|cache| Guide::Vertical {
            x: cache.bytes as f64 * 8.0 / bits,
            label: format!("L{}", cache.level),
        })
        .collect()
}

fn table_bytes(entry: &Entry) -> Option<f64> {
    Some(entry.bits()? * entry.row.n as f64 / 8.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast saturates; a size is not negative"
)]
fn whole(x: f64) -> u64 {
    x.round() as u64
}

fn caption(run: &Run<'_>, entries: &[&Entry]) -> String {
    let fastest = |n: u64| {
        let timed = entries.iter().filter(move |entry| entry.row.n == n && !entry.exact());
        timed
            .filter_map(|entry| Some((entry.time(Operation::Miss)?, *entry)))
            .min_by(|a, b| a.0.mid.total_cmp(&b.0.mid))
    };
    let (Some(least), Some(most)) =
        (entries.iter().map(|entry| entry.row.n).min(), entries.iter().map(|entry| entry.row.n).max())
    else {
        return "Nothing was timed.".to_owned();
    };
    let (Some((small, first)), Some((large, last))) = (fastest(least), fastest(most)) else {
        return "Nothing was timed.".to_owned();
    };
    if least == most {
        return format!(
            "At n = {} {} answers a miss fastest, in {} ns.",
            count(most),
            name(run, last),
            number(large.mid)
        );
    }
    let mut growth: Vec<(f64, &Entry)> = entries
        .iter()
        .filter(|entry| entry.row.n == most && !entry.exact())
        .filter_map(|entry| {
            let before = entries.iter().find(|other| other.filter == entry.filter && other.row.n == least)?;
            Some((entry.time(Operation::Miss)?.mid / before.time(Operation::Miss)?.mid, *entry))
        })
        .collect();
    growth.sort_by(|a, b| a.0.total_cmp(&b.0));
    let slowed = match growth.as_slice() {
        [(least, a), .., (most, b)] => {
            format!(
                " A miss then takes between {}× ({}) and {}× ({}) as long.",
                number(*least),
                name(run, a),
                number(*most),
                name(run, b)
            )
        }
        _ => String::new(),
    };
    format!(
        "The fastest at n = {} is {} ({} ns), at n = {} {} ({} ns).{slowed}",
        count(least),
        name(run, first),
        number(small.mid),
        count(most),
        name(run, last),
        number(large.mid)
    )
}
