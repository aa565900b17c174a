//! Whether a filter tells the truth about its memory.

use amq::{Descriptor, Erased, Plan};
use amq_bits::counting::{self, Usage};

/// Calls a build and returns what it did to the heap; `None` where the program does not count.
///
/// What other threads allocate is not in it. Families build in one thread as they are built here: the parallel builds that
/// some offer are features of their crates that this program does not switch on.
pub fn measure<R>(build: impl FnOnce() -> R) -> (R, Option<Usage>) {
    let (result, usage) = counting::measure(build);
    (result, counting::is_installed().then_some(usage))
}

/// What contradicts what the filter says about its memory, or the plan; `None` if all agrees.
///
/// The payload of ours has to be the planned table exactly. The heap has to be what the allocator counted, less the value of
/// the filter itself, to within half a percent. A peer's figures are not its own and are not held against it.
pub fn contradiction(
    descriptor: &Descriptor,
    filter: &dyn Erased,
    plan: &Plan,
    usage: Option<Usage>,
) -> Option<String> {
    if descriptor.peer.is_some() {
        return None;
    }
    let space = filter.space();
    if space.payload_bits != plan.payload_bits() {
        return Some(format!(
            "it says that a lookup can read {} bits, but the plan is {}",
            space.payload_bits,
            plan.payload_bits()
        ));
    }
    let counted = usage?.live;
    let told = space.heap_bytes + size_of_val(filter) as u64;
    // A few words for small allocations that a filter may leave out.
    let tolerance = 64 + counted / 200;
    (counted.abs_diff(told) > tolerance).then(|| {
        format!("it says that it holds {told} bytes on the heap, itself included, but the allocator counted {counted}")
    })
}
