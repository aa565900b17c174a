//! How long the clusters of tables are, beside their law.

use amq_testkit::statistics::{ks_p_value, ks_statistic};
use anyhow::Result;

use super::{
    Axis, Coordinate, Figure, Guide, Join, Panel, Quantity, Record, Run, Scale, StudyPoint, Table, Ticks,
    Words, chart, count, label, list, number, place, records, series, shown, whole,
};
use crate::report::data::status_text;
use crate::report::format::{Shown, trimmed};
use crate::report::plots::canvas::Ink;

/// Below it, divided by the number of tests, the law is rejected.
const LEVEL: f64 = 0.01;

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let all = records(run, |point| matches!(point, StudyPoint::Clusters { .. }));
    let Some(n) = all.iter().filter_map(|record| record.point.n()).max() else { return Ok(None) };
    let largest: Vec<&Record> = all.iter().copied().filter(|record| record.point.n() == Some(n)).collect();
    let panels: Vec<Panel> =
        largest.chunk_by(|a, b| a.point == b.point).filter_map(|records| panel(run, records)).collect();
    let words = Words {
        question: "Are clusters as long as theory says?",
        title: format!("Lengths of clusters against their law, n = {}", count(n)),
        caption: caption(run, &largest),
        reading: "A cluster starts with a record in its home slot and ends before the next such record or an empty slot; lookups scan it where \
                  nothing tells where a run starts. Lengths are counted in classes; a mark is at the shortest length of its class and shows the \
                  share of clusters in it for each length, the median of all tables, with bars from the smallest to the largest. The line is the \
                  law, by the ballot theorem with Poisson arrivals. Each table is tested by a chi-square test, and its p-values, one a table, \
                  are tested for uniformity (Kolmogorov-Smirnov), at 1 % for all of these tests together.",
    };
    let x = Axis::new("length of a cluster, slots (log)", Scale::Log, Ticks::Count);
    let y = Axis::new("share of clusters a length (log)", Scale::Log, Ticks::Rate);
    chart(run, words, (&x, &y), &panels, table(run, &all))
}

/// Classes of lengths: the first length, the width (unless it has no end), and a quantity there.
fn classes(record: &Record, quantity: Quantity) -> Vec<(f64, f64, (f64, f64, f64))> {
    let values: Vec<(u64, (f64, f64, f64))> = record
        .of(quantity)
        .filter_map(|value| {
            let (mid, lo, hi) = value.summary();
            Some((value.length?, (mid?, lo.or(mid)?, hi.or(mid)?)))
        })
        .collect();
    // Of the last class, which has no end, there is no share a length.
    values
        .windows(2)
        .map(|pair| {
            let width = (pair[1].0 - pair[0].0) as f64;
            (pair[0].0 as f64, width, pair[0].1)
        })
        .collect()
}

fn panel(run: &Run<'_>, records: &[&Record]) -> Option<Panel> {
    let StudyPoint::Clusters { alpha, .. } = records.first()?.point else { return None };
    let law = classes(records[0], Quantity::ClusterLaw);
    let law = law.into_iter().map(|(length, width, (share, ..))| (length, share / width)).collect();
    let points = |record: &Record| {
        let classes = classes(record, Quantity::ClusterShare).into_iter();
        classes
            .map(|(length, width, (mid, lo, hi))| {
                (Coordinate::exact(length), Coordinate::interval(mid / width, lo / width, hi / width))
            })
            .collect()
    };
    Some(Panel {
        title: format!("α = {}", trimmed(alpha)),
        guides: vec![Guide::Curve { points: law, label: "law".into(), ink: Ink::Bound }],
        series: records
            .iter()
            .filter_map(|record| series(run, place(run, &record.filter)?, points(record), Join::Unlabelled))
            .collect(),
    })
}

/// The uniformity of a record's p-values: how many, and the test's own.
fn uniformity(record: &Record) -> Option<(usize, f64)> {
    let samples = record.of(Quantity::ClusterP).flat_map(|value| value.samples.clone());
    let mut p: Vec<f64> = samples.filter(|p| (0.0..=1.0).contains(p)).collect();
    let distance = ks_statistic(&mut p);
    (!p.is_empty()).then(|| (p.len(), ks_p_value(distance, p.len())))
}

fn caption(run: &Run<'_>, records: &[&Record]) -> String {
    let tested: Vec<(String, usize, f64)> = records
        .iter()
        .filter_map(|record| {
            let StudyPoint::Clusters { alpha, .. } = record.point else { return None };
            let (tables, p) = uniformity(record)?;
            Some((format!("{} at α = {}", label(run, &record.filter), trimmed(alpha)), tables, p))
        })
        .collect();
    let tables: usize = tested.iter().map(|(_, tables, _)| tables).sum();
    let against: Vec<String> = tested
        .iter()
        .filter(|(.., p)| *p * (tested.len() as f64) < LEVEL)
        .map(|(name, _, p)| format!("{name} (p = {})", number(*p)))
        .collect();
    if tested.is_empty() {
        "No table had enough clusters to be tested.".to_owned()
    } else if against.is_empty() {
        let lowest = tested.iter().map(|(.., p)| *p).fold(1.0, f64::min);
        format!(
            "Yes: in {} tables nothing speaks against the law (smallest p of {} tests: {}).",
            whole(tables as f64),
            tested.len(),
            number(lowest)
        )
    } else {
        format!("Not where the law is rejected: {}.", list(&against))
    }
}

fn table(run: &Run<'_>, records: &[&Record]) -> Table {
    let mut table = Table::new(&[
        "filter",
        "n",
        "load α",
        "outcome",
        "tables",
        "mean length",
        "mean by the law",
        "p of a table",
        "uniformity of p",
    ]);
    for record in records {
        let StudyPoint::Clusters { n, alpha, .. } = record.point else { continue };
        let tested = uniformity(record);
        table.rows.push(vec![
            Shown::text(label(run, &record.filter)),
            Shown::exact(Some(n as f64), whole),
            Shown::exact(Some(alpha), trimmed),
            Shown::text(status_text(record.status, &record.reason)),
            Shown::exact(tested.map(|(tables, _)| tables as f64), whole),
            shown(record, Quantity::ClusterMean, number),
            Shown::exact(Some(amq::theory::quotient::mean_cluster(alpha)), number),
            shown(record, Quantity::ClusterP, number),
            Shown::exact(tested.map(|(_, p)| p), number),
        ]);
    }
    table
}
