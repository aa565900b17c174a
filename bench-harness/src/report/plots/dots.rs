//! A plot of one number for each filter: names down the side, marks along a logarithmic or linear scale.

use anyhow::Result;

use super::super::format::{drawn_label, number};
use super::axis::{Axis, Range};
use super::canvas::{self, Anchor, Ink};
use super::marker::{Style, draw_marker};
use super::panel::Coordinate;

/// A filter's line.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    pub(super) label: String,
    pub(super) style: Style,
    /// What the mark shows; its number is printed.
    pub(super) value: Coordinate,
    /// Where a bar to it starts: what the number is to be compared with.
    pub(super) from: Option<f64>,
}

const WIDTH: f64 = 536.0;
const LEFT: f64 = 176.0;
const RIGHT: f64 = 58.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
const LINE: f64 = 19.0;

/// Draws the dots in the order given.
pub(super) fn draw(title: &str, axis: &Axis, dots: &[Dot]) -> Result<String> {
    let height = TOP + BOTTOM + LINE * dots.len().max(2) as f64;
    let numbers =
        dots.iter().flat_map(|dot| [Some(dot.value.mid), Some(dot.value.lo), Some(dot.value.hi), dot.from]);
    let range = Range::of(numbers.flatten().chain(axis.includes), axis.scale);
    canvas::draw(WIDTH, height, title, |canvas| {
        canvas.text(title, (LEFT, 12.0), Anchor::Left, Ink::Text)?;
        let Some(range) = range else {
            return canvas.text("no data", (WIDTH / 2.0, height / 2.0), Anchor::Middle, Ink::Muted);
        };
        let right = WIDTH - RIGHT;
        let at = |x: f64| LEFT + range.place(x) * (right - LEFT);
        for tick in range.ticks() {
            canvas.line(&[(at(tick), TOP - 6.0), (at(tick), height - BOTTOM)], Ink::Grid, 1)?;
            canvas.text(
                &axis.ticks.print(tick),
                (at(tick), height - BOTTOM + 11.0),
                Anchor::Middle,
                Ink::Muted,
            )?;
        }
        canvas.text(&axis.label, (f64::midpoint(LEFT, right), height - 14.0), Anchor::Middle, Ink::Text)?;
        for (i, dot) in dots.iter().enumerate() {
            let y = TOP + LINE * (i as f64 + 0.4);
            canvas.text(&drawn_label(&dot.label, 22), (LEFT - 8.0, y), Anchor::Right, Ink::Text)?;
            canvas.line(&[(LEFT, y), (right, y)], Ink::Grid, 1)?;
            if !axis.scale.takes(dot.value.mid) {
                canvas.text("no number", (LEFT + 4.0, y), Anchor::Left, Ink::Muted)?;
                continue;
            }
            if let Some(from) = dot.from.filter(|&from| axis.scale.takes(from)) {
                canvas.line(&[(at(from), y), (at(dot.value.mid), y)], dot.style.ink(), 3)?;
                canvas.line(&[(at(from), y - 4.0), (at(from), y + 4.0)], dot.style.ink(), 2)?;
            }
            let (lo, hi) = (dot.value.lo.max(range.lo), dot.value.hi.min(range.hi));
            if lo < hi {
                canvas.line(&[(at(lo), y), (at(hi), y)], dot.style.ink(), 1)?;
            }
            draw_marker(canvas, (at(dot.value.mid), y), dot.style)?;
            canvas.text(&number(dot.value.mid), (right + 8.0, y), Anchor::Left, Ink::Text)?;
        }
        Ok(())
    })
}
