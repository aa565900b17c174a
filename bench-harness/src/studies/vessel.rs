//! A filter that is filled key by key, beyond its design point if it lets itself be.

use amq::{BuildError, Descriptor, Digest, Erased, Insert, Kind, Spec};
use amq_testkit::keys::digests;

use super::{build_fault, defect};
use crate::measure::time::Fault;

/// The load where the filling of a table ends: what a table with one empty slot in fifty still takes.
const TOP_LOAD: f64 = 0.98;

/// The load where the filling of a Bloom type ends: twice the keys that it is designed for.
const TOP_OVERLOAD: f64 = 2.0;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Vessel {
    descriptor: &'static Descriptor,
    spec: Spec,
    /// Records at the load 1: slots of a table, the design capacity of the others.
    pub(super) full: u64,
    /// The highest load wanted.
    pub(super) top: f64,
}

impl Vessel {
    /// A table for `n` keys at its highest load and the width next to `r`, or a Bloom type designed for `n` keys at the rate
    /// 2^-`r`.
    ///
    /// # Errors
    /// If it cannot be planned.
    pub(super) fn new(descriptor: &'static Descriptor, n: u64, r: u32, seed: u64) -> Result<Self, Fault> {
        let spec = match descriptor.kind {
            Kind::Table => Spec::shape(TOP_LOAD, r.clamp(descriptor.r.0, descriptor.r.1), n),
            Kind::Bloom | Kind::Static => Spec::fpr(f64::from(r).exp2().recip(), n),
        };
        let spec = spec.with_seed(seed);
        let plan = (descriptor.plan)(&spec).map_err(|error| build_fault(&BuildError::Spec(error)))?;
        let (full, top) = match descriptor.kind {
            Kind::Table => (plan.slots, TOP_LOAD),
            Kind::Bloom | Kind::Static => (plan.capacity, TOP_OVERLOAD),
        };
        Ok(Self { descriptor, spec, full, top })
    }

    /// The same under another seed.
    pub(super) fn with_seed(self, seed: u64) -> Self {
        Self { spec: self.spec.with_seed(seed), ..self }
    }

    /// Whether it is a peer's.
    pub(super) fn is_peer(&self) -> bool {
        self.descriptor.peer.is_some()
    }

    /// An empty one.
    ///
    /// # Errors
    /// If it cannot be built.
    pub(super) fn empty(&self) -> Result<Box<dyn Erased>, Fault> {
        (self.descriptor.build)(&[], &self.spec).map_err(|error| build_fault(&error))
    }

    /// The number of records at a load, rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a load is at most 2 and not negative, and a count of records is far below 2^52"
    )]
    pub(super) fn records(&self, load: f64) -> usize {
        usize::try_from((self.full as f64 * load) as u64).unwrap_or(usize::MAX)
    }

    /// The load of a number of records.
    pub(super) fn load(&self, records: usize) -> f64 {
        records as f64 / self.full as f64
    }

    /// As many distinct digests as `load` takes.
    pub(super) fn keys(&self, load: f64, seed: u64) -> Vec<Digest> {
        digests(self.records(load) as u64, seed)
    }

    /// How many of `keys`, which were inserted, are not found. `refused` tells whether an insert was refused since.
    ///
    /// # Errors
    /// If it is any, unless it is a peer after a refusal: some are known to drop another key then, and that is a figure, not
    /// a defect of the comparison.
    pub(super) fn lost(&self, filter: &dyn Erased, keys: &[Digest], refused: Refused) -> Result<u64, Fault> {
        let lost = keys.len() as u64 - filter.count_hits(keys).min(keys.len() as u64);
        if lost > 0 && !(self.is_peer() && refused == Refused::Some) {
            return Err(defect(format!("of {} keys inserted one by one {lost} are lost", keys.len())));
        }
        Ok(lost)
    }
}

/// Whether an insert was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// None.
    None,
    /// The last.
    Some,
}

/// The filter as one that takes keys.
///
/// # Errors
/// If it is listed with the capability but does not have it.
pub(super) fn as_insert(filter: &mut dyn Erased) -> Result<&mut dyn Insert, Fault> {
    filter.as_insert().ok_or_else(|| defect("it is listed with insert but does not have it".into()))
}
