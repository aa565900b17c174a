//! Studies from outside: what a sweep stores of them, and that none is lost or run twice.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bench_harness::store::cell::Status;
use bench_harness::store::study::Row;
use common::{Place, TINY, info};
use predicates::prelude::*;

const STUDIES: &str = r"
[studies.hashing]
repetitions = 2

[studies.filling]
n = [300]
r = [8]
repetitions = 2

[studies.cold]
fpr = 1e-2
n = [50]
filters = 20
repetitions = 1
evictions = 1

[studies.builds]
n = [50]
fpr = 1e-2
seeds = 20

[studies.refusal]
n = [100]
r = 8
seeds = 10

[studies.space]
fpr = [1e-2]
from = 10
to = 300
per_decade = 5

[studies.duplicates]
n = 200
copies = [0.01, 1.0]
fpr = 1e-2
deadline_seconds = 0.5
";

fn place() -> Place {
    Place::with_sweep(&format!("{}{STUDIES}", TINY.replace("n = [50, 1000]", "n = [50]")))
}

fn rows(place: &Place, run: &str) -> Vec<Row> {
    let path = place.path(run).join("studies.csv");
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn lines(place: &Place, run: &str) -> Vec<String> {
    let samples = fs::read_to_string(place.path(run).join("samples.jsonl")).unwrap();
    samples.lines().filter(|line| line.contains("\"type\":\"study\"")).map(str::to_owned).collect()
}

#[test]
fn every_study_is_in_the_results_and_the_report() {
    let place = place();
    let mut sweep = place.program();
    sweep.args(["sweep", "--sweep", "sweep.toml", "--out", "out"]);
    // Nothing of ours has a defect, and what peers do to repeating keys is a row, not a failure.
    sweep.assert().success();
    let rows = rows(&place, "out");
    let mut by_study: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &rows {
        by_study.entry(&row.study).or_default().insert(&row.filter);
        if row.status != Status::Ok {
            assert!(!row.reason.is_empty(), "{row:?}");
        }
        if let Some((lo, hi)) = row.lo.zip(row.hi) {
            assert!(row.value.is_some_and(|value| (lo..=hi).contains(&value)), "{row:?}");
        }
    }
    let run = info(&place.path("out"));
    for study in ["cold", "builds", "space", "duplicates"] {
        for filter in &run.filters {
            assert!(by_study[study].contains(filter.name.as_str()), "{study} has no {}", filter.name);
        }
    }
    for filter in run.filters.iter().filter(|filter| filter.capabilities.iter().any(|can| can == "insert")) {
        assert!(by_study["filling"].contains(filter.name.as_str()), "{}", filter.name);
    }
    assert_eq!(by_study["hashing"], BTreeSet::from(["siphash-1-3", "xxh3-64"]));
    // Ours cope with anything; a build that never ends is seen as one.
    let ours =
        |row: &Row| run.filters.iter().any(|filter| filter.name == row.filter && filter.peer.is_none());
    assert!(rows.iter().filter(|row| ours(row)).all(|row| row.status == Status::Ok));
    if cfg!(feature = "peers") && !cfg!(debug_assertions) {
        let hangs = |row: &&Row| row.status == Status::Timeout && row.filter.starts_with("xorf-xor8,");
        assert!(rows.iter().any(|row| hangs(&row)), "a peer that is known to hang did not");
    }
    assert!(fs::read_to_string(place.path("out/report.html")).unwrap().contains("</html>"));
}

#[test]
fn a_run_killed_in_its_studies_goes_on_without_running_any_twice() {
    let place = place();
    let sweep = |out: &str, more: &[&str]| {
        let mut sweep = std::process::Command::new(assert_cmd::cargo::cargo_bin("amq-bench"));
        sweep.current_dir(place.folder.path());
        sweep.args(["sweep", "--sweep", "sweep.toml", "--families", "bloom,quotient,xor", "--out", out]);
        sweep.args(more).stdout(Stdio::null()).stderr(Stdio::null());
        sweep
    };
    assert!(sweep("whole", &[]).status().unwrap().success());
    let whole = lines(&place, "whole");
    let mut before: Vec<String> = Vec::new();
    let path = place.path("out").join("samples.jsonl");
    for attempt in 0..6 {
        let resume: &[&str] = if path.exists() { &["--resume"] } else { &[] };
        let mut child = sweep("out", resume).spawn().unwrap();
        // Killed a little after the first new record.
        let patience = Instant::now();
        while patience.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none() {
            if path.exists() && lines(&place, "out").len() > before.len() + attempt {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().unwrap();
        let now = lines(&place, "out");
        assert_eq!(now[..before.len()], before[..], "a finished record changed");
        before = now;
    }
    place.program().args(["sweep", "--resume", "--out", "out"]).assert().success();
    let after = lines(&place, "out");
    // The last line of the last kill may have been cut, and was then dropped and run again.
    let kept = before.len().saturating_sub(1);
    assert_eq!(after[..kept], before[..kept]);
    let units = |lines: &[String]| {
        let parse = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let units = lines.iter().map(parse).map(|line| format!("{} {}", line["point"], line["filter"]));
        units.collect::<Vec<_>>()
    };
    let (mut after, mut whole) = (units(&after), units(&whole));
    after.sort_unstable();
    whole.sort_unstable();
    assert_eq!(after, whole, "each once");
    place
        .program()
        .args(["sweep", "--resume", "--out", "out"])
        .assert()
        .success()
        .stderr(predicate::str::contains("is finished"));
}
