//! The program from outside: whole sweeps, key files, bad usage.

mod common;

use std::collections::BTreeSet;
use std::fs;

use bench_harness::store::cell::{Cell, Hashing, Mode, Workload};
use common::{Place, assert_complete, cells, info};
use predicates::prelude::*;

#[test]
fn a_sweep_ends_in_complete_results() {
    let place = Place::new();
    place.sweep().assert().success().stdout(predicate::str::contains("file://"));
    let run = place.path("out");
    let cells = cells(&run);
    assert_complete(&cells);
    let info = info(&run);
    assert_eq!((info.run.as_str(), info.sweep.as_str(), info.repetitions), ("out", "tiny", 2));
    assert!(
        info.finished.is_some()
            && info.noise.contains_key("lookup single")
            && info.noise.contains_key("build batch")
    );
    // Three points of the axes; every filter in the first two, tables alone in the last.
    let points =
        |cell: &Cell| (cell.n, cell.fpr_target.is_some(), cell.alpha_target.map(|alpha| alpha.to_string()));
    let all: BTreeSet<_> = cells.iter().map(|cell| (cell.filter.clone(), points(cell))).collect();
    for filter in &info.filters {
        let here: Vec<_> = all.iter().filter(|(name, _)| *name == filter.name).collect();
        assert_eq!(here.len(), if filter.kind == "table" { 4 } else { 3 }, "{here:?}");
    }
    let timed = |of: &dyn Fn(&Cell) -> bool| cells.iter().any(|cell| cell.ns_per_op.is_some() && of(cell));
    for mode in [Mode::Single, Mode::Batch, Mode::Chain] {
        for ratio in [0.0, 1.0] {
            assert!(timed(&|cell| cell.mode == mode && cell.hit_ratio == Some(ratio)), "{mode:?} {ratio}");
        }
    }
    assert!(timed(&|cell| cell.hashing == Hashing::Included));
    assert!(timed(&|cell| cell.workload == Workload::Insert && cell.mode == Mode::Batch));
    assert!(timed(&|cell| cell.workload == Workload::Remove));
    let html = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(html.contains("<html"));
    assert!(
        fs::read_dir(&run).unwrap().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("writing"))
    );
}

#[test]
fn the_same_seed_gives_the_same_counts_and_another_does_not() {
    let place = Place::new();
    let figures = |out: &str, seed: &str| {
        let mut sweep = place.program();
        sweep.args([
            "sweep",
            "--sweep",
            "sweep.toml",
            "--no-peers",
            "--n",
            "1000",
            "--out",
            out,
            "--seed",
            seed,
        ]);
        sweep.assert().success();
        cells(&place.path(out))
            .into_iter()
            .map(|cell| (cell.filter, cell.seed, cell.fpr_hits, cell.fpr_queries))
            .collect::<Vec<_>>()
    };
    let first = figures("first", "5");
    assert_eq!(first, figures("second", "5"));
    assert_ne!(first, figures("third", "6"));
}

#[test]
fn a_run_without_a_folder_becomes_the_latest_and_stays_when_the_next_one_comes() {
    let place = Place::new();
    let run = || {
        let mut sweep = place.program();
        sweep.args(["sweep", "--sweep", "sweep.toml", "--families", "bloom", "--n", "50"]);
        sweep.assert().success();
        fs::canonicalize(place.path("reports/latest")).unwrap()
    };
    let (first, second) = (run(), run());
    assert_ne!(first, second);
    for run in [&first, &second] {
        assert_complete(&cells(run));
        assert!(run.starts_with(fs::canonicalize(place.path("reports/runs")).unwrap()));
        assert_eq!(info(run).run, run.file_name().unwrap().to_string_lossy());
    }
}

#[test]
fn key_files_are_bytes_in_lines() {
    let distinct: Vec<Vec<u8>> =
        (0..60_u8).map(|i| vec![b'k', i.wrapping_add(0xA0), b'/', 0, i / 2 + 11]).collect();
    let join = |end: &[u8]| distinct.iter().flat_map(|key| [&key[..], end].concat()).collect::<Vec<u8>>();
    let mut without_last = join(b"\n");
    without_last.pop();
    let huge = [vec![b'x'; 1 << 20], b"\nshort\n".to_vec()].concat();
    for (name, bytes, n, duplicates) in [
        ("newlines", join(b"\n"), 60, 0),
        ("crlf", join(b"\r\n"), 60, 0),
        ("no-last-newline", without_last, 60, 0),
        ("twice", join(b"\n").repeat(2), 60, 60),
        ("one", b"a".to_vec(), 1, 0),
        ("empty-key", b"\n".to_vec(), 1, 0),
        ("one-long-line", huge, 2, 0),
        ("three", b"b\n\nc\n\n".to_vec(), 3, 1),
    ] {
        let place = Place::new();
        let keys = place.write(&format!("{name}<b>.txt"), &bytes);
        let mut sweep = place.sweep();
        sweep.args(["--families", "bloom,quotient,xor", "--keys"]).arg(&keys);
        sweep.assert().success().stderr(predicate::str::contains("duplicates removed"));
        let run = place.path("out");
        let info = info(&run);
        assert_eq!((info.keys.distinct, info.keys.duplicates), (n, duplicates), "{name}");
        assert_eq!(info.keys.source, format!("file:{name}<b>.txt"));
        let cells = cells(&run);
        assert_complete(&cells);
        assert_eq!(cells.iter().map(|cell| cell.n).max(), Some(n), "{name}");
        assert!(cells.iter().all(|cell| cell.keys == info.keys.source));
        let report = fs::read_to_string(run.join("report.html")).unwrap();
        assert!(!report.contains("<b>.txt"), "{name}: the file's name is not escaped");
    }
}

