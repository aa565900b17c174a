//! How the numbers of a run were checked: what was looked at, what came of it, and what that means.

use anyhow::Result;

use super::data::Run;
use super::format::{Shown, count, number, percent};
use super::plots::uniformity::{self, Uniform};
use super::plots::{Figure, Table};
use crate::store::cell::Status;

/// What the page shows.
pub(super) struct Checked {
    /// Whether the machine was quiet enough, in a sentence.
    pub(super) stamp: String,
    /// What disturbed it, and what to do about it.
    pub(super) disturbances: Vec<(String, String)>,
    /// One check a row.
    pub(super) table: Table,
    /// The p-values, where there are any.
    pub(super) figure: Option<Figure>,
}

pub(super) fn checked(run: &Run<'_>) -> Result<Checked> {
    let (stamp, disturbances) = stamp(run);
    let mut table = Table::new(&["check", "result", "what it means"]);
    for (check, result, meaning) in [keys(run), rates(run), uniform(run), noise(run), drift(run)] {
        table.rows.push(vec![Shown::text(check), Shown::text(result), Shown::text(meaning)]);
    }
    Ok(Checked { stamp, disturbances, table, figure: uniformity::figure(run)? })
}

type Row = (&'static str, String, String);

fn stamp(run: &Run<'_>) -> (String, Vec<(String, String)>) {
    match &run.info.noisy {
        None => ("Whether the machine was noisy was not recorded.".to_owned(), Vec::new()),
        Some(none) if none.is_empty() => {
            ("The machine was quiet: nothing disturbed the times.".to_owned(), Vec::new())
        }
        Some(some) => (
            "Noisy machine: times of this run are doubtful. What was seen, and what to do about it:"
                .to_owned(),
            some.iter().map(|one| (one.seen.clone(), one.remedy.clone())).collect(),
        ),
    }
}

fn keys(run: &Run<'_>) -> Row {
    let verified = run.entries.iter().filter(|entry| entry.row.false_negatives.is_some());
    let (cells, lost, keys) = verified.fold((0_u64, 0_u64, 0_u64), |(cells, lost, keys), entry| {
        (cells + 1, lost + entry.row.false_negatives.unwrap_or(0), keys + entry.row.n)
    });
    let failed = run.entries.iter().filter(|entry| entry.status == Status::VerifyFailed).count();
    (
        "every key is found",
        format!("{} of {} keys lost in {} cells; {failed} cells failed", count(lost), count(keys), count(cells)),
        "Each filter is built alone and asked for every key, after every change too, before anything is timed. One that fails has no numbers."
            .to_owned(),
    )
}

fn rates(run: &Run<'_>) -> Row {
    let judged: Vec<f64> =
        run.entries.iter().filter(|entry| entry.ok()).filter_map(|entry| entry.row.fpr_z).collect();
    let far = judged.iter().filter(|z| z.abs() > 2.0).count();
    let largest = judged.iter().map(|z| z.abs()).fold(0.0, f64::max);
    (
        "false positives as the table expects",
        format!(
            "{far} of {} cells beyond 2 standard deviations, the farthest {}",
            count(judged.len() as u64),
            number(largest)
        ),
        "Chance alone puts one in 22 beyond 2. A filter beyond 4 is asked again with other keys, and fails if they say the same.".to_owned(),
    )
}

fn uniform(run: &Run<'_>) -> Row {
    let result = Uniform::of(run).map_or_else(
        || "not recorded".to_owned(),
        |uniform| {
            let verdict = if uniform.is_rejected() { "rejected" } else { "not rejected" };
            format!("p = {} over {} cells: {verdict}", number(uniform.p), uniform.cells)
        },
    );
    (
        "p-values of all cells even",
        result,
        "Sees what no single cell shows: rates that are all a little too high, or intervals that are too wide.".to_owned(),
    )
}

fn noise(run: &Run<'_>) -> Row {
    let widest = run.info.noise.iter().max_by(|a, b| a.1.p95.total_cmp(&b.1.p95));
    let result = widest.map_or_else(
        || "not measured".to_owned(),
        |(workload, noise)| {
            let median = run.info.noise.values().map(|noise| noise.median).fold(0.0, f64::max);
            format!(
                "19 of 20 pairs within {} ({workload}, the widest of {}); medians up to {}",
                percent(noise.p95),
                run.info.noise.len(),
                percent(median)
            )
        },
    );
    (
        "a filter against itself",
        result,
        "One filter of each group is there twice, and nobody could tell them apart but by noise: no smaller difference is called one.".to_owned(),
    )
}

fn drift(run: &Run<'_>) -> Row {
    let result = run.info.drift.map_or_else(
        || "not measured".to_owned(),
        |drift| {
            format!(
                "arithmetic {}, memory {} between the groups, {} of them",
                percent(drift.compute),
                percent(drift.memory),
                drift.groups
            )
        },
    );
    (
        "the same work all along",
        result,
        "A fixed piece of work is timed in every group. Where it moves, the machine has changed, and times of two groups do not compare; within \
         a group they do."
            .to_owned(),
    )
}
