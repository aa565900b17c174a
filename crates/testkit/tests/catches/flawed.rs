//! The exact filter with a flaw, and a test that the flaw is caught.

use std::fmt::Debug;
use std::marker::PhantomData;

use amq::{
    Amq, BuildError, Capable, Count, Digest, Family, Fingerprints, Grow, Histogram, Insert, InsertError,
    InvariantError, Kind, MergeError, MultisetAlgebra, Plan, Remove, ResizeError, Shrink, Space, Spec,
    SpecError, Stats,
};
use amq_testkit::exact::Exact;

/// What a flawed filter does otherwise than the exact one that it wraps. By default nothing.
pub(crate) trait Flaw: Debug + Send + Sync + 'static {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest)
    }
    fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
        exact.contains_batch(digests, answers);
    }
    fn count_hits(exact: &Exact, digests: &[Digest]) -> u64 {
        exact.count_hits(digests)
    }
    fn count_hits_chained(exact: &Exact, digests: &[Digest]) -> u64 {
        exact.count_hits_chained(digests)
    }
    fn space(exact: &Exact) -> Space {
        exact.space()
    }
    fn expected_fpr(exact: &Exact) -> Option<f64> {
        exact.expected_fpr()
    }
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Exact::plan(spec)
    }
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        Exact::build(digests, spec)
    }
    fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
        exact.insert(digest)
    }
    fn insert_batch(exact: &mut Exact, digests: &[Digest]) -> Result<(), InsertError> {
        exact.insert_batch(digests)
    }
    fn remove(exact: &mut Exact, digest: Digest) -> bool {
        exact.remove(digest)
    }
    fn count(exact: &Exact, digest: Digest) -> u64 {
        exact.count(digest)
    }
    fn for_each_fingerprint(exact: &Exact, visit: &mut dyn FnMut(u64, u64)) {
        exact.for_each_fingerprint(visit);
    }
    fn histograms(exact: &Exact) -> Vec<Histogram> {
        exact.histograms()
    }
    fn grow(exact: &mut Exact) -> Result<(), ResizeError> {
        exact.grow()
    }
    fn shrink(exact: &mut Exact) -> Result<(), ResizeError> {
        exact.shrink()
    }
    fn merge(left: &Exact, right: &Exact) -> Result<Exact, MergeError> {
        left.merge(right)
    }
    fn difference(left: &Exact, right: &Exact) -> Result<Exact, MergeError> {
        left.difference(right)
    }
    fn check_invariants(exact: &Exact) -> Result<(), InvariantError> {
        exact.check_invariants()
    }
}

/// An exact filter with a flaw.
#[derive(Debug)]
pub(crate) struct Flawed<F>(Exact, PhantomData<F>);

impl<F: Flaw> Amq for Flawed<F> {
    fn contains(&self, digest: Digest) -> bool {
        F::contains(&self.0, digest)
    }
    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        F::contains_batch(&self.0, digests, answers);
    }
    fn count_hits(&self, digests: &[Digest]) -> u64 {
        F::count_hits(&self.0, digests)
    }
    fn count_hits_chained(&self, digests: &[Digest]) -> u64 {
        F::count_hits_chained(&self.0, digests)
    }
    fn len(&self) -> Option<u64> {
        self.0.len()
    }
    fn space(&self) -> Space {
        F::space(&self.0)
    }
    fn expected_fpr(&self) -> Option<f64> {
        F::expected_fpr(&self.0)
    }
}

impl<F: Flaw> Family for Flawed<F>
where
    Self: Capable,
{
    const NAME: &'static str = "flawed";
    const TITLE: &'static str = "Flawed";
    const KIND: Kind = Kind::Table;
    const R: (u32, u32) = Exact::R;

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        F::plan(spec)
    }
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Ok(Self(F::build(digests, spec)?, PhantomData))
    }
    fn table(&self) -> &[u8] {
        Family::table(&self.0)
    }
    fn check_invariants(&self) -> Result<(), InvariantError> {
        F::check_invariants(&self.0)
    }
}

impl<F: Flaw> Insert for Flawed<F> {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        F::insert(&mut self.0, digest)
    }
    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        F::insert_batch(&mut self.0, digests)
    }
    fn remaining(&self) -> Option<u64> {
        self.0.remaining()
    }
}

impl<F: Flaw> Remove for Flawed<F> {
    fn remove(&mut self, digest: Digest) -> bool {
        F::remove(&mut self.0, digest)
    }
}

impl<F: Flaw> Count for Flawed<F> {
    fn count(&self, digest: Digest) -> u64 {
        F::count(&self.0, digest)
    }
}

impl<F: Flaw> Fingerprints for Flawed<F> {
    fn fingerprint_space(&self) -> u128 {
        self.0.fingerprint_space()
    }
    fn for_each_fingerprint(&self, visit: &mut dyn FnMut(u64, u64)) {
        F::for_each_fingerprint(&self.0, visit);
    }
}

impl<F: Flaw> Stats for Flawed<F> {
    fn histograms(&self) -> Vec<Histogram> {
        F::histograms(&self.0)
    }
}

impl<F: Flaw> Grow for Flawed<F> {
    fn grow(&mut self) -> Result<(), ResizeError> {
        F::grow(&mut self.0)
    }
}

impl<F: Flaw> Shrink for Flawed<F> {
    fn shrink(&mut self) -> Result<(), ResizeError> {
        F::shrink(&mut self.0)
    }
}

impl<F: Flaw> MultisetAlgebra for Flawed<F> {
    fn merge(&self, other: &Self) -> Result<Self, MergeError> {
        Ok(Self(F::merge(&self.0, &other.0)?, PhantomData))
    }
    fn difference(&self, other: &Self) -> Result<Self, MergeError> {
        Ok(Self(F::difference(&self.0, &other.0)?, PhantomData))
    }
    fn merge_many(operands: &[&Self]) -> Result<Self, MergeError> {
        let operands: Vec<_> = operands.iter().map(|operand| &operand.0).collect();
        Ok(Self(Exact::merge_many(&operands)?, PhantomData))
    }
}

/// The smallest digest in the filter.
pub(crate) fn smallest(exact: &Exact) -> Option<Digest> {
    let mut found = None;
    exact.for_each_fingerprint(&mut |digest, _| found = found.or(Some(Digest::new(digest))));
    found
}

/// A flaw, the concern that has to catch it, and words of the failure: one test each.
macro_rules! caught {
    ($test:ident, $flaw:ident, $check:expr, $words:expr, { $($items:tt)* }) => {
        #[derive(Debug)]
        pub(crate) struct $flaw;

        impl Flaw for $flaw { $($items)* }

        amq::capabilities!(
            Flawed<$flaw>: Insert, Remove, Count, Fingerprints, Stats, Grow, Shrink, MultisetAlgebra
        );

        #[test]
        fn $test() {
            let check: Check = $check;
            let failure = check(&amq::Descriptor::of::<Flawed<$flaw>>()).expect_err("the flaw is not caught");
            let text = failure.to_string();
            assert!(text.contains($words), "caught, but for another reason: {text}");
            // Enough to see it again.
            assert!(text.starts_with("flawed: ") && text.contains("seed"), "{text}");
        }
    };
}

pub(crate) use caught;
