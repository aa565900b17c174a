//! The page of a run with studies and p-values: every study that it has is shown, true to its records, whatever is in them.

use bench_harness::report::{Results, render};
use bench_harness::store::cell::{Cell, Status};
use bench_harness::store::run::{Disturbance, Drift, RunInfo};
use bench_harness::store::study::{Fleet, Quantity, Record, StudyPoint, Value};

use crate::synthetic;

const CLUSTERS: StudyPoint = StudyPoint::Clusters { n: 1_000, alpha: 0.9, seeds: 3 };
const FILLING: StudyPoint = StudyPoint::Filling { n: 100_000, r: 8 };
const COLD: StudyPoint = StudyPoint::Cold { n: 1000, fpr: 0.01, fleet: Fleet::Of(1000) };
const BUILDS: StudyPoint = StudyPoint::Builds { n: 1000, fpr: 0.01, seeds: 100 };
const REFUSAL: StudyPoint = StudyPoint::Refusal { n: 1000, r: 8, seeds: 100 };
const SPACE: StudyPoint = StudyPoint::Space { fpr: 0.01, from: 10, to: 1_000_000, per_decade: 40 };
const DUPLICATES: StudyPoint = StudyPoint::Duplicates { n: 1000, copies: 0.5, fpr: 0.01 };

fn record(point: StudyPoint, filter: &str, values: Vec<Value>) -> Record {
    let (status, reason) = (Status::Ok, String::new());
    Record { point, filter: filter.into(), seed: 1, status, reason, seconds: 0.1, values }
}

fn filling() -> Vec<Value> {
    let mut values = vec![Value::of(Quantity::RefusalLoad, 0.987)];
    for load in (1..=49).map(|step| f64::from(step) * 0.02) {
        for (quantity, times) in
            [(Quantity::InsertNs, 1.0), (Quantity::InsertP99, 5.0), (Quantity::InsertMax, 50.0)]
        {
            values.push(Value::of(quantity, times * 20.0 / (1.0 - load)).at_load(load));
        }
        values.push(Value::of(Quantity::Moved, load / (1.0 - load)).at_load(load));
    }
    values
}

fn cold(scale: f64) -> Vec<Value> {
    [
        (Quantity::Filters, 1000.0),
        (Quantity::FleetBytes, 1.2e6),
        (Quantity::HotMissNs, 10.0 * scale),
        (Quantity::ColdMissNs, 30.0 * scale),
        (Quantity::EvictedMissNs, 300.0 * scale),
    ]
    .map(|(quantity, value)| Value::of(quantity, value))
    .into()
}

fn space(bits: f64) -> Vec<Value> {
    let sizes = (0..6).flat_map(|decade| (1..10).map(move |digit| digit * 10_u64.pow(decade + 1)));
    sizes.map(|n| Value::of(Quantity::PayloadBits, bits * (1.0 + 50.0 / n as f64)).at_n(n)).collect()
}

fn share(quantity: Quantity, events: usize) -> Value {
    let samples = (0..100).map(|i| f64::from(u8::from(i < events))).collect();
    Value { samples, ..Value::of(quantity, 0.0) }
}

fn clusters() -> Vec<Value> {
    let classes = [(1, 0.6), (2, 0.2), (4, 0.15), (9, 0.05)];
    let shares = classes.into_iter().flat_map(|(length, law)| {
        let share = Value::of(Quantity::ClusterShare, law * 1.01).at_length(length);
        [share, Value::of(Quantity::ClusterLaw, law).at_length(length)]
    });
    let p = Value { samples: vec![0.2, 0.5, 0.9], ..Value::of(Quantity::ClusterP, 0.0) };
    shares.chain([Value::of(Quantity::ClusterMean, 2.6), p]).collect()
}

