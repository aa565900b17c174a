//! The tokens where nothing can be detected: types without a value.

use crate::rank_select::Select;

/// Proof of a fast PDEP instruction; here it cannot exist.
#[derive(Clone, Copy, Debug)]
pub enum Pdep {}

impl Pdep {
    /// Always `None`.
    #[inline]
    pub fn detect() -> Option<Self> {
        None
    }
}

impl Select for Pdep {
    #[inline]
    fn select_or_64(self, _word: u64, _k: u32) -> u32 {
        match self {}
    }

    #[inline]
    fn run<R>(self, _work: impl FnOnce() -> R) -> R {
        match self {}
    }
}
