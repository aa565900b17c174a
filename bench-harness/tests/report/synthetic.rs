//! A run that was never measured: sizes and rates from the formulas, times from a small model of caches, chance from a fixed
//! generator. It has the shape of a real run, with everything that goes wrong in one.

use std::collections::BTreeMap;

use amq::theory::{blocked, bloom, bounds, cuckoo, fuse, quotient, ribbon, xor};
use bench_harness::report::{Results, render};
use bench_harness::store::cell::{Cell, Hashing, Mode, SCHEMA, Status, Workload};
use bench_harness::store::run::{Cache, Compiler, FilterInfo, KeyInfo, Machine, NoiseFloor, RunInfo};

/// Deterministic noise.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A filter of the model.
#[derive(Clone, Copy)]
struct Model {
    name: &'static str,
    title: &'static str,
    kind: &'static str,
    peer: Option<&'static str>,
    capabilities: &'static str,
    /// Bits a key and rate for (n, ε).
    plan: fn(f64, f64) -> Option<(f64, f64)>,
    /// Cache lines of a hit and of a miss, nanoseconds of work, build nanoseconds a key, peak over final heap.
    cost: (f64, f64, f64, f64, f64),
}

const GROWING: &str = "insert remove count fingerprints stats grow shrink union intersect multiset-algebra";

const MODELS: &[Model] = &[
    Model {
        name: "bloom",
        title: "Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union intersect",
        plan: |_, e| Some((bloom::bits_per_key(e), e)),
        cost: (6.0, 2.0, 4.0, 12.0, 1.0),
    },
    Model {
        name: "blocked-bloom",
        title: "Blocked Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union",
        plan: blocked_plan,
        cost: (1.0, 1.0, 2.0, 4.0, 1.0),
    },
    Model {
        name: "split-block-bloom",
        title: "Split-block Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union",
        plan: split_plan,
        cost: (1.0, 1.0, 1.0, 2.5, 1.0),
    },
    Model {
        name: "counting-bloom",
        title: "Counting Bloom, 4 bits",
        kind: "bloom",
        peer: None,
        capabilities: "insert remove count",
        plan: |_, e| Some((4.0 * bloom::bits_per_key(e), e)),
        cost: (6.0, 2.0, 5.0, 20.0, 1.0),
    },
    Model {
        name: "quotient",
        title: "Quotient, three state bits",
        kind: "table",
        peer: None,
        capabilities: GROWING,
        plan: |n, e| quotient_plan(n, e, 3.0),
        cost: (1.3, 1.2, 12.0, 40.0, 2.1),
    },
    Model {
        name: "rank-select-quotient",
        title: "Quotient, rank and select",
        kind: "table",
        peer: None,
        capabilities: GROWING,
        plan: |n, e| quotient_plan(n, e, 2.125),
        cost: (1.6, 1.3, 9.0, 45.0, 2.1),
    },
    Model {
        name: "xor",
        title: "Xor",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(xor::cells(whole(n))? as f64 / n, e),
        cost: (3.0, 3.0, 1.5, 60.0, 14.0),
    },
    Model {
        name: "binary-fuse",
        title: "Binary fuse, 3 hashes",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(fuse::layout_3(whole(n))?.cells as f64 / n, e),
        cost: (2.5, 2.5, 1.5, 30.0, 12.0),
    },
    Model {
        name: "binary-fuse-4",
        title: "Binary fuse, 4 hashes",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(fuse::layout_4(whole(n))?.cells as f64 / n, e),
        cost: (3.0, 3.0, 2.0, 34.0, 12.0),
    },
    Model {
        name: "ribbon",
        title: "Ribbon, homogeneous",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: ribbon_plan,
        cost: (1.5, 1.5, 14.0, 80.0, 3.0),
    },
    Model {
        name: "cuckoo",
        title: "Cuckoo",
        kind: "table",
        peer: None,
        capabilities: "insert remove",
        plan: cuckoo_plan,
        cost: (1.5, 2.0, 3.0, 35.0, 1.0),
    },
    Model {
        name: "xorf-fuse8",
        title: "Binary fuse of xorf",
        kind: "static",
        peer: Some("xorf"),
        capabilities: "",
        plan: |n, _| Some((8.0 * fuse::layout_3(whole(n))?.cells as f64 / n, 1.0 / 256.0)),
        cost: (2.5, 2.5, 2.0, 40.0, 13.0),
    },
    Model {
        name: "fastbloom",
        title: "Bloom of fastbloom",
        kind: "bloom",
        peer: Some("fastbloom"),
        capabilities: "insert",
        plan: |_, e| Some((bloom::bits_per_key(e), e)),
        cost: (6.0, 2.5, 14.0, 18.0, 1.0),
    },
    Model {
        name: "qfilter",
        title: "Quotient of qfilter",
        kind: "table",
        peer: Some("qfilter"),
        capabilities: "insert remove count",
        plan: |n, e| {
            let alpha = n / n.log2().ceil().exp2();
            let alpha = if alpha > 0.9 { alpha / 2.0 } else { alpha };
            let r = quotient::remainder_bits(alpha, e)?;
            Some(((f64::from(r) + 2.125) / alpha, quotient::fpr_at_load(alpha, r)))
        },
        cost: (1.6, 1.3, 14.0, 26.0, 1.0),
    },
    Model {
        name: "cuckoofilter",
        title: "Cuckoo of cuckoofilter",
        kind: "table",
        peer: Some("cuckoofilter"),
        capabilities: "insert remove",
        plan: |n, _| Some((8.0 * n.log2().ceil().exp2() / n, 0.03 * n / n.log2().ceil().exp2())),
        cost: (2.0, 2.0, 18.0, 30.0, 1.0),
    },
    Model {
        name: "hash-set",
        title: "Hash set of digests",
        kind: "table",
        peer: Some("std"),
        capabilities: "insert remove count",
        plan: |n, _| Some((72.0 * (n * 8.0 / 7.0).log2().ceil().exp2() / n, n / 64_f64.exp2())),
        cost: (1.5, 1.2, 3.0, 30.0, 1.5),
    },
    Model {
        name: "sorted-array",
        title: "Sorted array of digests",
        kind: "static",
        peer: Some("std"),
        capabilities: "",
        plan: |n, _| Some((64.0, n / 64_f64.exp2())),
        cost: (12.0, 12.0, 30.0, 70.0, 1.5),
    },
];

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of this model, far below 2^53"
)]
fn whole(x: f64) -> u64 {
    x.round() as u64
}

