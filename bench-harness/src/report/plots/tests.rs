//! Degenerate input to the plots: each returns, none panics.

use super::axis::{Axis, Scale, Ticks};
use super::dots::{self, Dot};
use super::marker::Style;
use super::panel::{self, Coordinate, Guide, Join, Notes, Panel, Series};
use crate::report::data::Run;
use crate::report::tests::info;

fn style() -> Style {
    let info = info();
    Style::of(&Run::new(&info, &[]), 3)
}

fn drawn(ys: &[f64], scale: Scale, join: Join) -> (String, Notes) {
    let points =
        ys.iter().enumerate().map(|(i, &y)| (Coordinate::exact(i as f64), Coordinate::exact(y))).collect();
    let label = format!("{}/\"'<>&#%nan", "p".repeat(70));
    let series = vec![Series { label: label.clone(), style: style(), points, join }];
    let guides = vec![
        Guide::Vertical { x: f64::NAN, label: label.clone() },
        Guide::Horizontal { y: f64::INFINITY, label: label.clone() },
        Guide::Curve { points: vec![], label: label.clone(), ink: super::canvas::Ink::Bound },
    ];
    let panels = [Panel { title: label, guides, series }];
    let (x, y) = (Axis::new("x", Scale::Linear, Ticks::Number), Axis::new("y", scale, Ticks::Rate));
    let mut notes = Notes::default();
    let svg = panel::draw(&panels[0], &x, &y, panel::ranges(&panels, &x, &y), &mut notes).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    (svg, notes)
}

#[test]
fn any_numbers_give_a_drawing() {
    for scale in [Scale::Linear, Scale::Log] {
        for join in [Join::Line, Join::Points, Join::Unlabelled, Join::Level] {
            for ys in [
                &[][..],
                &[7.0],
                &[5.0, 5.0, 5.0],
                &[3e10, 3e10],
                &[f64::NAN],
                &[f64::NAN, 1.0, f64::INFINITY],
                &[0.0],
                &[0.0, 0.0],
                &[-1.0, 2.0],
                &[2.0, 8.0],
                &[0.2, 0.8],
                &[1e-300, 1e300],
                &[190.0, 3000.0],
            ] {
                drawn(ys, scale, join);
            }
        }
    }
}

#[test]
fn a_zero_on_a_log_axis_is_at_the_floor_and_said() {
    let (_, notes) = drawn(&[1e-2, 0.0, 1e-4], Scale::Log, Join::Line);
    assert_eq!(notes, Notes { at_floor: 1, omitted: 0, bounds: 0 });
    assert!(notes.sentence().contains("logarithmic"));
}

#[test]
fn what_is_no_number_is_counted() {
    let (_, notes) = drawn(&[f64::NAN, 1.0], Scale::Linear, Join::Line);
    assert_eq!(notes.omitted, 1);
}

#[test]
fn no_data_says_so() {
    let (svg, _) = drawn(&[], Scale::Log, Join::Line);
    assert!(svg.contains("no data"));
}

#[test]
fn ticks_of_narrow_log_axes_are_drawn() {
    let (svg, _) = drawn(&[2.0, 8.0], Scale::Log, Join::Line);
    assert!(svg.contains("200 %") && svg.contains("800 %"), "{svg}");
}

#[test]
fn dots_take_any_numbers() {
    let axis = Axis::new("ns", Scale::Log, Ticks::Number);
    for values in [&[][..], &[5.0, 5.0], &[0.0], &[f64::NAN, 3.0], &[3e10]] {
        let dots: Vec<Dot> = values
            .iter()
            .map(|&value| Dot {
                label: "<x>".into(),
                style: style(),
                value: Coordinate::exact(value),
                from: Some(0.0),
            })
            .collect();
        let svg = dots::draw("t", &axis, &dots).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("<x>"));
    }
}
