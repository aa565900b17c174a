//! Two stored runs, or two builds measured alternately, cell by cell: faster, slower, within the noise, or unknown.
//!
//! The rules, in the order in which they apply to a cell that both sides have:
//!
//! 1. It is *unsupported* where neither side has the operation. It is *unknown* where one side has no times (the reason is
//!    given), has fewer than three repetitions, or where the floor moved by more than 10 %: within a run (the distance of its
//!    quartiles over its median), or from one run to the other (its medians). Of workloads without a floor the sentinel is
//!    asked instead, from one run to the other; between sides that alternate, whether their floors differ for certain.
//! 2. The sample of a side is the logarithm of each repetition's time over the floor of the same repetition; of the time
//!    itself for workloads without a floor. Sides that alternate are taken by pairs instead: the logarithm of the new time over
//!    the base's.
//! 3. The change is the ratio of the 20 % trimmed geometric means, with the p-value and the interval of Yuen (two runs) or of
//!    Tukey and `McLaughlin` (pairs). Rank tests need no distribution, but nine repetitions against nine cannot make a p-value
//!    below 4·10^-5, which among thousands of cells is no discovery however large the change is; a bootstrap of nine values is
//!    too narrow. The trimming takes away what an interrupted repetition would do to a mean.
//! 4. It is *faster* or *slower* where it differs at the false-discovery rate of the level (Benjamini and Hochberg over all
//!    tested cells) and, of two runs, by more than two measurements of one and the same filter differ within either (the A/A
//!    pairs of the workload and mode, their 95th percentile). All else is *within noise*; what would differ at the level if
//!    it were the only cell is counted and shown as such.
//!
//! Sizes do not vary: any change is a finding. Rates are compared by Fisher's exact test at the same false-discovery rate.

mod built;
mod markdown;
mod output;
mod side;
mod text;
mod twins;
mod verdict;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amq_testkit::statistics::{adjusted_p_values, median};
use anyhow::{Context as _, Result, bail};
use serde::Serialize;

pub use self::built::{BuiltCell, Finding, Size, State, What};
pub use self::output::{Format, Output, Share};
pub use self::side::{Provenance, Side};
pub use self::twins::{SHARE_ALLOWED, Twins};
pub use self::verdict::{Change, Method, Over, Pairing, TimedCell, Verdict};

use self::side::{Built, Noise, Timed};
use crate::store::cell::{SCHEMA, Status};
use crate::store::folder;
use crate::sweep::config::Sweep;

/// The level at which cells are called different.
pub const LEVEL: f64 = 0.01;

/// Everything that two sides tell about each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of the stored results.
    pub schema: u32,
    /// How it was judged.
    pub method: Method,
    /// Base and new.
    pub sides: [Provenance; 2],
    /// What differs between the sides beside the numbers: name, base, new.
    pub differences: Vec<(String, String, String)>,
    /// Times, in the order of the runs.
    pub timed: Vec<TimedCell>,
    /// Sizes, rates and status, in the order of the runs.
    pub built: Vec<BuiltCell>,
    /// The conclusions.
    pub summary: Summary,
}

/// What a [`Comparison`] comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Cells by verdict, in the order of [`Verdict::ALL`].
    pub verdicts: [usize; 7],
    /// Cells that were tested.
    pub tested: usize,
    /// Of these, how many differ at the level when each is looked at alone.
    pub alone: usize,
    /// How many of them chance alone lets expect.
    pub by_chance: f64,
    /// Cells that are slower by more than the threshold.
    pub slower: usize,
    /// Sizes, rates and status that changed.
    pub findings: usize,
    /// Of these, how many are worse by more than the threshold.
    pub worse: usize,
}

impl Summary {
    /// Whether anything got worse by more than the threshold.
    pub const fn is_regression(&self) -> bool {
        self.slower + self.worse > 0
    }
}

/// Compares two sides.
///
/// # Errors
/// If they are not of the same keys, n or seed, so that no cell of one is a cell of the other: all that differs is named.
pub fn compare(base: &Side, new: &Side, method: Method) -> Result<Comparison> {
    refuse_differences(base, new)?;
    // Pairs of repetitions, each in a process of its own, have what two measurements differ by in their interval.
    let noise = match method.pairing {
        Pairing::Independent => Noise::of(&base.samples, &new.samples),
        Pairing::ByRepetition => Noise::default(),
    };
    let [base_built, new_built] = [base, new].map(|side| side::built(&side.header, &side.samples));
    let pairs = pairs(&base_built, &new_built)?;

    let mut built: Vec<_> = pairs.iter().filter_map(|&(base, new)| BuiltCell::new(base, new)).collect();
    judge_built(&mut built, method);
    let mut timed: Vec<_> = pairs.iter().flat_map(|&(base, new)| timed_cells(base, new, method)).collect();
    judge_timed(&mut timed, &noise, method);

    let summary = summarise(&timed, &built, method);
    Ok(Comparison {
        schema: SCHEMA,
        method,
        sides: [base.provenance.clone(), new.provenance.clone()],
        differences: differences(&base.provenance, &new.provenance),
        timed,
        built,
        summary,
    })
}

