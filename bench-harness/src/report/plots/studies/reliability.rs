//! How often builds fail, and how full a table gets before it refuses a key.

use anyhow::Result;

use super::{
    Axis, Coordinate, Dot, Figure, Quantity, Record, Run, Scale, Shown, StudyPoint, Style, Table, Ticks,
    Words, count, dots, label, list, middle, number, place, records, shown, whole,
};
use crate::report::data::status_text;
use crate::report::format::{percent, trimmed};
use crate::store::cell::Status;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let builds = records(run, |point| matches!(point, StudyPoint::Builds { .. }));
    let refusals = records(run, |point| matches!(point, StudyPoint::Refusal { .. }));
    if builds.is_empty() && refusals.is_empty() {
        return Ok(None);
    }
    let axis = Axis::new("records / slots at the first refusal", Scale::Linear, Ticks::Number);
    let mut panels = Vec::new();
    for records in refusals.chunk_by(|a, b| a.point == b.point) {
        let mut dots: Vec<Dot> = records.iter().filter_map(|record| dot(run, record)).collect();
        if let (Some(n), false) = (records[0].point.n(), dots.is_empty()) {
            dots.sort_by(|a, b| a.value.mid.total_cmp(&b.value.mid));
            panels.push(dots::draw(&format!("Load at the first refusal, n = {}", count(n)), &axis, &dots)?);
        }
    }
    let title = "Reliability: failed builds and refused keys".to_owned();
    Ok(Some(Words {
        question: "How often does a build fail, and how full does a table get?",
        title,
        caption: format!("{}{}", of_builds(run, &builds), of_refusals(run, &refusals)),
        reading: "Every seed has its own keys. Marks: the median load at which a table refuses its first key, bars from the smallest to the \
                  largest of all seeds. Shares have their exact 95 % interval; attempts are those of builds that succeeded, where a family \
                  tells them (1 for one that does not).",
    }.figure(panels, table(run, &builds, &refusals))))
}

fn dot(run: &Run<'_>, record: &Record) -> Option<Dot> {
    let (mid, spread) = record.single(Quantity::RefusalLoad)?;
    let (lo, hi) = spread?;
    let style = Style::of(run, place(run, &record.filter)?);
    Some(Dot {
        label: label(run, &record.filter),
        style,
        value: Coordinate::interval(mid, lo, hi),
        from: None,
    })
}

fn of_builds(run: &Run<'_>, builds: &[&Record]) -> String {
    let total: usize =
        builds.iter().flat_map(|record| record.of(Quantity::Failed)).map(|value| value.samples.len()).sum();
    if total == 0 {
        return String::new();
    }
    let failing: Vec<String> = builds
        .iter()
        .filter_map(|record| {
            let share = middle(record, Quantity::Failed).filter(|&share| share > 0.0)?;
            let n = record.point.n().map_or_else(String::new, count);
            Some(format!("{} at n = {n} in {} of builds", label(run, &record.filter), percent(share)))
        })
        .collect();
    let again: Vec<String> = builds
        .iter()
        .filter_map(|record| {
            let (_, spread) = record.single(Quantity::Attempts)?;
            let (_, most) = spread.filter(|(_, most)| *most > 1.0)?;
            let n = record.point.n().map_or_else(String::new, count);
            Some((most, format!("{} ({} at n = {n})", label(run, &record.filter), whole(most))))
        })
        .map(|(_, text)| text)
        .collect();
    let failed = if failing.is_empty() {
        format!("None of {} builds failed.", count(total as u64))
    } else {
        format!("Of {} builds, those that failed: {}.", count(total as u64), few(failing))
    };
    let again = if again.is_empty() {
        " None needed a second attempt.".to_owned()
    } else {
        format!(" More than one attempt, at most: {}.", few(again))
    };
    format!("{failed}{again}")
}

/// A list that a caption can hold: the table has them all.
fn few(mut names: Vec<String>) -> String {
    const MOST: usize = 6;
    if names.len() > MOST {
        let more = names.len() - (MOST - 1);
        names.truncate(MOST - 1);
        names.push(format!("{more} more"));
    }
    list(&names)
}

fn of_refusals(run: &Run<'_>, refusals: &[&Record]) -> String {
    let Some(n) = refusals.iter().filter_map(|record| record.point.n()).max() else { return String::new() };
    let at_largest = || refusals.iter().filter(|record| record.point.n() == Some(n));
    let loads: Vec<String> = at_largest()
        .filter_map(|record| {
            let (mid, spread) = record.single(Quantity::RefusalLoad)?;
            let (lo, _) = spread?;
            let lost = middle(record, Quantity::KeysLost).filter(|&lost| lost > 0.0);
            let lost = lost
                .map_or_else(String::new, |lost| format!(", and then has lost {} other key", trimmed(lost)));
            Some(format!("{} at {} (at worst {}){lost}", label(run, &record.filter), number(mid), number(lo)))
        })
        .collect();
    let never: Vec<String> = at_largest()
        .filter(|record| middle(record, Quantity::NeverRefused) == Some(1.0))
        .map(|record| label(run, &record.filter))
        .collect();
    let never =
        if never.is_empty() { String::new() } else { format!(" {} never refuses: it grows.", list(&never)) };
    if loads.is_empty() {
        return never;
    }
    format!(" Filled at n = {} until they refuse: {}.{never}", count(n), loads.join("; "))
}

fn table(run: &Run<'_>, builds: &[&Record], refusals: &[&Record]) -> Table {
    let mut table = Table::new(&[
        "filter",
        "study",
        "n",
        "seeds",
        "outcome",
        "failed builds",
        "attempts",
        "load at refusal",
        "never refused",
        "other keys lost at a refusal",
    ]);
    for record in builds.iter().chain(refusals) {
        let seeds = [Quantity::Failed, Quantity::NeverRefused]
            .into_iter()
            .find_map(|quantity| record.of(quantity).next())
            .map(|value| value.samples.len() as f64);
        let outcome = if record.status == Status::Ok {
            "ok".to_owned()
        } else {
            status_text(record.status, &record.reason)
        };
        table.rows.push(vec![
            Shown::text(label(run, &record.filter)),
            Shown::text(record.point.study()),
            Shown::exact(record.point.n().map(|n| n as f64), whole),
            Shown::exact(seeds, whole),
            Shown::text(outcome),
            shown(record, Quantity::Failed, percent),
            shown(record, Quantity::Attempts, whole),
            shown(record, Quantity::RefusalLoad, number),
            shown(record, Quantity::NeverRefused, percent),
            Shown::exact(middle(record, Quantity::KeysLost), trimmed),
        ]);
    }
    table
}
