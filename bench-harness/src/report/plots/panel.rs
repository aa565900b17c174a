//! One panel of a figure: axes, reference lines, series with intervals, labels.

use anyhow::Result;

use super::super::format::{drawn_label, shorten};
use super::axis::{Axis, Direction, Range, Scale};
use super::canvas::{self, Anchor, Canvas, Ink, text_width};
use super::marker::{Style, draw_marker};

/// A coordinate: a number, its interval, and what it means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coordinate {
    pub(crate) mid: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    /// The number is an upper bound only.
    pub(crate) bound: bool,
}

impl Coordinate {
    pub(crate) fn exact(x: f64) -> Self {
        Self { mid: x, lo: x, hi: x, bound: false }
    }

    pub(crate) fn interval(mid: f64, lo: f64, hi: f64) -> Self {
        Self { mid, lo, hi, bound: false }
    }

    pub(crate) fn below(x: f64) -> Self {
        Self { mid: x, lo: x, hi: x, bound: true }
    }
}

/// A filter's points.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) style: Style,
    pub(crate) points: Vec<(Coordinate, Coordinate)>,
    pub(crate) join: Join,
}

/// Whether a series is a curve or a set of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// In order of x, joined by lines, labelled at the right end.
    Line,
    /// As a line, but of so many points that only some are marked, the last among them.
    Curve,
    /// Points, each labelled beside itself.
    Points,
    /// Points without labels: the legend names them.
    Unlabelled,
    /// One level across the panel, labelled at the right end: what does not depend on x.
    Level,
}

/// A reference.
#[derive(Clone, Debug)]
pub(crate) enum Guide {
    /// A line through points, with a label at its right end.
    Curve { points: Vec<(f64, f64)>, label: String, ink: Ink },
    /// A vertical line with a label at its top.
    Vertical { x: f64, label: String },
    /// A horizontal line with a label in the panel.
    Horizontal { y: f64, label: String },
}

/// A panel.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) guides: Vec<Guide>,
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 556.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 182.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;
/// The least distance between the labels at the right.
const LINE: f64 = 13.5;
/// Characters of a label.
const LABEL: usize = 22;

/// How far from its point a name may stand.
const FAR: f64 = 16.0;

/// Marks along a curve.
const MARKS: usize = 7;

/// What could not be drawn as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Points at zero or below on a logarithmic axis, drawn at its floor.
    pub(crate) at_floor: usize,
    /// Points that are no number.
    pub(crate) omitted: usize,
    /// Points that are upper bounds.
    pub(crate) bounds: usize,
}

impl Notes {
    pub(crate) fn sentence(self) -> String {
        let mut parts = Vec::new();
        if self.bounds > 0 {
            parts.push(format!(
                "{} with an arrow: no false positive seen, drawn at the upper bound.",
                points(self.bounds)
            ));
        }
        if self.at_floor > 0 {
            parts.push(format!(
                "{} with a triangle at the edge: 0, which a logarithmic axis has no place for.",
                points(self.at_floor)
            ));
        }
        if self.omitted > 0 {
            parts.push(format!("{} left out: no number.", points(self.omitted)));
        }
        parts.join(" ")
    }
}

fn points(n: usize) -> String {
    if n == 1 { "1 point".to_owned() } else { format!("{n} points") }
}

/// The common ranges of several panels: panels that are compared share their axes.
pub(crate) fn ranges(panels: &[Panel], x: &Axis, y: &Axis) -> Option<(Range, Range)> {
    let points = || {
        panels
            .iter()
            .flat_map(|panel| &panel.series)
            .flat_map(|series| series.points.iter().map(move |point| (point, series.join)))
    };
    let xs = points().filter(|(_, join)| *join != Join::Level).flat_map(|((x, _), _)| [x.mid, x.lo, x.hi]);
    let ys = points().flat_map(|((_, y), _)| [y.mid, y.lo, y.hi]);
    Some((Range::of(xs.chain(x.includes), x.scale)?, Range::of(ys.chain(y.includes), y.scale)?))
}

