//! A sweep from its options to its results.
//!
//! [`config`] says what to sweep, [`keys`] over which keys; [`groups`] makes points of it; [`schedule`] runs one point after the
//! other through [`children`] that do [`jobs`]; [`progress`] shows how far it is.

pub mod children;
pub mod config;
pub mod groups;
pub mod jobs;
pub mod keys;
pub mod progress;
pub mod schedule;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use amq::Descriptor;
use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;

use self::config::{Counts, Overrides, Sweep};
use self::groups::Group;
use self::keys::file::KeyFile;
use self::keys::{KeySource, Keys};
use self::progress::Progress;
use self::schedule::Scheduler;
use crate::numbers::grouped;
use crate::registry;
use crate::store::cell::{Cell, SCHEMA, Status};
use crate::store::derive;
use crate::store::folder::{self, Folder, Stored};
use crate::store::machine::{self, Ticks};
use crate::store::run::{FilterInfo, RunInfo};
use crate::store::sample::{Header, Sample};
use crate::store::study::{Record, StudyPoint};
use crate::studies::schedule::{Finish, Runner};
use crate::studies::{self, Unit};
use crate::{report, summary};

/// Runs without `--seed` can be compared with each other.
pub const DEFAULT_SEED: u64 = 1;

/// What a command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A sweep that comes with the program.
    pub profile: Option<String>,
    /// A sweep file.
    pub file: Option<PathBuf>,
    /// What is changed in it.
    pub overrides: Overrides,
    /// The filters; all if `None`.
    pub families: Option<Vec<String>>,
    /// Whether foreign filters take part.
    pub peers: Peers,
    /// A file of keys; generated ones if `None`.
    pub keys: Option<PathBuf>,
    /// The seed of everything.
    pub seed: Option<u64>,
    /// The folder of the results.
    pub out: Option<PathBuf>,
    /// Whether to go on with a run.
    pub start: Start,
}

/// Whether foreign filters take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peers {
    /// They do.
    #[default]
    Included,
    /// They do not.
    LeftOut,
}

/// Whether a sweep begins or goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// A new run.
    #[default]
    Anew,
    /// The interrupted run in the folder, or the latest.
    Resume,
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every group is done and no filter has a defect.
    Done,
    /// Every group is done; some filters failed their verification.
    Failed,
    /// It was interrupted.
    Interrupted,
}

/// A sweep with all that decides its results.
#[derive(Debug)]
struct Plan {
    sweep: Sweep,
    keys: Keys,
    key_file: Option<PathBuf>,
    filters: Vec<&'static Descriptor>,
    seed: u64,
    groups: Vec<Group>,
    units: Vec<Unit>,
}

impl Plan {
    /// What is left of the studies.
    fn units_left(&self, samples: &[Sample]) -> Vec<Unit> {
        let done = derive::studies(samples);
        self.units.iter().filter(|unit| !done.iter().any(|record| unit.is(record))).cloned().collect()
    }
}

/// Runs a sweep and writes its results; the summary goes to the standard output.
///
/// # Errors
/// If the options, the sweep, the keys or the folder are not usable; or the harness fails.
pub fn run(options: &Options) -> Result<Outcome> {
    match options.start {
        Start::Anew => {
            let plan = plan(options, None)?;
            let (path, reports) = new_folder(options.out.as_deref())?;
            let header = header(&plan, &path);
            let folder = Folder::create(&path, &header)?;
            let info = info(&plan, &header);
            carry_out(&plan, &header, folder, info, Vec::new(), reports.as_deref())
                .inspect_err(|_| say_how_to_go_on(&path))
        }
        Start::Resume => {
            let (path, reports) = if let Some(path) = &options.out {
                (path.clone(), None)
            } else {
                let reports = reports_folder()?;
                (folder::latest(&reports)?, Some(reports))
            };
            let (folder, stored) = Folder::open(&path)?;
            let plan = plan(options, Some(&stored.header))?;
            let Stored { header: before, samples, dropped_lines, cut } = stored;
            refuse_differences(&before, &header(&plan, &path))?;
            if dropped_lines > 0 {
                let how = if cut { ", the last of them cut" } else { "" };
                eprintln!(
                    "dropped {dropped_lines} lines of a group that was not finished{how}: it is run again"
                );
            }
            let info = match folder::read_run(&path, &before)? {
                Some(info)
                    if info.finished.is_some()
                        && finished(&samples) == plan.groups.len()
                        && plan.units_left(&samples).is_empty() =>
                {
                    return Ok(left_alone(&path, &derive::cells(&before, &samples)));
                }
                Some(info) => continued(info),
                // It was ended before it had written one.
                None => info(&plan, &before),
            };
            carry_out(&plan, &before, folder, info, samples, reports.as_deref())
                .inspect_err(|_| say_how_to_go_on(&path))
        }
    }
}

