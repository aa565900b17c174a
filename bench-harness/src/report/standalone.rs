//! Figures as files of their own, for documents that are not the report.

use anyhow::{Context as _, Result};

use super::Results;
use super::data::Run;
use super::format::slug;
use super::plots::{self, Figure};

/// The page's colours, light and dark, and the looks of its drawings.
const STYLE: &str = include_str!("../../templates/style.css");

/// Panels beside each other.
const COLUMNS: usize = 2;

/// Units of the drawings between panels.
const GAP: u32 = 60;

/// Every figure of a run as an SVG document, with a name for its file.
///
/// # Errors
/// If a figure cannot be drawn, which no data should cause.
pub fn figures(results: Results<'_>) -> Result<Vec<(String, String)>> {
    let figures = plots::figures(&Run::of(results))?;
    let drawn = figures.iter().filter(|figure| !figure.panels.is_empty());
    drawn.map(|figure| Ok((format!("{}.svg", slug(&figure.title)), document(figure)?))).collect()
}

/// The panels of a figure, two in a row, on paper of the page's colour.
fn document(figure: &Figure) -> Result<String> {
    let sizes: Vec<(u32, u32)> = figure.panels.iter().map(|panel| size(panel)).collect::<Result<_>>()?;
    let wide = sizes.iter().map(|size| size.0).max().unwrap_or(0) + GAP;
    let high = sizes.iter().map(|size| size.1).max().unwrap_or(0) + GAP;
    let columns = COLUMNS.min(sizes.len());
    let (width, height) = (wide * of(columns), high * of(sizes.len().div_ceil(COLUMNS)));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{}\" height=\"{}\"><style>{STYLE}</style>\
         <rect width=\"{width}\" height=\"{height}\" style=\"fill: var(--paper)\"/>",
        width / 3,
        height / 3
    );
    for (i, (panel, (w, h))) in figure.panels.iter().zip(sizes).enumerate() {
        let (x, y) = (wide * of(i % COLUMNS) + GAP / 2, high * of(i / COLUMNS) + GAP / 2);
        let place = format!("<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" ");
        svg.push_str(&panel.replacen("<svg ", &place, 1));
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A number of panels.
fn of(panels: usize) -> u32 {
    u32::try_from(panels).unwrap_or(u32::MAX)
}

/// Width and height of a drawing, from its view box.
fn size(panel: &str) -> Result<(u32, u32)> {
    let view = panel.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"'));
    let numbers = view.and_then(|(numbers, _)| numbers.split_once(' '));
    let (w, h) = numbers.context("a drawing without a view box")?;
    Ok((w.parse()?, h.parse()?))
}
