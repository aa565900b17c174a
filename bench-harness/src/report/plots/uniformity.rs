//! Whether the false positives of all cells together are what the filters expect: the distribution of their p-values.

use amq_testkit::statistics::{ks_p_value, ks_statistic};
use anyhow::Result;

use super::super::data::Run;
use super::super::format::{Shown, number, trimmed};
use super::axis::{Axis, Scale, Ticks};
use super::canvas::Ink;
use super::dots::{self, Dot};
use super::marker::Style;
use super::panel::{Coordinate, Guide, Join, Panel, Series};
use super::{Figure, Table, Words, chart};

/// A distance this many times 1/√n, or more, happens once in a hundred times (Kolmogorov's distribution).
const ONE_IN_A_HUNDRED: f64 = 1.628;

/// Below it, uniformity is rejected.
const LEVEL: f64 = 0.01;

/// Fewer cells of one filter say nothing about it.
const CELLS: usize = 5;

/// The p-values of one run, and the verdict on them.
#[derive(Clone, Debug)]
pub(in super::super) struct Uniform {
    pub(in super::super) cells: usize,
    pub(in super::super) distance: f64,
    pub(in super::super) p: f64,
}

impl Uniform {
    /// What the run says of itself; computed from its cells where it says nothing. `None` without p-values.
    pub(in super::super) fn of(run: &Run<'_>) -> Option<Self> {
        if let Some(known) = run.info.uniformity {
            return Some(Self { cells: known.cells as usize, distance: known.distance, p: known.p });
        }
        Self::of_values(values(run).into_iter().map(|(_, p)| p).collect(), 1)
    }

    /// The test of at least so many values.
    fn of_values(mut values: Vec<f64>, least: usize) -> Option<Self> {
        if values.len() < least {
            return None;
        }
        let distance = ks_statistic(&mut values);
        Some(Self { cells: values.len(), distance, p: ks_p_value(distance, values.len()) })
    }

    pub(in super::super) fn is_rejected(&self) -> bool {
        self.p < LEVEL
    }
}

/// The filter and the p-value of every cell that expects at least one hit.
fn values(run: &Run<'_>) -> Vec<(usize, f64)> {
    run.entries
        .iter()
        .filter(|entry| entry.ok())
        .filter(|entry| {
            entry.row.fpr_expected.unwrap_or(0.0) * entry.row.fpr_queries.unwrap_or(0) as f64 >= 1.0
        })
        .filter_map(|entry| Some((entry.filter, entry.row.fpr_p_randomised?)))
        .filter(|(_, p)| (0.0..=1.0).contains(p))
        .collect()
}

/// The empirical distribution of some p-values.
fn steps(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    values.into_iter().enumerate().map(|(i, p)| (p, (i + 1) as f64 / n)).collect()
}

pub(in super::super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let values = values(run);
    let Some(uniform) = Uniform::of(run).filter(|_| !values.is_empty()) else { return Ok(None) };
    let place = |(p, share)| (Coordinate::exact(p), Coordinate::exact(share));
    let all = steps(values.iter().map(|(_, p)| *p).collect()).into_iter().map(place).collect();
    let band = ONE_IN_A_HUNDRED / (values.len() as f64).sqrt();
    let diagonal = |shift: f64| {
        let ends = (0..=50).map(f64::from).map(|x| (x / 50.0, x / 50.0 + shift));
        ends.filter(|(_, y)| (0.0..=1.0).contains(y)).collect::<Vec<_>>()
    };
    let guide = |points, label: &str, ink| Guide::Curve { points, label: label.to_owned(), ink };
    let panel = Panel {
        title: "All cells".to_owned(),
        guides: vec![
            guide(diagonal(0.0), "uniform", Ink::Bound),
            guide(diagonal(band), "", Ink::Grid),
            guide(diagonal(-band), "1 in 100 beyond", Ink::Grid),
        ],
        series: vec![Series {
            label: "measured".to_owned(),
            style: Style::of(run, 0),
            points: all,
            join: Join::Curve,
        }],
    };
    let own = by_filter(run, &values);
    let words = Words {
        question: "Are the false positives of all cells together what the filters expect?",
        title: "P-values of all false-positive rates".to_owned(),
        caption: format!("{}{}", caption(&uniform), lowest(&own)),
        reading: "One p-value for each filter in each cell: the probability of fewer false positives than were counted, given the rate that the \
                  filter expects of itself; randomised between the counts, so that few hits count too. If every filter keeps its promise \
                  they are spread evenly, and the line follows the diagonal between the outer two, which one run in a hundred leaves. A line \
                  above it at the left: fewer false positives than expected; below it at the right: more. Beside it the same test of each filter's own cells.",
    };
    let x = Axis::new("p-value of a cell", Scale::Linear, Ticks::Number).including(0.0);
    let y = Axis::new("share of the cells up to it", Scale::Linear, Ticks::Number).including(0.0);
    let table = table(&uniform, &own);
    let Some(mut figure) = chart(run, words, (&x, &y), &[panel], table)? else { return Ok(None) };
    if own.len() > 1 {
        let axis = Axis::new("p of the test (log)", Scale::Log, Ticks::Number).including(1.0);
        let dot = |own: &Own| Dot {
            label: own.label.clone(),
            style: Style::of(run, own.filter),
            value: Coordinate::exact(own.uniform.p),
            from: None,
        };
        let dots: Vec<Dot> = own.iter().map(dot).collect();
        figure.panels.push(dots::draw("Filter by filter", &axis, &dots)?);
    }
    Ok(Some(figure))
}