/// A finished run stays as it is.
fn left_alone(path: &Path, cells: &[Cell]) -> Outcome {
    let path = path.display();
    eprintln!("the run in {path} is finished: nothing was changed (amq-bench report {path} shows it again)");
    outcome(cells)
}

fn plan(options: &Options, stored: Option<&Header>) -> Result<Plan> {
    let sweep = match (&options.file, &options.profile, stored) {
        (Some(file), ..) => Sweep::read(file)?,
        (None, Some(profile), _) => Sweep::profile(profile)?,
        (None, None, Some(header)) => Sweep::parse(&header.sweep_toml).context("in the stored sweep")?,
        (None, None, None) => Sweep::profile("quick")?,
    };
    let sweep = sweep.with(options.overrides.clone())?;
    let filters = match (&options.families, stored) {
        (Some(names), _) => select(names)?,
        (None, Some(header)) => {
            select(&header.filters.iter().map(|filter| filter.name.clone()).collect::<Vec<_>>())?
        }
        (None, None) => taking_part(&sweep)?,
    };
    let filters: Vec<_> = filters
        .into_iter()
        .filter(|filter| options.peers == Peers::Included || filter.peer.is_none())
        .collect();
    ensure!(!filters.is_empty(), "no filter is left: --no-peers leaves out all that were chosen");
    let stored_keys = stored.and_then(|header| header.key_file.as_ref()).map(PathBuf::from);
    let from_sweep = match &sweep.keys {
        KeySource::File { path } => Some(PathBuf::from(path)),
        _ => None,
    };
    let key_file = options.keys.clone().or(stored_keys).or(from_sweep);
    let keys = match &key_file {
        Some(path) => Keys::File(KeyFile::read(path)?),
        None => Keys::Generated(sweep.keys.clone()),
    };
    let sweep = match keys.distinct() {
        None => sweep,
        Some(distinct) => {
            // A stored sweep names every number of keys that it was carried out with.
            let as_stored = options.file.is_none() && options.profile.is_none() && stored.is_some();
            let given = options.overrides.n.as_deref();
            for n in given.into_iter().flatten().filter(|n| n.0 > distinct) {
                eprintln!(
                    "warning: n = {} is left out: the key file has {} distinct keys",
                    grouped(n.0),
                    grouped(distinct)
                );
            }
            let counts = if as_stored || given.is_some() { Counts::AsGiven } else { Counts::UpToAll };
            sweep.over_keys(distinct, counts)?
        }
    };
    let seed = options.seed.or(stored.map(|header| header.seed)).unwrap_or(DEFAULT_SEED);
    let groups = groups::plan(&sweep, &keys, &filters, seed);
    ensure!(
        !groups.is_empty(),
        "there is nothing to measure: the chosen filters take part in no group of this sweep"
    );
    let units = sweep.studies.as_ref().map_or_else(Vec::new, |own| studies::units(own, &filters, seed));
    Ok(Plan { sweep, keys, key_file, filters, seed, groups, units })
}

/// Every filter of ours, and the peers that the sweep names: all, if it names none.
fn taking_part(sweep: &Sweep) -> Result<Vec<&'static Descriptor>> {
    let all = registry::filters();
    let Some(peers) = sweep.peers.as_ref().filter(|_| cfg!(feature = "peers")) else { return Ok(all) };
    let chosen = select(peers).context("in the sweep's peers")?;
    Ok(all
        .into_iter()
        .filter(|filter| filter.peer.is_none() || chosen.iter().any(|peer| peer.name == filter.name))
        .collect())
}

fn select(names: &[String]) -> Result<Vec<&'static Descriptor>> {
    for name in names {
        if registry::filter(name).is_none() {
            let known: Vec<_> = registry::filters().iter().map(|filter| filter.name).collect();
            bail!("there is no filter {name:?}: take some of {}", known.join(", "));
        }
    }
    // In the order of the registry, each once.
    Ok(registry::filters()
        .into_iter()
        .filter(|filter| names.iter().any(|name| name == filter.name))
        .collect())
}

/// The `reports` folder of the workspace that the current folder is in; of the current folder if it is in none.
fn reports_folder() -> Result<PathBuf> {
    let current = std::env::current_dir().context("cannot tell the current folder")?;
    let is_workspace = |folder: &&Path| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let root = current.ancestors().find(is_workspace).unwrap_or(&current);
    Ok(root.join("reports"))
}

