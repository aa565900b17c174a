//! An allocator that counts, for programs that report how much memory a structure takes.
//!
//! What is counted are the bytes *requested*, not what the allocator below rounds them up to; a reallocation
//! counts as the difference of the sizes, however the allocator carries it out.
//!
//! Two figures are kept side by side:
//!
//! - **Of the current thread**, by [`measure`]: plain thread-local numbers, so that parallel threads do not
//!   disturb each other. A block counts for the thread that allocates it and against the thread that frees
//!   it. So memory that the measured work leaves to another thread to free stays in its figures, and memory
//!   of other threads that it frees lowers them; what its helper threads allocate is not in them.
//! - **Of the whole program**, by [`live`] and [`peak`]: relaxed atomics, exact over all threads.
//!
//! While a [`Pause`] lives, the peak of the program is not followed. The live bytes always are: a block does
//! not know whether it was counted, so that a block allocated while counting is off and freed while it is on,
//! or the other way round, would be wrong forever. That costs a few thread-local additions and one
//! uncontended atomic addition for each allocation, little beside the allocation itself.
//!
//! ```
//! use amq_bits::counting::{CountingAllocator, measure};
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator;
//!
//! let (kept, usage) = measure(|| {
//!     let scratch = vec![0_u8; 1000];
//!     vec![scratch[0]; 50]
//! });
//! assert_eq!((usage.live, usage.peak), (50, 1050));
//! # drop(kept);
//! ```

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::hint::black_box;
use core::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};
use std::alloc::System;
use std::boxed::Box;
use std::thread_local;

/// The system's allocator with counting. Make it the `#[global_allocator]` of a program; without that all
/// figures stay 0, which [`is_installed`] tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

// Signed: a thread may free more than it allocated. Sizes are below 2^63 as those of every `Layout`.
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
/// How many pauses are alive.
static PAUSES: AtomicU32 = AtomicU32::new(0);

/// The figures of one thread.
struct Scope {
    live: Cell<i64>,
    /// The highest `live` since the start of the innermost `measure`.
    peak: Cell<i64>,
}

thread_local! {
    // Constant and without a destructor: the first use allocates nothing, and the last may be at the very end
    // of the thread.
    static SCOPE: Scope = const { Scope { live: Cell::new(0), peak: Cell::new(0) } };
}

/// Adds `change` bytes to all figures.
#[inline]
fn count(change: i64) {
    // An error means a thread in its last moments on a system without native thread-local storage: nobody
    // measures there.
    let _ = SCOPE.try_with(|scope| {
        let live = scope.live.get() + change;
        scope.live.set(live);
        scope.peak.set(scope.peak.get().max(live));
    });
    let live = LIVE.fetch_add(change, Relaxed) + change;
    // The plain load first: a peak is rarely passed, and a load leaves the cache line shared.
    if PAUSES.load(Relaxed) == 0 && live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
}

/// A size as a change; at most `isize::MAX`, as the size of every block.
#[inline]
fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

// SAFETY: (1) every method hands its arguments unchanged to the same method of `System` and returns its
// result unchanged, so `System`'s keeping of the contract is ours. (2) `count` neither allocates nor panics:
// its additions stay below the number of bytes in the address space in magnitude, and its thread-local value
// is constant and has no destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: (1) the caller keeps the contract of `alloc`, which is the same.
        let start = unsafe { System.alloc(layout) };
        if !start.is_null() {
            count(signed(layout.size()));
        }
        start
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: (1) the caller keeps the contract of `alloc_zeroed`, which is the same.
        let start = unsafe { System.alloc_zeroed(layout) };
        if !start.is_null() {
            count(signed(layout.size()));
        }
        start
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // Before the block is free, so that another thread that gets it at once does not make a peak.
        count(-signed(layout.size()));
        // SAFETY: (1) the caller keeps the contract of `dealloc`, and every block of ours is a block of
        // `System`.
        unsafe { System.dealloc(start, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: (1) the caller keeps the contract of `realloc`, and every block of ours is a block of
        // `System`.
        let moved = unsafe { System.realloc(start, layout, new_size) };
        if !moved.is_null() {
            count(signed(new_size) - signed(layout.size()));
        }
        moved
    }
}

/// What some work did to the memory of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes live at the end of the work beyond those at its start; 0 if it freed more than it allocated.
    pub live: u64,
    /// The most bytes that were live at one moment of the work beyond those at its start.
    pub peak: u64,
}

/// Calls `work` and returns its result with its use of memory by the current thread. Its result is alive and
/// counted as live.
///
/// Calls may be nested, and a panic leaves the figures of an outer call right. Pauses do not matter here.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Usage) {
    /// Ends the innermost scope, also when `work` panics.
    struct Restore {
        outer_peak: i64,
    }

    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.with(|scope| scope.peak.set(scope.peak.get().max(self.outer_peak)));
        }
    }

    let (start, restore) = SCOPE.with(|scope| {
        let live = scope.live.get();
        (live, Restore { outer_peak: scope.peak.replace(live) })
    });
    let result = work();
    let usage = SCOPE.with(|scope| Usage {
        live: u64::try_from(scope.live.get() - start).unwrap_or(0),
        // Never negative: the peak began at `start`.
        peak: u64::try_from(scope.peak.get() - start).unwrap_or(0),
    });
    drop(restore);
    (result, usage)
}

/// Bytes live in the whole program.
pub fn live() -> u64 {
    u64::try_from(LIVE.load(Relaxed)).unwrap_or(0)
}

/// The most bytes live at one moment in the whole program since its start or the last [`reset_peak`], pauses
/// left out.
pub fn peak() -> u64 {
    u64::try_from(PEAK.load(Relaxed)).unwrap_or(0)
}

/// Starts to follow the peak of the whole program anew from what is live now.
///
/// Call it while no other thread allocates: what one allocates at this moment may be missed.
pub fn reset_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

/// Whether the program's allocator is a [`CountingAllocator`], found out by allocating a byte.
pub fn is_installed() -> bool {
    measure(|| drop(black_box(Box::new(0_u8)))).1.peak != 0
}

/// While it lives, the peak of the whole program is not followed, in any thread; pauses may overlap.
#[derive(Debug)]
#[must_use = "the pause ends when this value is dropped"]
pub struct Pause(());

/// Begins a pause, for work that is being timed.
pub fn pause() -> Pause {
    PAUSES.fetch_add(1, Relaxed);
    Pause(())
}

impl Drop for Pause {
    fn drop(&mut self) {
        PAUSES.fetch_sub(1, Relaxed);
    }
}
