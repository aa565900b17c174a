//! The suite can fail: filters that are broken on purpose, each caught by the concern that is there for it.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use amq::{
    Amq, BuildError, Capable, Count, Descriptor, Digest, Family, Fingerprints, Grow, Histogram, Insert,
    InsertError, InvariantError, Kind, MergeError, MultisetAlgebra, Plan, Remove, ResizeError, Shrink, Space,
    Spec, SpecError, Stats, capabilities,
};
use amq_bits::counting::CountingAllocator;
use amq_testkit::conformance::{self, Check};
use amq_testkit::{exact::Exact, stateful};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// The exact filter passes everything.
amq_testkit::conformance!(&[Descriptor::of::<Exact>()]);

/// What a flawed filter does otherwise than the exact one that it wraps. By default nothing.
trait Flaw: Debug + Send + Sync + 'static {
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
struct Flawed<F>(Exact, PhantomData<F>);

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

/// A flaw, the concern that has to catch it, and words of the failure: one test each.
macro_rules! caught {
    ($test:ident, $flaw:ident, $check:expr, $words:expr, { $($items:tt)* }) => {
        #[derive(Debug)]
        struct $flaw;

        impl Flaw for $flaw { $($items)* }

        capabilities!(
            Flawed<$flaw>: Insert, Remove, Count, Fingerprints, Stats, Grow, Shrink, MultisetAlgebra
        );

        #[test]
        fn $test() {
            let check: Check = $check;
            let failure = check(&Descriptor::of::<Flawed<$flaw>>()).expect_err("the flaw is not caught");
            let text = failure.to_string();
            assert!(text.contains($words), "caught, but for another reason: {text}");
            // Enough to see it again.
            assert!(text.starts_with("flawed: ") && text.contains("seed"), "{text}");
        }
    };
}

fn smallest(exact: &Exact) -> Option<Digest> {
    let mut found = None;
    exact.for_each_fingerprint(&mut |digest, _| found = found.or(Some(Digest::new(digest))));
    found
}

caught!(a_lost_key, Forgets, conformance::members_of_every_size_are_kept, "is lost", {
    // One in ten thousand.
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && !digest.get().is_multiple_of(10_000)
    }
});

caught!(
    a_key_lost_in_a_batch,
    ForgetsInBatch,
    conformance::members_of_every_size_are_kept,
    "lost in a batch",
    {
        // The remainder after blocks of eight.
        fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
            exact.contains_batch(digests, answers);
            let whole = answers.len() / 8 * 8;
            answers[whole..].fill(false);
        }
    }
);

caught!(
    a_key_lost_by_inserts,
    InsertLoses,
    conformance::members_of_every_size_are_kept,
    "after single inserts",
    {
        fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
            exact.insert(if digest.get().is_multiple_of(5_000) { Digest::new(0) } else { digest })
        }
    }
);

caught!(
    an_unlucky_size,
    UnluckySize,
    conformance::small_and_tight_sets_always_build,
    "construction failed",
    {
        fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
            if digests.len() == 37 && spec.seed() == 91 {
                return Err(BuildError::Exhausted { alpha: 0.5, threshold: 0.8, attempts: 9 });
            }
            Exact::build(digests, spec)
        }
    }
);

caught!(refused_duplicates, RefusesDuplicates, conformance::duplicates_are_kept, "construction failed", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        amq_testkit::keys::check_distinct(digests).map_err(|_| BuildError::Exhausted {
            alpha: 0.5,
            threshold: 0.8,
            attempts: 9,
        })?;
        Exact::build(digests, spec)
    }
});

caught!(a_sentinel_among_the_data, Sentinel, conformance::hostile_digests_are_kept, "is lost", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest.get() != u64::MAX
    }
});

caught!(a_truncated_digest, Truncates, conformance::hostile_digests_are_kept, "HighConstant", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest.get() >> 32 != 0xDEAD_BEEF
    }
});

caught!(a_lost_empty_key, LosesEmptyKey, conformance::awkward_keys_are_kept, "is lost", {
    fn contains(exact: &Exact, digest: Digest) -> bool {
        exact.contains(digest) && digest != amq::Key::digest(b"", 11)
    }
});

