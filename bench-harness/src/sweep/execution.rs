//! Carrying out a plan: every group and study on the disk before the next begins, and an end in order whenever it is asked for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use jiff::Timestamp;

use super::messages::{announce, failures, warn};
use super::places::results;
use super::plan::Plan;
use super::progress::Progress;
use super::schedule::{Scheduler, Twins};
use super::steal::Steal;
use super::{Outcome, groups};
use crate::numbers::grouped;
use crate::registry;
use crate::store::cell::{Cell, Status};
use crate::store::derive;
use crate::store::folder::{self, Folder};
use crate::store::run::RunInfo;
use crate::store::sample::{Header, Sample};
use crate::store::study::{Record, StudyPoint};
use crate::studies::schedule::{Finish, Runner};
use crate::{report, summary};

/// Carries out what is left of `plan`, and writes the results.
///
/// # Errors
/// If the harness or the disk fails.
pub(super) fn carry_out(
    plan: &Plan,
    header: &Header,
    mut folder: Folder,
    mut info: RunInfo,
    mut samples: Vec<Sample>,
    reports: Option<&Path>,
) -> Result<Outcome> {
    let path = folder.path().to_path_buf();
    let interrupted = interruption(&path)?;
    info.finished = None;
    folder::write_run(&path, &info)?;
    if let Some(reports) = reports {
        folder::point_latest(reports, &path)?;
    }
    announce(plan, &info, &path);

    let finished = finished(&samples);
    let costs: Vec<_> = plan.groups.iter().map(|group| group.cost(&plan.sweep)).collect();
    let mut progress = Progress::new(&costs, finished);
    if finished > 0 {
        progress.say(&format!("{finished} of {} groups were finished before", plan.groups.len()));
    }
    let steal = Steal::since(&info, &samples);
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let scheduler = Scheduler {
        program: &program,
        sweep: &plan.sweep,
        keys: &plan.keys,
        scratch: &path,
        twins: Twins::Timed,
        interrupted: &interrupted,
    };
    for (group, &cost) in plan.groups.iter().zip(&costs).skip(finished) {
        progress.begin(group.index, &groups::describe(&group.point));
        let Ok(found) = scheduler.run(group, &mut |what| progress.step(what))? else {
            progress.finish();
            eprintln!(
                "interrupted: {} of {} groups are finished and kept. To go on: amq-bench sweep --resume --out {}",
                group.index,
                plan.groups.len(),
                path.display()
            );
            let (file, _) = write_results(&path, header, info, &samples)?;
            println!("{}", results(&file));
            return Ok(Outcome::Interrupted);
        };
        folder.append(&found)?;
        for failure in failures(&found) {
            progress.say(&failure);
        }
        samples.extend(found);
        // So that a run that is killed keeps what was stolen from its finished groups.
        info.machine.steal = steal.until_now();
        folder::write_run(&path, &info)?;
        folder::write_cells(&path, &derive::cells(header, &samples))?;
        progress.end(cost);
    }
    progress.finish();

    if run_studies(plan, &info, &mut folder, &mut samples, &interrupted)? == Finish::Interrupted {
        eprintln!(
            "interrupted: all groups are finished and kept, and {} of {} measurements of studies. To go on: amq-bench sweep --resume --out {}",
            derive::studies(&samples).len(),
            plan.units.len(),
            path.display()
        );
        let (file, _) = write_results(&path, header, info, &samples)?;
        println!("{}", results(&file));
        return Ok(Outcome::Interrupted);
    }

    info.finished = Some(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    info.machine.steal = steal.until_now();
    let (file, runs) = write_results(&path, header, info, &samples)?;
    println!("{}", summary::text(&runs));
    println!("{}", results(&file));
    warn(&runs[0].0, &runs[0].1);
    let records = derive::studies(&samples);
    for record in records.iter().filter(|record| is_defect(record)) {
        eprintln!(
            "warning: {} failed in the study {}: {}",
            record.filter,
            record.point.study(),
            record.reason
        );
    }
    Ok(if records.iter().any(is_defect) { Outcome::Failed } else { outcome(&runs[0].1) })
}

/// What is left of the studies, each record on the disk before the next.
fn run_studies(
    plan: &Plan,
    info: &RunInfo,
    folder: &mut Folder,
    samples: &mut Vec<Sample>,
    interrupted: &AtomicBool,
) -> Result<Finish> {
    let Some(own) = &plan.sweep.studies else { return Ok(Finish::All) };
    let last_cache = info.machine.caches.iter().max_by_key(|cache| cache.level);
    let runner = Runner {
        studies: own,
        deadline_seconds: plan.sweep.deadline_seconds,
        memory_limit: plan.sweep.memory_limit_mib.0.saturating_mul(1 << 20),
        cache_bytes: last_cache.map_or(0, |cache| cache.bytes),
        interrupted,
    };
    let mut say = |point: &StudyPoint, filters: usize| {
        let n = point.n().map_or_else(String::new, |n| format!(", n = {}", grouped(n)));
        let parameters = point.parameters();
        let comma = if parameters.is_empty() { "" } else { ", " };
        eprintln!("study {}{n}{comma}{parameters}: {filters} measurements", point.study());
    };
    let path = folder.path().to_path_buf();
    let finish = runner.run(&plan.units_left(samples), &mut say, &mut |record| {
        let sample = Sample::Study(record);
        folder.append(std::slice::from_ref(&sample))?;
        samples.push(sample);
        Ok(())
    })?;
    folder::write_studies(&path, &info.run, &derive::studies(samples))?;
    Ok(finish)
}

/// Whether one of ours broke a promise in a study. Peers may: that is what some studies are about.
fn is_defect(record: &Record) -> bool {
    record.status == Status::VerifyFailed
        && registry::filter(&record.filter).is_some_and(|filter| filter.peer.is_none())
}

/// The number of finished groups.
pub(super) fn finished(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| matches!(sample, Sample::GroupDone(_))).count()
}

