//! Maps over load and width, with the numbers printed: one for each table family and quantity.

use anyhow::Result;

use super::super::data::{Entry, Operation, Rate, Run, Wish};
use super::super::format::{Shown, count, number, rate, shorten, trimmed};
use super::canvas::{self, Anchor, HEAT_LEVELS, Ink};
use super::{Figure, Table, Words, name};
use crate::store::cell::Status;

/// A quantity that is mapped.
#[derive(Clone, Copy)]
enum Quantity {
    Bits,
    Fpr,
    Miss,
}

impl Quantity {
    const ALL: [Self; 3] = [Self::Bits, Self::Fpr, Self::Miss];

    fn title(self) -> &'static str {
        match self {
            Self::Bits => "bits / key",
            Self::Fpr => "measured rate, %",
            Self::Miss => "miss, ns",
        }
    }

    /// The number and how it is printed in its cell.
    fn of(self, entry: &Entry) -> Option<(f64, String)> {
        match self {
            Self::Bits => entry.bits().map(|bits| (bits, number(bits))),
            Self::Miss => entry.time(Operation::Miss).map(|time| (time.mid, number(time.mid))),
            Self::Fpr => match entry.rate()? {
                Rate::Seen(seen) => Some((seen.mid, two_digits(seen.mid * 100.0))),
                Rate::Below(bound) => Some((bound, format!("< {}", two_digits(bound * 100.0)))),
            },
        }
        .filter(|(x, _)| *x > 0.0)
    }
}

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let loaded = |entry: &&Entry| matches!(entry.wish, Wish::Shape { alpha: Some(_), .. });
    let Some(n) = run.shown().filter(loaded).map(|entry| entry.row.n).max() else { return Ok(None) };
    let entries: Vec<&Entry> = run.shown().filter(loaded).filter(|entry| entry.row.n == n).collect();
    let mut panels = Vec::new();
    for filter in 0..run.filters.len() {
        let own: Vec<&Entry> = entries.iter().copied().filter(|entry| entry.filter == filter).collect();
        if own.is_empty() {
            continue;
        }
        for quantity in Quantity::ALL {
            panels.push(map(
                &format!("{}: {}", shorten(&run.filters[filter].label(), 24), quantity.title()),
                quantity,
                &own,
            )?);
        }
    }
    let mut table =
        Table::new(&["filter", "α", "r", "bits / key", "measured rate", "expected rate", "miss, ns"]);
    for entry in &entries {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            Shown::exact(entry.row.alpha_target, number),
            Shown::exact(entry.row.r.map(f64::from), trimmed),
            Shown::exact(entry.bits(), number),
            if entry.ok() { entry.shown_rate() } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.expected(), rate),
            entry.shown_time(Operation::Miss),
        ]);
    }
    let title = format!("Load and width of the table families, n = {}", count(n));
    Ok(Some(Words {
        question: "Which load and which width should a table get?",
        title,
        caption: caption(run, &entries),
        reading: "Each map has its own colour scale, light for small numbers, over a factor of at least 1.5. Where a cell has a word for a number, the table has the reason.",
    }.figure(panels, table)))
}

const LEFT: f64 = 52.0;
const TOP: f64 = 26.0;
const WIDTH: f64 = 370.0;
const LINE: f64 = 26.0;
const BOTTOM: f64 = 42.0;

fn map(title: &str, quantity: Quantity, entries: &[&Entry]) -> Result<String> {
    let mut loads: Vec<f64> = entries.iter().filter_map(|entry| entry.row.alpha_target).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let mut widths: Vec<u32> = entries.iter().filter_map(|entry| entry.row.r).collect();
    widths.sort_unstable();
    widths.dedup();
    let logs = || entries.iter().filter_map(|entry| Some(quantity.of(entry)?.0.ln()));
    let (lo, hi) = logs().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let height = TOP + BOTTOM + LINE * widths.len() as f64;
    let step = (WIDTH - LEFT) / loads.len().max(1) as f64;
    canvas::draw(WIDTH + 6.0, height, title, |canvas| {
        canvas.text(title, (LEFT, 12.0), Anchor::Left, Ink::Text)?;
        for (row, &r) in widths.iter().enumerate() {
            let top = TOP + LINE * row as f64;
            canvas.text(&format!("r = {r}"), (LEFT - 6.0, top + LINE / 2.0), Anchor::Right, Ink::Muted)?;
            for (column, &alpha) in loads.iter().enumerate() {
                let left = LEFT + step * column as f64;
                let Some(entry) = entries
                    .iter()
                    .find(|entry| entry.row.r == Some(r) && entry.row.alpha_target == Some(alpha))
                else {
                    continue;
                };
                let middle = (left + step / 2.0, top + LINE / 2.0);
                let Some((x, text)) = quantity.of(entry) else {
                    canvas.text(word(entry.status), middle, Anchor::Middle, Ink::Muted)?;
                    continue;
                };
                let level = level(x.ln(), lo, hi);
                let corners = [
                    (left, top),
                    (left + step - 2.0, top),
                    (left + step - 2.0, top + LINE - 2.0),
                    (left, top + LINE - 2.0),
                ];
                canvas.area(&corners, Ink::Heat(level))?;
                canvas.text(&text, (middle.0 - 1.0, middle.1 - 1.0), Anchor::Middle, Ink::HeatText(level))?;
            }
        }
        let bottom = TOP + LINE * widths.len() as f64;
        for (column, alpha) in loads.iter().enumerate() {
            canvas.text(
                &trimmed(*alpha),
                (LEFT + step * (column as f64 + 0.5), bottom + 10.0),
                Anchor::Middle,
                Ink::Muted,
            )?;
        }
        canvas.text(
            "load α asked for",
            (f64::midpoint(LEFT, WIDTH), height - 12.0),
            Anchor::Middle,
            Ink::Text,
        )
    })
}

