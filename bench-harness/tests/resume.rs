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
    for round in 0..4 {
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
fn a_finished_run_can_be_resumed_without_harm() {
    let place = Place::new();
    assert!(start(&place, "out", false).wait().unwrap().success());
    let samples = fs::read(place.path("out/samples.jsonl")).unwrap();
    resume(&place, "out").assert().success();
    assert_eq!(fs::read(place.path("out/samples.jsonl")).unwrap(), samples);
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
fn an_interruption_keeps_the_finished_groups_and_leaves_no_process() {
    let place = Place::new();
    let mut child = start(&place, "out", false);
    let deadline = Instant::now() + Duration::from_secs(30);
    let finished = || {
        let samples = fs::read_to_string(place.path("out/samples.jsonl")).unwrap_or_default();
        samples.matches("\"group_done\"").count()
    };
    while finished() == 0 {
        assert!(Instant::now() < deadline, "the first group takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    // It may have finished just before.
    assert!(status.code() == Some(130) || status.success(), "{status}");
    assert!(finished() >= 1);
    let orphans = Process::new("pgrep").args(["-P", &pid.as_raw_nonzero().to_string()]).output();
    assert!(orphans.map_or(true, |output| output.stdout.is_empty()));
    resume(&place, "out").assert().success();
    assert_complete(&cells(&place.path("out")));
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
