//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Parser, Subcommand};

use crate::ab::{self, handshake, handshake::Handshake};
use crate::compare::{self, Format, Output, Share};
use crate::numbers::Count;
use crate::store::{derive, folder};
use crate::studies::child;
use crate::sweep::config::Overrides;
use crate::sweep::keys::KeySource;
use crate::sweep::{self, Options, Outcome, Peers, Start, jobs};
use crate::{list, registry, report, summary};

/// The exit status after a failed check.
const CHECK_FAILED: u8 = 1;
/// After bad usage or input.
const BAD_INPUT: u8 = 2;
/// After an interruption: 128 + SIGINT, as shells say it.
pub const INTERRUPTED: u8 = 130;

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 a filter failed its verification or a comparison found a regression, 2 bad usage or input,
130 interrupted.
Start with `amq-bench sweep`, then open reports/latest/report.html.";

/// Measures approximate-membership filters on this machine, and reports which to take.
#[derive(Debug, Parser)]
#[command(name = "amq-bench", version, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build, verify and measure filters, and leave a report
    Sweep(Box<SweepArguments>),
    /// Make report.html again from stored results, or one report of several runs
    Report(ReportArguments),
    /// Compare two stored runs: every cell faster, slower, within the noise, or unknown
    Compare(CompareArguments),
    /// List the filters, what they can do, and in which range
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure two builds of this program alternately: whether a change made something faster
    Ab(Box<AbArguments>),
    /// A measuring process of a sweep: its job comes on standard input
    #[command(name = jobs::SUBCOMMAND, hide = true)]
    Measure {
        /// Say which jobs this build takes, and do none
        #[arg(long = handshake::ARGUMENT)]
        handshake: bool,
    },
    /// A measuring process of a study: its job comes on standard input
    #[command(name = child::SUBCOMMAND, hide = true)]
    Study,
}

/// What is measured.
#[derive(Debug, Args)]
struct WhatArguments {
    /// How much to sweep: smoke (seconds), quick (minutes; the default), standard (half an hour), full (hours)
    #[arg(long, value_name = "NAME", conflicts_with = "sweep")]
    profile: Option<String>,
    /// A sweep file in place of a profile; bench-harness/sweeps/quick.toml explains every field
    #[arg(long, value_name = "FILE.toml")]
    sweep: Option<PathBuf>,
    /// Only these filters (see `amq-bench list`)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    families: Option<Vec<String>>,
    /// Numbers of keys in place of the sweep's, for example 1e4,1e6
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    n: Option<Vec<Count>>,
    /// False-positive rates in place of the sweep's, for example 1e-2,1e-3
    #[arg(long, value_name = "E,E", value_delimiter = ',')]
    fpr: Option<Vec<f64>>,
    /// Loads of the tables in place of the sweep's, for example 0.5,0.9
    #[arg(long, value_name = "A,A", value_delimiter = ',')]
    alpha: Option<Vec<f64>>,
    /// Remainder bits in place of the sweep's, for example 8,12
    #[arg(long, value_name = "R,R", value_delimiter = ',')]
    r: Option<Vec<u32>>,
    /// A file of keys, one a line, as bytes; a CR before the newline is dropped, an empty line is the empty key, repetitions
    /// count once. n is then limited to its keys; without --n, all of them are swept too
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// How keys are generated, in place of the sweep's: uniform, sequential, strided, bit-reversed, or zipf (keys that repeat,
    /// for filters that count)
    #[arg(long, value_name = "KIND", conflicts_with = "keys")]
    keys_kind: Option<KeySource>,
    /// Only this project's filters, none of other crates
    #[arg(long)]
    no_peers: bool,
    /// The seed of keys, queries, filters and order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Debug, Args)]
struct SweepArguments {
    #[command(flatten)]
    what: WhatArguments,
    /// The folder of the results, new or empty; by default reports/runs/<time>-<revision>, and reports/latest points to it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the interrupted run in --out, or with the latest
    #[arg(long)]
    resume: bool,
}

#[derive(Debug, Args)]
struct AbArguments {
    /// The program built before the change
    #[arg(long, value_name = "BIN")]
    base: PathBuf,
    /// The program built after it
    #[arg(long, value_name = "BIN")]
    new: PathBuf,
    #[command(flatten)]
    what: WhatArguments,
    /// Pairs of repetitions, in place of the sweep's number: more of them tell smaller changes from noise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    repetitions: Option<u32>,
    #[command(flatten)]
    judged: JudgedArguments,
}

#[derive(Debug, Args)]
struct ReportArguments {
    /// Folders of runs
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// Where the report goes, and then nothing else is written; needed for several runs. By default the run's report.html and
    /// cells.csv are made again
    #[arg(long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// A folder, made if need be, for the figures of a single run as SVG files of their own
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CompareArguments {
    /// The folder of the run that is compared with
    #[arg(required_unless_present = "twins")]
    base: Option<PathBuf>,
    /// The folder of the run that is judged
    #[arg(required_unless_present = "twins")]
    new: Option<PathBuf>,
    #[command(flatten)]
    judged: JudgedArguments,
    /// Instead: of these runs, how many pairs of a filter and itself, timed in one group, are called different
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["base", "new", "threshold", "format", "out"])]
    twins: Option<Vec<PathBuf>>,
}