/// What stands in a cell without a number; the reason is in the table.
fn word(status: Status) -> &'static str {
    match status {
        Status::Ok => "–",
        Status::Unsupported | Status::Infeasible => "none",
        Status::BuildFailed => "failed",
        Status::VerifyFailed => "defect",
        Status::Timeout => "timeout",
        Status::OutOfMemory => "memory",
    }
}

/// A number that fits into a cell.
fn two_digits(x: f64) -> String {
    if x >= 9.95 {
        format!("{x:.0}")
    } else if x >= 0.995 {
        format!("{x:.1}")
    } else if x >= 9.95e-4 {
        let digits = (2..=4).find(|&d| x * 10_f64.powi(d) >= 9.95).unwrap_or(4);
        format!("{x:.*}", usize::try_from(digits).unwrap_or(4))
    } else {
        format!("{x:.1e}")
    }
}

/// A step of the colour scale, which spans a factor of at least 1.5.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the steps first")]
fn level(x: f64, lo: f64, hi: f64) -> u8 {
    let top = f64::from(HEAT_LEVELS - 1);
    // A map whose numbers hardly differ must not look as if they did.
    let place = (x - lo) / (hi - lo).max(1.5_f64.ln());
    (place * top).round().clamp(0.0, top) as u8
}

/// What one more bit and what a higher load do, from the corners of each map.
fn caption(run: &Run<'_>, entries: &[&Entry]) -> String {
    let mut sentences = Vec::new();
    for filter in 0..run.filters.len() {
        let own: Vec<&Entry> = entries
            .iter()
            .copied()
            .filter(|entry| entry.filter == filter && entry.bits().is_some())
            .collect();
        let by_load = |a: &&&Entry, b: &&&Entry| {
            a.row
                .r
                .cmp(&b.row.r)
                .then(a.row.alpha_target.unwrap_or(0.0).total_cmp(&b.row.alpha_target.unwrap_or(0.0)))
        };
        let Some(first) = own.iter().min_by(by_load) else { continue };
        let fullest = own.iter().filter(|entry| entry.row.r == first.row.r).max_by(by_load).unwrap_or(first);
        if let (Some(sparse), Some(full), Some(low), Some(high)) =
            (first.bits(), fullest.bits(), first.row.alpha_target, fullest.row.alpha_target)
        {
            if (full / sparse - 1.0).abs() < 0.001 && low < high {
                sentences.push(format!(
                    "{} keeps its size of {} bits/key whatever load is asked for",
                    name(run, first),
                    number(sparse)
                ));
                continue;
            }
            let slower = first.time(Operation::Miss).zip(fullest.time(Operation::Miss));
            let slower = slower.map_or_else(String::new, |(a, b)| match run.differ(Operation::Miss, a, b) {
                Some(false) => " and leaves the time of a miss within noise".to_owned(),
                Some(true) => format!(" and makes a miss take {}× the time", number(b.mid / a.mid)),
                None => format!(
                    " and a miss then takes {}× the time, which is not told from noise",
                    number(b.mid / a.mid)
                ),
            });
            sentences.push(format!(
                "{} at r = {}: filling from α = {} to {} takes the size from {} to {} bits/key{slower}",
                name(run, first),
                first.row.r.unwrap_or(0),
                trimmed(low),
                trimmed(high),
                number(sparse),
                number(full),
            ));
        }
    }
    format!("{}.{}", sentences.join("; "), per_bit(entries))
}

/// What one more bit of width does to the rate: the median over neighbours in all maps.
fn per_bit(entries: &[&Entry]) -> String {
    let seen = |entry: &Entry| match entry.rate() {
        Some(Rate::Seen(rate)) => Some(rate.mid).filter(|&rate| rate > 0.0),
        _ => None,
    };
    let mut factors: Vec<f64> = Vec::new();
    for entry in entries {
        let wider = entries.iter().filter(|other| {
            other.filter == entry.filter
                && other.row.alpha_target == entry.row.alpha_target
                && other.row.r > entry.row.r
        });
        let next = wider.min_by_key(|other| other.row.r);
        if let (Some(next), Some(rate)) = (next, seen(entry)) {
            let bits = f64::from(next.row.r.unwrap_or(0)) - f64::from(entry.row.r.unwrap_or(0));
            factors.extend(seen(next).map(|finer| (rate / finer).powf(1.0 / bits)));
        }
    }
    factors.sort_by(f64::total_cmp);
    factors.get(factors.len() / 2).map_or_else(String::new, |factor| {
        format!(
            " One more bit of width divides the measured rate by {} (median of {} neighbours).",
            number(*factor),
            factors.len()
        )
    })
}
