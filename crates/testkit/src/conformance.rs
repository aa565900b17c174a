//! The conformance suite: what every family has to do, as functions over a [`Descriptor`].
//!
//! Each *concern* is one function `fn(&Descriptor) -> Outcome`. It skips what a family cannot do, runs its grid of sizes, specs
//! and seeds, and stops at the first [`Failure`], which names the family, the size, the seed and the spec. All seeds are
//! fixed: a concern that fails once fails always.
//!
//! [`conformance!`](crate::conformance!) makes one `#[test]` of each concern for a whole registry. The test binary has to
//! install the counting allocator, since several concerns hold what a filter says about its memory against what was
//! allocated.

mod algebra;
mod case;
mod counts;
mod determinism;
mod failed_operations;
mod histograms;
mod lookups;
mod members;
mod planning;
mod rates;
mod removal;
mod resizing;
mod space;

pub use algebra::{combinations_keep_keys, foreign_operands_are_refused};
pub use case::{Failure, Outcome};
pub use counts::{counts_reach_multiplicities, fingerprints_are_the_models};
pub use determinism::{builds_are_reproducible, inserts_equal_a_build};
pub use failed_operations::failed_operations_change_nothing;
pub use histograms::histograms_account_for_everything;
pub use lookups::{batches_equal_single_lookups, batches_of_wrong_length_panic};
pub use members::{
    awkward_keys_are_kept, duplicates_are_kept, hostile_digests_are_kept, members_of_every_size_are_kept,
    shared_inserts_are_kept, small_and_tight_sets_always_build,
};
pub use planning::{absurd_specs_are_refused_for_free, plans_are_sane};
pub use rates::{expected_rates_are_measured, predicted_rates_are_means};
pub use removal::removals_leave_the_others;
pub use resizing::resizing_keeps_answers;
pub use space::{operations_allocate_nothing, space_is_what_was_allocated};

use amq::Descriptor;

/// A concern: one requirement on every family.
pub type Check = fn(&Descriptor) -> Outcome;

/// Runs one concern for each of the families.
///
/// # Panics
/// If one fails, with the failures of all of them.
pub fn run(families: &[Descriptor], check: Check) {
    let failures: Vec<String> = families
        .iter()
        .filter_map(|descriptor| check(descriptor).err())
        .map(|failure| failure.to_string())
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(!families.is_empty(), "there are no families to check");
}

/// One `#[test]` of each concern, over all families of a registry.
///
/// ```
/// use amq::Descriptor;
/// use amq_bits::counting::CountingAllocator;
/// use amq_testkit::exact::Exact;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// amq_testkit::conformance!(&[Descriptor::of::<Exact>()]);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance {
    ($families:expr) => {
        $crate::conformance! {
            @tests $families;
            conformance::members_of_every_size_are_kept,
            conformance::small_and_tight_sets_always_build,
            conformance::duplicates_are_kept,
            conformance::hostile_digests_are_kept,
            conformance::awkward_keys_are_kept,
            conformance::shared_inserts_are_kept,
            conformance::batches_equal_single_lookups,
            conformance::batches_of_wrong_length_panic,
            conformance::builds_are_reproducible,
            conformance::inserts_equal_a_build,
            conformance::failed_operations_change_nothing,
            conformance::space_is_what_was_allocated,
            conformance::operations_allocate_nothing,
            conformance::plans_are_sane,
            conformance::absurd_specs_are_refused_for_free,
            conformance::expected_rates_are_measured,
            conformance::predicted_rates_are_means,
            conformance::removals_leave_the_others,
            conformance::counts_reach_multiplicities,
            conformance::fingerprints_are_the_models,
            conformance::combinations_keep_keys,
            conformance::foreign_operands_are_refused,
            conformance::resizing_keeps_answers,
            conformance::histograms_account_for_everything,
            stateful::random_operations_agree_with_the_model,
        }
    };
    (@tests $families:expr; $($module:ident::$check:ident),* $(,)?) => {$(
        #[test]
        fn $check() {
            $crate::conformance::run($families, $crate::$module::$check);
        }
    )*};
}
