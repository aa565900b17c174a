//! What the tests of the program share.

#![allow(dead_code, reason = "each test program uses a part")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use bench_harness::store::cell::{Cell, Status, Workload};
use bench_harness::store::run::RunInfo;
use tempfile::TempDir;

/// As little as a sweep can do, with everything in it.
pub(crate) const TINY: &str = r#"
name = "tiny"
repetitions = 2
workloads = ["build", "insert", "lookup", "remove", "churn", "merge", "grow", "iterate"]
hit_ratios = [0.0, 0.5, 1.0]
lookups_per_pass = 256
deadline_seconds = 30
memory_limit_mib = 1024

[queries]
per_rate = 50
least = 1000
budget = 5000

[rates]
n = [50, 1000]
fpr = [1e-2]

[loads]
n = [200]
alpha = [0.5, 0.9]
r = [8]
"#;

/// A folder with the tiny sweep in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with_sweep(TINY)
    }

    pub(crate) fn with_sweep(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sweep.toml"), text).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// `amq-bench`, started in the folder.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::cargo_bin("amq-bench").unwrap();
        command.current_dir(self.folder.path());
        command
    }

    /// `amq-bench sweep` of the tiny sweep over our filters into the folder `out`.
    pub(crate) fn sweep(&self) -> Command {
        let mut command = self.program();
        command.args(["sweep", "--sweep", "sweep.toml", "--no-peers", "--out", "out"]);
        command
    }
}

/// The cells of a run.
pub(crate) fn cells(run: &Path) -> Vec<Cell> {
    csv::Reader::from_path(run.join("cells.csv")).unwrap().deserialize().map(Result::unwrap).collect()
}

/// The provenance of a run.
pub(crate) fn info(run: &Path) -> RunInfo {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// Every filter has times for its build and lookups, lost no key, and has a rate.
pub(crate) fn assert_complete(cells: &[Cell]) {
    assert!(!cells.is_empty());
    for cell in cells {
        if matches!(cell.status, Status::Infeasible | Status::BuildFailed) {
            assert!(!cell.reason.is_empty());
            continue;
        }
        assert!(matches!(cell.status, Status::Ok | Status::Unsupported), "{cell:?}");
        assert_eq!(cell.false_negatives, Some(0), "{cell:?}");
        assert!(
            cell.fpr.is_some() && cell.payload_bits_per_key.is_some() && cell.heap_bits_per_key.is_some(),
            "{cell:?}"
        );
        if cell.status == Status::Ok {
            assert!(cell.ns_per_op.is_some_and(|ns| ns > 0.0), "{cell:?}");
        } else {
            assert!(!matches!(cell.workload, Workload::Build | Workload::Lookup), "{cell:?}");
            assert!(!cell.reason.is_empty() && cell.ns_per_op.is_none(), "{cell:?}");
        }
    }
}
