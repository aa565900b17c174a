//! What a filter says about its memory is what the allocator saw.

use amq::{Descriptor, Spec};
use amq_bits::counting::{is_installed, measure};

use super::case::{Case, Failure, Outcome, ensure};
use crate::keys::{absent_digests, digests};

fn installed(case: &Case<'_>) -> Result<(), Failure> {
    ensure!(case, is_installed(), "the counting allocator is not installed, nothing can be measured");
    Ok(())
}

/// The payload is what the plan said, the table has the plan's bytes, and the heap is what was allocated and is live.
///
/// A built filter comes in a box of its own; what the allocator counted less the size of the filter's fixed fields, which lie in
/// that box, is what its table and everything else behind pointers take.
///
/// # Errors
/// The first failure.
pub fn space_is_what_was_allocated(descriptor: &Descriptor) -> Outcome {
    for n in [0, 1, 2, 63, 64, 65, 1_000, 11_511, 100_000] {
        for fpr in [0.5, 0.01, 1e-4] {
            for built_from in [n, n / 2, 0] {
                let case = Case::new(
                    descriptor,
                    "space is what was allocated",
                    built_from,
                    Spec::fpr(fpr, n).with_seed(n),
                );
                installed(&case)?;
                let plan = (descriptor.plan)(&case.spec).map_err(|error| case.fail(error.to_string()))?;
                let members = digests(built_from, n);
                let (filter, usage) = measure(|| case.build(&members));
                let filter = filter?;
                let space = filter.space();
                // Static families size themselves for the keys they get; the plan is for the capacity.
                if built_from == n || descriptor.can(amq::Capability::Insert) {
                    let (got, planned) = (space.payload_bits, plan.payload_bits());
                    ensure!(case, got == planned, "the payload is {got} bits, the plan has {planned}");
                    let table = filter.table().len() as u64;
                    // A table that others may be writing to is not shown.
                    let hidden = table == 0 && descriptor.can(amq::Capability::SharedInsert);
                    ensure!(
                        case,
                        hidden || table == plan.table_bytes,
                        "{table} table bytes, {} planned",
                        plan.table_bytes
                    );
                }
                let fields = size_of_val(&*filter) as u64;
                ensure!(
                    case,
                    usage.live == space.heap_bytes + fields,
                    "{} bytes are live beside the filter's own {fields}, it says {}",
                    usage.live - fields,
                    space.heap_bytes
                );
                ensure!(
                    case,
                    space.payload_bits <= space.heap_bytes * 8,
                    "{} payload bits in {} bytes",
                    space.payload_bits,
                    space.heap_bytes
                );
                // Rounding to lines and pages, and what a filter keeps beside its table.
                let payload = space.payload_bits.div_ceil(8);
                ensure!(
                    case,
                    space.heap_bytes <= payload + (payload / 100).max(4096),
                    "{} heap bytes for a payload of {payload}",
                    space.heap_bytes
                );
            }
        }
    }
    Ok(())
}

/// Lookups, single inserts and removals allocate nothing, not even for a moment.
///
/// # Errors
/// The first failure.
pub fn operations_allocate_nothing(descriptor: &Descriptor) -> Outcome {
    let n = 2_000;
    let case = Case::new(descriptor, "operations allocate nothing", n, Spec::fpr(0.01, n).with_seed(1));
    installed(&case)?;
    let members = digests(n, 1);
    let mut filter = case.build(&members[..1_000])?;
    let queries: Vec<_> = absent_digests(1_000, 1).chain(members.iter().copied()).collect();
    let mut answers = vec![false; queries.len()];
    let (_, usage) = measure(|| {
        filter.contains_batch(&queries, &mut answers);
        filter.count_hits(&queries) + filter.count_hits_chained(&queries) + filter.len().unwrap_or(0)
    });
    ensure!(case, usage.peak == 0, "lookups allocate {} bytes", usage.peak);
    if let Some(insert) = filter.as_insert() {
        let (result, usage) =
            measure(|| members[1_000..].iter().try_for_each(|&digest| insert.insert(digest)));
        result.map_err(|error| case.fail(format!("an insert failed: {error}")))?;
        ensure!(case, usage.peak == 0, "inserts allocate {} bytes", usage.peak);
    }
    if let Some(remove) = filter.as_remove() {
        let (removed, usage) = measure(|| members.iter().filter(|&&digest| remove.remove(digest)).count());
        ensure!(case, usage.peak == 0 && removed > 0, "{removed} removals allocate {} bytes", usage.peak);
    }
    Ok(())
}
