//! From samples to cells: medians, intervals, ratios. A pure function, so that a report can always be made again.
//!
//! [`rates`] is about false positives, [`steadiness`] about the machine.

pub mod rates;
pub mod steadiness;

use std::collections::BTreeMap;

use amq::Capability;
use amq_testkit::statistics::{median, median_interval};

use self::rates::Rate;
pub use self::rates::{Queries, uniformity};
pub use self::steadiness::{disturbances, drift, noise, noise_key};
use super::cell::{Cell, Mode, SCHEMA, Status, Workload};
use super::run::FilterInfo;
use super::sample::{Access, Facts, Fault, Floor, GroupStart, Header, Point, Sample, Time, Verify, Work};
use super::study::Record;

/// A floor whose middle half spreads over more than this share of its median has moved too far to be a measure. (The range
/// would grow with the number of repetitions, and one interrupt would condemn it.)
const FLOOR_SPREAD: f64 = 0.10;

/// The samples of one group.
#[derive(Debug, Default)]
struct Group<'a> {
    start: Option<&'a GroupStart>,
    verdicts: Vec<&'a Verify>,
    faults: Vec<&'a Fault>,
    times: Vec<&'a Time>,
    floors: Vec<&'a Floor>,
}

fn by_group(samples: &[Sample]) -> BTreeMap<usize, Group<'_>> {
    let mut groups: BTreeMap<usize, Group<'_>> = BTreeMap::new();
    for sample in samples {
        match sample {
            Sample::Run(_)
            | Sample::GroupDone(_)
            | Sample::Clock(_)
            | Sample::Sentinel(_)
            | Sample::Environment(_)
            | Sample::Study(_) => {}
            Sample::GroupStart(start) => groups.entry(start.group).or_default().start = Some(start),
            Sample::Verify(verify) => groups.entry(verify.group).or_default().verdicts.push(verify),
            Sample::Fault(fault) => groups.entry(fault.group).or_default().faults.push(fault),
            Sample::Time(time) => groups.entry(time.group).or_default().times.push(time),
            Sample::Floor(floor) => groups.entry(floor.group).or_default().floors.push(floor),
        }
    }
    groups
}

/// One cell for each filter, point and workload, in the order of the groups. A filter that failed has its cells too, with the
/// status and without times.
pub fn cells(header: &Header, samples: &[Sample]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for group in by_group(samples).values() {
        let Some(start) = group.start else { continue };
        for verdict in &group.verdicts {
            let Some(filter) = header.filters.iter().find(|filter| filter.name == verdict.filter) else {
                continue;
            };
            let common = common(header, start, verdict, filter);
            let fault = group.faults.iter().find(|fault| fault.filter == verdict.filter);
            for work in &start.works {
                cells.push(cell(&common, work, group, filter, (fault.copied(), &verdict.facts)));
            }
        }
    }
    cells
}

/// What studies found, in the order in which they were run.
pub fn studies(samples: &[Sample]) -> Vec<Record> {
    let records = samples.iter().filter_map(|sample| match sample {
        Sample::Study(record) => Some(record.clone()),
        _ => None,
    });
    records.collect()
}