/// The test of one filter's cells.
struct Own {
    filter: usize,
    label: String,
    uniform: Uniform,
}

/// Each filter with enough cells, the least even first.
fn by_filter(run: &Run<'_>, values: &[(usize, f64)]) -> Vec<Own> {
    let of = |filter: usize| {
        let own = values.iter().filter(|(other, _)| *other == filter).map(|(_, p)| *p).collect();
        Some(Own { filter, label: run.filters[filter].label(), uniform: Uniform::of_values(own, CELLS)? })
    };
    let mut all: Vec<Own> = (0..run.filters.len()).filter_map(of).collect();
    all.sort_by(|a, b| a.uniform.p.total_cmp(&b.uniform.p));
    all
}

/// The filter whose cells are least even, and how often chance alone gives one like it.
fn lowest(own: &[Own]) -> String {
    let [Own { label, uniform, .. }, _, ..] = own else { return String::new() };
    let among = i32::try_from(own.len()).unwrap_or(i32::MAX);
    format!(
        " Taken one by one, {label} is the least even, p = {} over {} cells; the lowest of {} is as low by chance alone with probability {}.",
        number(uniform.p),
        uniform.cells,
        own.len(),
        number(1.0 - (1.0 - uniform.p).powi(among))
    )
}

fn table(all: &Uniform, own: &[Own]) -> Table {
    let mut table = Table::new(&["filter", "cells", "largest distance", "p"]);
    let mut row = |label: &str, uniform: &Uniform| {
        table.rows.push(vec![
            Shown::text(label),
            Shown::exact(Some(uniform.cells as f64), trimmed),
            Shown::exact(Some(uniform.distance), number),
            Shown::exact(Some(uniform.p), number),
        ]);
    };
    row("all", all);
    for own in own {
        row(&own.label, &own.uniform);
    }
    table
}

fn caption(uniform: &Uniform) -> String {
    let Uniform { cells, distance, p } = uniform;
    let verdict = if uniform.is_rejected() {
        "That is too far: the expected rates of some filter, or the keys, are not what they are taken for."
    } else {
        "So nothing speaks against the expected rates."
    };
    format!(
        "The p-values of {cells} cells lie at most {} from an even spread; by chance alone they would lie as far or further with \
         probability {} (Kolmogorov and Smirnov). {verdict}",
        number(*distance),
        number(*p)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_at_one() {
        assert_eq!(steps(vec![0.5, 0.25]), [(0.25, 0.5), (0.5, 1.0)]);
        assert_eq!(steps(Vec::new()), []);
    }

    #[test]
    fn verdicts_follow_the_level() {
        let of = |p| Uniform { cells: 10, distance: 0.3, p };
        assert!(of(0.009).is_rejected() && caption(&of(0.009)).contains("too far"));
        assert!(!of(0.02).is_rejected() && caption(&of(0.02)).contains("nothing speaks against"));
    }
}
