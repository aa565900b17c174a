//! The time of what changes a filter, and of a pass over what it holds.

use std::hint::black_box;

use amq::{Digest, Erased, InsertError};

use super::{Fault, Queries, Subject, defect, timed};
use crate::measure::clock::Clock;
use crate::measure::join;
use crate::store::cell::{Mode, Status};

impl Subject {
    pub(super) fn time_insert(
        &self,
        mode: Mode,
        members: &[Digest],
        clock: &Clock,
    ) -> Result<(f64, Box<dyn Erased>), Fault> {
        timed(
            clock,
            members.len(),
            || self.build(&[]),
            |mut filter| {
                insert(&mut *filter, members, mode)?;
                Ok(filter)
            },
        )
    }

    /// A filter of all members that came one after the other: from an earlier fill, if there is one left.
    fn fill(&self, left: &mut Option<Box<dyn Erased>>, members: &[Digest]) -> Result<Box<dyn Erased>, Fault> {
        if let Some(filled) = left.take() {
            return Ok(filled);
        }
        let mut filter = self.build(&[])?;
        insert(&mut *filter, members, Mode::Batch)?;
        Ok(filter)
    }

    /// `filled` holds all members, as after a fill; more of its kind are made where one round is too short for the clock.
    pub(super) fn time_remove(
        &self,
        mode: Mode,
        mut filled: Option<Box<dyn Erased>>,
        queries: &Queries,
        clock: &Clock,
    ) -> Result<f64, Fault> {
        let removals = &queries.removals;
        let fill = || self.fill(&mut filled, &queries.members);
        let work = |mut filter: Box<dyn Erased>| {
            remove(&mut *filter, removals, mode)?;
            Ok(filter)
        };
        Ok(timed(clock, removals.len(), fill, work)?.0)
    }

    /// Members leave and others come for them: one by one in turn, or first all leave and then all come.
    pub(super) fn time_churn(&self, mode: Mode, queries: &Queries, clock: &Clock) -> Result<f64, Fault> {
        let newcomers = &queries.newcomers;
        let leavers = &queries.removals[..newcomers.len().min(queries.removals.len())];
        let fill = || self.fill(&mut None, &queries.members);
        let work = |mut filter: Box<dyn Erased>| {
            match mode {
                Mode::Batch => {
                    remove(&mut *filter, leavers, mode)?;
                    insert(&mut *filter, newcomers, mode)?;
                }
                Mode::Single | Mode::Chain => replace_in_turn(&mut *filter, leavers, newcomers)?,
            }
            Ok(filter)
        };
        let (ns, filter) = timed(clock, leavers.len(), fill, work)?;
        expect(&*filter, newcomers, "after replacing keys")?;
        Ok(ns)
    }

    /// `None` where the two refuse.
    pub(super) fn time_merge(&self, members: &[Digest], clock: &Clock) -> Result<Option<f64>, Fault> {
        let (left, right) = members.split_at(members.len() / 2);
        let halves = || Ok((self.build(left)?, self.build(right)?));
        // The halves are handed back, so that their memory is not given back while the clock runs.
        let work = |(left, right): (Box<dyn Erased>, Box<dyn Erased>)| {
            let both = join(&*left, &*right);
            Ok((left, right, both))
        };
        let (ns, (.., both)) = timed(clock, members.len(), halves, work)?;
        let Some(both) = both else {
            return Err(defect("it is listed with a union or a sum but does not have it".into()));
        };
        let Ok(both) = both else { return Ok(None) };
        expect(&*both, members, "after a merge")?;
        Ok(Some(ns))
    }

    /// `None` where it refuses.
    pub(super) fn time_grow(&self, members: &[Digest], clock: &Clock) -> Result<Option<f64>, Fault> {
        let mut refused = false;
        let work = |mut filter: Box<dyn Erased>| {
            let Some(grow) = filter.as_grow() else {
                return Err(defect("it is listed with grow but does not have it".into()));
            };
            refused |= grow.grow().is_err();
            Ok(filter)
        };
        let (ns, filter) = timed(clock, members.len(), || self.build(members), work)?;
        expect(&*filter, members, "after growing")?;
        Ok((!refused).then_some(ns))
    }
}

/// Nanoseconds for each of `records` that are visited.
pub(super) fn time_iterate(filter: &dyn Erased, records: usize, clock: &Clock) -> Result<f64, Fault> {
    let Some(fingerprints) = filter.as_fingerprints() else {
        return Err(defect("it is listed with fingerprints but does not have them".into()));
    };
    let visit = |()| {
        let (mut all, mut total) = (0, 0);
        fingerprints.for_each_fingerprint(&mut |fingerprint, times| {
            all ^= fingerprint;
            total += times;
        });
        black_box(all);
        if total != records as u64 {
            return Err(defect(format!("it lists {total} fingerprints of {records} records")));
        }
        Ok(())
    };
    Ok(timed(clock, records, || Ok(()), visit)?.0)
}

/// All keys are found: asked when no clock runs.
fn expect(filter: &dyn Erased, digests: &[Digest], when: &str) -> Result<(), Fault> {
    let found = filter.count_hits(digests);
    if found == digests.len() as u64 {
        return Ok(());
    }
    Err(defect(format!("{when}, of {} keys {found} are found", digests.len())))
}

/// One by one, through one virtual call each, or in a batch.
fn insert(filter: &mut dyn Erased, digests: &[Digest], mode: Mode) -> Result<(), Fault> {
    let Some(insert) = filter.as_insert() else {
        return Err(defect("it is listed with insert but does not have it".into()));
    };
    if mode == Mode::Batch {
        return insert.insert_batch(digests).map_err(|error| full(&error));
    }
    for &digest in digests {
        insert.insert(digest).map_err(|error| full(&error))?;
    }
    Ok(())
}

fn full(error: &InsertError) -> Fault {
    Fault { status: Status::BuildFailed, reason: format!("filled in its timing: {error}") }
}

/// As [`insert`].
fn remove(filter: &mut dyn Erased, digests: &[Digest], mode: Mode) -> Result<(), Fault> {
    let Some(remove) = filter.as_remove() else {
        return Err(defect("it is listed with remove but does not have it".into()));
    };
    let removed = match mode {
        Mode::Batch => remove.remove_batch(digests),
        Mode::Single | Mode::Chain => {
            digests.iter().map(|&digest| u64::from(remove.remove(digest))).sum::<u64>()
        }
    };
    if removed == digests.len() as u64 {
        return Ok(());
    }
    Err(defect(format!("of {} members, {removed} could be removed", digests.len())))
}

fn replace_in_turn(filter: &mut dyn Erased, leavers: &[Digest], newcomers: &[Digest]) -> Result<(), Fault> {
    let mut removed = 0;
    for (&leaver, &newcomer) in leavers.iter().zip(newcomers) {
        removed += filter.as_remove().map_or(0, |filter| u64::from(filter.remove(leaver)));
        let Some(insert) = filter.as_insert() else {
            return Err(defect("it is listed with insert but does not have it".into()));
        };
        insert.insert(newcomer).map_err(|error| full(&error))?;
    }
    if removed == leavers.len() as u64 {
        return Ok(());
    }
    Err(defect(format!("of {} members, {removed} could be removed in turn with insertions", leavers.len())))
}
