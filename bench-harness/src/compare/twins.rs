//! How often the comparison cries wolf: each group of a run times one filter twice, under the same conditions, and those two
//! are taken for the two sides.

use std::collections::BTreeMap;
use std::fmt;

use super::side::{self, Side, Timed};
use super::verdict::{self, Method, Pairing};
use super::{LEVEL, words};
use crate::store::derive::noise_key;

/// The share of such pairs that may be called different at the level.
pub const SHARE_ALLOWED: f64 = 0.05;

/// Pairs of a filter and itself, by workload and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twins {
    by_work: BTreeMap<String, Tally>,
    runs: usize,
}

/// What was found of some pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Tested as two runs, and as alternating builds.
    tested: [usize; 2],
    /// Called different at the level.
    different: [usize; 2],
    /// Not to be tested, since the floor moved or there are too few repetitions.
    unknown: [usize; 2],
}

/// As `compare` tests, and as `ab` does.
const PAIRINGS: [Pairing; 2] = [Pairing::Independent, Pairing::ByRepetition];

impl Tally {
    fn add(&mut self, other: Self) {
        for i in 0..2 {
            self.tested[i] += other.tested[i];
            self.different[i] += other.different[i];
            self.unknown[i] += other.unknown[i];
        }
    }

    fn share(&self, i: usize) -> Option<f64> {
        (self.tested[i] > 0).then(|| self.different[i] as f64 / self.tested[i] as f64)
    }
}

impl Twins {
    /// The pairs of these runs.
    pub fn of(runs: &[Side]) -> Self {
        let mut twins = Self { runs: runs.len(), ..Self::default() };
        for run in runs {
            for built in side::built(&run.header, &run.samples) {
                for timed in &built.timed {
                    let Some(ns) = timed.twin.filter(|_| !timed.ns.is_empty()) else { continue };
                    let work = timed.work;
                    let tally = twins.by_work.entry(noise_key(work.workload, work.mode)).or_default();
                    tally.add(judge(timed, &Timed { ns, ..timed.clone() }));
                }
            }
        }
        twins
    }

    fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.by_work.values().for_each(|tally| all.add(*tally));
        all
    }

    /// Whether more than [`SHARE_ALLOWED`] of the pairs are called different, by either test; or none could be tested.
    pub fn too_many(&self) -> bool {
        let all = self.all();
        (0..2).any(|i| all.share(i).is_none_or(|share| share > SHARE_ALLOWED))
    }
}

fn judge(first: &Timed<'_>, second: &Timed<'_>) -> Tally {
    let mut tally = Tally::default();
    for (i, pairing) in PAIRINGS.into_iter().enumerate() {
        match verdict::test(first, second, Method { pairing, level: LEVEL, threshold: 0.0 }) {
            Ok((shift, _)) => {
                tally.tested[i] += 1;
                tally.different[i] += usize::from(shift.p <= LEVEL);
            }
            Err(_) => tally.unknown[i] += 1,
        }
    }
    tally
}

impl fmt::Display for Twins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = ("all".to_owned(), self.all());
        let rows = self.by_work.iter().map(|(name, tally)| (name.clone(), *tally)).chain([all]);
        let rows = rows.map(|(name, tally)| {
            let column = |i: usize| {
                let share = tally.share(i).map_or_else(|| "–".into(), crate::report::format::percent);
                format!(
                    "{} of {} ({share}), {} unknown",
                    tally.different[i], tally.tested[i], tally.unknown[i]
                )
            };
            [name, column(0), column(1)]
        });
        let table = words::Table::new(
            format!(
                "A filter against itself, over {} runs: pairs called different at the 1 % level",
                self.runs
            ),
            ["workload", "as two runs", "by repetition"],
            rows,
        );
        write!(f, "{}\n{}\n", table.title, super::text::draw(&table))
    }
}