#[test]
fn unusable_input_ends_with_2_and_says_why() {
    let place = Place::new();
    let empty = place.write("empty", b"");
    let empty = empty.to_str().unwrap();
    place.write("three", b"a\nb\nc\n");
    let folder = place.folder.path().to_str().unwrap();
    place.write("bad.toml", b"name = 3");
    place.write("typo.toml", common::TINY.replace("budget", "buget").as_bytes());
    place.write("bad-fpr.toml", common::TINY.replace("fpr = [1e-2]", "fpr = [2]").as_bytes());
    place.write("out-file", b"");
    fs::create_dir(place.path("full")).unwrap();
    place.write("full/something", b"");
    for (arguments, said) in [
        (vec!["sweep", "--keys", empty], "empty"),
        (vec!["sweep", "--keys", folder], "is a directory"),
        (vec!["sweep", "--keys", "nowhere"], "nowhere"),
        (vec!["sweep", "--keys", "/dev/null"], "a pipe or a device"),
        (vec!["sweep", "--keys", "three", "--n", "10"], "3 distinct keys"),
        (vec!["sweep", "--sweep", "nowhere.toml"], "nowhere.toml"),
        (vec!["sweep", "--sweep", "bad.toml"], "bad.toml"),
        (vec!["sweep", "--sweep", "typo.toml"], "buget"),
        (vec!["sweep", "--sweep", "bad-fpr.toml"], "rates.fpr = 2"),
        (vec!["sweep", "--profile", "huge"], "smoke, quick, standard, full"),
        (vec!["sweep", "--profile", "quick", "--sweep", "sweep.toml"], "cannot be used with"),
        (vec!["sweep", "--families", "blom"], "\"blom\""),
        (vec!["sweep", "--n", "1.5"], "1.5 is not a whole number"),
        (vec!["sweep", "--n", "9007199254740993"], "9007199254740993 is not a whole number from 1 to 2^53"),
        (vec!["sweep", "--n", "0"], "0 is not a whole number"),
        (vec!["sweep", "--n", "50,50"], "twice"),
        (vec!["sweep", "--fpr", "0"], "rates.fpr = 0"),
        (vec!["sweep", "--fpr", "NaN"], "rates.fpr = NaN"),
        (vec!["sweep", "--fpr", "x"], "'x'"),
        (vec!["sweep", "--alpha", "1.5"], "loads.alpha = 1.5"),
        (vec!["sweep", "--r", "0"], "loads.r = 0"),
        (vec!["sweep", "--seed", "-1"], "-1"),
        (vec!["sweep", "--out", "out-file"], "not a folder"),
        (vec!["sweep", "--out", "full"], "not empty"),
        (vec!["sweep", "--resume"], "no latest run"),
        (vec!["sweep", "--resume", "--out", "nothing"], "no run to continue"),
        (vec!["report", "nothing"], "nothing"),
        (vec!["report", "a", "b"], "--output"),
        (vec!["report"], "DIR"),
        (vec!["sweeep"], "sweep"),
        (vec![], "Usage"),
    ] {
        let assert = place.program().args(&arguments).assert();
        assert.code(2).stderr(predicate::str::contains(said).and(predicate::str::contains("panicked").not()));
    }
}

#[test]
#[cfg(unix)]
fn a_key_file_whose_name_is_not_text_is_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"k\xff");
    fs::write(place.folder.path().join(name), b"a\nb\n").unwrap();
    place.sweep().args(["--families", "bloom", "--keys"]).arg(name).assert().success();
    assert_eq!(info(&place.path("out")).keys.source, "file:k\u{fffd}");
}

#[test]
#[cfg(unix)]
fn an_unreadable_key_file_is_named() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    // Permissions do not stop the superuser; a loop of links stops everybody.
    symlink(place.path("loop"), place.path("loop")).unwrap();
    let assert = place.program().args(["sweep", "--keys", "loop"]).assert();
    assert.code(2).stderr(predicate::str::contains("cannot read the key file loop"));
}

