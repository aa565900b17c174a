//! What a filter says about itself: sizes, memory and rates.

use amq::{Amq as _, Digest, Family as _, Insert as _, InsertError, Plan, Space, Spec, SpecError};
use amq_testkit::conformance::{self, Check};
use amq_testkit::exact::Exact;

use crate::flawed::{Flaw, Flawed, caught};

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
