//! What is said of samples whose truth is known.

use bench_harness::compare::{
    Comparison, LEVEL, Method, Pairing, Size, TimedCell, Twins, Verdict, What, compare,
};
use bench_harness::store::cell::Workload;

use crate::synthetic::Truth;

const RUNS: Method = Method { pairing: Pairing::Independent, level: LEVEL, threshold: 0.05 };
const ALTERNATING: Method = Method { pairing: Pairing::ByRepetition, ..RUNS };

fn compared(base: &Truth, new: &Truth, method: Method) -> Comparison {
    compare(&base.side(), &new.side(), method).unwrap()
}

fn called(comparison: &Comparison, verdict: Verdict) -> Vec<(&str, Workload)> {
    let cells = comparison.timed.iter().filter(|cell| cell.verdict == verdict);
    cells.map(|cell| (cell.filter.as_str(), cell.work.workload)).collect()
}

#[test]
fn changes_are_found_and_nothing_else() {
    let new = Truth::new(2).changed(3, "build", 1.2).changed(5, "lookup", 0.8);
    for method in [RUNS, ALTERNATING] {
        let comparison = compared(&Truth::new(1), &new, method);
        assert_eq!(called(&comparison, Verdict::Slower), [("filter-3", Workload::Build)]);
        assert_eq!(called(&comparison, Verdict::Faster), [("filter-5", Workload::Lookup); 2]);
        assert_eq!((comparison.timed.len(), comparison.summary.tested), (36, 36), "nothing is dropped");
        assert_eq!(comparison.summary.verdicts, [1, 2, 33, 0, 0, 0, 0]);
        assert!(comparison.summary.is_regression());
        let change = comparison.most(Verdict::Slower)[0].change.unwrap();
        assert!((1.15..1.25).contains(&change.ratio) && change.low < 1.2 && change.high > 1.2, "{change:?}");
        let lenient = compared(&Truth::new(1), &new, Method { threshold: 0.3, ..method });
        assert_eq!(lenient.summary.verdicts, comparison.summary.verdicts);
        assert!(!lenient.summary.is_regression());
    }
}

/// Each filter takes 1.3 times as long, in a tenth of the repetitions three times more.
#[test]
fn interrupted_repetitions_do_not_hide_a_change() {
    let base = Truth { interrupted: 0.05, ..Truth::new(11) };
    let new = Truth { interrupted: 0.05, ..Truth::new(12) }.changed(4, "lookup", 1.3);
    let comparison = compared(&base, &new, ALTERNATING);
    let found = called(&comparison, Verdict::Slower);
    assert!(found.contains(&("filter-4", Workload::Lookup)), "{found:?}");
    assert!(found.iter().all(|(filter, _)| *filter == "filter-4"), "{found:?}");
}

#[test]
fn what_slows_the_machine_down_is_no_change_of_a_filter() {
    let base = Truth::new(1);
    let slowed = Truth { machine: |_| 1.08, ..Truth::new(2) };
    let comparison = compared(&base, &slowed, RUNS);
    let slower = called(&comparison, Verdict::Slower);
    // Builds have no floor: their own times stand, and the reader sees that all of them moved.
    assert!(slower.iter().all(|(_, workload)| *workload == Workload::Build), "{slower:?}");

    // By a fifth, or within the run, is too much for the floor to make up for, and the sentinel tells it of builds.
    for slowed in [
        Truth { machine: |_| 1.2, ..Truth::new(2) },
        Truth { machine: |i| 1.0 + 0.05 * i as f64, ..Truth::new(2) },
    ] {
        let comparison = compared(&base, &slowed, RUNS);
        assert_eq!(comparison.summary.verdicts, [0, 0, 0, 36, 0, 0, 0]);
        for cell in &comparison.timed {
            let build = cell.work.workload == Workload::Build;
            let said = if build { "the sentinel's computing moved by" } else { "floor moved by" };
            assert!(cell.reason.contains(said), "{}", cell.reason);
        }
    }
    // Alternating sides share it.
    let drifting = |seed| Truth { machine: |i| 1.0 + 0.05 * i as f64, ..Truth::new(seed) };
    let comparison = compared(&drifting(1), &drifting(2), ALTERNATING);
    assert_eq!(comparison.summary.verdicts, [0, 0, 36, 0, 0, 0, 0]);
    // Unless it takes sides.
    let comparison = compared(&base, &Truth { floor: |_| 1.2, ..Truth::new(2) }, ALTERNATING);
    assert_eq!(called(&comparison, Verdict::Unknown).len(), 24);
}

