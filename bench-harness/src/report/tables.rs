//! The tables of the page: capabilities, provenance, all cells.

use amq::Capability;

use super::data::{Entry, Floor, Operation, Run, Wish};
use super::format::{Shown, bytes, count, number, percent, rate, round_rate};
use super::plots::Table;
use crate::store::derive::disturbances;
use crate::store::run::{Disturbance, Drift, Uniformity};

/// Which filter can do what.
pub(crate) fn capabilities(run: &Run<'_>) -> Table {
    // What is asked for first comes first: a narrow screen shows the left.
    let mut headers = vec!["filter".to_owned()];
    headers.extend(Capability::ALL.iter().map(|capability| capability.name().replace('-', " ")));
    headers.extend(["kind", "r", "version"].map(str::to_owned));
    let rows = run.filters.iter().map(|filter| {
        let mut row = vec![Shown { detail: filter.title.clone(), ..Shown::text(filter.label()) }];
        row.extend(Capability::ALL.iter().map(|capability| {
            let can = filter.can(capability.name());
            Shown {
                main: if can { "yes" } else { "–" }.to_owned(),
                detail: String::new(),
                key: Some(f64::from(u8::from(!can))),
            }
        }));
        let version = filter
            .peer
            .as_ref()
            .map_or_else(|| filter.version.clone(), |krate| format!("{krate} {}", filter.version));
        row.extend([
            Shown::text(&filter.kind),
            Shown::text(filter.r.map_or_else(String::new, |(lo, hi)| format!("{lo}–{hi}"))),
            Shown::text(version),
        ]);
        row
    });
    let rows = rows.collect();
    Table { headers, rows }
}

/// Where the numbers come from: names and values, and what a reader should be wary of.
pub(crate) fn provenance(run: &Run<'_>) -> (Vec<(&'static str, String)>, Vec<String>) {
    let info = run.info;
    let machine = &info.machine;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let caches: Vec<String> =
        machine.caches.iter().map(|cache| format!("L{} {}", cache.level, bytes(cache.bytes))).collect();
    let dependencies: Vec<String> =
        info.dependencies.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let noise: Vec<String> = info
        .noise
        .iter()
        .map(|(workload, noise)| {
            format!(
                "{workload} {} (median {}, {} pairs)",
                percent(noise.p95),
                percent(noise.median),
                noise.pairs
            )
        })
        .collect();
    let or_unknown = |text: String| if text.trim().is_empty() { "not known".to_owned() } else { text };
    let revision = match info.dirty {
        Some(true) => format!("{} with uncommitted changes", info.revision),
        _ => info.revision.clone(),
    };
    let mut rows = vec![
        ("run", info.run.clone()),
        ("sweep", format!("{}, {} repetitions, seed {}", info.sweep, info.repetitions, info.seed)),
        ("started", info.started.clone()),
        (
            "finished",
            info.finished.clone().unwrap_or_else(|| "not: the run was interrupted or goes on".to_owned()),
        ),
        ("revision", or_unknown(revision)),
        (
            "processor",
            or_unknown(format!("{}, {} logical cores, {}", machine.cpu, machine.cores, machine.arch)),
        ),
        ("caches", or_unknown(caches.join(", "))),
        ("memory", machine.memory_bytes.map_or_else(|| "not known".to_owned(), bytes)),
        ("system", or_unknown(machine.os.clone())),
        ("frequency governor", known(&machine.governor)),
        ("huge pages", known(&machine.huge_pages)),
        (
            "clock",
            format!(
                "resolution {} ns, {} ns a reading",
                number(machine.clock_resolution_ns),
                number(machine.clock_cost_ns)
            ),
        ),
        (
            "load at the start",
            machine.load_average.map_or_else(|| "not known".to_owned(), super::format::trimmed),
        ),
        ("stolen time", machine.steal.map_or_else(|| "not known".to_owned(), percent)),
        (
            "compiler",
            or_unknown(format!(
                "{} for {} {}",
                info.compiler.rustc, info.compiler.target, info.compiler.flags
            )),
        ),
        ("dependencies", or_unknown(dependencies.join(", "))),
        (
            "keys",
            format!(
                "{}: {} read, {} distinct, {} duplicates{}",
                info.keys.source,
                count(info.keys.read),
                count(info.keys.distinct),
                count(info.keys.duplicates),
                if info.keys.bytes > 0 { format!(", {}", bytes(info.keys.bytes)) } else { String::new() }
            ),
        ),
        ("noise floor", or_unknown(noise.join("; "))),
    ];
    rows.extend(judgements(run));
    (rows, warnings(run))
}

