//! Two builds of the program, run alternately: what decides whether a change made something faster.
//!
//! Both builds first verify every filter. Then, repetition by repetition, a process of each build times all filters of a group:
//! base first or new first by chance, each as often as the other. Keys, seeds and the order of the filters within a repetition
//! are the same in both, so that a repetition is a pair which differs in the code alone, and what the machine does from one
//! minute to the next is in both halves of it. [`compare`] judges the pairs.

pub mod handshake;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, ensure};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use self::handshake::Build;
use crate::compare::{self, LEVEL, Method, Output, Pairing, Provenance, Share, Side};
use crate::store::machine;
use crate::store::sample::{GroupDone, Sample};
use crate::sweep;
use crate::sweep::execution::interruption;
use crate::sweep::groups::{self, Group};
use crate::sweep::plan::Plan;
use crate::sweep::progress::Progress;
use crate::sweep::schedule::{Begun, Interrupted, Report, Scheduler, Stoppable, Twins};

/// What a command line asks for.
#[derive(Debug)]
pub struct Options {
    /// The program that is compared with.
    pub base: PathBuf,
    /// The program that is judged.
    pub new: PathBuf,
    /// What is measured.
    pub what: sweep::Options,
    /// How often; as often as the sweep says if `None`.
    pub repetitions: Option<u32>,
    /// By how much something may get worse.
    pub threshold: Share,
    /// Where the result goes.
    pub output: Output,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is worse by more than the threshold.
    Fine,
    /// Something is.
    Regression,
    /// It was interrupted; there is no result.
    Interrupted,
}

/// Measures two builds and compares them.
///
/// # Errors
/// If one of the programs is no build that can be compared, the options are not usable, or the harness fails.
pub fn run(options: &Options) -> Result<Outcome> {
    let builds = [Build::ask(&options.base)?, Build::ask(&options.new)?];
    builds[0].check_comparable(&builds[1])?;
    let mut plan = Plan::of(&options.what, None)?;
    plan.sweep.repetitions = options.repetitions.unwrap_or(plan.sweep.repetitions);
    ensure!(
        plan.sweep.repetitions >= 3,
        "{} repetitions are too few to compare: give --repetitions 3 or more",
        plan.sweep.repetitions
    );
    let scratch = tempfile::Builder::new().prefix("amq-bench-ab-").tempdir();
    let scratch = scratch.context("cannot make a folder for keys")?;
    let interrupted = interruption(scratch.path())?;
    let schedulers = builds.each_ref().map(|build| Scheduler {
        program: &build.path,
        sweep: &plan.sweep,
        keys: &plan.keys,
        scratch: scratch.path(),
        twins: Twins::LeftOut,
        interrupted: &interrupted,
    });
    let Ok(samples) = alternate(&plan, &builds, &schedulers, &interrupted)? else {
        eprintln!("interrupted: there is no result");
        return Ok(Outcome::Interrupted);
    };
    let [base, new] = side_by_side(&plan, builds, samples);
    let method = Method { pairing: Pairing::ByRepetition, level: LEVEL, threshold: options.threshold.0 };
    let comparison = compare::compare(&base, &new, method)?;
    options.output.write(&comparison)?;
    Ok(if comparison.summary.is_regression() { Outcome::Regression } else { Outcome::Fine })
}

/// The samples of both builds, over all groups.
fn alternate(
    plan: &Plan,
    builds: &[Build; 2],
    schedulers: &[Scheduler<'_>; 2],
    interrupted: &AtomicBool,
) -> Stoppable<[Vec<Sample>; 2]> {
    let costs: Vec<_> = plan.groups.iter().map(|group| 2.0 * group.cost(&plan.sweep)).collect();
    let mut progress = Progress::new(&costs, 0);
    let mut all = [Vec::new(), Vec::new()];
    for (group, &cost) in plan.groups.iter().zip(&costs) {
        progress.begin(group.index, &groups::describe(&group.point));
        let groups = builds.each_ref().map(|build| known_to(group, build));
        let outcome =
            measure_group(&groups, schedulers, plan.sweep.repetitions, &mut |what| progress.step(what));
        let Ok(found) = outcome? else {
            progress.finish();
            return Ok(Err(Interrupted));
        };
        for (all, found) in all.iter_mut().zip(found) {
            all.extend(found);
        }
        progress.end(cost);
        if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(Err(Interrupted));
        }
    }
    progress.finish();
    Ok(Ok(all))
}