#[test]
fn a_filter_that_runs_out_of_memory_or_time_keeps_its_rows() {
    // Too little memory for 10^7 digests.
    let (rates_only, _) = common::TINY.split_once("[loads]").unwrap();
    let place = Place::with_sweep(&rates_only.replace("memory_limit_mib = 1024", "memory_limit_mib = 64"));
    let mut sweep = place.sweep();
    sweep.args(["--families", "bloom", "--n", "1e7"]).assert().success();
    let all = cells(&place.path("out"));
    assert!(!all.is_empty() && all.iter().all(|cell| cell.ns_per_op.is_none()));
    let reasons: Vec<_> = all.iter().map(|cell| (cell.status, cell.reason.as_str())).collect();
    let out_of_memory = bench_harness::store::cell::Status::OutOfMemory;
    assert!(
        reasons.iter().all(|(status, reason)| *status == out_of_memory && !reason.is_empty()),
        "{reasons:?}"
    );

    let place = Place::with_sweep(&rates_only.replace("deadline_seconds = 30", "deadline_seconds = 1e-4"));
    let mut sweep = place.sweep();
    sweep.args(["--families", "bloom", "--n", "1e6"]).assert().success();
    let all = cells(&place.path("out"));
    let timeout = bench_harness::store::cell::Status::Timeout;
    assert!(all.iter().all(|cell| cell.status == timeout && cell.reason.contains("deadline")), "{all:?}");
}

#[test]
fn filters_are_listed() {
    let place = Place::new();
    place.program().arg("list").assert().success().stdout(predicate::str::contains("bloom"));
    let output = place.program().args(["list", "--json"]).assert().success().get_output().stdout.clone();
    let filters: Vec<bench_harness::store::run::FilterInfo> = serde_json::from_slice(&output).unwrap();
    assert_eq!(filters.len(), bench_harness::registry::filters().len());
}

#[test]
fn reports_are_made_again_from_samples() {
    let place = Place::new();
    for out in ["a", "b"] {
        let mut sweep = place.program();
        sweep.args(["sweep", "--sweep", "sweep.toml", "--families", "bloom", "--n", "50", "--out", out]);
        sweep.assert().success();
    }
    let before = fs::read(place.path("a/cells.csv")).unwrap();
    fs::remove_file(place.path("a/cells.csv")).unwrap();
    fs::remove_file(place.path("a/report.html")).unwrap();
    place.program().args(["report", "a"]).assert().success();
    assert_eq!(fs::read(place.path("a/cells.csv")).unwrap(), before);
    assert!(place.path("a/report.html").is_file());
    // Into another file: the folders are only read, even while a sweep has them.
    let lock = fs::File::open(place.path("a/.lock")).unwrap();
    lock.lock().unwrap();
    fs::remove_file(place.path("a/cells.csv")).unwrap();
    place.program().args(["report", "a", "b", "--output", "both.html"]).assert().success();
    place.program().args(["report", "a", "--output", "one.html"]).assert().success();
    assert!(place.path("both.html").is_file() && place.path("one.html").is_file());
    assert!(!place.path("a/cells.csv").exists());
    let another = predicate::str::contains("another sweep is running");
    place.program().args(["report", "a"]).assert().code(2).stderr(another);
}

#[test]
fn numbers_of_keys_that_were_asked_for_are_the_only_ones() {
    let place = Place::new();
    let keys = (0..300).map(|i| i.to_string()).collect::<Vec<_>>().join("\n");
    let keys = place.write("keys", keys.as_bytes());
    let mut sweep = place.sweep();
    sweep.args(["--families", "bloom", "--n", "20,100,1000", "--keys"]).arg(&keys);
    sweep.assert().success().stderr(predicate::str::contains("n = 1,000 is left out"));
    let swept: BTreeSet<_> = cells(&place.path("out")).iter().map(|cell| cell.n).collect();
    assert_eq!(swept, BTreeSet::from([20, 100]));
    // A run that goes on has the same.
    let mut resume = place.program();
    resume.args(["sweep", "--resume", "--out", "out"]).assert().success();
}

#[test]
fn more_keys_than_memory_are_rows_and_the_sweep_goes_on() {
    let place = Place::new();
    let mut sweep = place.sweep();
    sweep.args(["--families", "bloom,quotient,xor", "--n", "1e12,50"]).assert().success();
    let (huge, small): (Vec<_>, Vec<_>) =
        cells(&place.path("out")).into_iter().partition(|cell| cell.n == 1_000_000_000_000);
    assert_complete(&small);
    let filters: BTreeSet<_> = huge.iter().map(|cell| cell.filter.as_str()).collect();
    assert_eq!(filters.len(), 3);
    for cell in &huge {
        assert_eq!(cell.status, bench_harness::store::cell::Status::OutOfMemory, "{cell:?}");
        assert!(
            cell.reason.contains("memory_limit_mib") && cell.reason.contains("7,629,395 MiB"),
            "{cell:?}"
        );
    }
}
