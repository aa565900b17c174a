//! A loop that asks for the memory of later steps before it does the present one.

/// Steps between the request for a line and its use. Three lines a step, and a core of today has 10 to 50
/// line fills in flight.
pub(crate) const DISTANCE: usize = 16;

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
#[inline]
pub(crate) fn run(steps: &mut impl Steps, n: usize) {
    let Some(last) = n.checked_sub(1) else { return };
    let mut ring = core::array::from_fn::<_, DISTANCE, _>(|i| steps.prepare(i.min(last)));
    for i in 0..n {
        let prepared = ring[i % DISTANCE];
        if last - i >= DISTANCE {
            ring[i % DISTANCE] = steps.prepare(i + DISTANCE);
        }
        steps.finish(i, prepared);
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