caught!(a_batch_that_differs, BatchDiffers, conformance::batches_equal_single_lookups, "a batch of", {
    fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
        exact.contains_batch(digests, answers);
        // One false positive more, in long batches.
        if let Some(last) = answers.get_mut(99) {
            *last = true;
        }
    }
});

caught!(
    hits_counted_wrongly,
    CountsHitsWrongly,
    conformance::batches_equal_single_lookups,
    "count_hits of 129",
    {
        fn count_hits(exact: &Exact, digests: &[Digest]) -> u64 {
            exact.count_hits(digests) + u64::from(digests.len() == 129)
        }
    }
);

caught!(
    chained_hits_counted_wrongly,
    CountsChainWrongly,
    conformance::batches_equal_single_lookups,
    "chained",
    {
        fn count_hits_chained(exact: &Exact, digests: &[Digest]) -> u64 {
            exact.count_hits_chained(&digests[digests.len().min(1)..])
        }
    }
);

caught!(a_length_not_checked, LaxLength, conformance::batches_of_wrong_length_panic, "do not panic", {
    fn contains_batch(exact: &Exact, digests: &[Digest], answers: &mut [bool]) {
        for (answer, &digest) in answers.iter_mut().zip(digests) {
            *answer = exact.contains(digest);
        }
    }
});

caught!(a_build_that_varies, Varies, conformance::builds_are_reproducible, "two builds differ", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        static BUILDS: AtomicU64 = AtomicU64::new(0);
        let mut digests = digests.to_vec();
        if let Some(first) = digests.first_mut() {
            *first = Digest::new(BUILDS.fetch_add(1, Ordering::Relaxed));
        }
        Exact::build(&digests, spec)
    }
});

caught!(a_build_that_depends_on_order, OrderMatters, conformance::builds_are_reproducible, "reversed", {
    fn build(digests: &[Digest], spec: &Spec) -> Result<Exact, BuildError> {
        let mut digests = digests.to_vec();
        if let Some(last) = digests.last_mut() {
            *last = Digest::new(last.get() & !1);
        }
        Exact::build(&digests, spec)
    }
});

caught!(inserts_that_differ_from_a_build, InsertDiffers, conformance::inserts_equal_a_build, "differ", {
    fn insert_batch(exact: &mut Exact, digests: &[Digest]) -> Result<(), InsertError> {
        exact.insert_batch(digests)?;
        // Keeps all keys, but in place of a spare one.
        if exact.remaining() == Some(0) {
            exact.grow().map_err(|_| InsertError::Full { records: 1, len: 0, limit: 0 })?;
        }
        Ok(())
    }
});

caught!(
    a_failed_insert_that_changes,
    ChangesOnFailure,
    conformance::failed_operations_change_nothing,
    "not as it was",
    {
        fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
            let result = exact.insert(digest);
            if let (Err(_), Some(victim)) = (result, smallest(exact)) {
                exact.remove(victim);
                exact.insert(Digest::new(victim.get() ^ 1))?;
            }
            result
        }
    }
);

caught!(half_a_batch, HalfABatch, conformance::failed_operations_change_nothing, "a batch that failed", {
    fn insert_batch(exact: &mut Exact, digests: &[Digest]) -> Result<(), InsertError> {
        digests.iter().try_for_each(|&digest| exact.insert(digest))
    }
});

caught!(
    a_removal_of_what_is_not_there,
    RemovesNothing,
    conformance::failed_operations_change_nothing,
    "says Some(true)",
    {
        fn remove(exact: &mut Exact, digest: Digest) -> bool {
            exact.remove(digest);
            true
        }
    }
);

caught!(a_lie_about_the_heap, LiesAboutHeap, conformance::space_is_what_was_allocated, "are live", {
    fn space(exact: &Exact) -> Space {
        let space = exact.space();
        Space { heap_bytes: space.heap_bytes + 8, ..space }
    }
});

caught!(
    a_payload_that_leaves_something_out,
    LiesAboutPayload,
    conformance::space_is_what_was_allocated,
    "payload",
    {
        fn space(exact: &Exact) -> Space {
            let space = exact.space();
            Space { payload_bits: space.payload_bits.saturating_sub(3), ..space }
        }
    }
);

