//! A comparison for a review: a short table at the top, everything else in details that unfold.

use anyhow::{Context as _, Result};
use askama::Template;

use super::words::{self, Table};
use super::{Comparison, TimedCell};
use crate::store::sample::Point;

#[derive(Template)]
#[template(path = "compare.md")]
struct Page {
    conclusions: Vec<String>,
    highlights: Vec<Table>,
    provenance: Table,
    details: Vec<Table>,
}

#[derive(Template)]
#[template(path = "table.md")]
struct Rows<'a> {
    table: &'a Table,
}

impl Table {
    /// The rows as Markdown, for the template.
    fn markdown(&self) -> Result<String, askama::Error> {
        Rows { table: self }.render()
    }
}

/// The comparison as Markdown.
pub(super) fn show(comparison: &Comparison) -> Result<String> {
    let details = by_point(comparison)
        .into_iter()
        .map(|(point, cells)| words::times(format!("Times, {}", words::point(&point)), cells.into_iter()))
        .chain([words::sizes("Sizes and rates", comparison.built.iter())])
        .map(escaped);
    let page = Page {
        conclusions: words::conclusions(comparison),
        highlights: words::highlights(comparison).into_iter().map(escaped).collect(),
        provenance: escaped(words::provenance(comparison)),
        details: details.collect(),
    };
    page.render().context("the Markdown template")
}

/// The cells of each point, in the order of the comparison.
fn by_point(comparison: &Comparison) -> Vec<(Point, Vec<&TimedCell>)> {
    let mut points: Vec<(Point, Vec<&TimedCell>)> = Vec::new();
    for cell in &comparison.timed {
        match points.iter_mut().find(|(point, _)| *point == cell.point) {
            Some((_, cells)) => cells.push(cell),
            None => points.push((cell.point, vec![cell])),
        }
    }
    points
}

fn escaped(table: Table) -> Table {
    let rows = table.rows.into_iter().map(|row| row.iter().map(|text| escape(text)).collect());
    Table { title: escape(&table.title), rows: rows.collect(), ..table }
}

/// Text from elsewhere that stays text: in a table cell, in Markdown and in the HTML that it becomes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_from_elsewhere_stays_text() {
        assert_eq!(escape("a|b\n<script>*x*"), "a\\|b &lt;script&gt;\\*x\\*");
        assert_eq!(escape("lookup single, 50 % hits"), "lookup single, 50 % hits");
    }
}
