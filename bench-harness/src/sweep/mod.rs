//! A sweep from its options to its results.
//!
//! [`config`] says what to sweep, [`keys`] over which keys; [`groups`] makes points of it, and `plan` all that decides the
//! results; `execution` runs one point after the other with [`schedule`], through [`children`] that do [`jobs`]; [`progress`]
//! and `messages` say how it goes.

pub mod children;
pub mod config;
pub(crate) mod execution;
pub mod groups;
pub mod jobs;
pub mod keys;
mod messages;
mod places;
pub(crate) mod plan;
pub mod progress;
pub mod schedule;
mod steal;

use std::path::{Path, PathBuf};

use anyhow::Result;

use self::config::Overrides;
use self::execution::{carry_out, finished, outcome};
use self::messages::say_how_to_go_on;
use self::places::{new_folder, reports_folder};
use self::plan::{Plan, continued, refuse_differences};
use crate::store::cell::Cell;
use crate::store::derive;
use crate::store::folder::{self, Folder, Stored};

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

/// Runs a sweep and writes its results; the summary goes to the standard output.
///
/// # Errors
/// If the options, the sweep, the keys or the folder are not usable; or the harness fails.
pub fn run(options: &Options) -> Result<Outcome> {
    match options.start {
        Start::Anew => {
            let plan = Plan::of(options, None)?;
            let (path, reports) = new_folder(options.out.as_deref())?;
            let header = plan.header(&path);
            let folder = Folder::create(&path, &header)?;
            let info = plan.info(&header);
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
            let plan = Plan::of(options, Some(&stored.header))?;
            let Stored { header: before, samples, dropped_lines, cut } = stored;
            refuse_differences(&before, &plan.header(&path))?;
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
                None => plan.info(&before),
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
