//! Timing: one pass of one filter does every workload once, on fresh tables. `changes` has those that change it.

mod changes;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use amq::{Descriptor, Digest, Erased, Key as _, Spec};
use rand::seq::SliceRandom as _;
use rand::{Rng, RngExt as _};

use self::changes::time_iterate;
use super::clock::Clock;
use super::verify::{panic_text, status_of};
use crate::store::cell::{Hashing, Mode, Status, Workload};
use crate::store::sample::Work;
use crate::sweep::keys::KeySample;

/// A first lookup may take as long: some page faults and misses of all caches, ten times over.
const FIRST_LOOKUP: Duration = Duration::from_micros(200);

/// What all filters of a group are timed with.
#[derive(Debug)]
pub struct Queries {
    /// The members, in no order.
    pub members: Vec<Digest>,
    /// What is removed: a tenth of the members, at least one.
    pub removals: Vec<Digest>,
    /// Absent keys that come for members that leave: as many as are removed, or fewer where there are not so many.
    pub newcomers: Vec<Digest>,
    /// For each hit ratio the keys looked up.
    pub lookups: Vec<Lookups>,
}

/// Keys looked up in one pass, in random order.
#[derive(Debug)]
pub struct Lookups {
    /// The share of members wanted.
    pub hit_ratio: f64,
    /// Members among them.
    pub members: u64,
    /// All of them.
    pub digests: Vec<Digest>,
    /// The keys of the digests, in the same order, for lookups that start at the key. Where they are too long to be all
    /// there: some other ones of the same kind.
    pub keys: Option<KeySample>,
}

impl Lookups {
    /// `count` lookups, of which `hit_ratio` are random members and the others absent keys.
    pub fn new(
        hit_ratio: f64,
        count: usize,
        members: &[Digest],
        absent: &[Digest],
        rng: &mut impl Rng,
    ) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the ratio is in [0, 1]")]
        let hits = (hit_ratio * count as f64).round() as usize;
        let mut digests: Vec<_> = (0..hits).map(|_| members[rng.random_range(0..members.len())]).collect();
        digests.extend(absent.iter().cycle().take(count - hits));
        digests.shuffle(rng);
        Self { hit_ratio, members: hits as u64, digests, keys: None }
    }

    /// The lookups of these keys under `seed`: what starts at the key and what starts at the digest then differs by the
    /// hashing alone.
    pub fn of_keys(hit_ratio: f64, keys: KeySample, seed: u64) -> Self {
        let digests = keys.iter().map(|key| key.digest(seed)).collect();
        Self { hit_ratio, members: keys.members(), digests, keys: Some(keys) }
    }
}

/// A filter that does not get through its timing.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it is from now on.
    pub status: Status,
    /// Why.
    pub reason: String,
}

/// A filter to be timed.
#[derive(Debug)]
pub struct Subject {
    descriptor: &'static Descriptor,
    spec: Spec,
    /// Hits that each array of lookups gives, from the warm-up of the last pass.
    hits: Vec<Option<u64>>,
    /// The first lookup in a table that was just built: the shortest of all passes.
    first_lookup: Option<Duration>,
}

impl Subject {
    /// The filter that `descriptor` makes of `spec`.
    pub fn new(descriptor: &'static Descriptor, spec: Spec) -> Self {
        Self { descriptor, spec, hits: Vec::new(), first_lookup: None }
    }