fn blocked_plan(n: f64, e: f64) -> Option<(f64, f64)> {
    // Large numbers of blocks behave like the limit, which is quick to compute.
    let scale = n.min(20_000.0);
    let (blocks, k) = blocked::smallest_blocks(whole(scale), e, 512)?;
    Some((512.0 * blocks as f64 / scale, blocked::fpr_many_blocks(scale / blocks as f64, 512, k)))
}

fn split_plan(n: f64, e: f64) -> Option<(f64, f64)> {
    let scale = n.min(20_000.0);
    let blocks = blocked::smallest_split_blocks(whole(scale), e)?;
    Some((
        256.0 * blocks as f64 / scale,
        blocked::split_fpr_many_blocks(256.0 * scale / (256.0 * blocks as f64)),
    ))
}

fn quotient_plan(_: f64, e: f64, extra: f64) -> Option<(f64, f64)> {
    let r = quotient::remainder_bits(0.95, e)?;
    Some(((f64::from(r) + extra) / 0.95, quotient::fpr_at_load(0.95, r)))
}

fn cells_plan(cells: f64, e: f64) -> Option<(f64, f64)> {
    let r = xor::cell_bits(e)?;
    Some((cells * f64::from(r), xor::fpr(r)))
}

fn ribbon_plan(_: f64, e: f64) -> Option<(f64, f64)> {
    let r = xor::cell_bits(e)?;
    Some((f64::from(r) * (1.0 + ribbon::homogeneous_overhead(64, r)), xor::fpr(r)))
}

fn cuckoo_plan(_: f64, e: f64) -> Option<(f64, f64)> {
    let bits = cuckoo::fingerprint_bits(0.94, 4, e)?;
    Some((f64::from(bits) / 0.94, cuckoo::fpr(0.94, 4, cuckoo::values_beside_empty_mark(bits))))
}

/// Nanoseconds of one independent random line of a table of this size.
fn line_time(bytes: f64) -> f64 {
    [(32e3, 0.6), (1e6, 1.0), (32e6, 3.0), (256e6, 8.0)]
        .iter()
        .find(|(size, _)| bytes <= *size)
        .map_or(13.0, |(_, time)| *time)
}

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

