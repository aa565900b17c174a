//! A run that was never measured: sizes and rates from the formulas, times from a small model of caches, chance from a fixed
//! generator. It has the shape of a real run, with everything that goes wrong in one.

mod models;
mod rows;

use std::collections::BTreeMap;

use amq::theory::{bounds, cuckoo, quotient};
use bench_harness::report::{Results, render};
use bench_harness::store::cell::{Cell, SCHEMA, Status};
use bench_harness::store::run::{Cache, Compiler, FilterInfo, KeyInfo, Machine, NoiseFloor, RunInfo};

use self::models::{MODELS, Model};
use self::rows::{Chance, blank, rows};

/// The rates that the run asks for.
pub(crate) const RATES: [f64; 4] = [5e-2, 1e-2, 1e-3, 1e-4];
/// Its sizes.
pub(crate) const COUNTS: [u64; 5] = [1_000, 11_511, 100_000, 1_000_000, 10_000_000];

/// The page of these runs.
pub(crate) fn page(runs: &[(RunInfo, Vec<Cell>)]) -> String {
    render(&runs.iter().map(Results::from).collect::<Vec<_>>()).unwrap()
}

/// The run and its cells.
pub(crate) fn run() -> (RunInfo, Vec<Cell>) {
    let mut chance = Chance(7);
    let mut cells = Vec::new();
    for n in COUNTS {
        for fpr in RATES {
            for model in MODELS {
                by_rate(&mut chance, &mut cells, model, n, fpr);
            }
        }
    }
    for model in MODELS.iter().filter(|model| model.kind == "table" && model.peer.is_none()) {
        for r in [4, 8, 12, 16] {
            for alpha in [0.5, 0.75, 0.85, 0.9, 0.95, 0.98] {
                by_shape(&mut chance, &mut cells, model, alpha, r);
            }
        }
    }
    for model in MODELS.iter().filter(|model| model.kind != "table" && model.peer.is_none()) {
        for r in [4, 8, 12, 16] {
            if let Some((bits, rate)) = (model.plan)(1e6, 0.99 * f64::from(r).exp2().recip()) {
                let base = Cell { r: Some(r), ..blank(model, 1_000_000) };
                rows(&mut chance, &mut cells, model, &base, bits, rate, 1.0);
            }
        }
    }
    (info(), cells)
}

/// A run with names that a page, a plot and a file have to survive, and with one row for each status.
pub(crate) fn hostile() -> (RunInfo, Vec<Cell>) {
    let mut chance = Chance(11);
    let mut cells = Vec::new();
    let prefix = "p".repeat(70);
    let names = [
        "a/b".to_owned(),
        "</script><script>document.title='owned'</script>".to_owned(),
        "<b>bold</b> & \"quoted\" 'single' #5 100%".to_owned(),
        format!("{prefix}1"),
        format!("{prefix}2"),
        "nan".to_owned(),
        "=cmd()".to_owned(),
        "line\nbreak \u{2028}".to_owned(),
        "{{ braces }}".to_owned(),
    ];
    let statuses = [
        Status::Ok,
        Status::Unsupported,
        Status::Infeasible,
        Status::BuildFailed,
        Status::VerifyFailed,
        Status::Timeout,
        Status::OutOfMemory,
    ];
    for n in [0, 1, 1_000] {
        for (i, name) in names.iter().enumerate() {
            let mut own = Vec::new();
            by_rate(&mut chance, &mut own, &MODELS[i], n.max(1), 1e-2);
            for cell in &mut own {
                cell.n = n;
                cell.filter.clone_from(name);
                cell.family = format!("{name} <family>");
                "file:<script>x</script>.txt".clone_into(&mut cell.keys);
                if n == 0 {
                    cell.payload_bits_per_key = Some(f64::INFINITY);
                    cell.ns_per_op = Some(f64::NAN);
                }
            }
            cells.extend(own);
        }
        for status in statuses {
            let reason = format!("reason of <{status:?}> & \"more\"");
            cells.push(Cell {
                status,
                reason,
                filter: format!("status-{status:?}"),
                fpr_target: Some(1e-2),
                ..blank(&MODELS[0], n)
            });
        }
    }
    let filters = names.iter().map(|name| FilterInfo {
        name: name.clone(),
        title: name.clone(),
        ..filter_info(&MODELS[0])
    });
    let run = "2026-01-02T03:04:05Z <b>&\"'".to_owned();
    (
        RunInfo {
            run,
            filters: filters.collect(),
            noise: BTreeMap::new(),
            dirty: Some(true),
            finished: None,
            ..info()
        },
        cells,
    )
}