/// What comparisons share.
#[derive(Debug, Args)]
struct JudgedArguments {
    /// By how much a time, a size or a rate may get worse; beyond it the exit status is 1
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    threshold: Share,
    /// How the result is shown
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The file that the result goes to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl From<WhatArguments> for Options {
    fn from(arguments: WhatArguments) -> Self {
        let WhatArguments { profile, sweep, families, n, fpr, alpha, r, keys, keys_kind, no_peers, seed } =
            arguments;
        Self {
            profile,
            file: sweep,
            overrides: Overrides { n, fpr, alpha, r, keys: keys_kind },
            families,
            peers: if no_peers { Peers::LeftOut } else { Peers::Included },
            keys,
            seed,
            out: None,
            start: Start::Anew,
        }
    }
}

impl From<SweepArguments> for Options {
    fn from(arguments: SweepArguments) -> Self {
        let SweepArguments { what, out, resume } = arguments;
        Self { out, start: if resume { Start::Resume } else { Start::Anew }, ..what.into() }
    }
}

impl From<AbArguments> for ab::Options {
    fn from(arguments: AbArguments) -> Self {
        let AbArguments { base, new, what, repetitions, judged } = arguments;
        let JudgedArguments { threshold, format, out } = judged;
        let output = Output { format, file: out };
        Self { base, new, what: what.into(), repetitions, threshold, output }
    }
}

/// Runs the program on its arguments.
pub fn main() -> ExitCode {
    // Ends with 2 on its own where the usage is bad.
    match run(Arguments::parse().command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn run(command: Command) -> Result<u8> {
    match command {
        Command::Sweep(arguments) => Ok(match sweep::run(&(*arguments).into())? {
            Outcome::Done => 0,
            Outcome::Failed => CHECK_FAILED,
            Outcome::Interrupted => INTERRUPTED,
        }),
        Command::Report(arguments) => report_again(&arguments).map(|()| 0),
        Command::Compare(CompareArguments { base, new, judged, twins }) => {
            let JudgedArguments { threshold, format, out } = judged;
            let worse = match (base.zip(new), twins) {
                (_, Some(runs)) => compare::run_twins(&runs)?,
                (Some((base, new)), None) => {
                    compare::run(&base, &new, threshold, &Output { format, file: out })?
                }
                (None, None) => bail!("compare takes two folders of runs"),
            };
            Ok(if worse { CHECK_FAILED } else { 0 })
        }
        Command::List { json: true } => {
            println!("{}", list::json(&registry::filters())?);
            Ok(0)
        }
        Command::List { json: false } => {
            println!("{}", list::table(&registry::filters()));
            Ok(0)
        }
        Command::Ab(arguments) => Ok(match ab::run(&(*arguments).into())? {
            ab::Outcome::Fine => 0,
            ab::Outcome::Regression => CHECK_FAILED,
            ab::Outcome::Interrupted => INTERRUPTED,
        }),
        Command::Measure { handshake: true } => {
            println!("{}", serde_json::to_string(&Handshake::of_this()?)?);
            Ok(0)
        }
        Command::Measure { handshake: false } => jobs::serve(registry::filter).map(|()| 0),
        Command::Study => child::serve().map(|()| 0),
    }
}

fn report_again(arguments: &ReportArguments) -> Result<()> {
    let [first, others @ ..] = &arguments.runs[..] else { return Ok(()) };
    ensure!(
        others.is_empty() || arguments.output.is_some(),
        "several runs make one report: say with --output FILE.html where it goes"
    );
    // With --output the folders are only read; without, they are one.
    let _lock = arguments.output.is_none().then(|| folder::lock_run(first)).transpose()?;
    let (mut runs, mut studies) = (Vec::new(), Vec::new());
    for path in &arguments.runs {
        let (info, stored) = folder::read(path)?;
        if stored.dropped_lines > 0 {
            eprintln!("warning: {}: a group that was not finished is left out", path.display());
        }
        let cells = derive::cells(&stored.header, &stored.samples);
        studies.push(derive::studies(&stored.samples));
        runs.push((info, cells));
    }
    let shown: Vec<_> = runs
        .iter()
        .zip(&studies)
        .map(|((info, cells), studies)| report::Results { info, cells, studies })
        .collect();
    let html = report::render(&shown)?;
    let file = if let Some(file) = &arguments.output {
        folder::replace(file, html.as_bytes())?;
        file.clone()
    } else {
        if let [(info, cells)] = &runs[..] {
            folder::write_cells(first, cells)?;
            folder::write_studies(first, &info.run, &studies[0])?;
        }
        folder::write_report(first, &html)?
    };
    if let Some(folder) = &arguments.figures {
        let [run] = &shown[..] else {
            bail!("--figures takes the figures of one run, {} are given", runs.len())
        };
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for (name, svg) in report::figures(*run)? {
            folder::replace(&folder.join(name), svg.as_bytes())?;
        }
    }
    println!("{}", summary::text(&runs));
    println!("Report: {}", std::path::absolute(&file).context("the report")?.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Arguments::command().debug_assert();
    }
}
