//! Tokens of x86-64.

mod blocks;
mod columns;
mod found;
mod lanes;
mod lines;
mod probes;

use core::arch::x86_64::_pdep_u64;
use std::sync::OnceLock;

use crate::rank_select::Select;

pub use blocks::{Avx2, Avx512};
pub use columns::{Popcnt, Popcnt512};
pub use lines::{WideLines, WiderLines};
pub use probes::{Gather, States};

/// Proof that this processor has BMI1, BMI2, LZCNT and POPCNT, and a fast PDEP.
///
/// AMD's processors before family 0x19 (Zen 3) and Hygon's run PDEP in microcode, at tens to hundreds of
/// cycles; there and on processors of makers not known to be fast the portable select is used.
#[derive(Clone, Copy, Debug)]
pub struct Pdep(());

impl Pdep {
    /// The token, where the processor deserves it. The processor is asked once in the life of the program.
    #[inline]
    pub fn detect() -> Option<Self> {
        // Asking takes tens of nanoseconds, and microseconds under a hypervisor that traps CPUID.
        static FAST: OnceLock<bool> = OnceLock::new();
        FAST.get_or_init(has_fast_pdep).then_some(Self(()))
    }
}

#[cold]
fn has_fast_pdep() -> bool {
    // Miri interprets neither CPUID nor functions with features that the target lacks.
    if cfg!(miri) {
        return false;
    }
    let complete = std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt");
    let cpuid = raw_cpuid::CpuId::new();
    match (cpuid.get_vendor_info(), cpuid.get_feature_info()) {
        (Some(vendor), Some(features)) => complete && is_fast(vendor.as_str(), features.family_id()),
        _ => false,
    }
}

/// Whether the makers' processors of this family run PDEP in a few cycles.
fn is_fast(vendor: &str, family: u8) -> bool {
    match vendor {
        "GenuineIntel" => true,
        "AuthenticAMD" => family >= 0x19,
        _ => false,
    }
}

/// Deposits the lone bit `k` at the `k`-th one of `word`: no one, no bit, 64 trailing zeros.
#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn select_pdep(word: u64, k: u32) -> u32 {
    _pdep_u64(1_u64.checked_shl(k).unwrap_or(0), word).trailing_zeros()
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn with_features<R>(work: impl FnOnce() -> R) -> R {
    work()
}

impl Select for Pdep {
    #[inline]
    fn select_or_64(self, word: u64, k: u32) -> u32 {
        // SAFETY: (1) a `Pdep` is made only by `detect`, after all four features of `select_pdep` were found.
        unsafe { select_pdep(word, k) }
    }

    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        // SAFETY: (1) a `Pdep` is made only by `detect`, after all four features of `with_features` were
        // found.
        unsafe { with_features(work) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pdep, is_fast};

    #[test]
    fn microcoded_pdep_is_refused() {
        assert!(is_fast("GenuineIntel", 0x06));
        assert!(!is_fast("AuthenticAMD", 0x15));
        assert!(!is_fast("AuthenticAMD", 0x17));
        assert!(is_fast("AuthenticAMD", 0x19));
        assert!(is_fast("AuthenticAMD", 0x1a));
        assert!(!is_fast("HygonGenuine", 0x18));
        assert!(!is_fast("", 0xff));
    }

    #[test]
    fn the_token_appears_only_with_its_features() {
        if Pdep::detect().is_some() {
            assert!(std::arch::is_x86_feature_detected!("bmi1"));
            assert!(std::arch::is_x86_feature_detected!("bmi2"));
            assert!(std::arch::is_x86_feature_detected!("lzcnt"));
            assert!(std::arch::is_x86_feature_detected!("popcnt"));
        }
    }
}