caught!(
    an_insert_that_allocates,
    AllocatesInInsert,
    conformance::operations_allocate_nothing,
    "inserts allocate",
    {
        fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
            std::hint::black_box(vec![0_u8; 16]);
            exact.insert(digest)
        }
    }
);

caught!(a_plan_that_allocates, AllocatesInPlan, conformance::plans_are_sane, "planning took 524288 bytes", {
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        std::hint::black_box(vec![0_u8; 1 << 19]);
        Exact::plan(spec)
    }
});

caught!(a_plan_in_32_bits, PlansIn32Bits, conformance::plans_are_sane, "no slots", {
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let plan = Exact::plan(spec)?;
        Ok(Plan { slots: plan.slots & u64::from(u32::MAX), ..plan })
    }
});

caught!(a_rate_above_the_target, RateAboveTarget, conformance::plans_are_sane, "is above", {
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(Plan { fpr: 0.0101, ..Exact::plan(spec)? })
    }
});

caught!(
    a_nonsense_rate,
    AcceptsNonsense,
    conformance::absurd_specs_are_refused_for_free,
    "there is a plan",
    {
        fn plan(spec: &Spec) -> Result<Plan, SpecError> {
            Exact::plan(spec).or_else(|_| Exact::plan(&Spec::fpr(0.5, spec.capacity())))
        }
    }
);

caught!(
    a_wrong_expected_rate,
    WrongExpectedRate,
    conformance::expected_rates_are_measured,
    "absent digests are found",
    {
        fn expected_fpr(_: &Exact) -> Option<f64> {
            Some(1e-4)
        }
    }
);

caught!(
    a_rate_ten_percent_off,
    RateTenPercentOff,
    conformance::expected_rates_are_measured,
    "absent digests are found",
    {
        fn contains(exact: &Exact, digest: Digest) -> bool {
            exact.contains(digest) || digest.get() % 10 == 3
        }
        fn count_hits(exact: &Exact, digests: &[Digest]) -> u64 {
            digests.iter().filter(|&&digest| Self::contains(exact, digest)).count() as u64
        }
        fn expected_fpr(_: &Exact) -> Option<f64> {
            Some(0.09)
        }
    }
);

caught!(a_wrong_prediction, WrongPrediction, conformance::predicted_rates_are_means, "the plan predicts", {
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let plan = Exact::plan(spec)?;
        Ok(Plan { fpr: plan.fpr * 0.99, ..plan })
    }
});

caught!(
    a_removal_of_the_wrong_record,
    RemovesTheWrongOne,
    conformance::removals_leave_the_others,
    "is lost",
    {
        fn remove(exact: &mut Exact, digest: Digest) -> bool {
            match smallest(exact) {
                Some(other) if exact.contains(digest) => exact.remove(other),
                _ => false,
            }
        }
    }
);

caught!(
    a_removal_of_all_duplicates,
    RemovesAll,
    conformance::removals_leave_the_others,
    "removing one of several",
    {
        fn remove(exact: &mut Exact, digest: Digest) -> bool {
            let mut any = false;
            while exact.remove(digest) {
                any = true;
            }
            any
        }
    }
);

caught!(a_count_too_low, CountsTooLow, conformance::counts_reach_multiplicities, "counts 1", {
    fn count(exact: &Exact, digest: Digest) -> u64 {
        exact.count(digest).min(1)
    }
});

caught!(a_count_too_high, CountsTooHigh, conformance::counts_reach_multiplicities, "are exact", {
    fn count(exact: &Exact, digest: Digest) -> u64 {
        exact.count(digest) * 2
    }
});

caught!(fingerprints_out_of_order, Unsorted, conformance::fingerprints_are_the_models, "ascending", {
    fn for_each_fingerprint(exact: &Exact, visit: &mut dyn FnMut(u64, u64)) {
        let mut all = Vec::new();
        exact.for_each_fingerprint(&mut |fingerprint, count| all.push((fingerprint, count)));
        all.iter().rev().for_each(|&(fingerprint, count)| visit(fingerprint, count));
    }
});

