//! The data that the page carries for its downloads: one row for each filter in each cell, as columns and rows.

use anyhow::Result;
use serde_json::{Value, json};

use super::data::{Entry, Floor, Operation, Run};
use super::format::rounded;

const OPERATIONS: [(Operation, &str); 9] = [
    (Operation::Build, "build"),
    (Operation::Insert, "insert"),
    (Operation::Hit, "hit"),
    (Operation::Miss, "miss"),
    (Operation::MissBatch, "miss_batch"),
    (Operation::MissChain, "miss_chain"),
    (Operation::Half, "half_hits"),
    (Operation::HalfFromKey, "half_hits_from_key"),
    (Operation::Remove, "remove"),
];

const COLUMNS: [&str; 31] = [
    "run",
    "filter",
    "family",
    "peer",
    "version",
    "n",
    "fpr_target",
    "alpha_target",
    "alpha",
    "r",
    "k",
    "keys",
    "seed",
    "status",
    "reason",
    "payload_bits_per_key",
    "heap_bits_per_key",
    "peak_build_bits_per_key",
    "file_bytes",
    "fpr_predicted",
    "fpr_expected",
    "fpr_queries",
    "fpr_hits",
    "fpr",
    "fpr_lo95",
    "fpr_hi95",
    "fpr_z",
    "fpr_p",
    "false_negatives",
    "build_attempts",
    "repetitions",
];

/// JSON that may stand in a script element: no character of it can end the element or start a comment.
pub(super) fn json(runs: &[Run<'_>]) -> Result<String> {
    let mut columns: Vec<String> = COLUMNS.map(str::to_owned).to_vec();
    for (_, name) in OPERATIONS {
        columns.extend(["", "_lo95", "_hi95"].map(|end| format!("{name}_ns{end}")));
    }
    columns.extend(["miss_floor_multiple", "hit_floor_k_multiple"].map(str::to_owned));
    let rows: Vec<Vec<Value>> = runs.iter().flat_map(|run| run.entries.iter().map(row)).collect();
    let text = serde_json::to_string(
        &json!({ "schema": crate::store::cell::SCHEMA, "columns": columns, "rows": rows }),
    )?;
    Ok(text
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// A number with seven digits: the page has to stay small, and the stored results have all of them.
fn short(x: Option<f64>) -> Value {
    json!(x.map(|x| rounded(x, 6)))
}

fn row(entry: &Entry<'_>) -> Vec<Value> {
    let cell = entry.row;
    let mut row = vec![
        json!(cell.run),
        json!(cell.filter),
        json!(cell.family),
        json!(cell.peer),
        json!(cell.version),
        json!(cell.n),
        json!(cell.fpr_target),
        json!(cell.alpha_target),
        json!(cell.alpha),
        json!(cell.r),
        json!(cell.k),
        json!(cell.keys),
        // Text: a script's numbers are not wide enough for a seed.
        json!(cell.seed.to_string()),
        json!(entry.status),
        json!(entry.reason),
        short(cell.payload_bits_per_key),
        short(cell.heap_bits_per_key),
        short(cell.peak_build_bits_per_key),
        json!(cell.file_bytes),
        short(cell.fpr_predicted),
        short(cell.fpr_expected),
        json!(cell.fpr_queries),
        json!(cell.fpr_hits),
        short(cell.fpr),
        short(cell.fpr_lo95),
        short(cell.fpr_hi95),
        short(cell.fpr_z),
        short(cell.fpr_p),
        json!(cell.false_negatives),
        json!(cell.build_attempts),
        json!(cell.repetitions),
    ];
    for (operation, _) in OPERATIONS {
        let time = entry.time(operation);
        let interval = time.and_then(|time| time.interval);
        let numbers = [time.map(|time| time.mid), interval.map(|(lo, _)| lo), interval.map(|(_, hi)| hi)];
        row.extend(numbers.map(short));
    }
    row.extend(
        [entry.multiple(Operation::Miss, Floor::Read), entry.multiple(Operation::Hit, Floor::Reads)]
            .map(short),
    );
    row
}
