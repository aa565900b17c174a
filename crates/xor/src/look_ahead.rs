//! A loop that asks for the memory of later steps before it does the present one.

/// Steps between the request for a line and its use. Three lines a step, and a core of today has 10 to 50
/// line fills in flight.
const DISTANCE: usize = 16;

/// A loop over `0..n` whose steps can be prepared early.
pub(crate) trait Steps {
    /// What a step needs that was computed when it was prepared.
    type Prepared: Copy;

    /// Computes where step `i` will read, and prefetches that. Must not depend on the steps before it.
    fn prepare(&self, i: usize) -> Self::Prepared;

    /// Does step `i`.
    fn finish(&mut self, i: usize, prepared: Self::Prepared);
}

/// Does the steps `0..n` in order, each prepared [`DISTANCE`] steps early.
///
/// One loop for the start, the middle and the end, so that both halves of a step have one place in the code and are
/// inlined there; its two conditions are decided the same way for long.
#[inline]
pub(crate) fn run<S: Steps>(steps: &mut S, n: usize) {
    if n == 0 {
        return;
    }
    let mut ring = [steps.prepare(0); DISTANCE];
    // No slice has so many elements that this could overflow.
    for i in 0..n + DISTANCE {
        let slot = &mut ring[i % DISTANCE];
        if let Some(due) = i.checked_sub(DISTANCE) {
            steps.finish(due, *slot);
        }
        if i < n {
            *slot = steps.prepare(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{DISTANCE, Steps, run};

    struct Squares(Vec<(usize, usize)>);

    impl Steps for Squares {
        type Prepared = usize;
        fn prepare(&self, i: usize) -> usize {
            i * i
        }
        fn finish(&mut self, i: usize, prepared: usize) {
            self.0.push((i, prepared));
        }
    }

    #[test]
    fn each_step_gets_what_was_prepared_for_it() {
        for n in (0..=2 * DISTANCE + 1).chain([100]) {
            let mut squares = Squares(Vec::new());
            run(&mut squares, n);
            assert!(squares.0.into_iter().eq((0..n).map(|i| (i, i * i))), "{n} steps");
        }
    }
}
