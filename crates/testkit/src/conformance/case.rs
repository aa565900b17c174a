//! One cell of a grid, and how it fails.

use std::{error::Error, fmt};

use amq::{BuildError, Descriptor, Digest, Erased, Kind, Spec};

/// Returns a failure of the case unless the condition holds.
macro_rules! ensure {
    ($case:expr, $condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err($case.fail(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;

/// What does not hold, for which family, and how to see it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The family.
    pub family: &'static str,
    /// The concern.
    pub concern: &'static str,
    /// Keys, or digests with duplicates.
    pub n: u64,
    /// The spec, which holds the seed of the keys too.
    pub spec: Spec,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {} (n = {}, seed {}, {:?} for {} keys)",
            self.family,
            self.concern,
            self.what,
            self.n,
            self.spec.seed(),
            self.spec.target(),
            self.spec.capacity()
        )
    }
}

impl Error for Failure {}

/// Whether a concern holds.
pub type Outcome = Result<(), Failure>;

/// One cell: a family, a spec and a number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) concern: &'static str,
    pub(crate) n: u64,
    pub(crate) spec: Spec,
}

impl<'a> Case<'a> {
    pub(crate) fn new(descriptor: &'a Descriptor, concern: &'static str, n: u64, spec: Spec) -> Self {
        Self { descriptor, concern, n, spec }
    }

    pub(crate) fn fail(&self, what: impl Into<String>) -> Failure {
        Failure {
            family: self.descriptor.name,
            concern: self.concern,
            n: self.n,
            spec: self.spec,
            what: what.into(),
        }
    }

    /// A filter that has to be possible.
    pub(crate) fn build(&self, digests: &[Digest]) -> Result<Box<dyn Erased>, Failure> {
        self.try_build(digests).map_err(|error| self.fail(format!("the build failed: {error}")))
    }

    pub(crate) fn try_build(&self, digests: &[Digest]) -> Result<Box<dyn Erased>, BuildError> {
        (self.descriptor.build)(digests, &self.spec)
    }

    /// That the table is consistent and every member is found, in one go and one by one.
    pub(crate) fn check_members(&self, filter: &dyn Erased, members: &[Digest], when: &str) -> Outcome {
        filter
            .check_invariants()
            .map_err(|error| self.fail(format!("{when}: the table is inconsistent: {error}")))?;
        if let Some(lost) = members.iter().find(|&&digest| !filter.contains(digest)) {
            return Err(self.fail(format!("{when}: digest {:#018x} is lost", lost.get())));
        }
        let mut answers = vec![false; members.len()];
        filter.contains_batch(members, &mut answers);
        if let Some(lost) = answers.iter().position(|&answer| !answer) {
            return Err(self.fail(format!("{when}: digest {:#018x} is lost in a batch", members[lost].get())));
        }
        Ok(())
    }

    /// That the filter is as it was.
    pub(crate) fn check_unchanged(&self, filter: &dyn Erased, before: &State, after: &str) -> Outcome {
        ensure!(
            self,
            filter.len() == before.len,
            "after {after} len is {:?}, not {:?}",
            filter.len(),
            before.len
        );
        ensure!(self, filter.table() == before.table, "after {after} the table is not as it was");
        Ok(())
    }
}

/// What must not change.
pub(crate) struct State {
    table: Vec<u8>,
    len: Option<u64>,
}

impl State {
    pub(crate) fn of(filter: &dyn Erased) -> Self {
        Self { table: filter.table().to_vec(), len: filter.len() }
    }
}

/// Whether equal contents make equal tables, whatever the order in which they came: so for all but cuckoo-like tables, where
/// the place of a record depends on those before it.
pub(crate) fn is_canonical(descriptor: &Descriptor) -> bool {
    descriptor.kind != Kind::Table || descriptor.can(amq::Capability::Fingerprints)
}
