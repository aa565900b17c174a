//! Whether the false positives of all cells together are what the filters expect: the distribution of their p-values.

use amq_testkit::statistics::{ks_p_value, ks_statistic};
use anyhow::Result;

use super::super::data::Run;
use super::super::format::{Shown, count, number};
use super::axis::{Axis, Scale, Ticks};
use super::canvas::Ink;
use super::panel::{Coordinate, Guide, Join, Panel};
use super::{Figure, Table, Words, chart, groups, series};

/// A distance this many times 1/√n, or more, happens once in a hundred times (Kolmogorov's distribution).
const ONE_IN_A_HUNDRED: f64 = 1.628;

/// Below it, uniformity is rejected.
const LEVEL: f64 = 0.01;

/// Bins of the table.
const BINS: usize = 10;

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
        let mut values: Vec<f64> = values(run).into_iter().map(|(_, p)| p).collect();
        if values.is_empty() {
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
    let all = steps(values.iter().map(|(_, p)| *p).collect());
    let band = ONE_IN_A_HUNDRED / (values.len() as f64).sqrt();
    let diagonal = |shift: f64| {
        let ends = (0..=50).map(f64::from).map(|x| (x / 50.0, x / 50.0 + shift));
        ends.filter(|(_, y)| (0.0..=1.0).contains(y)).collect::<Vec<_>>()
    };
    let guide = |points, label: &str, ink| Guide::Curve { points, label: label.to_owned(), ink };
    let panels: Vec<Panel> = std::iter::once(Panel {
        title: format!("All {} p-values", values.len()),
        guides: vec![
            guide(diagonal(0.0), "uniform", Ink::Bound),
            guide(diagonal(band), "", Ink::Grid),
            guide(diagonal(-band), "1 in 100 leave this", Ink::Grid),
            guide(all, "measured", Ink::Series(0, 0)),
        ],
        series: Vec::new(),
    })
    .chain(groups(run).into_iter().map(|(title, filters)| {
        Panel {
            title: title.to_owned(),
            guides: vec![guide(diagonal(0.0), "uniform", Ink::Bound)],
            series: filters
                .into_iter()
                .filter_map(|filter| {
                    let own = values.iter().filter(|(other, _)| *other == filter).map(|(_, p)| *p).collect();
                    let points = steps(own)
                        .into_iter()
                        .map(|(x, y)| (Coordinate::exact(x), Coordinate::exact(y)))
                        .collect();
                    series(run, filter, points, Join::Curve)
                })
                .collect(),
        }
    }))
    .filter(|panel| panel.guides.len() > 1 || !panel.series.is_empty())
    .collect();
    let words = Words {
        title: "P-values of all false-positive rates".to_owned(),
        caption: caption(&uniform),
        reading: "One p-value for each filter in each cell: the probability of fewer false positives than were counted, given the rate that the \
                  filter expects of itself; randomised between the counts, so that few hits count too. If every filter keeps its promise \
                  they are spread evenly, and the line follows the diagonal. A line above it at the left: fewer false positives than \
                  expected; below it at the right: more.",
    };
    let x = Axis::new("p-value", Scale::Linear, Ticks::Number).including(0.0);
    let y = Axis::new("share of the cells up to it", Scale::Linear, Ticks::Number).including(0.0);
    chart(run, words, (&x, &y), &panels, table(&values))
}

fn table(values: &[(usize, f64)]) -> Table {
    let mut counts = [0_u64; BINS];
    for (_, p) in values {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "p is in [0, 1]")]
        let bin = ((p * BINS as f64) as usize).min(BINS - 1);
        counts[bin] += 1;
    }
    let mut table = Table::new(&["p-values from", "to", "cells", "even would be"]);
    for (bin, cells) in counts.into_iter().enumerate() {
        let end = |bin: usize| Shown::exact(Some(bin as f64 / BINS as f64), |x| format!("{x:.1}"));
        table.rows.push(vec![
            end(bin),
            end(bin + 1),
            Shown { main: count(cells), detail: String::new(), key: Some(cells as f64) },
            Shown::exact(Some(values.len() as f64 / BINS as f64), number),
        ]);
    }
    table
}

fn caption(uniform: &Uniform) -> String {
    let Uniform { cells, distance, p } = uniform;
    let verdict = if uniform.is_rejected() {
        "That is too far: the expected rates of some filter, or the keys, are not what they are taken for. The panels show whose."
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
