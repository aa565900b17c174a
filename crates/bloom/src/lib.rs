#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
mod probes;

mod layout;

mod batch;

mod lookup;

mod gather;

mod family;

mod filter;

mod scatter;

mod free;

mod blocked;

mod fold;

mod shared;

mod counting;

pub use blocked::{BlockedBloom, SplitBlockBloom};
pub use counting::{
    BlockedCountingBloom, CountingBloom, CountingFilter, EightBitCountingBloom, TwoBitCountingBloom,
};
pub use filter::{BitFilter, BitPlaces};
pub use free::Bloom;
pub use layout::{BlockKind, BlockLayout, CounterLine, Layout, LayoutError, Places, Split, Spread};
pub use probes::Probes;
pub use shared::{AtomicBlockedBloom, AtomicBloom, SharedFilter};
