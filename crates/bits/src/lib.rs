#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In reading order; rustfmt would sort them otherwise.
pub mod store;

pub mod table;

pub mod word;

pub mod packed;

pub mod rank_select;

pub mod arch;

pub mod prefetch;

pub use packed::Packed;
pub use rank_select::{Portable, Select};
pub use store::{Store, StoreMut};
pub use table::{AllocError, Table};