/// What all workloads of a filter share in a cell.
fn common(header: &Header, start: &GroupStart, verdict: &Verify, filter: &FilterInfo) -> Cell {
    let facts = &verdict.facts;
    let n = start.point.n();
    let per_key = |bits: u64| bits as f64 / n as f64;
    let rate = Rate::of(facts);
    let seeds = rates::of_seeds(start.seed, facts);
    let expected = rates::Expectation::of(facts, &seeds);
    let (fpr_target, alpha_target, r_target) = match start.point {
        Point::Rate { fpr, .. } => (Some(fpr), None, None),
        Point::Load { alpha, r, .. } => (None, (filter.kind == "table").then_some(alpha), Some(r)),
    };
    Cell {
        schema: SCHEMA,
        run: header.run.clone(),
        filter: filter.name.clone(),
        family: filter.title.clone(),
        peer: u8::from(filter.peer.is_some()),
        version: filter.version.clone(),
        capabilities: filter.capabilities.join(" "),
        n,
        fpr_target,
        alpha_target,
        alpha: facts.alpha,
        r: r_target.or(facts.r),
        k: facts.k,
        keys: header.keys.source.clone(),
        seed: start.seed,
        workload: Workload::Build,
        mode: Mode::Batch,
        hit_ratio: None,
        hashing: super::cell::Hashing::Digest,
        status: verdict.status,
        reason: verdict.reason.clone(),
        payload_bits_per_key: facts.payload_bits.map(per_key),
        heap_bits_per_key: facts.heap_bytes.map(|bytes| per_key(bytes.saturating_mul(8))),
        peak_build_bits_per_key: facts.peak_bytes.map(|bytes| per_key(bytes.saturating_mul(8))),
        file_bytes: facts.file_bytes,
        fpr_predicted: facts.fpr_predicted,
        fpr_expected: facts.fpr_expected,
        fpr_queries: facts.fpr_queries,
        fpr_hits: facts.fpr_hits,
        fpr: rate.map(|rate| rate.fpr),
        fpr_lo95: rate.map(|rate| rate.low),
        fpr_hi95: rate.map(|rate| rate.high),
        fpr_z: rate.and_then(|rate| rate.z),
        fpr_p: rate.and_then(|rate| rate.p),
        false_negatives: facts.false_negatives,
        build_attempts: facts.build_attempts,
        repetitions: None,
        ns_per_op: None,
        ns_per_op_lo95: None,
        ns_per_op_hi95: None,
        ns_per_op_min: None,
        floor_multiple: None,
        floor_k_multiple: None,
        records: Some(start.records.unwrap_or(n)),
        floor_chain_multiple: None,
        floor_stream_multiple: None,
        fpr_p_randomised: seeds.first().and_then(|seed| rates::randomised(&verdict.filter, seed)),
        fpr_seeds: u32::try_from(seeds.len()).ok().filter(|&seeds| seeds > 0),
        fpr_expected_mean: expected.map(|expected| expected.mean),
        fpr_predicted_z: expected.and_then(|expected| expected.z_of_predicted),
    }
}

fn cell(
    common: &Cell,
    work: &Work,
    group: &Group<'_>,
    filter: &FilterInfo,
    (fault, facts): (Option<&Fault>, &Facts),
) -> Cell {
    let Work { workload, mode, hit_ratio, hashing } = *work;
    let mut cell = Cell { workload, mode, hit_ratio, hashing, ..common.clone() };
    if let Some(fault) = fault {
        cell.status = fault.status;
        cell.reason.clone_from(&fault.reason);
    }
    if cell.status != Status::Ok {
        return cell;
    }
    let find = |time: &&&Time| !time.twin && time.filter == filter.name && time.work == *work;
    let Some(time) = group.times.iter().find(find) else {
        if let Some(refused) = facts.refused.iter().find(|refused| refused.workload == workload) {
            (cell.status, cell.reason) = (Status::Infeasible, refused.reason.clone());
            return cell;
        }
        cell.status = Status::Unsupported;
        let can = |needed: Capability| filter.capabilities.iter().any(|own| own == needed.name());
        cell.reason = workload.lacks(can).unwrap_or_else(|| "not timed".into());
        return cell;
    };
    let mut ns = time.ns.clone();
    cell.repetitions = u32::try_from(ns.len()).ok();
    cell.ns_per_op = median(&mut ns);
    if let Some(interval) = median_interval(&mut ns, 0.95) {
        (cell.ns_per_op_lo95, cell.ns_per_op_hi95) = (Some(interval.low), Some(interval.high));
    }
    cell.ns_per_op_min = ns.iter().copied().min_by(f64::total_cmp);
    let over = |access, reads| {
        let floor = |floor: &&&Floor| {
            (floor.access, floor.reads) == (access, reads) && floor.filters.contains(&filter.name)
        };
        group.floors.iter().find(floor).and_then(|floor| floor_multiple(&time.ns, &floor.ns))
    };
    if workload == Workload::Lookup {
        cell.floor_multiple = over(Access::Random, 1);
        // Only a lookup of a member needs all k places.
        let k = cell.k.filter(|_| hit_ratio == Some(1.0));
        cell.floor_k_multiple = k.and_then(|reads| over(Access::Random, reads));
        if mode == Mode::Chain {
            cell.floor_chain_multiple = over(Access::Chain, 1);
        }
    }
    if workload.is_pass() {
        // From a record over a line to all records over all lines.
        let lines = facts.table_bytes.map(|bytes| bytes.div_ceil(64).max(1) as f64);
        let per_line = cell.records.zip(lines).map(|(records, lines)| records as f64 / lines);
        cell.floor_stream_multiple =
            over(Access::Stream, 1).zip(per_line).map(|(multiple, records)| multiple * records);
    }
    cell
}