fn refuse_differences(base: &Side, new: &Side) -> Result<()> {
    let mut named = Vec::new();
    let mut check = |what: &str, base: String, new: String| {
        if base != new {
            named.push(format!("  {what}: {base} in base, {new} in new"));
        }
    };
    let (before, now) = (&base.header, &new.header);
    check("schema", before.schema.to_string(), now.schema.to_string());
    check("seed", before.seed.to_string(), now.seed.to_string());
    check("keys", before.keys.source.clone(), now.keys.source.clone());
    check("hash of the keys", format!("{:016x}", before.key_hash), format!("{:016x}", now.key_hash));
    let sweep = |side: &Side| {
        Sweep::parse(&side.header.sweep_toml)
            .with_context(|| format!("in the stored sweep of {}", side.provenance.name))
    };
    // How many keys a pass looks up decides how warm their lines are.
    let lookups = |sweep: &Sweep| sweep.lookups_per_pass.0.to_string();
    check("lookups_per_pass", lookups(&sweep(base)?), lookups(&sweep(new)?));
    if named.is_empty() {
        return Ok(());
    }
    bail!("the cells of the two sides are not the same ones:\n{}", named.join("\n"))
}

type Pair<'a> = (Option<&'a Built<'a>>, Option<&'a Built<'a>>);

