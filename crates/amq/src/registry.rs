//! Descriptors: every family behind one object-safe face, so that suites, sweeps and benches need no list of their own.

use alloc::boxed::Box;
use core::any::Any;

use crate::{
    Amq, BuildError, Count, Digest, Family, Fingerprints, Grow, Insert, InvariantError, MergeError, Plan,
    Remove, SharedInsert, Shrink, Spec, SpecError, Stats,
};

/// What load and width mean for a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A table of slots that hold records: the load is records over slots, r the remainder bits (cuckoo: fingerprint bits
    /// minus 3). The families that load sweeps are about.
    Table,
    /// Bits or counters set by k hash functions: the load is keys over the design capacity (above 1: overfilled), r is k at
    /// the design point.
    Bloom,
    /// Built once from all keys: the load is keys over cells, r the bits per cell.
    Static,
}

/// What a family can do beyond lookups: one for each capability trait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Capability {
    /// [`Insert`]
    Insert,
    /// [`SharedInsert`]
    SharedInsert,
    /// [`Remove`]
    Remove,
    /// [`Count`]
    Count,
    /// [`Fingerprints`]
    Fingerprints,
    /// [`Stats`]
    Stats,
    /// [`Grow`]
    Grow,
    /// [`Shrink`]
    Shrink,
    /// [`Union`](crate::Union)
    Union,
    /// [`Intersect`](crate::Intersect)
    Intersect,
    /// [`MultisetAlgebra`](crate::MultisetAlgebra)
    MultisetAlgebra,
}

impl Capability {
    /// Every capability, in the order of a matrix.
    pub const ALL: &[Self] = &[
        Self::Insert,
        Self::SharedInsert,
        Self::Remove,
        Self::Count,
        Self::Fingerprints,
        Self::Stats,
        Self::Grow,
        Self::Shrink,
        Self::Union,
        Self::Intersect,
        Self::MultisetAlgebra,
    ];

    /// The name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::SharedInsert => "shared-insert",
            Self::Remove => "remove",
            Self::Count => "count",
            Self::Fingerprints => "fingerprints",
            Self::Stats => "stats",
            Self::Grow => "grow",
            Self::Shrink => "shrink",
            Self::Union => "union",
            Self::Intersect => "intersect",
            Self::MultisetAlgebra => "multiset-algebra",
        }
    }
}

/// What two filters of one family give, if the family has the operation and both are of it.
pub type Combined = Option<Result<Box<dyn Erased>, MergeError>>;

/// The capabilities of a family as values. Implemented by [`capabilities!`](crate::capabilities), never by hand.
#[expect(missing_docs, reason = "one view for each capability trait")]
pub trait Capable: Sized {
    const CAPABILITIES: &'static [Capability];

    fn as_insert(&mut self) -> Option<&mut dyn Insert> {
        None
    }
    fn as_shared_insert(&self) -> Option<&dyn SharedInsert> {
        None
    }
    fn as_remove(&mut self) -> Option<&mut dyn Remove> {
        None
    }
    fn as_count(&self) -> Option<&dyn Count> {
        None
    }
    fn as_fingerprints(&self) -> Option<&dyn Fingerprints> {
        None
    }
    fn as_stats(&self) -> Option<&dyn Stats> {
        None
    }
    fn as_grow(&mut self) -> Option<&mut dyn Grow> {
        None
    }
    fn as_shrink(&mut self) -> Option<&mut dyn Shrink> {
        None
    }
    fn try_union(&self, _other: &Self) -> Option<Result<Self, MergeError>> {
        None
    }
    fn try_intersect(&self, _other: &Self) -> Option<Result<Self, MergeError>> {
        None
    }
    fn try_merge(&self, _other: &Self) -> Option<Result<Self, MergeError>> {
        None
    }
    fn try_difference(&self, _other: &Self) -> Option<Result<Self, MergeError>> {
        None
    }
}

