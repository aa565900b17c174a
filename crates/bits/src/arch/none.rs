//! The tokens where nothing can be detected: types without a value.

use crate::block::{Blocks, Word};
use crate::columns::Columns;
use crate::lanes::{LANES, Lanes};
use crate::line::Lines;
use crate::probe::Field;
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

/// Declares a token of vector instructions that cannot exist here.
macro_rules! no_blocks {
    ($(#[$doc:meta] $name:ident),* $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl $name {
            /// Always `None`.
            #[inline]
            pub fn detect() -> Option<Self> {
                None
            }
        }

        impl Blocks for $name {
            #[inline]
            fn split_contains(self, _block: &[u8; 32], _hash: u32) -> bool {
                match self {}
            }

            #[inline]
            fn split_insert(self, _block: &mut [u8; 32], _hash: u32) {
                match self {}
            }

            #[inline]
            fn spread_contains(self, _block: &[u8; 64], _word: Word, _count: u32) -> bool {
                match self {}
            }

            #[inline]
            fn spread_insert(self, _block: &mut [u8; 64], _word: Word, _count: u32) {
                match self {}
            }

            #[inline]
            fn run<R>(self, _work: impl FnOnce() -> R) -> R {
                match self {}
            }
        }

        impl Lanes for $name {
            type Vector = Self;

            #[inline]
            fn splat(self, _word: u64) -> Self {
                self
            }

            #[inline]
            fn load(self, _words: [u64; LANES]) -> Self {
                self
            }

            #[inline]
            fn store(self, _a: Self) -> [u64; LANES] {
                match self {}
            }

            no_lanes!(add, sub, xor, and, shl_each, shr_each, product: Self);
            no_lanes!(shl, shr: u32);

            #[inline]
            fn gather(self, _bytes: &[u8], _offsets: Self) -> Self {
                self
            }

            #[inline]
            fn are_zero(self, _a: Self) -> [bool; LANES] {
                match self {}
            }

            #[inline]
            fn run<R>(self, _work: impl FnOnce() -> R) -> R {
                match self {}
            }
        }
    )*};
}

/// Operations on lanes that cannot exist here.
macro_rules! no_lanes {
    ($($method:ident),*: $by:ty) => {$(
        #[inline]
        fn $method(self, _a: Self, _by: $by) -> Self {
            self
        }
    )*};
}

no_blocks! {
    /// Proof of AVX2; here it cannot exist.
    Avx2,
    /// Proof of AVX-512; here it cannot exist.
    Avx512,
}

/// Declares a token of line instructions that cannot exist here.
macro_rules! no_lines {
    ($(#[$doc:meta] $name:ident),* $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}

        impl $name {
            /// Always `None`.
            #[inline]
            pub fn detect() -> Option<Self> {
                None
            }
        }

        impl Select for $name {
            #[inline]
            fn select_or_64(self, _word: u64, _k: u32) -> u32 {
                match self {}
            }

            #[inline]
            fn run<R>(self, _work: impl FnOnce() -> R) -> R {
                match self {}
            }
        }

        impl Lines for $name {
            const WHOLE: bool = true;

            #[inline]
            fn pair(self, _word: u64, _k: u32) -> u64 {
                match self {}
            }

            #[inline]
            fn equal_bytes(self, _line: &[u8; 64], _value: u8) -> u64 {
                match self {}
            }

            #[inline]
            fn equal_halves(self, _line: &[u8; 64], _value: u16) -> u32 {
                match self {}
            }

            #[inline]
            fn equal_twelves(self, _line: &[u8; 64], _value: u16) -> u64 {
                match self {}
            }

            #[inline]
            fn move_up(self, _line: &mut [u8; 64], _from: u32, _to: u32, _by: u32) {
                match self {}
            }

            #[inline]
            fn move_down(self, _line: &mut [u8; 64], _from: u32, _to: u32, _by: u32) {
                match self {}
            }
        }
    )*};
}

no_lines! {
    /// Proof of AVX2 and PDEP; here it cannot exist.
    WideLines,
    /// Proof of AVX-512 and PDEP; here it cannot exist.
    WiderLines,
}

/// Declares a token of counting instructions that cannot exist here.
macro_rules! no_columns {
    ($(#[$doc:meta] $name:ident),* $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}

        impl $name {
            /// Always `None`.
            #[inline]
            pub fn detect() -> Option<Self> {
                None
            }
        }

        impl Columns for $name {
            #[inline]
            fn parities<const N: usize>(
                self,
                _bytes: &[u8],
                _blocks: [usize; N],
                _masks: [u64; N],
                _columns: u32,
            ) -> u32 {
                match self {}
            }

            #[inline]
            fn run<R>(self, _work: impl FnOnce() -> R) -> R {
                match self {}
            }
        }
    )*};
}

no_columns! {
    /// Proof of POPCNT; here it cannot exist.
    Popcnt,
    /// Proof of AVX-512 with VPOPCNTDQ; here it cannot exist.
    Popcnt512,
}

/// Proof of vectors that gather; here it cannot exist.
#[derive(Clone, Copy, Debug)]
pub enum Gather {}

/// Eight states of probes; here they cannot exist.
#[derive(Clone, Copy, Debug)]
pub struct States(Gather);

impl Gather {
    /// Always `None`.
    #[inline]
    pub fn detect() -> Option<Self> {
        None
    }

    /// Never called.
    #[inline]
    pub fn run<R>(self, _work: impl FnOnce() -> R) -> R {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn load(self, _states: &[u64; LANES]) -> States {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn step(self, _states: States) -> States {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn all_occupied<const WIDTH: u32>(self, _field: Field<'_, WIDTH>, _state: u64, _k: usize) -> bool {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn probes(self, _state: u64, _from: usize) -> States {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn occupied<const WIDTH: u32>(self, _field: Field<'_, WIDTH>, _states: States, _lanes: u8) -> u8 {
        match self {}
    }

    /// Never called.
    #[inline]
    pub fn keep(self, _states: States, _lanes: u8, _to: &mut [u64; LANES]) {
        match self {}
    }
}
