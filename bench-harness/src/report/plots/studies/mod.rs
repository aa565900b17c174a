//! The figures of studies: one for each that the run has.

mod clusters;
mod cold;
mod duplicates;
mod filling;
mod hashing;
mod reliability;

use anyhow::Result;

use super::super::data::{Filter, Run};
use super::super::format::{Shown, count, list, number};
use super::axis::{Axis, Scale, Ticks};
use super::dots::{self, Dot};
use super::marker::Style;
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, series};
use crate::store::study::{Quantity, Record, StudyPoint, Value};

/// All of them, in the order of the page.
pub(super) fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let figures = [
        filling::figure(run)?,
        cold::figure(run)?,
        hashing::figure(run)?,
        reliability::figure(run)?,
        clusters::figure(run)?,
        duplicates::figure(run),
    ];
    Ok(figures.into_iter().flatten().collect())
}

/// The records of the points that `wanted` takes.
fn records<'a>(run: &Run<'a>, wanted: impl Fn(&StudyPoint) -> bool) -> Vec<&'a Record> {
    let mut records: Vec<_> = run.studies.iter().filter(|record| wanted(&record.point)).collect();
    // What is not timed is run on several cores, and comes in the order in which it ends.
    records.sort_by_key(|record| {
        let point = run.studies.iter().position(|other| other.point == record.point);
        (point, place(run, &record.filter).unwrap_or(usize::MAX))
    });
    records
}

/// The filter of this name in the run.
fn place(run: &Run<'_>, name: &str) -> Option<usize> {
    run.filters.iter().position(|filter| filter.name == name)
}

/// A filter's label; a subject that is no filter of the run is called as its record calls it.
fn label(run: &Run<'_>, name: &str) -> String {
    place(run, name).map_or_else(|| name.to_owned(), |place| Filter::label(&run.filters[place]))
}

/// A value as a coordinate, with its interval.
fn coordinate(value: &Value) -> Option<Coordinate> {
    let (mid, lo, hi) = value.summary();
    mid.map(|mid| Coordinate::interval(mid, lo.unwrap_or(mid), hi.unwrap_or(mid)))
}

/// What a record has of a quantity in one place, for a table.
fn shown(record: &Record, quantity: Quantity, print: impl Fn(f64) -> String) -> Shown {
    let Some((mid, interval)) = record.single(quantity) else { return Shown::missing("") };
    let detail = interval.map_or_else(String::new, |(lo, hi)| super::super::format::range(lo, hi, &print));
    Shown { main: print(mid), detail, key: Some(mid) }
}

/// The middle of a quantity that a record has in one place.
fn middle(record: &Record, quantity: Quantity) -> Option<f64> {
    record.single(quantity).map(|(mid, _)| mid).filter(|mid| mid.is_finite())
}

/// A whole number that went through a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of things")]
fn whole(x: f64) -> String {
    count(x.round() as u64)
}
