//! The suite can fail: filters that are broken on purpose, each caught by the concern that is there for it.

mod answers;
mod builds;
mod changes;
mod flawed;
mod plans;

use amq::Descriptor;
use amq_bits::counting::CountingAllocator;
use amq_testkit::exact::Exact;
use amq_testkit::{conformance, stateful};

use crate::answers::LaxLength;
use crate::changes::Overwrites;
use crate::flawed::Flawed;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// The exact filter passes everything.
amq_testkit::conformance!(&[Descriptor::of::<Exact>()]);

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