/// Every filter at every point with its counterpart, in the order of the base, then what only the new side has.
fn pairs<'a>(base: &'a [Built<'a>], new: &'a [Built<'a>]) -> Result<Vec<Pair<'a>>> {
    let key = |built: &Built<'_>| (built.cell.filter.clone(), words::point(&built.point));
    let mut rest: BTreeMap<_, _> = new.iter().map(|built| (key(built), built)).collect();
    let mut pairs = Vec::new();
    let mut seeds = Vec::new();
    for built in base {
        let other = rest.remove(&key(built));
        if let Some(other) = other.filter(|other| other.seed != built.seed) {
            let point = words::point(&built.point);
            seeds.push(format!("  {point}: seed {} in base, {} in new", built.seed, other.seed));
        }
        pairs.push((Some(built), other));
    }
    seeds.dedup();
    if !seeds.is_empty() {
        bail!("the keys of the two sides are not the same ones:\n{}", seeds.join("\n"));
    }
    if pairs.iter().all(|(_, new)| new.is_none()) {
        let points = |side: &[Built<'_>]| {
            let mut points: Vec<_> = side.iter().map(|built| words::point(&built.point)).collect();
            points.dedup();
            if points.is_empty() { "nothing".into() } else { points.join("; ") }
        };
        bail!("the two sides have no cell in common:\n  base: {}\n  new: {}", points(base), points(new));
    }
    let only_new = new.iter().filter(|built| rest.contains_key(&key(built)));
    pairs.extend(only_new.map(|built| (None, Some(built))));
    Ok(pairs)
}

fn timed_cells(base: Option<&Built<'_>>, new: Option<&Built<'_>>, method: Method) -> Vec<TimedCell> {
    let Some(any) = base.or(new) else { return Vec::new() };
    let mut works: Vec<_> = of(base).iter().map(|timed| timed.work).collect();
    for timed in of(new) {
        if !works.contains(&timed.work) {
            works.push(timed.work);
        }
    }
    let cell = |work| {
        let [base, new] = [base, new].map(|side| of(side).iter().find(|timed| timed.work == work));
        timed_cell(any, base, new, method)
    };
    works.into_iter().filter_map(cell).collect()
}

fn of<'a>(side: Option<&'a Built<'a>>) -> &'a [Timed<'a>] {
    side.map_or(&[], |built| &built.timed)
}

/// `None` where neither side knows the workload.
fn timed_cell(
    built: &Built<'_>,
    base: Option<&Timed<'_>>,
    new: Option<&Timed<'_>>,
    method: Method,
) -> Option<TimedCell> {
    let any = base.or(new)?;
    let ns = |side: Option<&Timed<'_>>| side.and_then(|timed| median(&mut timed.ns.to_vec()));
    let mut cell = TimedCell {
        filter: built.cell.filter.clone(),
        point: built.point,
        work: any.work,
        verdict: Verdict::Unknown,
        reason: String::new(),
        ns: [ns(base), ns(new)],
        repetitions: [base, new].map(|side| side.map_or(0, |timed| timed.ns.len())),
        over: Over::Nothing,
        change: None,
    };
    let unsupported = |side: Option<&Timed<'_>>| side.is_none_or(|timed| timed.status == Status::Unsupported);
    match (base, new) {
        _ if unsupported(base) && unsupported(new) => {
            cell.verdict = Verdict::Unsupported;
            cell.reason.clone_from(&any.reason);
        }
        (Some(base), Some(new)) => match verdict::test(base, new, method) {
            Ok((shift, over)) => {
                cell.verdict = Verdict::WithinNoise;
                cell.over = over;
                cell.change = Some(Change {
                    ratio: shift.estimate.exp(),
                    low: shift.interval.low.exp(),
                    high: shift.interval.high.exp(),
                    p: shift.p,
                    adjusted_p: shift.p,
                    noise: None,
                });
            }
            Err(reason) => cell.reason = reason,
        },
        (_, None) => cell.verdict = Verdict::BaseOnly,
        (None, _) => cell.verdict = Verdict::NewOnly,
    }
    Some(cell)
}

fn judge_timed(cells: &mut [TimedCell], noise: &Noise, method: Method) {
    let p: Vec<_> = cells.iter().filter_map(|cell| cell.change.map(|change| change.p)).collect();
    let mut adjusted = adjusted_p_values(&p).into_iter();
    for cell in cells {
        let Some(change) = &mut cell.change else { continue };
        change.adjusted_p = adjusted.next().unwrap_or(1.0);
        let noise = noise.get(cell.work.workload, cell.work.mode);
        change.noise = noise.map(f64::exp);
        if change.adjusted_p <= method.level && change.ratio.ln().abs() > noise.unwrap_or(0.0) {
            cell.verdict = if change.ratio > 1.0 { Verdict::Slower } else { Verdict::Faster };
        }
    }
}

fn judge_built(cells: &mut [BuiltCell], method: Method) {
    let p: Vec<_> = cells.iter().filter_map(|cell| cell.rate_p).collect();
    let mut adjusted = adjusted_p_values(&p).into_iter();
    for cell in cells {
        cell.rate_adjusted_p = cell.rate_p.and_then(|_| adjusted.next());
        cell.find(method.level, method.threshold);
    }
}

fn summarise(timed: &[TimedCell], built: &[BuiltCell], method: Method) -> Summary {
    let tested = timed.iter().filter_map(|cell| cell.change);
    let findings = || built.iter().flat_map(|cell| &cell.findings);
    Summary {
        verdicts: Verdict::ALL.map(|verdict| timed.iter().filter(|cell| cell.verdict == verdict).count()),
        tested: tested.clone().count(),
        alone: tested.clone().filter(|change| change.p <= method.level).count(),
        by_chance: tested.count() as f64 * method.level,
        slower: timed.iter().filter(|cell| cell.is_regression(method.threshold)).count(),
        findings: findings().count(),
        worse: findings().filter(|finding| finding.regression).count(),
    }
}

fn differences(base: &Provenance, new: &Provenance) -> Vec<(String, String, String)> {
    let names = base.facts.keys().chain(new.facts.keys().filter(|name| !base.facts.contains_key(*name)));
    names
        .filter_map(|name| {
            let [base, new] = [base, new].map(|side| side.facts.get(name).cloned().unwrap_or_default());
            (base != new).then(|| ((*name).to_owned(), base, new))
        })
        .collect()
}

impl Comparison {
    /// The cells that changed for certain and most, the largest change first: slower ones, or faster ones.
    pub fn most(&self, verdict: Verdict) -> Vec<&TimedCell> {
        let size = |cell: &TimedCell| cell.change.map_or(0.0, |change| change.ratio.ln().abs());
        let mut cells: Vec<_> = self.timed.iter().filter(|cell| cell.verdict == verdict).collect();
        cells.sort_by(|a, b| size(b).total_cmp(&size(a)));
        cells
    }
}

fn read(path: &Path) -> Result<Side> {
    let (info, stored) = folder::read(path)?;
    if stored.dropped_lines > 0 {
        eprintln!("warning: {}: a group that was not finished is left out", path.display());
    }
    let provenance = Provenance { name: path.display().to_string(), ..Provenance::of_run(&info) };
    Ok(Side { provenance, header: stored.header, samples: stored.samples })
}

/// `amq-bench compare`: whether the new run is a regression.
///
/// # Errors
/// If one of the folders is not that of a run, they have no cells in common, or the output cannot be written.
pub fn run(base: &Path, new: &Path, threshold: Share, output: &Output) -> Result<bool> {
    let method = Method { pairing: Pairing::Independent, level: LEVEL, threshold: threshold.0 };
    let comparison = compare(&read(base)?, &read(new)?, method)?;
    output.write(&comparison)?;
    Ok(comparison.summary.is_regression())
}

/// `amq-bench compare --twins`: over these runs, how many pairs of a filter and itself are called different. Whether they are
/// too many.
///
/// # Errors
/// If one of the folders is not that of a run.
pub fn run_twins(runs: &[PathBuf]) -> Result<bool> {
    let sides = runs.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let twins = Twins::of(&sides);
    print!("{twins}");
    Ok(twins.too_many())
}
