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

/// Calls `work` for each item and its number, counted from `first`, at the same time. Returns the error of the
/// first item that has one.
pub(crate) fn for_each<T: Send, E: Send>(
    items: &mut [T],
    first: usize,
    work: &(impl Fn(usize, &mut T) -> Result<(), E> + Sync),
) -> Result<(), E> {
    match items {
        [] => Ok(()),
        [item] => work(first, item),
        _ => {
            let half = items.len() / 2;
            let (left, right) = items.split_at_mut(half);
            let (left, right) = join(|| for_each(left, first, work), || for_each(right, first + half, work));
            left.and(right)
        }
    }
}

/// Where to cut a list of weights so that the left part has about `left` of `of` parts of their sum.
pub(crate) fn cut(weights: &[u64], left: usize, of: usize) -> usize {
    let goal = weights.iter().sum::<u64>() / of as u64 * left as u64;
    let mut sum = 0;
    weights
        .iter()
        .position(|weight| {
            sum += weight;
            sum > goal
        })
        .unwrap_or(weights.len())
}