fn by_rate(chance: &mut Chance, cells: &mut Vec<Cell>, model: &Model, n: u64, fpr: f64) {
    let base = Cell { fpr_target: Some(fpr), ..blank(model, n) };
    if model.name == "cuckoofilter" && n == 10_000_000 {
        cells.push(Cell {
            status: Status::BuildFailed,
            reason: "not enough space at 9,961,472 of 10,000,000 keys".into(),
            ..base
        });
    } else if model.name == "ribbon" && fpr < 5e-4 && n == 100_000 {
        cells.push(Cell { status: Status::Timeout, reason: "no end after 60 s".into(), ..base });
    } else if model.name == "split-block-bloom" && fpr < 5e-4 {
        cells.push(Cell {
            status: Status::Infeasible,
            reason: "8 probes reach 0.0001 only above 40 bits/key".into(),
            ..base
        });
    } else if let Some((bits, rate)) = (model.plan)(n as f64, fpr) {
        rows(chance, cells, model, &base, bits, rate, 1.0);
    }
}

fn by_shape(chance: &mut Chance, cells: &mut Vec<Cell>, model: &Model, alpha: f64, r: u32) {
    let n = 1_000_000;
    let base = Cell { alpha_target: Some(alpha), alpha: Some(alpha), r: Some(r), ..blank(model, n) };
    if model.name == "cuckoo" && alpha > 0.96 {
        cells.push(Cell { status: Status::BuildFailed, reason: "full at a load of 0.963".into(), ..base });
        return;
    }
    let (extra, rate, slow) = match model.name {
        "cuckoo" => {
            (3.0, cuckoo::fpr(alpha, 4, cuckoo::values_beside_empty_mark(r + 3)), 1.0 + alpha.powi(8))
        }
        "quotient" => {
            (3.0, quotient::fpr_at_load(alpha, r), 0.7 + quotient::mean_cluster_of_record(alpha) / 12.0)
        }
        _ => (2.125, quotient::fpr_at_load(alpha, r), 0.9 + quotient::mean_cluster(alpha) / 60.0),
    };
    rows(chance, cells, model, &base, (f64::from(r) + extra) / alpha, rate, slow);
}

fn filter_info(model: &Model) -> FilterInfo {
    FilterInfo {
        name: model.name.into(),
        title: model.title.into(),
        kind: model.kind.into(),
        peer: model.peer.map(str::to_owned),
        version: "0.1.0".into(),
        capabilities: model.capabilities.split_whitespace().map(str::to_owned).collect(),
        r: (1, 32),
    }
}

fn info() -> RunInfo {
    let noise = |median, p95| NoiseFloor { pairs: 20, median, p95 };
    RunInfo {
        schema: SCHEMA,
        run: "20260102T030405Z-0123abc".into(),
        started: "2026-01-02T03:04:05Z".into(),
        finished: Some("2026-01-02T03:24:05Z".into()),
        command: ["amq-bench", "sweep", "--profile", "standard", "--seed", "42"].map(str::to_owned).to_vec(),
        sweep: "synthetic".into(),
        sweep_toml: "n = [1000, 11511, 100000, 1000000, 10000000]\nfpr = [0.05, 0.01, 0.001, 0.0001]\n"
            .into(),
        seed: 42,
        repetitions: 9,
        revision: "0123abc".into(),
        dirty: Some(false),
        machine: Machine {
            cpu: "An invented processor".into(),
            cores: 2,
            caches: [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)]
                .map(|(level, bytes)| Cache { level, bytes })
                .to_vec(),
            memory_bytes: Some(24 << 30),
            os: "Linux".into(),
            arch: "x86_64".into(),
            governor: None,
            huge_pages: Some("madvise".into()),
            load_average: Some(0.12),
            steal: Some(0.0),
            clock_resolution_ns: 1.0,
            clock_cost_ns: 21.0,
        },
        compiler: Compiler {
            rustc: "rustc 1.95.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            flags: "release".into(),
        },
        dependencies: BTreeMap::from([
            ("xorf".to_owned(), "0.13.0".to_owned()),
            ("fastbloom".to_owned(), "0.17.0".to_owned()),
        ]),
        keys: KeyInfo {
            source: "uniform".into(),
            read: 10_000_000,
            distinct: 10_000_000,
            duplicates: 0,
            bytes: 0,
        },
        filters: MODELS.iter().map(filter_info).collect(),
        noise: BTreeMap::from([
            ("build batch".to_owned(), noise(0.01, 0.04)),
            ("insert single".to_owned(), noise(0.01, 0.05)),
            ("lookup single".to_owned(), noise(0.01, 0.03)),
            ("lookup batch".to_owned(), noise(0.01, 0.03)),
            ("lookup chain".to_owned(), noise(0.01, 0.03)),
            ("remove single".to_owned(), noise(0.02, 0.06)),
        ]),
        drift: None,
        noisy: None,
        uniformity: None,
    }
}

/// The bound that no static filter goes below, for checks of the fixture itself.
pub(crate) fn bound(fpr: f64) -> f64 {
    bounds::static_bits_per_key(fpr)
}