/// The rows of a working filter.
fn rows(
    chance: &mut Chance,
    cells: &mut Vec<Cell>,
    model: &Model,
    base: &Cell,
    bits: f64,
    rate: f64,
    slow: f64,
) {
    let n = base.n as f64;
    let queries = whole((384.0 / rate.max(1e-6)).min(2e6));
    let expected = queries as f64 * rate;
    // Normal where there are many, nothing where there is nothing to see.
    let hits = whole((expected + chance.normal() * expected.sqrt()).max(0.0));
    let spread = 1.96 * (hits.max(1) as f64).sqrt();
    let of_queries = |hits: f64| Some(hits.max(0.0) / queries as f64);
    let (hit_lines, miss_lines, work, build, peak) = model.cost;
    let base = Cell {
        payload_bits_per_key: Some(bits).filter(|_| model.name != "fastbloom"),
        heap_bits_per_key: Some(bits + 512.0 / n),
        peak_build_bits_per_key: Some(bits * peak + 512.0 / n),
        file_bytes: Some(whole(bits * n / 8.0) + 96).filter(|_| model.peer.is_none()),
        fpr_predicted: Some(rate),
        fpr_expected: Some(rate).filter(|_| model.peer.is_none() || rate < 1e-9),
        fpr_queries: Some(queries),
        fpr_hits: Some(hits),
        fpr: of_queries(hits as f64),
        fpr_lo95: of_queries(hits as f64 - spread),
        fpr_hi95: if hits == 0 { of_queries(3.689) } else { of_queries(hits as f64 + spread) },
        fpr_z: (expected > 0.0 && model.peer.is_none()).then(|| (hits as f64 - expected) / expected.sqrt()),
        false_negatives: Some(0),
        build_attempts: Some(1),
        repetitions: Some(9),
        ..base.clone()
    };
    let line = line_time(bits * n / 8.0);
    let lookup = |lines: f64, share: f64| (work * slow + lines * line * share).max(0.4);
    let can = |capability: &str| model.capabilities.split(' ').any(|own| own == capability);
    let mut push = |workload, mode, hit_ratio, time: Option<f64>, floor: Option<f64>| {
        let row = Cell { workload, mode, hit_ratio, ..base.clone() };
        cells.push(match time {
            Some(time) => {
                let time = time * (1.0 + 0.01 * chance.normal());
                Cell {
                    ns_per_op: Some(time),
                    ns_per_op_lo95: Some(time * (0.985 - 0.01 * chance.unit())),
                    ns_per_op_hi95: Some(time * (1.015 + 0.03 * chance.unit())),
                    ns_per_op_min: Some(time * 0.97),
                    floor_multiple: floor.map(|floor| time / floor),
                    ..row
                }
            }
            None => Cell { status: Status::Unsupported, reason: String::new(), ns_per_op: None, ..row },
        });
    };
    push(Workload::Build, Mode::Batch, None, Some(build + line), None);
    push(
        Workload::Insert,
        Mode::Single,
        None,
        can("insert").then_some(build * 1.2 * slow + hit_lines * line),
        None,
    );
    for (ratio, lines) in [(1.0, hit_lines), (0.5, f64::midpoint(hit_lines, miss_lines)), (0.0, miss_lines)] {
        push(Workload::Lookup, Mode::Single, Some(ratio), Some(lookup(lines, 1.0)), Some(line));
    }
    push(Workload::Lookup, Mode::Batch, Some(0.0), Some(lookup(miss_lines, 0.6)), Some(line));
    push(Workload::Lookup, Mode::Chain, Some(0.0), Some(lookup(miss_lines, 9.0)), Some(line));
    push(
        Workload::Remove,
        Mode::Single,
        None,
        can("remove").then_some(build * 1.1 * slow + hit_lines * line),
        None,
    );
}

fn blank(model: &Model, n: u64) -> Cell {
    Cell {
        schema: SCHEMA,
        run: "20260102T030405Z-0123abc".into(),
        filter: model.name.into(),
        family: model.title.into(),
        peer: u8::from(model.peer.is_some()),
        version: "0.1.0".into(),
        capabilities: model.capabilities.into(),
        n,
        fpr_target: None,
        alpha_target: None,
        alpha: None,
        r: None,
        k: None,
        keys: "uniform".into(),
        seed: 42,
        workload: Workload::Build,
        mode: Mode::Single,
        hit_ratio: None,
        hashing: Hashing::Digest,
        status: Status::Ok,
        reason: String::new(),
        payload_bits_per_key: None,
        heap_bits_per_key: None,
        peak_build_bits_per_key: None,
        file_bytes: None,
        fpr_predicted: None,
        fpr_expected: None,
        fpr_queries: None,
        fpr_hits: None,
        fpr: None,
        fpr_lo95: None,
        fpr_hi95: None,
        fpr_z: None,
        fpr_p: None,
        false_negatives: None,
        build_attempts: None,
        repetitions: None,
        ns_per_op: None,
        ns_per_op_lo95: None,
        ns_per_op_hi95: None,
        ns_per_op_min: None,
        floor_multiple: None,
        floor_k_multiple: None,
        records: Some(n),
        floor_chain_multiple: None,
        floor_stream_multiple: None,
        fpr_p_randomised: None,
        fpr_seeds: None,
        fpr_expected_mean: None,
        fpr_predicted_z: None,
    }
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
