//! Runs that are interrupted, and go on.

mod common;

use std::fs;
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use common::{Place, assert_complete, cells, info};
use predicates::prelude::*;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What does not depend on the clock.
fn counts(place: &Place, run: &str) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    cells(&place.path(run))
        .into_iter()
        .map(|cell| (cell.filter, cell.n, cell.fpr_hits, cell.false_negatives, format!("{:?}", cell.status)))
        .collect()
}

fn start(place: &Place, out: &str, resume: bool) -> Child {
    let mut sweep = Process::new(assert_cmd::cargo::cargo_bin("amq-bench"));
    sweep.current_dir(place.folder.path());
    sweep.args(["sweep", "--sweep", "sweep.toml", "--families", "bloom,quotient", "--out", out]);
    if resume {
        sweep.arg("--resume");
    }
    sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn resume(place: &Place, out: &str) -> assert_cmd::Command {
    let mut sweep = place.program();
    sweep.args(["sweep", "--resume", "--out", out]);
    sweep
}

#[test]
fn a_run_killed_at_random_points_ends_as_one_that_was_not() {
    let place = Place::new();
    let before = Instant::now();
    assert!(start(&place, "whole", false).wait().unwrap().success());
    let whole_time = before.elapsed();
    let expected = counts(&place, "whole");

    let seed = 11;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for round in 0..8 {
        let out = format!("round-{round}");
        let mut finished_before = 0;
        for attempt in 0..3 {
            let mut child =
                start(&place, &out, attempt > 0 && place.path(&out).join("samples.jsonl").exists());
            std::thread::sleep(whole_time.mul_f64(rng.random_range(0.05..0.7)));
            child.kill().unwrap();
            child.wait().unwrap();
            let samples = fs::read_to_string(place.path(&out).join("samples.jsonl")).unwrap_or_default();
            let finished = samples.matches("\"group_done\"").count();
            assert!(finished >= finished_before, "seed {seed}, round {round}: a finished group is gone");
            finished_before = finished;
        }
        let samples = place.path(&out).join("samples.jsonl");
        if !samples.exists() {
            // Killed before there was anything.
            continue;
        }
        // A torn write on top.
        let mut bytes = fs::read(&samples).unwrap();
        bytes.extend_from_slice(b"{\"type\":\"group_sta");
        fs::write(&samples, bytes).unwrap();
        resume(&place, &out).assert().success().stderr(predicate::str::contains("dropped"));
        assert_eq!(counts(&place, &out), expected, "seed {seed}, round {round}");
        assert_complete(&cells(&place.path(&out)));
        assert!(info(&place.path(&out)).finished.is_some());
    }
}

#[test]
#[cfg(unix)]
fn a_full_disk_ends_the_run_in_words_and_it_goes_on_when_there_is_room() {
    let place = Place::new();
    assert!(start(&place, "whole", false).wait().unwrap().success());
    let whole = fs::metadata(place.path("whole/samples.jsonl")).unwrap().len();
    for share in [8, 3, 2] {
        // Files may be so long, in blocks of 512 bytes: beyond it writing fails, as on a full disk.
        let blocks = (whole / share / 512).max(1);
        let out = format!("out-{share}");
        let mut shell = assert_cmd::Command::new("sh");
        shell.current_dir(place.folder.path()).arg("-c").arg(format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" sweep --sweep sweep.toml --families bloom,quotient --out {out}"
        ));
        shell.arg(assert_cmd::cargo::cargo_bin("amq-bench"));
        shell.assert().code(2).stderr(predicate::str::contains("cannot write"));
        if place.path(&out).join("samples.jsonl").metadata().unwrap().len() > 0 {
            resume(&place, &out).assert().success();
            assert_eq!(counts(&place, &out), counts(&place, "whole"), "1/{share}");
            assert_complete(&cells(&place.path(&out)));
        }
    }
}

#[test]
fn a_finished_run_is_left_alone() {
    let place = Place::new();
    assert!(start(&place, "out", false).wait().unwrap().success());
    let files = || {
        ["samples.jsonl", "run.json", "cells.csv", "report.html"]
            .map(|name| fs::read(place.path("out").join(name)).unwrap())
    };
    let before = files();
    resume(&place, "out").assert().success().stderr(predicate::str::contains("is finished"));
    assert_eq!(files(), before);
}

#[test]
fn provenance_is_written_anew_only_where_there_is_none() {
    let place = Place::new();
    assert!(start(&place, "out", false).wait().unwrap().success());
    let run = place.path("out/run.json");
    let whole = fs::read(&run).unwrap();
    let other = String::from_utf8(whole.clone()).unwrap().replacen("\"seed\": 1", "\"seed\": 2", 1);
    for (bytes, said) in [
        (&whole[..whole.len() / 2], "is damaged"),
        (b"{}", "is damaged"),
        (other.as_bytes(), "is not of the run"),
    ] {
        fs::write(&run, bytes).unwrap();
        resume(&place, "out").assert().code(2).stderr(predicate::str::contains(said));
        place.program().args(["report", "out"]).assert().code(2).stderr(predicate::str::contains(said));
        assert_eq!(fs::read(&run).unwrap(), bytes);
    }
    fs::remove_file(&run).unwrap();
    place.program().args(["report", "out"]).assert().code(2).stderr(predicate::str::contains("--resume"));
    resume(&place, "out").assert().success();
    assert!(info(&place.path("out")).finished.is_some());
}

