//! Threads: one half of the work beside the other.

/// Runs both, at the same time if the feature `rayon` is on, and returns what both returned.
#[cfg(feature = "rayon")]
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    rayon::join(a, b)
}

/// Runs both, one after the other, and returns what both returned.
#[cfg(not(feature = "rayon"))]
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    (a(), b())
}