/// Draws a panel. Any input gives a drawing: one without a point that has a place says so.
pub(crate) fn draw(
    panel: &Panel,
    x: &Axis,
    y: &Axis,
    ranges: Option<(Range, Range)>,
    notes: &mut Notes,
) -> Result<String> {
    canvas::draw(WIDTH, HEIGHT, &panel.title, |canvas| {
        canvas.text(&shorten(&panel.title, 66), (LEFT, 14.0), Anchor::Left, Ink::Text)?;
        let Some((x_range, y_range)) = ranges else {
            notes.omitted += panel.series.iter().map(|series| series.points.len()).sum::<usize>();
            return canvas.text("no data", (WIDTH / 2.0, HEIGHT / 2.0), Anchor::Middle, Ink::Muted);
        };
        let frame = Frame { x, y, x_range, y_range };
        frame.axes(canvas)?;
        let mut labels = Vec::new();
        for guide in &panel.guides {
            frame.guide(canvas, guide, &mut labels)?;
        }
        for series in &panel.series {
            canvas
                .member(series.style.member(), |canvas| frame.series(canvas, series, &mut labels, notes))?;
        }
        frame.point_labels(canvas, &panel.series)?;
        right_labels(canvas, labels)
    })
}

struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    x_range: Range,
    y_range: Range,
}

/// A label at the right end: where its line ends, and its ink.
struct RightLabel {
    y: f64,
    text: String,
    ink: Ink,
    /// The filter, if it is one's.
    member: Option<u8>,
}

