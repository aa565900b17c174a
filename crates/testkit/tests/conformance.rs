//! The conformance suite over every registered family: a family that is added to the registry is covered with no edit here.

use amq_bits::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

amq_testkit::conformance!(amq_families::FAMILIES);
