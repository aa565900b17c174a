//! Operations against what the memory system asks for: a lookup that waits for the one before it, and passes over a whole table.

use anyhow::Result;

use super::super::data::{Entry, Floor, Operation, Run};
use super::super::format::{Shown, count, number, round_rate};
use super::axis::{Axis, Scale, Ticks};
use super::dots::{self, Dot};
use super::marker::Style;
use super::{Figure, Table, Words, name};

/// The operations that go over a whole table.
const PASSES: [(Operation, &str); 3] =
    [(Operation::Merge, "Merge"), (Operation::Grow, "Grow"), (Operation::Iterate, "Iterate")];

/// Lookups that each wait for the one before, against those that the processor overlaps.
pub(super) fn chain(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some(cell) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> = run.at(cell).collect();
    let dots =
        sorted(run, &entries, Operation::MissChain, |entry| entry.time(Operation::Miss).map(|time| time.mid));
    let mut table = Table::new(&[
        "filter",
        "chained miss, ns",
        "single miss, ns",
        "chained over single",
        "chained miss, in dependent reads",
    ]);
    for entry in &entries {
        let over = ratio(entry);
        table.rows.push(vec![
            Shown::text(name(run, entry)),
            if entry.ok() {
                entry.shown_time(Operation::MissChain)
            } else {
                Shown::missing(entry.status_text())
            },
            entry.shown_time(Operation::Miss),
            Shown::exact(over, number),
            entry.shown_multiple(Operation::MissChain, Floor::Chain),
        ]);
    }
    if dots.is_empty() {
        return Ok(None);
    }
    let axis = Axis::new("ns / miss (log)", Scale::Log, Ticks::Number);
    let words = Words {
        question: "How long does the next step wait for a lookup?",
        title: format!("Dependent lookups, n = {}, ε = {}", count(cell.0), round_rate(cell.1)),
        caption: chain_caption(run, &entries, &dots),
        reading: "From the time of a miss among others that do not wait for it (tick) to one whose digest depends on the answer before it (mark): \
                  what a program waits that acts on each answer. A dependent read is one cache line of a table of the same size, its address \
                  taken from the read before; a filter that answers in fewer than one has found its line in a nearer cache, or leaves at a branch: then the processor \
                  guesses the answer and goes on, and the mark may even lie left of the tick.",
    };
    let panels = vec![dots::draw("From overlapping to dependent misses", &axis, &dots)?];
    Ok(Some(words.figure(panels, table)))
}

/// How much longer a dependent miss takes.
fn ratio(entry: &Entry) -> Option<f64> {
    let (chained, single) = entry.time(Operation::MissChain).zip(entry.time(Operation::Miss))?;
    Some(chained.mid / single.mid)
}

fn chain_caption(run: &Run<'_>, entries: &[&Entry], dots: &[Dot]) -> String {
    let mut sentences = Vec::new();
    if let [first, .., last] = dots {
        sentences.push(format!(
            "The shortest wait is {} ns ({}), the longest {} ns ({}).",
            number(first.value.mid),
            first.label,
            number(last.value.mid),
            last.label
        ));
    }
    let overlap = ends(entries, ratio);
    if let Some(((least, low), (most, high))) = overlap {
        sentences.push(format!(
            "A miss that waits takes from {}× ({}) to {}× ({}) as long as one among others.",
            number(least),
            name(run, low),
            number(most),
            name(run, high)
        ));
    }
    if let Some(((least, low), (most, high))) =
        ends(entries, |entry| entry.multiple(Operation::MissChain, Floor::Chain))
    {
        sentences.push(format!(
            "In dependent reads a miss takes from {} ({}) to {} ({}).",
            number(least),
            name(run, low),
            number(most),
            name(run, high)
        ));
    }
    if sentences.is_empty() { "One filter was measured.".to_owned() } else { sentences.join(" ") }
}