#[test]
fn what_is_missing_is_shown_with_its_reason() {
    let base = Truth::new(1);
    let new = Truth { filters: 11, failed: Some((2, "verify_failed")), ..Truth::new(2) };
    let comparison = compared(&base, &new, RUNS);
    assert_eq!(called(&comparison, Verdict::BaseOnly).len(), 3);
    let unknown: Vec<&TimedCell> =
        comparison.timed.iter().filter(|cell| cell.verdict == Verdict::Unknown).collect();
    assert_eq!(unknown.len(), 3);
    for cell in unknown {
        assert_eq!(cell.filter, "filter-2");
        assert_eq!(cell.reason, "new: verification failed: a made-up reason");
        assert!(cell.ns[0].is_some() && cell.ns[1].is_none());
    }
    // A defect is worse than any time.
    assert!(comparison.summary.is_regression());
    let finding = comparison.built[2].findings[0];
    assert_eq!((finding.what, finding.regression), (What::Status, true));

    let few = Truth { repetitions: 2, ..Truth::new(2) };
    let comparison = compared(&base, &few, RUNS);
    assert_eq!(comparison.summary.verdicts[3], 36);
    assert!(comparison.timed[0].reason.contains("2 repetitions"), "{}", comparison.timed[0].reason);
}

#[test]
fn sizes_and_rates_are_compared_exactly() {
    let base = Truth::new(1);
    let one_bit_more = compared(&base, &Truth { payload_bits: 100_001, ..Truth::new(2) }, RUNS);
    assert_eq!((one_bit_more.summary.findings, one_bit_more.summary.worse), (12, 0));
    assert_eq!(one_bit_more.built[0].findings[0].what, What::Size(Size::Payload));
    let larger = compared(&base, &Truth { payload_bits: 110_000, ..Truth::new(2) }, RUNS);
    assert_eq!((larger.summary.findings, larger.summary.worse), (12, 12));
    assert!(larger.summary.is_regression());

    // 1,000 and 1,050 of 100,000: z = 1.1. 1,250: z = 5.3.
    let chance = compared(&base, &Truth { hits: 1050, ..Truth::new(2) }, RUNS);
    assert_eq!(chance.summary.findings, 0);
    let worse = compared(&base, &Truth { hits: 1250, ..Truth::new(2) }, RUNS);
    assert_eq!((worse.summary.findings, worse.summary.worse), (12, 12));
    let better = compared(&base, &Truth { hits: 800, ..Truth::new(2) }, RUNS);
    assert_eq!((better.summary.findings, better.summary.worse), (12, 0));
    assert!(!better.summary.is_regression());
}

#[test]
fn other_keys_and_seeds_are_refused_by_name() {
    let base = Truth::new(1).side();
    let mut new = Truth::new(2).side();
    new.header.seed = 9;
    new.header.keys.source = "file:other".into();
    new.header.sweep_toml =
        new.header.sweep_toml.replace("lookups_per_pass = 16384", "lookups_per_pass = 4096");
    let error = format!("{:#}", compare(&base, &new, RUNS).unwrap_err());
    for said in
        ["seed: 1 in base, 9 in new", "uniform in base, file:other", "lookups_per_pass: 16384 in base, 4096"]
    {
        assert!(error.contains(said), "{error}");
    }
    let mut new = Truth::new(2).side();
    for sample in &mut new.samples {
        if let bench_harness::store::sample::Sample::GroupStart(start) = sample {
            start.point = bench_harness::store::sample::Point::Rate { n: 500, fpr: 0.01 };
        }
    }
    let error = format!("{:#}", compare(&base, &new, RUNS).unwrap_err());
    assert!(error.contains("no cell in common") && error.contains("n = 500"), "{error}");
}

/// Over 100 comparisons of a build with itself of 300 cells each.
#[test]
fn a_build_is_not_called_different_from_itself() {
    for (method, interrupted) in [(RUNS, 0.0), (ALTERNATING, 0.0), (ALTERNATING, 0.1)] {
        let (mut alone, mut called, mut tested) = (0, 0, 0);
        for seed in 0..100 {
            let truth = |seed| Truth { filters: 100, interrupted, ..Truth::new(seed) };
            let summary = compared(&truth(2 * seed), &truth(2 * seed + 1), method).summary;
            alone += summary.alone;
            tested += summary.tested;
            called += summary.verdicts[0] + summary.verdicts[1];
        }
        assert_eq!(tested, 30_000);
        // The lookups of two runs share a floor, so that they err together; 1 % of single cells, and hardly any among all.
        assert!(alone <= 400, "{alone} of {tested} differ at the 1 % level, {method:?}");
        assert!(called <= 3, "{called} of {tested} are called different, {method:?}");
    }
}

#[test]
fn a_filter_is_compared_with_its_twin() {
    let runs: Vec<_> = (0..20).map(|seed| Truth::new(seed).side()).collect();
    let twins = Twins::of(&runs);
    assert!(!twins.too_many(), "{twins}");
    assert!(twins.to_string().contains("of 60 ("), "{twins}");
    // A twin that is slower is no twin.
    let mut broken = runs;
    for sample in broken.iter_mut().flat_map(|run| &mut run.samples) {
        if let bench_harness::store::sample::Sample::Time(time) = sample
            && time.twin
        {
            time.ns.iter_mut().for_each(|ns| *ns *= 1.3);
        }
    }
    assert!(Twins::of(&broken).too_many());
    assert!(Twins::of(&[]).too_many(), "nothing tested is nothing shown");
}