/// The folder of a new run, and the `reports` folder where it is to become the latest.
fn new_folder(out: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>)> {
    if let Some(out) = out {
        return Ok((out.into(), None));
    }
    let reports = reports_folder()?;
    let runs = reports.join("runs");
    std::fs::create_dir_all(&runs).with_context(|| format!("cannot make the folder {}", runs.display()))?;
    let time = Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let revision = machine::revision().map_or_else(|| "unknown".into(), |(revision, _)| revision);
    for number in 1..1000 {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = runs.join(format!("{time}-{revision}{suffix}"));
        // Whoever makes it has it.
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok((path, Some(reports))),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the folder {}", path.display()));
            }
        }
    }
    bail!("a thousand runs began in {} this second", runs.display())
}

fn header(plan: &Plan, path: &Path) -> Header {
    let name = path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    let largest = plan.groups.iter().map(|group| group.point.n()).max().unwrap_or(0);
    Header {
        schema: SCHEMA,
        run: name,
        sweep_toml: plan.sweep.to_toml(),
        seed: plan.seed,
        keys: plan.keys.info(largest),
        key_file: plan.key_file.as_ref().map(|path| absolute(path).to_string_lossy().into_owned()),
        key_hash: plan.keys.hash(),
        filters: plan.filters.iter().map(|filter| FilterInfo::of(filter)).collect(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn info(plan: &Plan, header: &Header) -> RunInfo {
    let (revision, dirty) = machine::revision().unzip();
    RunInfo {
        schema: SCHEMA,
        run: header.run.clone(),
        started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        finished: None,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        sweep: plan.sweep.name.clone(),
        sweep_toml: header.sweep_toml.clone(),
        seed: plan.seed,
        repetitions: plan.sweep.repetitions,
        revision: revision.unwrap_or_default(),
        dirty,
        machine: machine::machine(),
        compiler: machine::compiler(),
        dependencies: machine::dependencies(),
        keys: header.keys.clone(),
        filters: header.filters.clone(),
        noise: std::collections::BTreeMap::new(),
        drift: None,
        noisy: None,
        uniformity: None,
    }
}

/// The provenance of a run that goes on: as it began, with a warning where the program is another one.
fn continued(info: RunInfo) -> RunInfo {
    let now = machine::revision().map(|(revision, _)| revision).unwrap_or_default();
    if now != info.revision {
        eprintln!(
            "warning: the run began with revision {} and goes on with {now}: its numbers may not be comparable",
            info.revision
        );
    }
    info
}

/// A run goes on only with the same sweep, filters, keys and seed.
fn refuse_differences(before: &Header, now: &Header) -> Result<()> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, before: String, now: String| {
        if before != now {
            differences.push(format!("  {what}: {before} before, {now} now"));
        }
    };
    compare("seed", before.seed.to_string(), now.seed.to_string());
    compare("keys", before.keys.source.clone(), now.keys.source.clone());
    compare("distinct keys", grouped(before.keys.distinct), grouped(now.keys.distinct));
    compare("hash of the keys", format!("{:016x}", before.key_hash), format!("{:016x}", now.key_hash));
    let names = |header: &Header| {
        header
            .filters
            .iter()
            .map(|filter| format!("{} {}", filter.name, filter.version))
            .collect::<Vec<_>>()
            .join(", ")
    };
    compare("filters", names(before), names(now));
    compare("schema", before.schema.to_string(), now.schema.to_string());
    let lines = |header: &Header| header.sweep_toml.lines().map(String::from).collect::<Vec<_>>();
    let (lines_before, lines_now) = (lines(before), lines(now));
    for line in lines_before.iter().filter(|line| !lines_now.contains(line)) {
        differences.push(format!("  the sweep had  {line}"));
    }
    for line in lines_now.iter().filter(|line| !lines_before.contains(line)) {
        differences.push(format!("  the sweep has  {line}"));
    }
    ensure!(
        differences.is_empty(),
        "the run to continue is another one:\n{}\nGive the same options, or none, or another folder.",
        differences.join("\n")
    );
    Ok(())
}

/// Set by Ctrl-C; a second one ends the program at once.
fn interruption(path: &Path) -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let path = path.to_path_buf();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            // Children end with their parent; destructors do not run.
            folder::remove_leftovers(&path);
            std::process::exit(crate::cli::INTERRUPTED.into());
        }
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(interrupted)
}

/// What to do after a failure of the disk or the machine.
fn say_how_to_go_on(path: &Path) {
    eprintln!(
        "finished groups are kept. To go on when the cause is removed: amq-bench sweep --resume --out {}",
        path.display()
    );
}

fn carry_out(
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
    announce(plan, &path);

    let finished = finished(&samples);
    let costs: Vec<_> = plan.groups.iter().map(|group| group.cost(&plan.sweep)).collect();
    let mut progress = Progress::new(&costs, finished);
    if finished > 0 {
        progress.say(&format!("{finished} of {} groups were finished before", plan.groups.len()));
    }
    let steal = Steal::since(&info, &samples);
    let scheduler =
        Scheduler { sweep: &plan.sweep, keys: &plan.keys, scratch: &path, interrupted: &interrupted };
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
fn finished(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| matches!(sample, Sample::GroupDone(_))).count()
}

