//! Growing and shrinking.

use amq::{Capability, Descriptor, Erased, Spec};

use super::case::{Case, Failure, Outcome, State, ensure, is_canonical};
use crate::keys::{absent_digests, digests};

/// Growing until it is refused keeps every answer, for members and for others; shrinking back gives the first table; what is
/// refused changes nothing.
///
/// # Errors
/// The first failure.
pub fn resizing_keeps_answers(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Grow) {
        return Ok(());
    }
    for n in [0, 1, 2, 7, 63, 500] {
        for fpr in [0.5, 0.05, 1e-3] {
            let case = Case::new(descriptor, "resizing keeps answers", n, Spec::fpr(fpr, n).with_seed(n));
            let members = digests(n, n);
            let queries: Vec<_> = absent_digests(5_000, n).chain(members.iter().copied()).collect();
            let mut filter = case.build(&members)?;
            let answers = |filter: &dyn Erased| {
                let mut answers = vec![false; queries.len()];
                filter.contains_batch(&queries, &mut answers);
                answers
            };
            let expected = answers(&*filter);
            let check = |filter: &dyn Erased, when: &str| -> Result<(), Failure> {
                case.check_members(filter, &members, when)?;
                ensure!(case, answers(filter) == expected, "{when}: other answers");
                ensure!(case, filter.len().is_none_or(|len| len == n), "{when}: len is {:?}", filter.len());
                Ok(())
            };
            let mut states = vec![State::of(&*filter)];
            // At most some megabytes; a filter that says that it grows but does not is no endless loop.
            for _ in 0..40 {
                if filter.table().len() >= 4 << 20 {
                    break;
                }
                let Some(grow) = filter.as_grow() else { return Err(case.fail("does not grow")) };
                let grown = grow.grow();
                if grown.is_err() {
                    let state = states.last().ok_or_else(|| case.fail("no state"))?;
                    case.check_unchanged(&*filter, state, "a refused growth")?;
                    check(&*filter, "after a refused growth")?;
                    break;
                }
                check(&*filter, "after growing")?;
                states.push(State::of(&*filter));
            }
            if !descriptor.can(Capability::Shrink) {
                continue;
            }
            states.pop();
            while let Some(state) = states.pop() {
                let Some(shrink) = filter.as_shrink() else { return Err(case.fail("does not shrink")) };
                shrink.shrink().map_err(|error| case.fail(format!("grown, but does not shrink: {error}")))?;
                check(&*filter, "after shrinking")?;
                if is_canonical(descriptor) {
                    case.check_unchanged(&*filter, &state, "growing and shrinking")?;
                }
            }
            // On, until it is refused.
            loop {
                let state = State::of(&*filter);
                let Some(shrink) = filter.as_shrink() else { return Err(case.fail("does not shrink")) };
                if shrink.shrink().is_err() {
                    case.check_unchanged(&*filter, &state, "a refused shrinking")?;
                    break;
                }
                check(&*filter, "after shrinking below the design size")?;
            }
        }
    }
    Ok(())
}