/// Any filter of any family: an object-safe [`Family`]. Implemented for all of them.
pub trait Erased: Amq + Any {
    /// The family's short name.
    fn name(&self) -> &'static str;
    /// What it can do.
    fn capabilities(&self) -> &'static [Capability];
    /// See [`Family::table`].
    fn table(&self) -> &[u8];
    /// See [`Family::build_attempts`].
    fn build_attempts(&self) -> u32;
    /// See [`Family::check_invariants`].
    ///
    /// # Errors
    /// The first contradiction found.
    fn check_invariants(&self) -> Result<(), InvariantError>;
    /// The filter as one that takes keys.
    fn as_insert(&mut self) -> Option<&mut dyn Insert>;
    /// The filter as one that takes keys from many threads.
    fn as_shared_insert(&self) -> Option<&dyn SharedInsert>;
    /// The filter as one that forgets keys.
    fn as_remove(&mut self) -> Option<&mut dyn Remove>;
    /// The filter as one that counts.
    fn as_count(&self) -> Option<&dyn Count>;
    /// The filter as one that lists its fingerprints.
    fn as_fingerprints(&self) -> Option<&dyn Fingerprints>;
    /// The filter as one that shows its table.
    fn as_stats(&self) -> Option<&dyn Stats>;
    /// The filter as one that grows.
    fn as_grow(&mut self) -> Option<&mut dyn Grow>;
    /// The filter as one that shrinks.
    fn as_shrink(&mut self) -> Option<&mut dyn Shrink>;
    /// See [`Union`](crate::Union).
    fn union(&self, other: &dyn Erased) -> Combined;
    /// See [`Intersect`](crate::Intersect).
    fn intersect(&self, other: &dyn Erased) -> Combined;
    /// See [`MultisetAlgebra::merge`](crate::MultisetAlgebra::merge).
    fn merge(&self, other: &dyn Erased) -> Combined;
    /// See [`MultisetAlgebra::difference`](crate::MultisetAlgebra::difference).
    fn difference(&self, other: &dyn Erased) -> Combined;
}

/// `operation` on two filters of the same family, boxed.
fn combine<F: Family>(
    left: &F,
    right: &dyn Erased,
    operation: impl FnOnce(&F, &F) -> Option<Result<F, MergeError>>,
) -> Combined {
    let right = (right as &dyn Any).downcast_ref::<F>()?;
    Some(operation(left, right)?.map(|filter| Box::new(filter) as Box<dyn Erased>))
}

impl<F: Family> Erased for F {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn capabilities(&self) -> &'static [Capability] {
        F::CAPABILITIES
    }
    fn table(&self) -> &[u8] {
        Family::table(self)
    }
    fn build_attempts(&self) -> u32 {
        Family::build_attempts(self)
    }
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Family::check_invariants(self)
    }
    fn as_insert(&mut self) -> Option<&mut dyn Insert> {
        Capable::as_insert(self)
    }
    fn as_shared_insert(&self) -> Option<&dyn SharedInsert> {
        Capable::as_shared_insert(self)
    }
    fn as_remove(&mut self) -> Option<&mut dyn Remove> {
        Capable::as_remove(self)
    }
    fn as_count(&self) -> Option<&dyn Count> {
        Capable::as_count(self)
    }
    fn as_fingerprints(&self) -> Option<&dyn Fingerprints> {
        Capable::as_fingerprints(self)
    }
    fn as_stats(&self) -> Option<&dyn Stats> {
        Capable::as_stats(self)
    }
    fn as_grow(&mut self) -> Option<&mut dyn Grow> {
        Capable::as_grow(self)
    }
    fn as_shrink(&mut self) -> Option<&mut dyn Shrink> {
        Capable::as_shrink(self)
    }
    fn union(&self, other: &dyn Erased) -> Combined {
        combine(self, other, Capable::try_union)
    }
    fn intersect(&self, other: &dyn Erased) -> Combined {
        combine(self, other, Capable::try_intersect)
    }
    fn merge(&self, other: &dyn Erased) -> Combined {
        combine(self, other, Capable::try_merge)
    }
    fn difference(&self, other: &dyn Erased) -> Combined {
        combine(self, other, Capable::try_difference)
    }
}

/// Where a foreign filter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The crate.
    pub krate: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// A boxed [`Family::build`].
pub type Build = fn(&[Digest], &Spec) -> Result<Box<dyn Erased>, BuildError>;

