//! What a sweep says before it begins, and when it has ended.

use std::path::Path;

use super::keys::Keys;
use super::plan::Plan;
use crate::numbers::grouped;
use crate::store::cell::{Cell, Status};
use crate::store::run::{Disturbance, RunInfo, Uniformity};
use crate::store::sample::Sample;

/// Filters that keep their expectations give a smaller one once in a hundred runs.
const UNLIKELY: f64 = 0.01;

/// What to do after a failure of the disk or the machine.
pub(super) fn say_how_to_go_on(path: &Path) {
    eprintln!(
        "finished groups are kept. To go on when the cause is removed: amq-bench sweep --resume --out {}",
        path.display()
    );
}

/// What is swept, and with which clock.
pub(super) fn announce(plan: &Plan, info: &RunInfo, path: &Path) {
    let keys = plan.keys.info(plan.groups.iter().map(|group| group.point.n()).max().unwrap_or(0));
    eprintln!(
        "sweep {}: {} groups, {} filters, seed {}, into {}",
        plan.sweep.name,
        plan.groups.len(),
        plan.filters.len(),
        plan.seed,
        path.display()
    );
    eprintln!(
        "clock: resolution {:.0} ns, {:.0} ns a reading",
        info.machine.clock_resolution_ns, info.machine.clock_cost_ns
    );
    if matches!(plan.keys, Keys::File(_)) {
        eprintln!(
            "keys: {} read, {} distinct, {} duplicates removed",
            grouped(keys.read),
            grouped(keys.distinct),
            grouped(keys.duplicates)
        );
    }
}

/// Filters of a group that were not measured, in words.
pub(super) fn failures(samples: &[Sample]) -> Vec<String> {
    samples
        .iter()
        .filter_map(|sample| match sample {
            Sample::Verify(verify) if verify.status != Status::Ok => {
                Some((&verify.filter, verify.status, &verify.reason))
            }
            Sample::Fault(fault) => Some((&fault.filter, fault.status, &fault.reason)),
            _ => None,
        })
        .map(|(filter, status, reason)| format!("{filter}: {}: {reason}", status.name()))
        .collect()
}

/// What makes the numbers of a run doubtful.
pub(super) fn warn(info: &RunInfo, cells: &[Cell]) {
    let defects = {
        let mut names: Vec<_> = cells
            .iter()
            .filter(|cell| cell.status == Status::VerifyFailed)
            .map(|cell| cell.filter.as_str())
            .collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    if !defects.is_empty() {
        eprintln!("warning: failed the verification in at least one cell: {defects}");
    }
    if cfg!(debug_assertions) {
        eprintln!(
            "warning: this program was built with checks on; times mean nothing: build it with --release"
        );
    }
    match info.noisy.as_deref() {
        Some([]) => eprintln!("steadiness: a quiet machine"),
        noisy => {
            for Disturbance { seen, remedy } in noisy.into_iter().flatten() {
                eprintln!("warning: noisy machine: {seen}; {remedy}");
            }
        }
    }
    if let Some(Uniformity { cells, distance, p }) = info.uniformity {
        let what = if p < UNLIKELY { "warning: false positives" } else { "false positives" };
        eprintln!(
            "{what}: {cells} randomised p-values lie {distance:.3} from uniform at most (Kolmogorov-Smirnov p = {p:.3})"
        );
    }
}
