//! The counting allocator in a program of its own, as the global allocator.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use amq_bits::counting::{CountingAllocator, Usage, is_installed, live, measure, pause, peak, reset_peak};
use amq_bits::table::HUGE_FROM;
use amq_bits::{Store, Table};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Tests of the program's figures run one at a time, and see the other tests' small blocks: they use blocks
/// of this size.
static WHOLE_PROGRAM: Mutex<()> = Mutex::new(());
const BIG: usize = 1 << 26;
/// More than all other tests hold at one moment.
const OTHERS: u64 = 1 << 25;

fn usage(live: u64, peak: u64) -> Usage {
    Usage { live, peak }
}

/// A block that the compiler cannot leave out.
fn block(size: usize) -> Vec<u8> {
    black_box(vec![1; size])
}

/// The same, of untouched pages.
fn zeros(size: usize) -> Vec<u8> {
    black_box(vec![0; size])
}

#[test]
fn the_allocator_is_found() {
    assert!(is_installed());
}

#[test]
fn blocks_count_while_they_live() {
    assert_eq!(measure(|| ()).1, usage(0, 0));
    assert_eq!(measure(|| drop(block(100))).1, usage(0, 100));
    let (kept, used) = measure(|| block(100));
    assert_eq!(used, usage(100, 100));
    assert_eq!(measure(|| drop(kept)).1, usage(0, 0));
    assert_eq!(measure(|| black_box(vec![0_u64; 100])).1, usage(800, 800), "zeroed memory");
    let two = measure(|| (block(100), drop(block(1000)), block(10))).1;
    assert_eq!(two, usage(110, 1100));
}

#[test]
fn a_reallocation_counts_its_difference() {
    let mut bytes = Vec::<u8>::with_capacity(100);
    let grown = measure(|| {
        bytes.reserve_exact(1000);
        bytes.capacity() as u64
    });
    assert_eq!(grown.1, usage(grown.0 - 100, grown.0 - 100));
    let shrunk = measure(|| {
        bytes.push(1);
        bytes.shrink_to_fit();
        drop(block(999));
    });
    assert_eq!(shrunk.1, usage(0, 0), "freed first, then less allocated than that");
    drop(bytes);
}

#[test]
fn tables_report_what_the_allocator_counts() {
    for bytes in [0, 1, 63, 64, 1000, HUGE_FROM as u64, HUGE_FROM as u64 + 1] {
        let (table, used) = measure(|| Table::zeroed(bytes).unwrap());
        assert_eq!(used, usage(bytes, bytes));
        assert_eq!(table.heap_bytes(), bytes);
        assert_eq!(measure(|| table.try_clone().unwrap()).1, usage(bytes, bytes));
        assert_eq!(measure(|| Table::zeroed(u64::MAX).is_err()).1, usage(0, 0));
    }
}

#[test]
fn nested_measurements_and_panics_leave_the_outer_one_right() {
    let (inner, outer) = measure(|| {
        drop(block(500));
        let kept = block(50);
        let inner = measure(|| drop(block(100))).1;
        drop(kept);
        inner
    });
    assert_eq!((inner, outer), (usage(0, 100), usage(0, 500)));

    let (inner, outer) = measure(|| {
        drop(block(10));
        measure(|| drop(block(100))).1
    });
    assert_eq!((inner, outer), (usage(0, 100), usage(0, 100)));

    let outer = measure(|| {
        drop(block(100_000));
        let result = catch_unwind(AssertUnwindSafe(|| {
            measure(|| {
                let _block = block(5);
                std::panic::resume_unwind(Box::new(()));
            })
        }));
        assert!(result.is_err());
    });
    assert_eq!(outer.1, usage(0, 100_000));
}

#[test]
fn threads_count_for_themselves() {
    let (to_other, from_here) = channel::<Vec<u8>>();
    let (to_here, from_other) = channel();
    let other = thread::spawn(move || {
        let ours = from_here.recv().unwrap();
        let mine = block(3000);
        let used = measure(|| {
            drop(ours);
            drop(block(700));
        });
        to_here.send((mine, used.1)).unwrap();
    });
    let given = block(1000);
    to_other.send(given).unwrap();
    let (theirs, other_used) = from_other.recv().unwrap();
    // The other thread freed 1000 bytes of this one before it allocated 700.
    assert_eq!(other_used, usage(0, 0));
    // This thread frees what it never allocated, which makes room for 2000.
    assert_eq!(measure(|| (drop(theirs), block(2000)).1.len()).1, usage(0, 0));
    other.join().unwrap();
}

#[test]
fn the_program_counts_all_threads() {
    let _alone = WHOLE_PROGRAM.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let big = BIG as u64;
    let before = live();
    reset_peak();
    let theirs = thread::spawn(|| zeros(BIG)).join().unwrap();
    assert!(live() + OTHERS >= before + big);
    drop(theirs);
    assert!(live() <= before + OTHERS);
    assert!(peak() + OTHERS >= before + big);
    reset_peak();
    assert!(peak() <= before + OTHERS);
}

#[test]
fn pauses_do_not_corrupt_the_figures() {
    let _alone = WHOLE_PROGRAM.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let big = BIG as u64;
    let before = live();
    reset_peak();

    let freed_while_paused = zeros(BIG);
    assert!(peak() + OTHERS >= before + big);
    let paused = pause();
    let nested = pause();
    reset_peak();
    drop(freed_while_paused);
    let (allocated_while_paused, used) = measure(|| zeros(2 * BIG));
    assert_eq!(used, usage(2 * big, 2 * big), "a thread's figures do not pause");
    drop(paused);
    drop(zeros(BIG));
    assert!(peak() <= before + big + OTHERS, "not followed while the second pause lives");
    drop(nested);
    drop(allocated_while_paused);
    assert!(live() <= before + OTHERS);
    assert!(live() + OTHERS >= before);
    reset_peak();
    drop(zeros(3 * BIG));
    assert!(peak() + OTHERS >= before + 3 * big, "followed again");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 })
    })]

    /// Random allocations, frees and reallocations against a model that adds up the capacities.
    #[test]
    fn counts_as_a_model(steps in prop::collection::vec((0_usize..8, 0_usize..5000), 0..100)) {
        let mut blocks: [Vec<u8>; 8] = Default::default();
        let (mut total, mut highest) = (0_u64, 0_u64);
        let ((), used) = measure(|| {
            for &(i, size) in &steps {
                let block = &mut blocks[i];
                total -= block.capacity() as u64;
                if size % 3 == 0 {
                    *block = Vec::new();
                } else if size % 3 == 1 {
                    // Freed first: the old and the new block are never alive together.
                    *block = Vec::new();
                    *block = Vec::with_capacity(size);
                } else {
                    block.reserve_exact(size);
                }
                total += block.capacity() as u64;
                highest = highest.max(total);
            }
        });
        prop_assert_eq!(used, usage(total, highest));
    }
}
