//! Whether two builds can be measured side by side: each says what it speaks, before it is given any work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use amq::Key as _;
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::registry;
use crate::store::cell::SCHEMA;
use crate::store::machine;
use crate::store::run::{Compiler, FilterInfo};
use crate::sweep::children::{Ending, watch};
use crate::sweep::jobs::{PROTOCOL, SUBCOMMAND};
use crate::sweep::keys::KeySource;
use crate::sweep::keys::material::Material;

/// The argument of the hidden subcommand that asks for it.
pub const ARGUMENT: &str = "handshake";

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a build says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handshake {
    /// The version of the jobs that it takes and the reports that it gives.
    pub protocol: u32,
    /// The version of the stored results.
    pub schema: u32,
    /// A hash of some generated keys of every kind: builds that make other keys from the same seed measure something else.
    pub keys: u64,
    /// Its compiler and flags.
    pub compiler: Compiler,
    /// The filters that it knows.
    pub filters: Vec<FilterInfo>,
}

impl Handshake {
    /// That of this program.
    ///
    /// # Errors
    /// If keys cannot be generated.
    pub fn of_this() -> Result<Self> {
        Ok(Self {
            protocol: PROTOCOL,
            schema: SCHEMA,
            keys: keys()?,
            compiler: machine::compiler(),
            filters: registry::filters().iter().map(|filter| FilterInfo::of(filter)).collect(),
        })
    }
}

fn keys() -> Result<u64> {
    const COUNT: u64 = 1000;
    let mut hash = 0;
    for kind in ["uniform", "sequential", "strided", "bit-reversed", "zipf"] {
        let source: KeySource = kind.parse().map_err(anyhow::Error::msg)?;
        let (n, records, absent) = (COUNT, COUNT, COUNT);
        let material = Material { seed: 1, n, records, absent, sample: 0, source, folder: None };
        for digests in [material.members()?, material.absent(0, COUNT)?, material.queries("any", 0, COUNT)?] {
            hash = digests.iter().fold(hash, |hash, digest| digest.get().digest(hash).get());
        }
    }
    Ok(hash)
}

/// A build of this program.
#[derive(Clone, Debug)]
pub struct Build {
    /// Where it lies.
    pub path: PathBuf,
    /// A hash of the program itself.
    pub hash: u64,
    /// What it says of itself.
    pub handshake: Handshake,
}

impl Build {
    /// Asks the program at `path`.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer as a build that can be compared does.
    pub fn ask(path: &Path) -> Result<Self> {
        let shown = path.display();
        let program = std::fs::read(path).with_context(|| format!("cannot read the program {shown}"))?;
        let path = std::path::absolute(path).with_context(|| format!("cannot find the program {shown}"))?;
        let mut command = Command::new(&path);
        command.args([SUBCOMMAND, &format!("--{ARGUMENT}")]);
        let mut answer = None;
        let ending = watch(command, b"", PATIENCE, &AtomicBool::new(false), |line| {
            answer = Some(line.to_owned());
            Ok(())
        })?;
        let answered = matches!(&ending, Ending::Exited { status, .. } if status.success());
        let handshake = answer.filter(|_| answered).and_then(|answer| serde_json::from_str(&answer).ok());
        let handshake = handshake.with_context(|| {
            format!("{shown} is no build that can be compared: it does not say which jobs it takes")
        })?;
        Ok(Self { hash: program.digest(0).get(), path, handshake })
    }

    /// Whether this build and another take the same jobs.
    ///
    /// # Errors
    /// If they do not: all that differs is named.
    pub fn check_comparable(&self, other: &Self) -> Result<()> {
        let (base, new) = (&self.handshake, &other.handshake);
        let mut named = Vec::new();
        let mut check = |what: &str, base: u64, new: u64| {
            if base != new {
                named.push(format!("  {what}: {base} in base, {new} in new"));
            }
        };
        check("protocol of the measuring processes", base.protocol.into(), new.protocol.into());
        check("schema of the results", base.schema.into(), new.schema.into());
        check("hash of the generated keys", base.keys, new.keys);
        // This program hands out the jobs.
        let own = Handshake::of_this()?;
        check("protocol of this program and of base", own.protocol.into(), base.protocol.into());
        check("schema of this program and of base", own.schema.into(), base.schema.into());
        ensure!(
            named.is_empty(),
            "the two builds cannot be compared:\n{}\nbuild the base again with this harness, and only the filters of old",
            named.join("\n")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::Point;
    use crate::sweep::config::Sweep;
    use crate::sweep::jobs::{Job, Task, TimeTask, TimedFilter};

    #[test]
    fn a_build_that_speaks_otherwise_is_refused_by_name() {
        let handshake = Handshake::of_this().unwrap();
        assert_eq!(handshake, Handshake::of_this().unwrap());
        let build = |handshake| Build { path: "x".into(), hash: 0, handshake };
        let this = build(handshake.clone());
        assert!(this.check_comparable(&this.clone()).is_ok());
        let other = build(Handshake { protocol: PROTOCOL + 1, keys: 7, ..handshake });
        let error = this.check_comparable(&other).unwrap_err().to_string();
        for said in ["protocol of the measuring", "hash of the generated keys", "7 in new"] {
            assert!(error.contains(said), "{error}");
        }
        assert!(!error.contains("schema"), "{error}");
    }

    /// If this fails, builds before and after the change do not understand each other: raise [`PROTOCOL`], then adapt it.
    #[test]
    fn the_protocol_changes_with_the_form_of_a_job() {
        let source = KeySource::Uniform;
        let (seed, n, records, absent, sample) = (1, 2, 3, 4, 5);
        let job = Job {
            parent: 6,
            memory_limit: 7,
            point: Point::Rate { n: 2, fpr: 0.5 },
            material: Material { seed, n, records, absent, sample, source, folder: None },
            task: Task::Time(TimeTask {
                filters: vec![TimedFilter { name: "f".into(), table_bytes: 8, k: None }],
                twin: Some(0),
                works: Sweep::profile("smoke").unwrap().works()[..1].to_vec(),
                repetitions: 0..9,
                lookups: 10,
            }),
        };
        let stored: serde_json::Value = serde_json::from_str(include_str!("job.json")).unwrap();
        assert_eq!((PROTOCOL, serde_json::to_value(&job).unwrap()), (3, stored));
    }
}