#[test]
fn another_sweep_is_not_mixed_in() {
    let place = Place::new();
    let keys = place.write("keys", b"a\nb\nc\n");
    let mut sweep = place.sweep();
    sweep.args(["--families", "bloom", "--keys"]).arg(&keys).assert().success();
    let other = place.write("other", b"a\nb\nd\n");
    let other = other.to_str().unwrap();
    for (arguments, said) in [
        (vec!["--seed", "2"], "seed: 1 before, 2 now"),
        (vec!["--fpr", "0.5"], "fpr = [0.5]"),
        (vec!["--families", "quotient"], "filters: bloom"),
        (vec!["--keys", other], "file:other now"),
        (vec!["--profile", "smoke"], "name = \"smoke\""),
    ] {
        resume(&place, "out").args(&arguments).assert().code(2).stderr(predicate::str::contains(said));
    }
    // The same file with other keys in it.
    fs::write(&keys, b"a\nb\nd\n").unwrap();
    resume(&place, "out").assert().code(2).stderr(predicate::str::contains("hash of the keys"));
    // Nothing was changed by the attempts.
    fs::write(&keys, b"a\nb\nc\n").unwrap();
    resume(&place, "out").assert().success();
    // Never over results that exist.
    place.sweep().assert().code(2).stderr(predicate::str::contains("not empty"));
}

#[test]
#[cfg(target_os = "linux")]
fn an_interruption_reports_the_finished_groups_and_leaves_no_process() {
    // Long enough to be met at work in its second group, and always the same.
    let place = Place::with_sweep(&common::TINY.replace("repetitions = 2", "repetitions = 200"));
    let keys = (0..2000).map(|i| i.to_string()).collect::<Vec<_>>().join("\n");
    place.write("keys", keys.as_bytes());
    let run = place.path("out");
    let finished = || {
        let samples = fs::read_to_string(run.join("samples.jsonl")).unwrap_or_default();
        samples.matches("\"group_done\"").count()
    };
    let scratch = || {
        let names = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".keys-")).count()
    };
    let begin = |more: &[&str]| {
        let mut sweep = Process::new(assert_cmd::cargo::cargo_bin("amq-bench"));
        sweep.current_dir(place.folder.path()).args(["sweep", "--out", "out"]).args(more);
        let sweep = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let before = finished();
        let deadline = Instant::now() + Duration::from_secs(60);
        // A group more, and a measuring process of the next.
        let mut children = Vec::new();
        while finished() == before || children.is_empty() {
            assert!(Instant::now() < deadline, "a group takes too long");
            std::thread::sleep(Duration::from_millis(5));
            children = children_of(sweep.id());
        }
        (sweep, children)
    };
    let signal = |sweep: &Child, signal| {
        rustix::process::kill_process(rustix::process::Pid::from_child(sweep), signal).unwrap();
    };

    let (mut sweep, children) = begin(&[
        "--sweep",
        "sweep.toml",
        "--families",
        "bloom,quotient",
        "--keys",
        "keys",
        "--n",
        "50,1000,2000",
    ]);
    // A terminal and its supervisor may each send one: the second is no other wish.
    signal(&sweep, rustix::process::Signal::INT);
    std::thread::sleep(Duration::from_millis(20));
    signal(&sweep, rustix::process::Signal::INT);
    assert_eq!(sweep.wait().unwrap().code(), Some(130));
    for child in children {
        assert_eq!(parent_of(child), None, "the measuring process {child} outlived its sweep");
    }
    assert_eq!((finished(), scratch()), (1, 0));
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("</html>"));
    assert_complete(&cells(&run));
    assert_eq!(info(&run).finished, None);

    // Killed, it cannot tidy up: the next one does.
    let (mut sweep, _) = begin(&["--resume"]);
    signal(&sweep, rustix::process::Signal::KILL);
    sweep.wait().unwrap();
    assert_eq!(scratch(), 1);
    let (mut sweep, _) = begin(&["--resume"]);
    signal(&sweep, rustix::process::Signal::INT);
    assert_eq!(sweep.wait().unwrap().code(), Some(130));
    assert_eq!((finished(), scratch()), (3, 0));
}

/// The processes that `parent` started.
#[cfg(target_os = "linux")]
fn children_of(parent: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.filter(|&process| parent_of(process) == Some(parent)).collect()
}

/// The parent of a process; `None` if it is gone.
#[cfg(target_os = "linux")]
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may have anything in it; then come the state and the parent.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn two_sweeps_do_not_share_a_folder() {
    let place = Place::new();
    let mut first = start(&place, "out", false);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !place.path("out/samples.jsonl").exists() {
        assert!(Instant::now() < deadline, "the first sweep does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = place.sweep().assert();
    let said = predicate::str::contains("another sweep is running").or(predicate::str::contains("not empty"));
    second.code(2).stderr(said);
    assert!(first.wait().unwrap().success());
}
