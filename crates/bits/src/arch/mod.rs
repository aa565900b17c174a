//! What only some processors can do.
//!
//! Each instruction set has a token type. `detect` gives one only where the processor has the instructions,
//! so that holding the value is the proof and its methods are safe. The tokens exist on every target; where
//! the instructions do not, `detect` returns `None` and no value can exist. Their portable twin is
//! [`Portable`](crate::Portable).

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub use x86_64::{Avx2, Avx512, Gather, Pdep, Popcnt, Popcnt512, States, WideLines, WiderLines};

#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
mod none;
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
pub use none::{Avx2, Avx512, Gather, Pdep, Popcnt, Popcnt512, States, WideLines, WiderLines};
