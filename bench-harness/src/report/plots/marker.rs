//! How a filter looks: the same in every figure, told apart by colour, by the shape of its mark, by its dash, and foreign
//! filters by a hollow mark.

use anyhow::Result;

use super::super::data::Run;
use super::canvas::{self, Canvas, Ink};

/// Colours of the style sheet.
const COLOURS: usize = 7;
/// Shapes below.
const SHAPES: usize = 6;
/// Dashes of the style sheet.
const DASHES: usize = 4;

/// A filter's look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    colour: u8,
    shape: u8,
    dash: u8,
    hollow: Fill,
    member: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Full,
    Hollow,
}

impl Style {
    /// The look of the filter at this index of the run: no two of the first 42 share colour and shape.
    #[expect(clippy::cast_possible_truncation, reason = "remainders by single digits")]
    pub(crate) fn of(run: &Run<'_>, filter: usize) -> Self {
        let hollow = run.filters.get(filter).is_some_and(|filter| filter.peer.is_some());
        Self {
            colour: (filter % COLOURS) as u8,
            shape: ((filter + filter / (COLOURS * SHAPES)) % SHAPES) as u8,
            dash: ((filter / COLOURS + filter) % DASHES) as u8,
            hollow: if hollow { Fill::Hollow } else { Fill::Full },
            member: u8::try_from(filter).unwrap_or(u8::MAX),
        }
    }

    /// The filter's number, by which the page hides it.
    pub(crate) fn member(self) -> u8 {
        self.member
    }

    pub(crate) fn ink(self) -> Ink {
        Ink::Series(self.colour, self.dash)
    }

    pub(crate) fn text_ink(self) -> Ink {
        self.ink().for_text()
    }
}

impl Ink {
    /// What text that belongs to a line is written in: the colours of lines are too light for it.
    pub(crate) fn for_text(self) -> Self {
        match self {
            Self::Bound | Self::Frontier | Self::Muted => Self::Muted,
            _ => Self::Text,
        }
    }
}

/// A mark at a point.
pub(crate) fn draw_marker(canvas: &mut Canvas<'_>, at: (f64, f64), style: Style) -> Result<()> {
    shape(canvas, at, style, 5.0, style.ink())?;
    if style.hollow == Fill::Hollow { shape(canvas, at, style, 2.6, Ink::Paper) } else { Ok(()) }
}

fn shape(canvas: &mut Canvas<'_>, (x, y): (f64, f64), style: Style, size: f64, ink: Ink) -> Result<()> {
    let at = |corners: &[(f64, f64)]| {
        corners.iter().map(|(dx, dy)| (x + dx * size, y + dy * size)).collect::<Vec<_>>()
    };
    let corners = match style.shape {
        0 => return canvas.disc((x, y), size * 0.9, ink),
        1 => at(&[(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)]),
        2 => at(&[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8)]),
        3 => at(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        4 => at(&[(0.0, 1.1), (1.0, -0.8), (-1.0, -0.8)]),
        _ => at(&[
            (-0.35, -1.1),
            (0.35, -1.1),
            (0.35, -0.35),
            (1.1, -0.35),
            (1.1, 0.35),
            (0.35, 0.35),
            (0.35, 1.1),
            (-0.35, 1.1),
            (-0.35, 0.35),
            (-1.1, 0.35),
            (-1.1, -0.35),
            (-0.35, -0.35),
        ]),
    };
    canvas.area(&corners, ink)
}

/// The mark and line of a filter for the legend.
pub(crate) fn swatch(style: Style, label: &str) -> Result<String> {
    canvas::draw(34.0, 14.0, label, |canvas| {
        canvas.line(&[(1.0, 7.0), (33.0, 7.0)], style.ink(), 2)?;
        draw_marker(canvas, (17.0, 7.0), style)
    })
}