    /// Times every one of `works` that the family has and does not refuse, once, on tables built for it: nanoseconds for one operation, in the
    /// order of `works`.
    ///
    /// # Errors
    /// If the filter fails, panics, loses a key, or does not give the answers of the pass before.
    pub fn pass(
        &mut self,
        works: &[Work],
        queries: &Queries,
        clock: &Clock,
        rng: &mut impl Rng,
    ) -> Result<Vec<Option<f64>>, Fault> {
        // Moves the tables to another address each time: where a table lies is part of what a repetition repeats.
        let spacer = vec![0_u8; rng.random_range(1..64) * 4096];
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(works, queries, clock)));
        drop(black_box(spacer));
        outcome.unwrap_or_else(|panic| {
            Err(Fault {
                status: Status::VerifyFailed,
                reason: format!("timing panicked: {}", panic_text(&*panic)),
            })
        })
    }

    fn run(&mut self, works: &[Work], queries: &Queries, clock: &Clock) -> Result<Vec<Option<f64>>, Fault> {
        let members = &queries.members;
        let (build_ns, filter) = timed(clock, members.len(), || Ok(()), |()| self.build(black_box(members)))?;
        self.look_up_first(&*filter, members);
        self.warm_up(&*filter, queries)?;
        let mut times = Vec::with_capacity(works.len());
        // What the last fill has left is what the removals begin with.
        let mut filled = None;
        for work in works {
            times.push(match work.workload {
                lacking if lacking.lacks(|needed| self.descriptor.can(needed)).is_some() => None,
                Workload::Build => Some(build_ns),
                Workload::Lookup => Some(self.time_lookup(&*filter, work, queries, clock)?),
                Workload::Insert => {
                    let (ns, filter) = self.time_insert(work.mode, members, clock)?;
                    filled = Some(filter);
                    Some(ns)
                }
                Workload::Remove => Some(self.time_remove(work.mode, filled.take(), queries, clock)?),
                Workload::Churn => Some(self.time_churn(work.mode, queries, clock)?),
                Workload::Merge => self.time_merge(members, clock)?,
                Workload::Grow => self.time_grow(members, clock)?,
                Workload::Iterate => Some(time_iterate(&*filter, members.len(), clock)?),
            });
        }
        Ok(times)
    }

    fn build(&self, digests: &[Digest]) -> Result<Box<dyn Erased>, Fault> {
        (self.descriptor.build)(digests, &self.spec)
            .map_err(|error| Fault { status: status_of(&error), reason: format!("in its timing: {error}") })
    }

    /// The one lookup that no warm-up precedes.
    fn look_up_first(&mut self, filter: &dyn Erased, members: &[Digest]) {
        let start = Instant::now();
        black_box(members.first().is_some_and(|&member| filter.contains(black_box(member))));
        let taken = start.elapsed();
        self.first_lookup = Some(self.first_lookup.map_or(taken, |shortest| shortest.min(taken)));
    }

    /// What is wrong if the first lookup took long in every pass: the filter puts work off that belongs to its build, where no
    /// other time would show it.
    pub fn postponed(&self) -> Option<Fault> {
        let first = self.first_lookup.filter(|&first| first > FIRST_LOOKUP)?;
        Some(defect(format!(
            "its first lookup after a build takes at least {:.0} µs: it puts off what belongs to the build",
            first.as_secs_f64() * 1e6
        )))
    }

    /// Answers every array once: caches, branch predictors and page tables are then as in a program that runs, and the hits
    /// are known.
    fn warm_up(&mut self, filter: &dyn Erased, queries: &Queries) -> Result<(), Fault> {
        self.hits.resize(queries.lookups.len(), None);
        for (known, lookups) in self.hits.iter_mut().zip(&queries.lookups) {
            let hits = filter.count_hits(&lookups.digests);
            if hits < lookups.members {
                return Err(defect(format!("of {} members looked up, {hits} are found", lookups.members)));
            }
            // Ours are built deterministically; a peer may draw its seeds as it likes.
            let before = known.replace(hits).filter(|_| self.descriptor.peer.is_none());
            if let Some(before) = before.filter(|&before| before != hits) {
                return Err(defect(format!(
                    "the same lookups in a table built from the same keys give {hits} hits, before {before}"
                )));
            }
        }
        Ok(())
    }

    fn time_lookup(
        &self,
        filter: &dyn Erased,
        work: &Work,
        queries: &Queries,
        clock: &Clock,
    ) -> Result<f64, Fault> {
        let place = queries.lookups.iter().position(|lookups| Some(lookups.hit_ratio) == work.hit_ratio);
        let Some((lookups, known)) = place.map(|place| (&queries.lookups[place], self.hits[place])) else {
            return Err(defect(format!("no lookups were prepared for {work:?}")));
        };
        if work.hashing == Hashing::Included {
            return time_from_key(filter, self.spec.seed(), lookups, known, clock);
        }
        let digests = &lookups.digests;
        // Every repetition of a short pass has to answer as the warm-up did.
        let expect = |hits| match known {
            Some(known) if known != hits => {
                Err(defect(format!("{:?} lookups give {hits} hits, single ones {known}", work.mode)))
            }
            _ => Ok(()),
        };
        let count = digests.len();
        let (ns, ()) = match work.mode {
            Mode::Single => {
                timed(clock, count, || Ok(()), |()| expect(filter.count_hits(black_box(digests))))?
            }
            Mode::Chain => {
                timed(clock, count, || Ok(()), |()| expect(filter.count_hits_chained(black_box(digests))))?
            }
            Mode::Batch => {
                // Written once, so that its pages are there before the time begins.
                let mut answers = vec![true; count];
                let ns = clock.time(count as u64, || {
                    filter.contains_batch(black_box(digests), black_box(&mut answers));
                });
                expect(answers.iter().map(|&answer| u64::from(answer)).sum())?;
                (ns, ())
            }
        };
        Ok(ns)
    }
}

/// Nanoseconds of `work` for each of `operations`, and what it made last. `prepare` is not timed; what fails in any call ends
/// the timing.
fn timed<T, R>(
    clock: &Clock,
    operations: usize,
    prepare: impl FnMut() -> Result<T, Fault>,
    work: impl FnMut(T) -> Result<R, Fault>,
) -> Result<(f64, R), Fault> {
    clock.time_fresh(operations as u64, prepare, work)
}

fn defect(reason: String) -> Fault {
    Fault { status: Status::VerifyFailed, reason }
}

/// From the bytes of a key to the answer. Some keys are hashed at a time, then looked up by one call, so that this differs from
/// the lookups that start at the digest by the hashing alone.
fn time_from_key(
    filter: &dyn Erased,
    seed: u64,
    lookups: &Lookups,
    known: Option<u64>,
    clock: &Clock,
) -> Result<f64, Fault> {
    const BLOCK: usize = 64;
    let Some(keys) = &lookups.keys else {
        return Err(defect("no keys were prepared for lookups that start at the key".into()));
    };
    let look_up = |()| {
        let mut hits = 0;
        let mut block = [Digest::new(0); BLOCK];
        let mut filled = 0;
        for key in keys.iter() {
            block[filled] = black_box(key).digest(seed);
            filled += 1;
            if filled == BLOCK {
                hits += filter.count_hits(&block);
                filled = 0;
            }
        }
        hits += filter.count_hits(&block[..filled]);
        // The same keys give the same answers.
        let known = known.filter(|_| keys.len() == lookups.digests.len());
        if hits < keys.members() || known.is_some_and(|known| known != hits) {
            let members = keys.members();
            return Err(defect(format!(
                "{members} members looked up by key among absent ones give {hits} hits"
            )));
        }
        Ok(())
    };
    Ok(timed(clock, keys.len(), || Ok(()), look_up)?.0)
}