impl Frame<'_> {
    fn x_at(&self, x: f64) -> f64 {
        let place = self.x_range.place(x);
        let place = if self.x.direction == Direction::Falling { 1.0 - place } else { place };
        LEFT + place * (WIDTH - LEFT - RIGHT)
    }

    fn y_at(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y_range.place(y) * (HEIGHT - TOP - BOTTOM)
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        (self.x_range.lo..=self.x_range.hi).contains(&x) && (self.y_range.lo..=self.y_range.hi).contains(&y)
    }

    fn axes(&self, canvas: &mut Canvas<'_>) -> Result<()> {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in self.y_range.ticks() {
            let y = self.y_at(tick);
            canvas.line(&[(LEFT, y), (right, y)], Ink::Grid, 1)?;
            canvas.text(&self.y.ticks.print(tick), (LEFT - 6.0, y), Anchor::Right, Ink::Muted)?;
        }
        for tick in self.x_range.ticks() {
            let x = self.x_at(tick);
            canvas.line(&[(x, TOP), (x, bottom)], Ink::Grid, 1)?;
            canvas.text(&self.x.ticks.print(tick), (x, bottom + 12.0), Anchor::Middle, Ink::Muted)?;
        }
        canvas.line(&[(LEFT, TOP), (LEFT, bottom), (right, bottom)], Ink::Axis, 1)?;
        canvas.text(&self.x.label, (f64::midpoint(LEFT, right), HEIGHT - 14.0), Anchor::Middle, Ink::Text)?;
        canvas.text(&self.y.label, (10.0, f64::midpoint(TOP, bottom)), Anchor::Upright, Ink::Text)
    }

    fn guide(&self, canvas: &mut Canvas<'_>, guide: &Guide, labels: &mut Vec<RightLabel>) -> Result<()> {
        match guide {
            Guide::Curve { points, label, ink } => {
                let inside: Vec<_> = points
                    .iter()
                    .filter(|(x, y)| self.holds(*x, *y))
                    .map(|&(x, y)| (self.x_at(x), self.y_at(y)))
                    .collect();
                let Some(&(_, y)) = inside.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { return Ok(()) };
                canvas.line(&inside, *ink, 2)?;
                if !label.is_empty() {
                    labels.push(RightLabel { y, text: label.clone(), ink: *ink, member: None });
                }
                Ok(())
            }
            Guide::Vertical { x, label } => {
                if !(self.x_range.lo..=self.x_range.hi).contains(x) {
                    return Ok(());
                }
                let x = self.x_at(*x);
                canvas.line(&[(x, TOP), (x, HEIGHT - BOTTOM)], Ink::Bound, 1)?;
                canvas.text(label, (x + 3.0, TOP + 7.0), Anchor::Left, Ink::Bound)
            }
            Guide::Horizontal { y, label } => {
                if !(self.y_range.lo..=self.y_range.hi).contains(y) {
                    return Ok(());
                }
                let y = self.y_at(*y);
                canvas.line(&[(LEFT, y), (WIDTH - RIGHT, y)], Ink::Bound, 1)?;
                labels.push(RightLabel { y, text: label.clone(), ink: Ink::Bound, member: None });
                Ok(())
            }
        }
    }

    /// A number's place on its axis' range: zero on a logarithmic one is at the floor.
    fn seated(value: f64, axis: &Axis, range: Range) -> Option<(f64, bool)> {
        if axis.scale.takes(value) {
            Some((value, false))
        } else if axis.scale == Scale::Log && value.is_finite() {
            Some((range.lo, true))
        } else {
            None
        }
    }

    fn series(
        &self,
        canvas: &mut Canvas<'_>,
        series: &Series,
        labels: &mut Vec<RightLabel>,
        notes: &mut Notes,
    ) -> Result<()> {
        let ink = series.style.ink();
        if series.join == Join::Level {
            if let Some(level) = series.points.first().map(|(_, y)| *y).filter(|y| self.y.scale.takes(y.mid))
            {
                let y = self.y_at(level.mid);
                canvas.line(&[(LEFT, y), (WIDTH - RIGHT, y)], ink, 2)?;
                draw_marker(canvas, (WIDTH - RIGHT, y), series.style)?;
                labels.push(RightLabel {
                    y,
                    text: series.label.clone(),
                    ink,
                    member: Some(series.style.member()),
                });
            }
            return Ok(());
        }
        let mut places = Vec::new();
        for (x, y) in &series.points {
            let seats =
                Self::seated(x.mid, self.x, self.x_range).zip(Self::seated(y.mid, self.y, self.y_range));
            let Some(((x_mid, x_floor), (y_mid, y_floor))) = seats else {
                notes.omitted += 1;
                continue;
            };
            let at = (self.x_at(x_mid), self.y_at(y_mid));
            places.push(at);
            self.interval(canvas, at, *x, *y, ink)?;
            if x_floor || y_floor {
                notes.at_floor += 1;
                let (x, y) = at;
                canvas.area(&[(x - 5.0, y - 9.0), (x + 5.0, y - 9.0), (x, y - 1.0)], ink)?;
            }
            notes.bounds += usize::from(x.bound || y.bound);
        }
        if matches!(series.join, Join::Line | Join::Curve) {
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            if places.len() > 1 {
                canvas.line(&places, ink, 2)?;
            }
            if let Some(&(_, y)) = places.last() {
                labels.push(RightLabel {
                    y,
                    text: series.label.clone(),
                    ink,
                    member: Some(series.style.member()),
                });
            }
        }
        // Lines of one colour are told apart by their marks.
        let stride = if series.join == Join::Curve { (places.len() / MARKS).max(1) } else { 1 };
        places.into_iter().rev().step_by(stride).try_for_each(|at| draw_marker(canvas, at, series.style))
    }

    /// Error bars, and arrows where a number is only a bound.
    fn interval(
        &self,
        canvas: &mut Canvas<'_>,
        (px, py): (f64, f64),
        x: Coordinate,
        y: Coordinate,
        ink: Ink,
    ) -> Result<()> {
        let ends = |c: Coordinate, range: Range| (c.lo.max(range.lo), c.hi.min(range.hi));
        let ((x_lo, x_hi), (y_lo, y_hi)) = (ends(x, self.x_range), ends(y, self.y_range));
        if x_lo < x_hi {
            canvas.line(&[(self.x_at(x_lo), py), (self.x_at(x_hi), py)], ink, 1)?;
        }
        if y_lo < y_hi {
            canvas.line(&[(px, self.y_at(y_lo)), (px, self.y_at(y_hi))], ink, 1)?;
        }
        if x.bound {
            let way = if self.x.direction == Direction::Falling { 1.0 } else { -1.0 };
            canvas.line(&[(px, py), (px + way * 18.0, py)], ink, 2)?;
            canvas.area(
                &[(px + way * 16.0, py - 4.0), (px + way * 23.0, py), (px + way * 16.0, py + 4.0)],
                ink,
            )?;
        }
        if y.bound {
            canvas.line(&[(px, py), (px, py + 18.0)], ink, 2)?;
            canvas.area(&[(px - 4.0, py + 16.0), (px, py + 23.0), (px + 4.0, py + 16.0)], ink)?;
        }
        Ok(())
    }

    /// The ends of a point's interval along x; those of the point where it has none.
    fn bar(&self, x: Coordinate) -> (f64, f64) {
        let ends = [x.lo, x.mid, x.hi].map(|x| self.x_at(x.clamp(self.x_range.lo, self.x_range.hi)));
        (ends[0].min(ends[2]).min(ends[1]), ends[0].max(ends[2]).max(ends[1]))
    }

    /// Labels beside points, where they are free of other points and labels; the legend names the others.
    fn point_labels(&self, canvas: &mut Canvas<'_>, all: &[Series]) -> Result<()> {
        let labelled = || all.iter().filter(|series| series.join == Join::Points);
        let mut taken: Vec<(f64, f64, f64, f64)> = labelled()
            .flat_map(|series| &series.points)
            .filter(|(x, y)| self.x.scale.takes(x.mid) && self.y.scale.takes(y.mid))
            .map(|(x, y)| {
                let (left, right) = self.bar(*x);
                (left - 5.0, self.y_at(y.mid) - 5.0, right + 5.0, self.y_at(y.mid) + 5.0)
            })
            .collect();
        // From the left: where there is not room for all names, those at the fast or small end have it.
        let mut order: Vec<&Series> = labelled().filter(|series| !series.points.is_empty()).collect();
        order.sort_by(|a, b| a.points[0].0.mid.total_cmp(&b.points[0].0.mid));
        for series in order {
            let Some((x, y)) = series.points.first() else { continue };
            if !self.x.scale.takes(x.mid) || !self.y.scale.takes(y.mid) {
                continue;
            }
            let (px, py) = (self.x_at(x.mid), self.y_at(y.mid));
            let text = drawn_label(&series.label, LABEL);
            let width = text_width(&text);
            let (bar_left, bar_right) = self.bar(*x);
            let places = [
                (bar_right + 8.0, py),
                (bar_left - 8.0 - width, py),
                (px - width / 2.0, py - 13.0),
                (px - width / 2.0, py + 13.0),
                (px + 7.0, py - 11.0),
                (px + 7.0, py + 11.0),
                (px - 7.0 - width, py - 11.0),
                (px - 7.0 - width, py + 11.0),
            ];
            // At the far end of a long bar stands a name that could be the next point's.
            let far = [bar_right - px > FAR, px - bar_left > FAR, false, false, false, false, false, false];
            let near = places.into_iter().zip(far).filter(|(_, far)| !far).map(|(place, _)| place);
            let free = near.map(|(left, y)| (left, y - 6.5, left + width, y + 6.5)).find(|&(l, t, r, b)| {
                l > LEFT
                    && r < WIDTH
                    && t > TOP - 8.0
                    && b < HEIGHT - BOTTOM
                    && taken.iter().all(|&(l2, t2, r2, b2)| r <= l2 || l >= r2 || b <= t2 || t >= b2)
            });
            if let Some((left, top, right, bottom)) = free {
                taken.push((left, top, right, bottom));
                let at = (left, f64::midpoint(top, bottom));
                canvas.member(series.style.member(), |canvas| {
                    canvas.text(&text, at, Anchor::Left, series.style.text_ink())
                })?;
            }
        }
        Ok(())
    }
}

/// Labels at the right end, pushed apart from top to bottom and then back into the panel.
fn right_labels(canvas: &mut Canvas<'_>, mut labels: Vec<RightLabel>) -> Result<()> {
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    let ends: Vec<f64> = labels.iter().map(|label| label.y).collect();
    let mut floor = TOP - 4.0;
    for label in &mut labels {
        label.y = label.y.max(floor);
        floor = label.y + LINE;
    }
    let mut ceiling = HEIGHT - BOTTOM + 6.0;
    for label in labels.iter_mut().rev() {
        label.y = label.y.min(ceiling);
        ceiling = label.y - LINE;
    }
    let edge = WIDTH - RIGHT;
    for (label, end) in labels.into_iter().zip(ends) {
        let write = |canvas: &mut Canvas<'_>| {
            canvas.line(&[(edge + 5.0, end), (edge + 12.0, label.y)], Ink::Grid, 1)?;
            let text = drawn_label(&label.text, LABEL);
            canvas.text(&text, (edge + 14.0, label.y), Anchor::Left, label.ink.for_text())
        };
        match label.member {
            Some(member) => canvas.member(member, write)?,
            None => write(canvas)?,
        }
    }
    Ok(())
}
