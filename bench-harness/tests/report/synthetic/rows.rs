//! The rows of a filter in a cell: its sizes and its rate, with chance, and times from a small model of caches.

use bench_harness::store::cell::{Cell, Hashing, Mode, SCHEMA, Status, Workload};

use super::models::{Model, whole};

/// Deterministic noise.
pub(super) struct Chance(pub(super) u64);

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

/// Nanoseconds of one independent random line of a table of this size.
fn line_time(bytes: f64) -> f64 {
    [(32e3, 0.6), (1e6, 1.0), (32e6, 3.0), (256e6, 8.0)]
        .iter()
        .find(|(size, _)| bytes <= *size)
        .map_or(13.0, |(_, time)| *time)
}

/// The rows of a working filter.
pub(super) fn rows(
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
    let stream = Some(bits / 8.0 * 0.1);
    let lookup = |lines: f64, share: f64| (work * slow + lines * line * share).max(0.4);
    let can = |capability: &str| model.capabilities.split(' ').any(|own| own == capability);
    let mut push = |workload, mode, hit_ratio, time: Option<f64>, floor: Option<f64>| {
        let row = Cell { workload, mode, hit_ratio, ..base.clone() };
        let whole_table = matches!(workload, Workload::Merge | Workload::Grow | Workload::Iterate);
        cells.push(match time {
            Some(time) => {
                let time = time * (1.0 + 0.01 * chance.normal());
                Cell {
                    ns_per_op: Some(time),
                    ns_per_op_lo95: Some(time * (0.985 - 0.01 * chance.unit())),
                    ns_per_op_hi95: Some(time * (1.015 + 0.03 * chance.unit())),
                    ns_per_op_min: Some(time * 0.97),
                    floor_multiple: floor.filter(|_| mode != Mode::Chain).map(|floor| time / floor),
                    floor_chain_multiple: floor
                        .filter(|_| mode == Mode::Chain)
                        .map(|floor| time / (9.0 * floor)),
                    floor_stream_multiple: stream.filter(|_| whole_table).map(|stream| time / stream),
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
    for (workload, needed, work) in [
        (Workload::Merge, "union", 0.3),
        (Workload::Grow, "grow", 0.6),
        (Workload::Iterate, "fingerprints", 0.2),
    ] {
        push(workload, Mode::Batch, None, can(needed).then_some(work * bits), None);
    }
}

pub(super) fn blank(model: &Model, n: u64) -> Cell {
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
