//! `amq-bench compare` from outside.

use std::fs;

use predicates::prelude::*;

use crate::common::{Place, TINY};

/// A place with two runs of the same sweep.
fn two_runs() -> Place {
    let place = Place::with_sweep(&TINY.replace("repetitions = 2", "repetitions = 3"));
    for out in ["a", "b"] {
        let mut sweep = place.program();
        sweep.args([
            "sweep",
            "--sweep",
            "sweep.toml",
            "--no-peers",
            "--families",
            "bloom,quotient",
            "--out",
            out,
        ]);
        sweep.assert().success();
    }
    place
}

#[test]
fn runs_are_compared_in_every_format() {
    let place = two_runs();
    let compare = |arguments: &[&str]| {
        let mut command = place.program();
        command.arg("compare").args(arguments);
        command.assert()
    };
    let itself = compare(&["a", "a"]).success();
    itself.stdout(
        predicate::str::starts_with("No regression beyond 5 %.")
            .and(predicate::str::contains("0 slower, 0 faster")),
    );
    // What it says of two short runs is a matter of the machine; that every cell is there is not.
    compare(&["a", "b", "--threshold", "1000%", "--format", "json", "--out", "ab.json"]);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(place.path("ab.json")).unwrap()).unwrap();
    let rows = fs::read_to_string(place.path("a/cells.csv")).unwrap().lines().count() - 1;
    assert_eq!(json["timed"].as_array().unwrap().len(), rows);
    assert_eq!(json["summary"]["findings"], 0, "the same seed builds the same filters");

    compare(&["a", "b", "--format", "markdown", "--out", "ab.md"]);
    let markdown = fs::read_to_string(place.path("ab.md")).unwrap();
    assert!(markdown.starts_with("**") && markdown.contains("<details><summary>"), "{markdown}");
    // A row of a table has as many columns as its head, whatever is in it.
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    for table in markdown.split("\n\n").filter(|block| block.starts_with('|')) {
        let head = columns(table.lines().next().unwrap());
        assert!(table.lines().all(|line| columns(line) == head), "{table}");
    }
    let rows = markdown.lines().filter(|line| line.contains("lookup single, 50 % hits |")).count();
    assert!(rows >= 6, "{rows} rows of one workload");
}

#[test]
fn what_cannot_be_compared_is_an_error_that_says_why() {
    let place = two_runs();
    let refused = |arguments: &[&str], said: &str| {
        let mut command = place.program();
        command.arg("compare").args(arguments);
        command.assert().code(2).stderr(predicate::str::contains(said));
    };
    refused(&["a", "none"], "no folder of a run");
    refused(&["a"], "<NEW>");
    refused(&["a", "b", "--threshold", "5"], "write it like 5%");
    refused(&["--twins", "a", "--format", "json"], "--twins");
    let mut other = place.program();
    other.args(["sweep", "--sweep", "sweep.toml", "--families", "bloom", "--seed", "2", "--out", "c"]);
    other.assert().success();
    refused(&["a", "c"], "seed: 1 in base, 2 in new");
    let run = fs::read_to_string(place.path("b/samples.jsonl")).unwrap();
    fs::write(place.path("b/samples.jsonl"), run.replacen("\"schema\":", "\"schema\":9", 1)).unwrap();
    refused(&["a", "b"], "schema");
    refused(&["--twins", "none"], "no folder of a run");

    let mut twins = place.program();
    twins.args(["compare", "--twins", "a"]);
    let output = twins.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("build batch"), "{output:?}");
}