fn outcome(cells: &[Cell]) -> Outcome {
    let defect = cells.iter().any(|cell| cell.status == Status::VerifyFailed);
    if defect { Outcome::Failed } else { Outcome::Done }
}

/// Where the report is, and what it shows.
type Written = (PathBuf, [(RunInfo, Vec<Cell>); 1]);

/// Derives everything from the samples and writes it.
fn write_results(path: &Path, header: &Header, mut info: RunInfo, samples: &[Sample]) -> Result<Written> {
    info.noise = derive::noise(samples);
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

/// The share of time that a hypervisor took, over all sittings of a run.
#[derive(Debug)]
struct Steal {
    /// Of the sittings before.
    before: Option<f64>,
    /// How long their finished groups took.
    seconds_before: f64,
    ticks: Option<Ticks>,
    started: Instant,
}

impl Steal {
    fn since(info: &RunInfo, samples: &[Sample]) -> Self {
        let seconds = samples.iter().filter_map(|sample| match sample {
            Sample::GroupDone(done) => Some(done.seconds),
            _ => None,
        });
        Self {
            before: info.machine.steal,
            seconds_before: seconds.sum(),
            ticks: Ticks::now(),
            started: Instant::now(),
        }
    }

    fn until_now(&self) -> Option<f64> {
        let now = self.ticks.and_then(Ticks::stolen_since);
        pooled(self.before, self.seconds_before, now, self.started.elapsed().as_secs_f64())
    }
}

/// The share over two stretches of time; of one of them where the other's is not known.
fn pooled(first: Option<f64>, seconds: f64, second: Option<f64>, more_seconds: f64) -> Option<f64> {
    let (Some(before), Some(now)) = (first, second) else { return second.or(first) };
    let all = seconds + more_seconds;
    if all > 0.0 { Some((before * seconds + now * more_seconds) / all) } else { second }
}

fn announce(plan: &Plan, path: &Path) {
    let keys = plan.keys.info(plan.groups.iter().map(|group| group.point.n()).max().unwrap_or(0));
    eprintln!(
        "sweep {}: {} groups, {} filters, seed {}, into {}",
        plan.sweep.name,
        plan.groups.len(),
        plan.filters.len(),
        plan.seed,
        path.display()
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
fn failures(samples: &[Sample]) -> Vec<String> {
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

/// Where the report is, as a path and as an address.
fn results(file: &Path) -> String {
    let file = absolute(file);
    let mut address = String::from("file://");
    for byte in file.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            _ => address.extend(format!("%{byte:02X}").chars()),
        }
    }
    format!("Report: {}\n        {address}", file.display())
}

/// What makes the numbers of a run doubtful.
fn warn(info: &RunInfo, cells: &[Cell]) {
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
    let busy = info.machine.load_average.is_some_and(|load| load > f64::from(info.machine.cores) / 2.0);
    if busy {
        eprintln!("warning: the machine was busy when the sweep began");
    }
    if let Some(steal) = info.machine.steal.filter(|&steal| steal > 0.02) {
        eprintln!("warning: {:.0} % of the time was taken by other virtual machines", steal * 100.0);
    }
    for (workload, noise) in info.noise.iter().filter(|(_, noise)| noise.median > 0.05) {
        eprintln!(
            "warning: two measurements of the same filter differ by {:.0} % in the median ({workload}): smaller differences mean nothing",
            noise.median * 100.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_pooled_over_the_sittings() {
        assert_eq!(pooled(Some(0.5), 30.0, Some(0.1), 10.0), Some(0.4));
        assert_eq!(pooled(None, 30.0, Some(0.1), 10.0), Some(0.1));
        assert_eq!(pooled(Some(0.5), 30.0, None, 10.0), Some(0.5));
        assert_eq!(pooled(Some(0.5), 0.0, Some(0.1), 0.0), Some(0.1));
    }

    #[test]
    fn addresses_are_percent_encoded() {
        assert!(results(Path::new("/a b/ü#.html")).ends_with("file:///a%20b/%C3%BC%23.html"));
    }

    #[test]
    fn filters_keep_the_order_of_the_registry() {
        let mut names: Vec<_> = registry::filters().iter().map(|filter| filter.name.to_string()).collect();
        let expected = names.clone();
        names.reverse();
        names.push(expected[0].clone());
        let selected: Vec<_> = select(&names).unwrap().iter().map(|filter| filter.name).collect();
        assert_eq!(selected, expected);
        let error = select(&["blom".into()]).unwrap_err().to_string();
        assert!(error.contains("\"blom\"") && error.contains(&expected[0]), "{error}");
    }
}