/// What the samples of all groups together say about the machine and the filters.
fn judgements(run: &Run<'_>) -> [(&'static str, String); 2] {
    let unknown = || "not known".to_owned();
    let drift = run.info.drift.map_or_else(unknown, |drift| {
        let Drift { groups, compute, memory } = drift;
        format!("{} computing, {} reading memory, over {groups} groups", percent(compute), percent(memory))
    });
    let uniformity = run.info.uniformity.map_or_else(unknown, |uniformity| {
        let Uniformity { cells, distance, p } = uniformity;
        format!(
            "{cells} randomised p-values lie {} from uniform at most (Kolmogorov-Smirnov p = {})",
            number(distance),
            number(p)
        )
    });
    [("drift between groups", drift), ("false positives of all cells", uniformity)]
}

/// How the largest table compares with the last-level cache.
pub(crate) fn cache_note(run: &Run<'_>) -> String {
    let largest = run
        .shown()
        .filter(|entry| !entry.exact())
        .filter_map(|entry| Some(entry.bits()? * entry.row.n as f64 / 8.0))
        .max_by(f64::total_cmp);
    let cache =
        run.info.machine.caches.iter().max_by_key(|cache| cache.level).filter(|cache| cache.bytes > 0);
    match (largest, cache) {
        (Some(largest), Some(cache)) => format!(
            "The largest filter of this run is {} times as large as that cache of {}.",
            number(largest / cache.bytes as f64),
            bytes(cache.bytes)
        ),
        _ => String::new(),
    }
}

fn warnings(run: &Run<'_>) -> Vec<String> {
    let info = run.info;
    let mut warnings = Vec::new();
    if info.finished.is_none() {
        warnings.push("The run did not finish: cells are missing.".to_owned());
    }
    if info.dirty == Some(true) {
        warnings
            .push("The sources had uncommitted changes: the revision alone does not repeat this.".to_owned());
    }
    if info.noise.is_empty() {
        warnings.push("No noise floor was measured: differences in time may be noise.".to_owned());
    }
    // Runs of earlier versions were not judged when they ended.
    let disturbances = info.noisy.clone().unwrap_or_else(|| disturbances(info));
    warnings.extend(
        disturbances
            .into_iter()
            .map(|Disturbance { seen, remedy }| format!("Noisy machine: {seen}. Remedy: {remedy}.")),
    );
    let defects: Vec<String> = run
        .entries
        .iter()
        .filter(|entry| entry.status == crate::store::cell::Status::VerifyFailed)
        .map(|entry| run.filter(entry).label())
        .collect();
    if !defects.is_empty() {
        warnings.push(format!("{} cells failed verification; such filters have no numbers.", defects.len()));
    }
    if run.entries.iter().any(|entry| entry.row.keys != run.keys) {
        warnings.push(format!("The run has several key sets. Figures, card and summary show {}; all cells are in the last table.", run.keys));
    }
    warnings
}

/// The columns of the table of all cells.
pub(crate) const CELL_HEADERS: [&str; 24] = [
    "filter",
    "status",
    "keys",
    "n",
    "ε asked",
    "α",
    "r",
    "k",
    "bits/key",
    "heap bits/key",
    "peak bits/key",
    "FPR measured",
    "FPR expected",
    "z",
    "build ns",
    "insert ns",
    "hit ns",
    "miss ns",
    "batched miss ns",
    "chained miss ns",
    "hit × k reads",
    "half hits ns",
    "half hits, hashed ns",
    "remove ns",
];

/// One filter in one cell.
pub(crate) fn cell_row(run: &Run<'_>, entry: &Entry<'_>) -> Vec<Shown> {
    let row = entry.row;
    let asked = match entry.wish {
        Wish::Rate(fpr) => Some(fpr),
        Wish::Shape { .. } => None,
    };
    let mut cells = vec![
        Shown::text(run.filter(entry).label()),
        Shown::text(entry.status_text()),
        Shown::text(&row.keys),
        Shown { main: count(row.n), detail: String::new(), key: Some(row.n as f64) },
        Shown::exact(asked, round_rate),
        Shown::exact(row.alpha.or(row.alpha_target), number),
        Shown::exact(row.r.map(f64::from), super::format::trimmed),
        Shown::exact(row.k.map(f64::from), super::format::trimmed),
        Shown::exact(entry.bits(), number),
        Shown::exact(entry.heap_bits(), number),
        Shown::exact(entry.peak_bits(), number),
        entry.shown_rate(),
        Shown::exact(entry.expected(), rate),
        Shown::exact(row.fpr_z.filter(|_| entry.ok()), |z| format!("{z:.2}")),
    ];
    let time = |operation| if entry.ok() { entry.shown_time(operation) } else { Shown::missing("") };
    cells.extend(
        [
            Operation::Build,
            Operation::Insert,
            Operation::Hit,
            Operation::Miss,
            Operation::MissBatch,
            Operation::MissChain,
        ]
        .map(time),
    );
    cells.push(entry.shown_multiple(Operation::Hit, Floor::Reads));
    cells.extend([Operation::Half, Operation::HalfFromKey, Operation::Remove].map(time));
    cells
}
