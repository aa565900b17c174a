#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod algebra;
mod blocks;
mod decode;
mod dynamic;
mod encode;
mod filter;
mod fingerprint;
mod growing;
mod insight;
mod layout;
mod merge;
mod radix;
mod rank_select;
mod resize;
mod sizing;
mod sorted;
mod three_bit;

pub use filter::{Filter, PartsError, QuotientFilter, RankSelectQuotientFilter, Records};
pub use fingerprint::Geometry;
pub use growing::GrowingFilter;
pub use insight::TableStats;
pub use layout::{Layout, OutOfMemory};
pub use rank_select::{RankSelect, RankSelectView};
pub use three_bit::{SlotView, ThreeBit};