/// Merging, growing and iterating, in nanoseconds a record and in passes over as many bytes.
pub(super) fn whole_table(run: &Run<'_>) -> Result<Option<Figure>> {
    let Some(cell) = run.main_cell() else { return Ok(None) };
    let entries: Vec<&Entry> = run.at(cell).collect();
    let axis = Axis::new("ns / record (log)", Scale::Log, Ticks::Number);
    let mut table = Table::new(&["filter", "operation", "ns / record", "in streaming passes"]);
    let mut panels = Vec::new();
    let mut sentences = Vec::new();
    for (operation, title) in PASSES {
        let able: Vec<&Entry> =
            entries.iter().copied().filter(|entry| entry.time(operation).is_some()).collect();
        let dots = sorted(run, &able, operation, |_| None);
        if dots.is_empty() {
            continue;
        }
        panels.push(dots::draw(title, &axis, &dots)?);
        sentences.push(pass_sentence(run, &able, operation, title, &dots));
        for entry in able {
            table.rows.push(vec![
                Shown::text(name(run, entry)),
                Shown::text(operation.name()),
                entry.shown_time(operation),
                entry.shown_multiple(operation, Floor::Stream),
            ]);
        }
    }
    if panels.is_empty() {
        return Ok(None);
    }
    let words = Words {
        question: "Do operations over a whole filter run at the speed of memory?",
        title: format!("Merge, grow, iterate, n = {}, ε = {}", count(cell.0), round_rate(cell.1)),
        caption: sentences.join(" "),
        reading: "Merge: two filters of half the keys become one; grow: twice the slots; iterate: over all fingerprints. A streaming pass reads as \
                  many bytes as the planned table has, one after the other: nothing that looks at all of them is faster. Filters that cannot do \
                  it are not drawn.",
    };
    Ok(Some(words.figure(panels, table)))
}

fn pass_sentence(run: &Run<'_>, able: &[&Entry], operation: Operation, title: &str, dots: &[Dot]) -> String {
    let times = match dots {
        [first, .., last] => format!(
            "from {} ns a record ({}) to {} ns ({})",
            number(first.value.mid),
            first.label,
            number(last.value.mid),
            last.label
        ),
        [only] => format!("{} ns a record ({})", number(only.value.mid), only.label),
        [] => return String::new(),
    };
    let passes = ends(able, |entry| entry.multiple(operation, Floor::Stream)).map_or_else(
        String::new,
        |(least, most)| {
            format!(
                ", {} ({}) to {} ({}) streaming passes",
                number(least.0),
                name(run, least.1),
                number(most.0),
                name(run, most.1)
            )
        },
    );
    format!("{title}: {times}{passes}.")
}

/// A dot for each entry that has the time, the fastest first.
fn sorted(
    run: &Run<'_>,
    entries: &[&Entry],
    operation: Operation,
    from: impl Fn(&Entry) -> Option<f64>,
) -> Vec<Dot> {
    let dot = |entry: &&Entry| {
        Some(Dot {
            label: name(run, entry),
            style: Style::of(run, entry.filter),
            value: entry.time(operation)?.into(),
            from: from(entry),
        })
    };
    let mut dots: Vec<Dot> = entries.iter().filter_map(dot).collect();
    dots.sort_by(|a, b| a.value.mid.total_cmp(&b.value.mid));
    dots
}

/// A number with the entry that has it.
type Of<'e, 'a> = (f64, &'e Entry<'a>);

/// The entries with the least and the most of something, if two have it.
fn ends<'e, 'a>(
    entries: &[&'e Entry<'a>],
    of: impl Fn(&Entry) -> Option<f64>,
) -> Option<(Of<'e, 'a>, Of<'e, 'a>)> {
    let mut all: Vec<Of<'e, 'a>> = entries.iter().filter_map(|&entry| Some((of(entry)?, entry))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    match all[..] {
        [least, .., most] => Some((least, most)),
        _ => None,
    }
}
