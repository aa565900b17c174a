//! The figures: each with a caption that says what to conclude, computed from what it shows, and the table of its numbers.

mod axis;
mod bits_by_count;
mod build;
mod canvas;
mod dots;
mod floors;
mod heat;
mod load;
mod marker;
mod overhead;
mod panel;
mod rate_check;
mod space_by_rate;
mod space_by_time;
mod studies;
mod time_by_count;
pub(super) mod uniformity;

use anyhow::Result;

use self::axis::Axis;
use self::marker::{Style, swatch};
use self::panel::{Coordinate, Join, Notes, Panel, Series};
use super::data::{Entry, Measured, Rate, Run};
use super::format::{Shown, list, slug, unbroken};

/// A figure of the page.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Its anchor.
    pub(crate) id: String,
    /// What it answers.
    pub(crate) question: &'static str,
    /// What it shows.
    pub(crate) title: String,
    /// What to conclude.
    pub(crate) caption: String,
    /// How to read it.
    pub(crate) reading: String,
    /// Points that are drawn otherwise or not at all.
    pub(crate) note: String,
    /// Drawings as SVG.
    pub(crate) panels: Vec<String>,
    /// What names its lines.
    pub(crate) legend: Vec<Key>,
    /// Its numbers.
    pub(crate) table: Table,
}

/// A filter in a legend.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its mark as SVG.
    pub(crate) mark: String,
    pub(crate) name: String,
    /// The number that what is drawn of it carries.
    pub(crate) member: u8,
}

/// Numbers of a figure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// With units.
    pub(crate) headers: Vec<String>,
    /// One cell for each header.
    pub(crate) rows: Vec<Vec<Shown>>,
}

impl Table {
    pub(super) fn new(headers: &[&str]) -> Self {
        Self { headers: headers.iter().map(|&header| header.to_owned()).collect(), rows: Vec::new() }
    }
}

/// What a figure says in words.
struct Words {
    question: &'static str,
    title: String,
    caption: String,
    reading: &'static str,
}

impl Words {
    /// The figure of drawings that name their own lines.
    fn figure(self, panels: Vec<String>, table: Table) -> Figure {
        Figure {
            id: slug(&self.title),
            question: self.question,
            title: self.title,
            caption: unbroken(&self.caption),
            reading: unbroken(self.reading),
            note: String::new(),
            panels,
            legend: Vec::new(),
            table,
        }
    }
}

/// All figures of a run, in the order of the page.
pub(crate) fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for figure in [
        space_by_rate::figure,
        overhead::figure,
        space_by_time::figure,
        time_by_count::figure,
        bits_by_count::figure,
        build::figure,
        load::figure,
        heat::figure,
        floors::chain,
        floors::whole_table,
        rate_check::figure,
    ] {
        figures.extend(figure(run)?);
    }
    figures.extend(studies::figures(run)?);
    for (number, figure) in figures.iter_mut().enumerate() {
        figure.id = format!("{}-{number}-{}", slug(&run.info.run), figure.id);
    }
    Ok(figures)
}

/// Draws panels with common axes, and a legend of the filters in them.
fn chart(
    run: &Run<'_>,
    words: Words,
    (x, y): (&Axis, &Axis),
    panels: &[Panel],
    table: Table,
) -> Result<Option<Figure>> {
    let bare =
        |panel: &Panel| panel.guides.is_empty() && panel.series.iter().all(|series| series.points.is_empty());
    if panels.iter().all(bare) {
        return Ok(None);
    }
    let ranges = panel::ranges(panels, x, y);
    let mut notes = Notes::default();
    let drawings =
        panels.iter().map(|panel| panel::draw(panel, x, y, ranges, &mut notes)).collect::<Result<_>>()?;
    let named = run.filters.iter().map(super::data::Filter::label).enumerate();
    let drawn =
        |label: &String| panels.iter().flat_map(|panel| &panel.series).any(|series| series.label == *label);
    let legend = named.filter(|(_, label)| drawn(label));
    let legend = legend.map(|(i, name)| {
        let style = Style::of(run, i);
        Ok(Key { mark: swatch(style, &name)?, name, member: style.member() })
    });
    let legend = legend.collect::<Result<_>>()?;
    Ok(Some(Figure { note: notes.sentence(), legend, ..words.figure(drawings, table) }))
}

/// The filters by kind, peers apart: so few lines to a panel that each can be named.
fn groups(run: &Run<'_>) -> Vec<(&'static str, Vec<usize>)> {
    let group = |filter: &super::data::Filter| match (filter.peer.is_some(), filter.kind.as_str()) {
        (true, _) => "Peers: what one would otherwise take",
        (_, "table") => "Table filters",
        (_, "bloom") => "Bloom filters",
        (_, "static") => "Static filters",
        _ => "Filters",
    };
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for title in [
        "Static filters",
        "Table filters",
        "Bloom filters",
        "Filters",
        "Peers: what one would otherwise take",
    ] {
        let members: Vec<_> = (0..run.filters.len()).filter(|&i| group(&run.filters[i]) == title).collect();
        if !members.is_empty() {
            groups.push((title, members));
        }
    }
    groups
}

/// A filter's points as a series; `None` if it has none.
fn series(run: &Run<'_>, filter: usize, points: Vec<(Coordinate, Coordinate)>, join: Join) -> Option<Series> {
    let label = run.filters[filter].label();
    (!points.is_empty()).then(|| Series { label, style: Style::of(run, filter), points, join })
}

impl From<Measured> for Coordinate {
    fn from(measured: Measured) -> Self {
        let (lo, hi) = measured.ends();
        Self::interval(measured.mid, lo, hi)
    }
}

impl From<Rate> for Coordinate {
    fn from(rate: Rate) -> Self {
        match rate {
            Rate::Seen(seen) => seen.into(),
            Rate::Below(bound) => Self::below(bound),
        }
    }
}

/// An entry's filter, as the texts call it.
fn name(run: &Run<'_>, entry: &Entry<'_>) -> String {
    run.filter(entry).label()
}

/// The entries that no other is at least as good as in both and better in one; ascending in the first.
fn frontier<'e, 'a>(entries: &[(f64, f64, &'e Entry<'a>)]) -> Vec<(f64, f64, &'e Entry<'a>)> {
    let mut sorted = entries.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut best = f64::INFINITY;
    sorted.retain(|&(_, y, _)| {
        let better = y < best;
        best = best.min(y);
        better
    });
    sorted
}

/// The names of entries, each once, in order.
fn names<'e, 'a: 'e>(run: &Run<'_>, entries: impl IntoIterator<Item = &'e Entry<'a>>) -> String {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let name = name(run, entry);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(&names)
}

#[cfg(test)]
mod tests;
