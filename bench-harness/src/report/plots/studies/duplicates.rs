//! What filters make of keys that repeat: a table.

use super::{
    Figure, Quantity, Record, Run, Shown, StudyPoint, Table, Words, count, label, list, number, records,
    shown, whole,
};
use crate::report::data::status_text;
use crate::report::format::percent;
use crate::store::cell::Status;

pub(super) fn figure(run: &Run<'_>) -> Option<Figure> {
    let mut all = records(run, |point| matches!(point, StudyPoint::Duplicates { .. }));
    let n = all.first()?.point.n()?;
    // Those with something to say first, otherwise in the order of the run.
    all.sort_by_key(|record| record.status == Status::Ok);
    let mut table =
        Table::new(&["filter", "copies", "distinct keys", "outcome", "records kept", "build, ns / key"]);
    for record in &all {
        table.rows.push(vec![
            Shown::text(label(run, &record.filter)),
            Shown { main: percent(copies(record)), detail: String::new(), key: Some(copies(record)) },
            shown(record, Quantity::Distinct, whole),
            Shown::text(status_text(record.status, &record.reason)),
            shown(record, Quantity::Records, whole),
            shown(record, Quantity::BuildNs, number),
        ]);
    }
    let title = format!("Keys that repeat, {} handed over", count(n));
    Some(Words {
        question: "Do keys that repeat do harm?",
        title,
        caption: caption(run, &all),
        reading: "Each filter is built from keys of which a share are copies of others (100 %: one key over and over), at once and, where it \
                  can, one by one; then every key has to be found. It runs in a process with a short deadline. “Keys as they are” is a \
                  peer's own build without the sort that our adaptor does before it. Build times are of one build each.",
    }.figure(Vec::new(), table))
}

fn copies(record: &Record) -> f64 {
    if let StudyPoint::Duplicates { copies, .. } = record.point { copies } else { 0.0 }
}

/// Who copes with anything, and what happens to the others.
fn caption(run: &Run<'_>, all: &[&Record]) -> String {
    let names = |status: &dyn Fn(Status) -> bool| {
        let mut names: Vec<String> = Vec::new();
        for record in all.iter().filter(|record| status(record.status)) {
            let least = all
                .iter()
                .filter(|other| other.filter == record.filter && status(other.status))
                .map(|other| copies(other))
                .fold(f64::INFINITY, f64::min);
            let name = format!("{} (from {} copies)", label(run, &record.filter), percent(least));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let mut subjects: Vec<&str> = all.iter().map(|record| record.filter.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let works = |name: &&&str| {
        all.iter().filter(|record| record.filter == **name).all(|record| record.status == Status::Ok)
    };
    let unhurt = subjects.iter().filter(works).count();
    let mut sentences =
        vec![format!("{unhurt} of {} builds take repeating keys and lose none.", subjects.len())];
    for (what, status) in [
        ("The build never ended within the deadline for", Status::Timeout),
        ("The build gave up for", Status::BuildFailed),
        ("Keys were lost by", Status::VerifyFailed),
        ("Memory ran out for", Status::OutOfMemory),
        ("No plan was possible for", Status::Infeasible),
    ] {
        let names = names(&|other| other == status);
        if !names.is_empty() {
            sentences.push(format!("{what} {}.", list(&names)));
        }
    }
    sentences.join(" ")
}