/// The median over repetitions of a time over the floor's in the same repetition; `None` where the floor moved.
pub fn floor_multiple(ns: &[f64], floor: &[f64]) -> Option<f64> {
    if ns.len() != floor.len() || relative_spread(floor)? > FLOOR_SPREAD {
        return None;
    }
    let mut ratios: Vec<_> = ns.iter().zip(floor).map(|(ns, floor)| ns / floor).collect();
    median(&mut ratios).filter(|multiple| multiple.is_finite())
}

/// The distance of the quartiles over the median. The quartiles are the medians of the lower and the upper half, the middle
/// value belonging to both.
pub fn relative_spread(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    let middle = median(&mut sorted)?;
    let half = sorted.len().div_ceil(2);
    let (mut lower, mut upper) = (sorted[..half].to_vec(), sorted[sorted.len() - half..].to_vec());
    Some((median(&mut upper)? - median(&mut lower)?) / middle)
}

/// The name of a mode in `cells.csv`.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Single => "single",
        Mode::Batch => "batch",
        Mode::Chain => "chain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::cell::Hashing;
    use crate::store::run::KeyInfo;
    use crate::store::sample::GroupDone;

    const LOOKUP: Work = Work {
        workload: Workload::Lookup,
        mode: Mode::Single,
        hit_ratio: Some(0.5),
        hashing: Hashing::Digest,
    };
    const HITS: Work = Work { hit_ratio: Some(1.0), ..LOOKUP };
    const INSERT: Work =
        Work { workload: Workload::Insert, mode: Mode::Single, hit_ratio: None, hashing: Hashing::Digest };

    fn filter(name: &str, kind: &str) -> FilterInfo {
        FilterInfo {
            name: name.into(),
            title: name.to_uppercase(),
            kind: kind.into(),
            peer: None,
            version: "1".into(),
            capabilities: if kind == "table" { vec!["insert".into()] } else { vec![] },
            r: (1, 10),
        }
    }

    fn header() -> Header {
        Header {
            schema: SCHEMA,
            run: "run".into(),
            sweep_toml: String::new(),
            seed: 1,
            keys: KeyInfo { source: "uniform".into(), ..KeyInfo::default() },
            key_file: None,
            key_hash: 0,
            filters: vec![filter("solid", "static"), filter("slots", "table")],
        }
    }

    fn verify(name: &str, status: Status, reason: &str) -> Sample {
        let facts = Facts {
            payload_bits: Some(8000),
            heap_bytes: Some(1100),
            peak_bytes: Some(2000),
            fpr_expected: Some(0.01),
            fpr_queries: Some(10_000),
            fpr_hits: Some(120),
            r: Some(7),
            k: Some(3),
            ..Facts::default()
        };
        Sample::Verify(Verify { group: 0, filter: name.into(), status, reason: reason.into(), facts })
    }

    fn time(name: &str, twin: bool, work: Work, ns: &[f64]) -> Sample {
        Sample::Time(Time { group: 0, filter: name.into(), twin, work, ns: ns.to_vec() })
    }

    fn floor(reads: u32, ns: &[f64]) -> Sample {
        Sample::Floor(Floor {
            group: 0,
            table_bytes: 1000,
            filters: vec!["solid".into(), "slots".into()],
            access: Access::Random,
            reads,
            ns: ns.to_vec(),
        })
    }

    fn start(point: Point) -> Sample {
        let filters = vec!["solid".into(), "slots".into()];
        Sample::GroupStart(GroupStart {
            group: 0,
            point,
            seed: 77,
            filters,
            works: vec![LOOKUP, INSERT, HITS],
            records: None,
        })
    }

    #[test]
    fn medians_intervals_and_multiples_are_as_computed_by_hand() {
        let ns = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        let samples = [
            start(Point::Rate { n: 1000, fpr: 0.01 }),
            verify("solid", Status::Ok, ""),
            verify("slots", Status::Timeout, "slow"),
            time("solid", false, LOOKUP, &ns),
            time("solid", true, LOOKUP, &[5.5; 9]),
            floor(1, &[2.0; 9]),
            floor(3, &[4.0; 9]),
            time("solid", false, HITS, &[8.0; 9]),
            Sample::GroupDone(GroupDone { group: 0, seconds: 1.0 }),
        ];
        let cells = cells(&header(), &samples);
        assert_eq!(cells.len(), 6, "two filters, three works, none dropped");
        let lookup = &cells[0];
        assert_eq!(
            (lookup.filter.as_str(), lookup.status, lookup.repetitions),
            ("solid", Status::Ok, Some(9))
        );
        assert_eq!(lookup.ns_per_op, Some(5.0));
        assert_eq!((lookup.ns_per_op_lo95, lookup.ns_per_op_hi95), (Some(2.0), Some(8.0)));
        assert_eq!(lookup.ns_per_op_min, Some(1.0));
        assert_eq!(lookup.floor_multiple, Some(2.5));
        assert_eq!(lookup.payload_bits_per_key, Some(8.0));
        assert_eq!(lookup.heap_bits_per_key, Some(8.8));
        assert_eq!(lookup.peak_build_bits_per_key, Some(16.0));
        assert_eq!(lookup.fpr, Some(0.012));
        // (120 - 100) / sqrt(10000 · 0.01 · 0.99)
        assert!((lookup.fpr_z.unwrap() - 2.010_075_6).abs() < 1e-6);
        assert!(lookup.fpr_lo95.unwrap() < 0.012 && lookup.fpr_hi95.unwrap() > 0.012);
        assert_eq!((lookup.fpr_target, lookup.alpha_target, lookup.r), (Some(0.01), None, Some(7)));
        let insert = &cells[1];
        assert_eq!(
            (insert.status, insert.reason.as_str()),
            (Status::Unsupported, "the family has no insert")
        );
        assert_eq!((insert.payload_bits_per_key, insert.ns_per_op), (Some(8.0), None));
        assert_eq!((cells[2].floor_multiple, cells[2].floor_k_multiple), (Some(4.0), Some(2.0)));
        assert_eq!(lookup.floor_k_multiple, None, "half of the keys are absent");
        for failed in &cells[3..] {
            assert_eq!(
                (failed.status, failed.reason.as_str(), failed.ns_per_op),
                (Status::Timeout, "slow", None)
            );
        }
        let noise = noise(&samples);
        assert_eq!(noise.len(), 1);
        let lookup = noise["lookup single"];
        assert_eq!(lookup.pairs, 1);
        assert!((lookup.median - 1.1_f64.ln()).abs() < 1e-12 && lookup.median == lookup.p95);
    }

    #[test]
    fn only_tables_have_a_load_that_was_asked_for() {
        let samples = [
            start(Point::Load { n: 1000, alpha: 0.9, r: 8 }),
            verify("solid", Status::Ok, ""),
            verify("slots", Status::Ok, ""),
        ];
        let cells = cells(&header(), &samples);
        assert_eq!((cells[0].fpr_target, cells[0].alpha_target, cells[0].r), (None, None, Some(8)));
        assert_eq!((cells[3].fpr_target, cells[3].alpha_target, cells[3].r), (None, Some(0.9), Some(8)));
    }

    #[test]
    fn a_fault_while_timing_overrides_the_verdict() {
        let fault = Fault {
            group: 0,
            filter: "solid".into(),
            status: Status::VerifyFailed,
            reason: "changed".into(),
        };
        let samples = [
            start(Point::Rate { n: 1000, fpr: 0.01 }),
            verify("solid", Status::Ok, ""),
            Sample::Fault(fault),
            time("solid", false, LOOKUP, &[1.0]),
        ];
        let cells = cells(&header(), &samples);
        assert!(cells.iter().all(|cell| cell.status == Status::VerifyFailed && cell.ns_per_op.is_none()));
    }

    #[test]
    fn a_floor_that_moved_is_unknown() {
        assert_eq!(floor_multiple(&[4.0, 6.0, 8.0], &[2.0, 2.0, 2.0]), Some(3.0));
        // One outlier does not condemn a floor; half of the values off do.
        assert_eq!(floor_multiple(&[4.0; 5], &[2.0, 2.0, 2.0, 2.0, 90.0]), Some(2.0));
        assert_eq!(floor_multiple(&[4.0; 4], &[2.0, 2.0, 3.0, 3.0]), None);
        assert_eq!(floor_multiple(&[4.0], &[]), None);
        assert_eq!(floor_multiple(&[], &[]), None);
        // Quartiles of 1..=5: 2 and 4.
        assert_eq!(relative_spread(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some(2.0 / 3.0));
    }
}
