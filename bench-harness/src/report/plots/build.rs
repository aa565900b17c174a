//! What a build costs: time, and memory at its peak.

use anyhow::Result;

use super::super::data::{Entry, Operation, Run};
use super::super::format::{Shown, count, number, round_rate};
use super::axis::{Axis, Scale, Ticks};
use super::dots::{self, Dot};
use super::marker::Style;
use super::panel::Coordinate;
use super::{Figure, Table, Words, name};

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some(cell) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> = run.at(cell).collect();
    let dot = |entry: &Entry, value: Coordinate, from| Dot {
        label: name(run, entry),
        style: Style::of(run, entry.filter),
        value,
        from,
    };
    let mut times: Vec<Dot> = entries
        .iter()
        .filter_map(|entry| Some(dot(entry, entry.time(Operation::Build)?.into(), None)))
        .collect();
    let mut peaks: Vec<Dot> = entries
        .iter()
        .filter_map(|entry| Some(dot(entry, Coordinate::exact(entry.peak_bits()?), entry.heap_bits())))
        .collect();
    if times.is_empty() && peaks.is_empty() {
        return Ok(None);
    }
    for dots in [&mut times, &mut peaks] {
        dots.sort_by(|a, b| a.value.mid.total_cmp(&b.value.mid));
    }
    let time_axis = Axis::new("build, ns / key (log)", Scale::Log, Ticks::Number);
    let peak_axis = Axis::new("bits / key on the heap (log)", Scale::Log, Ticks::Number);
    let title = format!("Build time and peak memory, n = {}, ε = {}", count(cell.0), round_rate(cell.1));
    let mut table =
        Table::new(&["filter", "build, ns / key", "peak bits / key", "final heap bits / key", "attempts"]);
    for entry in &entries {
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            if entry.ok() { entry.shown_time(Operation::Build) } else { Shown::missing(entry.status_text()) },
            Shown::exact(entry.peak_bits(), number),
            Shown::exact(entry.heap_bits(), number),
            Shown::exact(
                entry.row.build_attempts.filter(|_| entry.ok()).map(f64::from),
                super::super::format::trimmed,
            ),
        ]);
    }
    Ok(Some(Words {
        question: "What does a build take, in time and in memory?",
        title,
        caption: caption(&times, &peaks),
        reading: "Left: all keys at once into a new filter, allocation included; bars: interval of the median. Right: from the heap that the \
                  finished filter keeps (tick) to the highest while it was built (mark), the input not counted.",
    }.figure(vec![
            dots::draw("Build time", &time_axis, &times)?,
            dots::draw("From kept to peak memory", &peak_axis, &peaks)?,
        ], table)))
}

fn caption(times: &[Dot], peaks: &[Dot]) -> String {
    let time = match times {
        [] => "No build was timed. ".to_owned(),
        [only] => format!("{} builds in {} ns a key. ", only.label, number(only.value.mid)),
        [first, .., last] => format!(
            "{} builds fastest ({} ns a key), {} slowest ({} ns, {}×). ",
            first.label,
            number(first.value.mid),
            last.label,
            number(last.value.mid),
            number(last.value.mid / first.value.mid)
        ),
    };
    let ratio = |dot: &&Dot| dot.value.mid / dot.from.unwrap_or(f64::NAN);
    let hungriest =
        peaks.iter().filter(|dot| ratio(dot).is_finite()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let in_place = peaks.iter().filter(|dot| ratio(dot) < 1.05).count();
    let memory = hungriest.map_or_else(String::new, |dot| {
        format!(
            "{in_place} of {} need no more memory to build than to keep (within 5 %); {} needs most for its size: {} bits a key at the peak, \
             {}× what it keeps.",
            peaks.len(),
            dot.label,
            number(dot.value.mid),
            number(ratio(&dot))
        )
    });
    format!("{time}{memory}")
}
