//! What this processor has, asked once.

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

/// An answer that is kept: one load and one branch, which a `OnceLock` takes two of, for each single lookup.
pub(super) struct Found(AtomicU8);

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

impl Found {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(UNKNOWN))
    }

    /// What `ask` said the first time. Threads may ask at the same time: they get the same answer, and nothing else depends on it, so
    /// no order is needed.
    #[inline]
    pub(super) fn get(&self, ask: fn() -> bool) -> bool {
        match self.0.load(Relaxed) {
            YES => true,
            NO => false,
            _ => self.ask(ask),
        }
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, ask: fn() -> bool) -> bool {
        let found = ask();
        self.0.store(if found { YES } else { NO }, Relaxed);
        found
    }
}

/// Miri interprets no functions with features that the target lacks.
pub(super) fn has_avx2() -> bool {
    !cfg!(miri)
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
}

pub(super) fn has_avx512() -> bool {
    has_avx2() && std::arch::is_x86_feature_detected!("avx512f")
}