/// A run with every study.
fn run() -> (RunInfo, Vec<Cell>, Vec<Record>) {
    let (mut info, mut cells) = synthetic::run();
    for (i, cell) in cells.iter_mut().enumerate() {
        cell.fpr_p_randomised = Some((i as f64 * 0.618_033_988_749_895).fract());
    }
    info.drift = Some(Drift { groups: 12, compute: 0.02, memory: 0.31 });
    info.noisy = Some(vec![Disturbance {
        seen: "The <memory> drifted by 31 %.".into(),
        remedy: "Stop others.".into(),
    }]);
    let mut records = vec![
        record(StudyPoint::Hashing, "xxh3-64", vec![Value::of(Quantity::HashU64, 2.0)]),
        record(StudyPoint::Hashing, "siphash-1-3", vec![Value::of(Quantity::HashU64, 14.0)]),
    ];
    for (i, filter) in info.filters.iter().enumerate() {
        let scale = 1.0 + i as f64;
        let name = &filter.name;
        records.push(record(COLD, name, cold(scale)));
        records.push(record(
            BUILDS,
            name,
            vec![share(Quantity::Failed, i), Value::of(Quantity::Attempts, scale)],
        ));
        records.push(record(SPACE, name, space(9.0 + scale)));
        records.push(record(DUPLICATES, name, vec![Value::of(Quantity::Distinct, 500.0)]));
        if filter.kind != "static" {
            records.push(record(FILLING, name, filling()));
        }
        if filter.kind == "table" {
            records.push(record(CLUSTERS, name, clusters()));
            let refusal = [0.9, 0.95, 0.97].map(|load| Value::of(Quantity::RefusalLoad, load / scale));
            let mut whole = record(REFUSAL, name, vec![share(Quantity::NeverRefused, 0)]);
            for value in refusal {
                whole.add(value);
            }
            records.push(whole);
        }
    }
    let mut hanging = record(DUPLICATES, "a <b>bare</b> build", Vec::new());
    (hanging.status, hanging.reason) = (Status::Timeout, "it said <nothing>".into());
    records.push(hanging);
    // Points belong together, as they do in a run.
    records.sort_by_key(|record| record.point.study());
    (info, cells, records)
}

/// The page of it.
pub(crate) fn page() -> String {
    let (info, cells, studies) = run();
    render(&[Results { info: &info, cells: &cells, studies: &studies }]).unwrap()
}

#[test]
fn every_study_is_shown_with_what_to_conclude() {
    let page = page();
    // All of a run without studies, where that of sizes comes from the study; six of studies more, one of p-values.
    assert_eq!(page.matches("<figure ").count(), 11 + 6 + 1);
    let page = page.replace('\u{a0}', " ");
    assert!(!page.contains("<figcaption></figcaption>") && !page.contains("NaN"));
    for said in [
        "Bits a key at every size",
        "An insert as the table fills",
        "Lookups in a cold filter",
        "a miss takes 3.00× as long as in a hot one",
        "a miss takes 30.0× as long as in a hot one",
        "u64: xxh3-64 2.00 ns, siphash-1-3 14.0 ns (7.00×)",
        "Reliability: failed builds",
        "Lengths of clusters against their law",
        "nothing speaks against the law",
        "Keys that repeat",
        "The build never ended within the deadline for a &#60;b&#62;bare&#60;/b&#62; build (from 50 % copies)",
        "How the numbers were checked",
        "Noisy machine",
        "P-values of all false-positive rates",
        "nothing speaks against",
        "Taken one by one",
        "Dependent lookups",
        "In dependent reads a miss takes from",
        "Merge, grow, iterate",
        "streaming passes",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("<b>bare") && !page.contains("<memory>") && !page.contains("<nothing>"));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn any_part_of_the_records_gives_a_page() {
    let (info, cells, records) = run();
    for step in [2, 3, 7, 31] {
        for from in 0..step {
            let mut some: Vec<Record> = records.iter().skip(from).step_by(step).cloned().collect();
            for (i, record) in some.iter_mut().enumerate() {
                // As after a death in the middle, and with numbers that are none.
                record.values.truncate(record.values.len() * (i % 3) / 2);
                if let Some(value) = record.values.first_mut().filter(|_| i % 2 == 0) {
                    value.samples = vec![f64::NAN, f64::INFINITY];
                }
            }
            render(&[Results { info: &info, cells: &cells, studies: &some }]).unwrap();
        }
    }
}