pub(super) fn outcome(cells: &[Cell]) -> Outcome {
    let defect = cells.iter().any(|cell| cell.status == Status::VerifyFailed);
    if defect { Outcome::Failed } else { Outcome::Done }
}

/// Where the report is, and what it shows.
type Written = (PathBuf, [(RunInfo, Vec<Cell>); 1]);

/// Derives everything from the samples and writes it.
fn write_results(path: &Path, header: &Header, mut info: RunInfo, samples: &[Sample]) -> Result<Written> {
    info.noise = derive::noise(samples);
    info.drift = derive::drift(samples);
    let queries =
        if info.keys.source.starts_with("file:") { derive::Queries::Shared } else { derive::Queries::Own };
    info.uniformity = derive::uniformity(samples, queries);
    info.noisy = (!info.noise.is_empty()).then(|| derive::disturbances(&info));
    let cells = derive::cells(header, samples);
    folder::write_cells(path, &cells)?;
    let runs = [(info, cells)];
    let studies = derive::studies(samples);
    let shown = report::Results { info: &runs[0].0, cells: &runs[0].1, studies: &studies };
    let file = folder::write_report(path, &report::render(&[shown])?)?;
    // Last, since a run that says it is finished is not touched again.
    folder::write_run(path, &runs[0].0)?;
    Ok((file, runs))
}

/// A second signal so soon is no second wish: a terminal and its supervisor may each send one.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Set by Ctrl-C; another one, later than a moment, ends the program at once.
pub(crate) fn interruption(path: &Path) -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let path = path.to_path_buf();
    let first = OnceLock::new();
    ctrlc::set_handler(move || {
        flag.store(true, Ordering::Relaxed);
        if first.get_or_init(Instant::now).elapsed() > SAME_WISH {
            // Children end with their parent; destructors do not run.
            folder::remove_leftovers(&path);
            std::process::exit(crate::cli::INTERRUPTED.into());
        }
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(interrupted)
}
