//! Drawing through plotters' SVG back end, with roles in place of colours.
//!
//! The back end knows fixed colours only, but the page has a light, a dark and a printed look. So every role is drawn in a
//! colour that stands for it, and the finished text gets a class of the style sheet in its place. No font is needed: text
//! stays text.

use anyhow::{Context, Result, anyhow};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontTransform, IntoFont, RGBAColor, ShapeStyle, TextStyle};

/// Pixels of the back end per unit of a figure: it draws at whole pixels only, which would show.
const FINE: f64 = 4.0;

/// What a stroke or an area stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Axis,
    Grid,
    Text,
    Muted,
    Paper,
    /// A bound or reference line.
    Bound,
    /// The Pareto frontier.
    Frontier,
    /// A series: its colour and its dash.
    Series(u8, u8),
    /// An area of a heat map, 0 to [`HEAT_LEVELS`] - 1.
    Heat(u8),
    /// The text on it.
    HeatText(u8),
}

/// Steps of a heat map's colour scale.
pub(crate) const HEAT_LEVELS: u8 = 9;

impl Ink {
    fn code(self) -> (u8, u8, u8) {
        match self {
            Self::Axis => (1, 0, 0),
            Self::Grid => (2, 0, 0),
            Self::Text => (3, 0, 0),
            Self::Muted => (4, 0, 0),
            Self::Paper => (5, 0, 0),
            Self::Bound => (6, 0, 0),
            Self::Frontier => (7, 0, 0),
            Self::Series(colour, dash) => (8, colour, dash),
            Self::Heat(level) => (9, level, 0),
            Self::HeatText(level) => (10, level, 0),
        }
    }

    /// The classes of the style sheet for a code as the back end writes it (`010203`).
    fn classes(code: &str, paint: &str) -> Option<String> {
        let byte = |at| code.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (role, a, b) = (byte(0)?, byte(2)?, byte(4)?);
        let p = &paint[..1];
        Some(match role {
            1 => format!("{p}-axis"),
            2 => format!("{p}-grid"),
            3 => format!("{p}-text"),
            4 => format!("{p}-muted"),
            5 => format!("{p}-paper"),
            6 => format!("{p}-bound"),
            7 => format!("{p}-front"),
            8 if p == "s" => format!("s-c{a} d{b}"),
            8 => format!("f-c{a}"),
            9 => format!("f-h{a}"),
            10 => format!("f-t{a}"),
            _ => return None,
        })
    }

    fn colour(self) -> RGBAColor {
        let (r, g, b) = self.code();
        RGBAColor(r, g, b, 1.0)
    }
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Left,
    Middle,
    Right,
    /// Turned by a quarter, bottom to top, centred.
    Upright,
}

/// The size of ordinary text in units.
pub(crate) const TEXT: f64 = 12.0;

/// The width that a text of ordinary size will take, about: no font is at hand to measure it.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * TEXT * 0.6
}

/// The role that begins or ends what belongs to a member of a figure: not a paint, so not an [`Ink`].
const MEMBER: u8 = 11;

/// A figure that is being drawn.
pub(crate) struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

/// Draws a figure and returns its SVG, made to be put into the page.
pub(crate) fn draw(
    width: f64,
    height: f64,
    title: &str,
    figure: impl FnOnce(&mut Canvas<'_>) -> Result<()>,
) -> Result<String> {
    let mut raw = String::new();
    let mut canvas = Canvas {
        backend: SVGBackend::with_string(&mut raw, (fine(width).unsigned_abs(), fine(height).unsigned_abs())),
    };
    figure(&mut canvas)?;
    canvas.backend.present().map_err(|error| anyhow!("{error}"))?;
    drop(canvas);
    themed(&raw, title)
}

impl Canvas<'_> {
    pub(crate) fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: u32) -> Result<()> {
        let style =
            ShapeStyle { color: ink.colour(), filled: false, stroke_width: width * fine(1.0).unsigned_abs() };
        self.backend.draw_path(points.iter().copied().map(pixel), &style).map_err(|error| anyhow!("{error}"))
    }

    /// Draws what belongs to a member of the figure, so that the page can hide it: a group of its own, which carries its number.
    pub(crate) fn member(&mut self, number: u8, part: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.mark(number, 1)?;
        part(self)?;
        self.mark(number, 0)
    }

    /// A pixel that is replaced in the finished text: the back end has no groups.
    fn mark(&mut self, number: u8, begins: u8) -> Result<()> {
        let colour = RGBAColor(MEMBER, number, begins, 1.0).to_backend_color();
        self.backend.draw_pixel((0, 0), colour).map_err(|error| anyhow!("{error}"))
    }

    pub(crate) fn area(&mut self, corners: &[(f64, f64)], ink: Ink) -> Result<()> {
        self.backend
            .fill_polygon(corners.iter().copied().map(pixel), &ink.colour())
            .map_err(|error| anyhow!("{error}"))
    }

    pub(crate) fn disc(&mut self, centre: (f64, f64), radius: f64, ink: Ink) -> Result<()> {
        let style = ShapeStyle { color: ink.colour(), filled: true, stroke_width: 1 };
        let radius = fine(radius).unsigned_abs();
        self.backend.draw_circle(pixel(centre), radius, &style, true).map_err(|error| anyhow!("{error}"))
    }

    pub(crate) fn text(&mut self, text: &str, at: (f64, f64), anchor: Anchor, ink: Ink) -> Result<()> {
        let h_pos = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Right => HPos::Right,
            Anchor::Middle | Anchor::Upright => HPos::Center,
        };
        // The back end divides by 1.24.
        let font = ("sans-serif", TEXT * FINE * 1.24).into_font();
        let font = if anchor == Anchor::Upright { font.transform(FontTransform::Rotate270) } else { font };
        let colour = ink.colour();
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(h_pos, VPos::Center));
        self.backend.draw_text(text, &style, pixel(at)).map_err(|error| anyhow!("{error}"))
    }
}

fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    (fine(x), fine(y))
}

/// Whole pixels of a length; what is no number or absurdly far outside is cut, since a drawing has no use for it.
#[expect(clippy::cast_possible_truncation, reason = "clamped to the range of i16 first; NaN becomes 0")]
fn fine(x: f64) -> i32 {
    (x * FINE).round().clamp(-32_000.0, 32_000.0) as i32
}

/// Puts classes in the place of colours, and leaves out what the style sheet says anyway.
///
/// Only attributes can match: in text, the back end escapes quotation marks.
fn themed(raw: &str, title: &str) -> Result<String> {
    let body = raw.split_once('>').context("an SVG without a start tag")?.1;
    let view_box = raw
        .split_once("viewBox=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .context("an SVG without a viewBox")?
        .0;
    let mut out = format!("<svg viewBox=\"{view_box}\" role=\"img\" aria-label=\"{}\">", attribute(title));
    let grouped = grouped(body)?;
    let mut rest = grouped.as_str();
    while let Some((at, paint)) = next_paint(rest) {
        out.push_str(&rest[..at]);
        let value = at + paint.len() + 3;
        let code = rest.get(value..value + 6).context("a colour without six digits")?;
        let classes =
            Ink::classes(code, paint).with_context(|| format!("a colour without a role: {code}"))?;
        out.extend(["class=\"", &classes, "\""]);
        rest = &rest[value + 7..];
    }
    out.push_str(rest);
    for noise in [
        " opacity=\"1\"",
        " font-family=\"sans-serif\"",
        " stroke=\"none\"",
        " stroke-width=\"1\"",
        " stroke-width=\"4\"",
        "\n",
    ] {
        out = out.replace(noise, "");
    }
    Ok(out.replace(&format!(" font-size=\"{}\"", TEXT * FINE), ""))
}

/// Puts groups in the place of the pixels that mark them. An element is a line, and only an attribute can match.
fn grouped(body: &str) -> Result<String> {
    let pixel = format!("fill=\"#{MEMBER:02X}");
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let Some(at) = line.find(&pixel) else {
            out.push_str(line);
            continue;
        };
        let code = line.get(at + pixel.len()..at + pixel.len() + 4).context("a mark without its digits")?;
        let (number, begins) = code.split_at(2);
        if begins == "01" {
            let number = u8::from_str_radix(number, 16).context("a mark without a number")?;
            out.extend(["<g data-f=\"", &number.to_string(), "\">"]);
        } else {
            out.push_str("</g>");
        }
    }
    Ok(out)
}

fn next_paint(text: &str) -> Option<(usize, &'static str)> {
    ["fill", "stroke"]
        .into_iter()
        .filter_map(|paint| Some((text.find(&format!("{paint}=\"#"))?, paint)))
        .min()
}

/// Escapes text for an attribute.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes_and_text_is_escaped() {
        let svg = draw(100.0, 50.0, "a \"title\" & <more>", |canvas| {
            canvas.line(&[(0.0, 0.0), (10.0, 10.0)], Ink::Series(3, 1), 2)?;
            canvas.area(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], Ink::Heat(4))?;
            canvas.disc((5.0, 5.0), 2.0, Ink::Series(2, 0))?;
            canvas.text(
                "</svg><script>x</script> fill=\"#080301\" & 'q'",
                (1.0, 1.0),
                Anchor::Left,
                Ink::Text,
            )
        })
        .unwrap();
        for class in ["s-c3 d1", "f-h4", "f-c2", "f-text"] {
            assert!(svg.contains(&format!("class=\"{class}\"")), "{class}: {svg}");
        }
        assert!(!svg.contains("<script") && !svg.contains("</svg><"), "{svg}");
        assert!(!svg.contains("=\"#"), "{svg}");
        assert!(svg.starts_with("<svg viewBox=\"0 0 400 200\"") && svg.ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn members_are_groups_whatever_their_text_says() {
        let svg = draw(10.0, 10.0, "", |canvas| {
            canvas.line(&[(0.0, 0.0), (1.0, 1.0)], Ink::Axis, 1)?;
            canvas.member(17, |canvas| canvas.text("fill=\"#0B0501", (1.0, 1.0), Anchor::Left, Ink::Text))
        })
        .unwrap();
        assert_eq!((svg.matches("<g data-f=\"17\">").count(), svg.matches("<g ").count()), (1, 1), "{svg}");
        assert_eq!(svg.matches("</g>").count(), 1, "{svg}");
        let inside =
            svg.split("<g data-f=\"17\">").nth(1).and_then(|rest| rest.split("</g>").next()).unwrap();
        assert!(inside.contains("<text") && !inside.contains("polyline"), "{svg}");
        assert!(!svg.contains("<rect"), "{svg}");
    }

    #[test]
    fn numbers_outside_the_drawing_do_no_harm() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            draw(10.0, 10.0, "", |canvas| canvas.line(&[(x, x), (1.0, 1.0)], Ink::Axis, 1)).unwrap();
        }
    }
}