/// The group with the filters that a build has.
fn known_to(group: &Group, build: &Build) -> Group {
    let mut group = group.clone();
    group.filters.retain(|filter| build.handshake.filters.iter().any(|known| known.name == filter.name));
    group
}

fn measure_group(
    groups: &[Group; 2],
    schedulers: &[Scheduler<'_>; 2],
    repetitions: u32,
    report: Report<'_>,
) -> Stoppable<[Vec<Sample>; 2]> {
    let mut begun = Vec::new();
    for (scheduler, group) in schedulers.iter().zip(groups) {
        match scheduler.begin(group, report)? {
            Ok(ready) => begun.push(ready),
            Err(interrupted) => return Ok(Err(interrupted)),
        }
    }
    for (repetition, order) in (0..).zip(orders(repetitions, groups[0].seed)) {
        for side in order {
            let Begun { samples, .. } = &begun[side];
            let before = samples.len();
            match schedulers[side].time(
                &groups[side],
                &mut begun[side],
                repetition..repetition + 1,
                report,
            )? {
                Ok(()) => join_repetitions(&mut begun[side].samples, before),
                Err(interrupted) => return Ok(Err(interrupted)),
            }
        }
    }
    let done = Sample::GroupDone(GroupDone { group: groups[0].index, seconds: 0.0 });
    let mut samples = begun.into_iter().map(|begun| [begun.samples, vec![done.clone()]].concat());
    Ok(Ok([(); 2].map(|()| samples.next().unwrap_or_default())))
}

/// Which side comes first in each repetition: a random half of them begins with the base.
fn orders(repetitions: u32, seed: u64) -> Vec<[usize; 2]> {
    let mut orders: Vec<_> = (0..repetitions).map(|i| if i % 2 == 0 { [0, 1] } else { [1, 0] }).collect();
    orders.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    orders
}

/// Appends what a further repetition has measured, from `before` on, to what the ones before it have measured of the same.
fn join_repetitions(samples: &mut Vec<Sample>, before: usize) {
    for sample in samples.split_off(before) {
        match samples.iter_mut().find_map(|earlier| times_of_the_same(earlier, &sample)) {
            Some((all, further)) => all.extend(further),
            None => samples.push(sample),
        }
    }
}

fn times_of_the_same<'a>(
    earlier: &'a mut Sample,
    sample: &'a Sample,
) -> Option<(&'a mut Vec<f64>, &'a [f64])> {
    match (earlier, sample) {
        (Sample::Time(all), Sample::Time(further))
            if (&all.filter, all.twin, all.work) == (&further.filter, further.twin, further.work) =>
        {
            Some((&mut all.ns, &further.ns))
        }
        (Sample::Floor(all), Sample::Floor(further))
            if (all.table_bytes, all.access, all.reads)
                == (further.table_bytes, further.access, further.reads) =>
        {
            Some((&mut all.ns, &further.ns))
        }
        _ => None,
    }
}

fn side_by_side(plan: &Plan, builds: [Build; 2], samples: [Vec<Sample>; 2]) -> [Side; 2] {
    let machine = machine::machine();
    let mut samples = samples.into_iter();
    builds.map(|build| {
        let Build { path, hash, handshake } = build;
        let mut header = plan.header(&path);
        header.filters.clear();
        for filter in &plan.filters {
            header.filters.extend(handshake.filters.iter().find(|known| known.name == filter.name).cloned());
        }
        let facts = [
            ("program", format!("{hash:016x}")),
            ("compiler", handshake.compiler.rustc),
            ("target", handshake.compiler.target),
            ("flags", handshake.compiler.flags),
            ("CPU", machine.cpu.clone()),
            ("repetitions", plan.sweep.repetitions.to_string()),
            ("seed", plan.seed.to_string()),
        ];
        let provenance = Provenance { name: path.display().to_string(), facts: facts.into() };
        Side { provenance, header, samples: samples.next().unwrap_or_default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_begins_as_often_as_the_other() {
        for repetitions in [8, 9] {
            let orders = orders(repetitions, 5);
            let base_first = orders.iter().filter(|order| **order == [0, 1]).count();
            assert_eq!((orders.len(), base_first), (repetitions as usize, repetitions.div_ceil(2) as usize));
        }
        assert_ne!(orders(20, 1), orders(20, 2));
    }
}