caught!(a_fingerprint_too_few, FingerprintMissing, conformance::fingerprints_are_the_models, "but len is", {
    fn for_each_fingerprint(exact: &Exact, visit: &mut dyn FnMut(u64, u64)) {
        exact.for_each_fingerprint(&mut |fingerprint, _| visit(fingerprint, 1));
    }
});

caught!(a_merge_that_ignores_an_operand, MergeIgnores, conformance::combinations_keep_keys, "is lost", {
    fn merge(left: &Exact, right: &Exact) -> Result<Exact, MergeError> {
        if left.seed() == right.seed() { Ok(left.clone()) } else { left.merge(right) }
    }
});

caught!(
    a_difference_that_takes_nothing,
    TakesNothing,
    conformance::combinations_keep_keys,
    "not the table of what is left",
    {
        fn difference(left: &Exact, _: &Exact) -> Result<Exact, MergeError> {
            Ok(left.clone())
        }
    }
);

caught!(
    a_seed_not_checked,
    SeedNotChecked,
    conformance::foreign_operands_are_refused,
    "another seed is not refused",
    {
        fn merge(left: &Exact, right: &Exact) -> Result<Exact, MergeError> {
            Ok(left.merge(right).unwrap_or_else(|_| left.clone()))
        }
    }
);

caught!(a_growth_that_loses, GrowthLoses, conformance::resizing_keeps_answers, "is lost", {
    fn grow(exact: &mut Exact) -> Result<(), ResizeError> {
        exact.grow()?;
        smallest(exact).map(|digest| exact.remove(digest));
        Ok(())
    }
});

caught!(
    a_growth_that_is_no_growth,
    ShrinkIsNotInverse,
    conformance::resizing_keeps_answers,
    "does not shrink",
    {
        fn grow(exact: &mut Exact) -> Result<(), ResizeError> {
            // Takes a slot too many the second time.
            if exact.remaining() > exact.len() { Err(ResizeError::TooLarge) } else { exact.grow() }
        }
        fn shrink(_: &mut Exact) -> Result<(), ResizeError> {
            Err(ResizeError::TooLarge)
        }
    }
);

caught!(
    a_histogram_that_leaves_one_out,
    HistogramForgets,
    conformance::histograms_account_for_everything,
    "counts",
    {
        fn histograms(exact: &Exact) -> Vec<Histogram> {
            let mut histograms = exact.histograms();
            for histogram in &mut histograms {
                if let Some(count) = histogram.counts.last_mut() {
                    *count = count.saturating_sub(1);
                }
            }
            histograms
        }
    }
);

caught!(an_inconsistent_table, Inconsistent, conformance::members_of_every_size_are_kept, "inconsistent", {
    fn check_invariants(exact: &Exact) -> Result<(), InvariantError> {
        if exact.len() == Some(999) {
            return Err(InvariantError { what: "nothing is right", at: 3 });
        }
        exact.check_invariants()
    }
});

caught!(
    an_overwritten_record,
    Overwrites,
    stateful::random_operations_agree_with_the_model,
    "after [Insert",
    {
        fn insert(exact: &mut Exact, digest: Digest) -> Result<(), InsertError> {
            if let (Some(0), Some(victim)) = (exact.remaining(), smallest(exact)) {
                exact.remove(victim);
            }
            exact.insert(digest)
        }
    }
);

/// The failing sequence is shrunk to about the shortest there is: fill four slots, insert once more.
#[test]
fn sequences_are_shrunk() {
    let failure = stateful::random_operations_agree_with_the_model(&Descriptor::of::<Flawed<Overwrites>>())
        .expect_err("the flaw is not caught");
    let operations = failure.what.matches("Insert").count() + failure.what.matches("Remove").count();
    assert!(operations <= 6, "{failure}");
}

/// Failures of all families are reported together.
#[test]
#[should_panic(expected = "seed")]
fn a_run_reports_and_panics() {
    let families = [Descriptor::of::<Exact>(), Descriptor::of::<Flawed<LaxLength>>()];
    conformance::run(&families, conformance::batches_of_wrong_length_panic);
}
