//! `amq-bench`: see `amq-bench --help`.

use std::process::ExitCode;

use amq_bits::counting::CountingAllocator;

/// Counts what a build allocates.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    bench_harness::cli::main()
}