/// A family, as a value.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// [`Family::NAME`]
    pub name: &'static str,
    /// [`Family::TITLE`]
    pub title: &'static str,
    /// [`Family::KIND`]
    pub kind: Kind,
    /// [`Family::R`]
    pub r: (u32, u32),
    /// What it can do.
    pub capabilities: &'static [Capability],
    /// Where it comes from, if it is not one of ours.
    pub peer: Option<Peer>,
    /// [`Family::plan`]
    pub plan: fn(&Spec) -> Result<Plan, SpecError>,
    /// [`Family::build`], boxed.
    pub build: Build,
}

impl Descriptor {
    /// The descriptor of a family of ours.
    pub const fn of<F: Family>() -> Self {
        Self {
            name: F::NAME,
            title: F::TITLE,
            kind: F::KIND,
            r: F::R,
            capabilities: F::CAPABILITIES,
            peer: None,
            plan: F::plan,
            build: |digests, spec| Ok(Box::new(F::build(digests, spec)?)),
        }
    }

    /// The descriptor of a foreign filter.
    #[must_use]
    pub const fn from_peer(self, krate: &'static str, version: &'static str) -> Self {
        Self { peer: Some(Peer { krate, version }), ..self }
    }

    /// Whether the family can do this.
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// Code that must know each family's type: called once for each.
pub trait Visitor {
    /// One family.
    fn visit<F: Family>(&mut self);
}

/// States what a family can do beyond lookups: `capabilities!(CountingBloom: Insert, Remove, Count);`
///
/// Each name is a capability trait of this crate, and the type has to implement it.
#[macro_export]
macro_rules! capabilities {
    ($type:ty: $($capability:ident),* $(,)?) => {
        impl $crate::Capable for $type {
            const CAPABILITIES: &'static [$crate::Capability] = &[$($crate::Capability::$capability),*];
            $($crate::capabilities!(@view $capability);)*
        }
    };
    (@view Insert) => {
        fn as_insert(&mut self) -> Option<&mut dyn $crate::Insert> { Some(self) }
    };
    (@view SharedInsert) => {
        fn as_shared_insert(&self) -> Option<&dyn $crate::SharedInsert> { Some(self) }
    };
    (@view Remove) => {
        fn as_remove(&mut self) -> Option<&mut dyn $crate::Remove> { Some(self) }
    };
    (@view Count) => {
        fn as_count(&self) -> Option<&dyn $crate::Count> { Some(self) }
    };
    (@view Fingerprints) => {
        fn as_fingerprints(&self) -> Option<&dyn $crate::Fingerprints> { Some(self) }
    };
    (@view Stats) => {
        fn as_stats(&self) -> Option<&dyn $crate::Stats> { Some(self) }
    };
    (@view Grow) => {
        fn as_grow(&mut self) -> Option<&mut dyn $crate::Grow> { Some(self) }
    };
    (@view Shrink) => {
        fn as_shrink(&mut self) -> Option<&mut dyn $crate::Shrink> { Some(self) }
    };
    (@view Union) => {
        fn try_union(&self, other: &Self) -> Option<Result<Self, $crate::MergeError>> {
            Some($crate::Union::union(self, other))
        }
    };
    (@view Intersect) => {
        fn try_intersect(&self, other: &Self) -> Option<Result<Self, $crate::MergeError>> {
            Some($crate::Intersect::intersect(self, other))
        }
    };
    (@view MultisetAlgebra) => {
        fn try_merge(&self, other: &Self) -> Option<Result<Self, $crate::MergeError>> {
            Some($crate::MultisetAlgebra::merge(self, other))
        }
        fn try_difference(&self, other: &Self) -> Option<Result<Self, $crate::MergeError>> {
            Some($crate::MultisetAlgebra::difference(self, other))
        }
    };
}

/// Makes a registry: a static `FAMILIES` of descriptors, `family(name)`, and `visit(visitor)` for code that must be
/// monomorphic. One line a family.
#[macro_export]
macro_rules! families {
    ($($family:ty),* $(,)?) => {
        /// Every registered family, in the order of reports.
        pub static FAMILIES: &[$crate::Descriptor] = &[$($crate::Descriptor::of::<$family>()),*];

        /// The family of this short name.
        pub fn family(name: &str) -> Option<&'static $crate::Descriptor> {
            FAMILIES.iter().find(|descriptor| descriptor.name == name)
        }

        /// Calls the visitor once for each registered family.
        pub fn visit(visitor: &mut impl $crate::Visitor) {
            $(visitor.visit::<$family>();)*
        }
    };
}
