//! What is done to a filter after the build.

use amq::{
    Amq as _, Digest, Grow as _, Insert as _, InsertError, MergeError, MultisetAlgebra as _, Remove as _,
    ResizeError,
};
use amq_testkit::conformance::{self, Check};
use amq_testkit::exact::Exact;
use amq_testkit::stateful;

use crate::flawed::{Flaw, Flawed, caught, smallest};

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
