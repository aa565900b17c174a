//! Runs whose truth is known.

use bench_harness::compare::{Provenance, Side};
use bench_harness::store::cell::SCHEMA;
use bench_harness::store::sample::Sample;
use bench_harness::sweep::config::Sweep;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// What a run is made from.
#[derive(Clone)]
pub(crate) struct Truth {
    pub(crate) seed: u64,
    pub(crate) filters: usize,
    pub(crate) repetitions: usize,
    /// Standard deviation of the logarithm of a time.
    pub(crate) spread: f64,
    /// The share of repetitions that something interrupts, which then take three times as long.
    pub(crate) interrupted: f64,
    /// What everything on the machine is slowed down by in each repetition, the floors too.
    pub(crate) machine: fn(usize) -> f64,
    /// What the floor alone is slowed down by in each repetition.
    pub(crate) floor: fn(usize) -> f64,
    /// Factors of single filters and workloads.
    pub(crate) changed: Vec<(usize, &'static str, f64)>,
    pub(crate) payload_bits: u64,
    pub(crate) hits: u64,
    /// A filter that fails, with its status.
    pub(crate) failed: Option<(usize, &'static str)>,
}

impl Truth {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            filters: 12,
            repetitions: 9,
            spread: 0.02,
            interrupted: 0.0,
            machine: |_| 1.0,
            floor: |_| 1.0,
            changed: Vec::new(),
            payload_bits: 100_000,
            hits: 1000,
            failed: None,
        }
    }

    pub(crate) fn changed(mut self, filter: usize, workload: &'static str, factor: f64) -> Self {
        self.changed.push((filter, workload, factor));
        self
    }

    pub(crate) fn side(&self) -> Side {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut noise = || {
            let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let interrupted = rng.random::<f64>() < self.interrupted;
            (normal * self.spread).exp() * if interrupted { 3.0 } else { 1.0 }
        };
        let works = [
            json!({"workload": "build", "mode": "batch", "hit_ratio": null, "hashing": "digest"}),
            json!({"workload": "lookup", "mode": "single", "hit_ratio": 0.0, "hashing": "digest"}),
            json!({"workload": "lookup", "mode": "batch", "hit_ratio": 1.0, "hashing": "digest"}),
        ];
        let names: Vec<_> = (0..self.filters).map(|i| format!("filter-{i}")).collect();
        let mut samples = vec![json!({
            "type": "group_start", "group": 0, "point": {"axis": "rate", "n": 10_000, "fpr": 0.01},
            "seed": 77, "filters": names, "works": works,
        })];
        for (i, filter) in names.iter().enumerate() {
            let status = self.failed.filter(|(failed, _)| *failed == i).map_or("ok", |(_, status)| status);
            let reason = if status == "ok" { "" } else { "a made-up reason" };
            samples.push(json!({
                "type": "verify", "group": 0, "filter": filter, "status": status, "reason": reason,
                "facts": {
                    "payload_bits": self.payload_bits, "heap_bytes": 12_600, "peak_bytes": 20_000,
                    "fpr_expected": 0.01, "fpr_queries": 100_000, "fpr_hits": self.hits, "false_negatives": 0,
                },
            }));
        }
        for (i, filter) in names.iter().enumerate() {
            for work in &works {
                // Every filter and workload has a time of its own, from 3 to 100 ns.
                let scale = 3.0 + 7.0 * i as f64 + work["hit_ratio"].as_f64().unwrap_or(5.0);
                let changed =
                    self.changed.iter().filter(|(who, what, _)| *who == i && work["workload"] == *what);
                let factor: f64 = changed.map(|(.., factor)| factor).product();
                for twin in [false, true] {
                    if twin && i > 0 {
                        continue;
                    }
                    let ns: Vec<_> = (0..self.repetitions)
                        .map(|repetition| scale * factor * (self.machine)(repetition) * noise())
                        .collect();
                    samples.push(json!({
                        "type": "time", "group": 0, "filter": filter, "twin": twin, "work": work, "ns": ns,
                    }));
                }
            }
        }
        let floor: Vec<_> = (0..self.repetitions)
            .map(|repetition| 2.0 * (self.machine)(repetition) * (self.floor)(repetition) * noise().powf(0.2))
            .collect();
        samples.push(json!({
            "type": "floor", "group": 0, "table_bytes": 12_500, "filters": names, "reads": 1, "ns": floor,
        }));
        let sentinel = |ns: f64| (0..self.repetitions).map(|i| ns * (self.machine)(i)).collect::<Vec<_>>();
        let (compute, memory) = (sentinel(1.3), sentinel(7.0));
        samples.push(json!({"type": "sentinel", "group": 0, "compute_ns": compute, "memory_ns": memory}));
        samples.push(json!({"type": "group_done", "group": 0, "seconds": 1.0}));
        Side {
            provenance: Provenance { name: format!("made up from {}", self.seed), facts: [].into() },
            header: serde_json::from_value(header(&names)).unwrap(),
            samples: samples
                .into_iter()
                .map(|line| serde_json::from_value::<Sample>(line).unwrap())
                .collect(),
        }
    }
}

fn header(names: &[String]) -> Value {
    let filters: Vec<_> = names
        .iter()
        .map(|name| {
            json!({
                "name": name, "title": name, "kind": "bloom", "peer": null, "version": "1", "capabilities": [],
                "r": [1, 20],
            })
        })
        .collect();
    json!({
        "schema": SCHEMA, "run": "made-up", "sweep_toml": Sweep::profile("smoke").unwrap().to_toml(), "seed": 1,
        "keys": {"source": "uniform", "read": 10_000, "distinct": 10_000, "duplicates": 0, "bytes": 0},
        "key_file": null, "key_hash": 0, "filters": filters,
    })
}
