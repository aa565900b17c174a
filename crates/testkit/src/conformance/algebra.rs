//! Filters made of two filters.

use std::ops::Range;

use amq::{Capability, Combined, Descriptor, Digest, Erased, MergeError, Spec};

use super::case::{Case, Failure, Outcome, State, ensure};
use crate::exact::Exact;
use crate::keys::{absent_digests, digests};

type Combine = fn(&dyn Erased, &dyn Erased) -> Combined;

/// The operations, by name, with the capability that a family needs for each.
const OPERATIONS: [(&str, Capability, Combine); 4] = [
    ("union", Capability::Union, |a, b| a.union(b)),
    ("intersect", Capability::Intersect, |a, b| a.intersect(b)),
    ("merge", Capability::MultisetAlgebra, |a, b| a.merge(b)),
    ("difference", Capability::MultisetAlgebra, |a, b| a.difference(b)),
];

/// A part of a list of digests: A, B, or what is made of them.
type Part = Range<usize>;

/// Union, intersection, merge and difference of every pair of overlapping, nested, disjoint, equal and empty sets: no false
/// negative for the set that results, operands as they were.
///
/// # Errors
/// The first failure.
pub fn combinations_keep_keys(descriptor: &Descriptor) -> Outcome {
    let parts: [(Part, Part); 7] = [
        (0..600, 300..900),
        (0..900, 200..500),
        (0..50, 50..100),
        (0..500, 0..500),
        (0..0, 0..300),
        (0..300, 0..0),
        (0..0, 0..0),
    ];
    let all = digests(1_000, 9);
    for (a, b) in parts {
        for fpr in [0.5, 0.01, 1e-4] {
            for capacity in [1_000, a.len().max(b.len()) as u64] {
                let spec = Spec::fpr(fpr, capacity).with_seed(9);
                let case = Case::new(descriptor, "combinations keep keys", capacity, spec);
                for operation in OPERATIONS {
                    if descriptor.can(operation.1) {
                        check_combination(&case, operation, &all, a.clone(), b.clone())?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn check_combination(
    case: &Case<'_>,
    (name, _, combine): (&str, Capability, Combine),
    all: &[Digest],
    a: Part,
    b: Part,
) -> Outcome {
    let (left, right) = (case.build(&all[a.clone()])?, case.build(&all[b.clone()])?);
    let (left_state, right_state) = (State::of(&*left), State::of(&*right));
    let result = combine(&*left, &*right).ok_or_else(|| case.fail(format!("there is no {name}")))?;
    case.check_unchanged(&*left, &left_state, name)?;
    case.check_unchanged(&*right, &right_state, name)?;
    let result = match result {
        Ok(result) => result,
        // Two full tables at the widest load may leave no remainder bit to grow by.
        Err(MergeError::RemainderExhausted { .. }) if name != "intersect" && name != "difference" => {
            return Ok(());
        }
        Err(error) => return Err(case.fail(format!("{name} of {a:?} and {b:?} failed: {error}"))),
    };
    let when = format!("{name} of {a:?} and {b:?}");
    let indices = a.start.min(b.start)..a.end.max(b.end);
    let members: Vec<Digest> = indices
        .filter(|i| match name {
            "intersect" => a.contains(i) && b.contains(i),
            // Keys of A without B are safe only where nothing but A's own records is taken away.
            "difference" => a.contains(i) && !b.contains(i) && b.start >= a.start && b.end <= a.end,
            _ => a.contains(i) || b.contains(i),
        })
        .map(|i| all[i])
        .collect();
    case.check_members(&*result, &members, &when)?;
    if name == "merge" {
        let sum = (a.len() + b.len()) as u64;
        ensure!(
            case,
            result.len().is_none_or(|len| len == sum),
            "{when}: len is {:?}, not {sum}",
            result.len()
        );
        if let Some(counter) = result.as_count() {
            let both = a.clone().filter(|i| b.contains(i));
            let low = both.map(|i| counter.count(all[i])).find(|&count| count < 2);
            ensure!(case, low.is_none(), "{when}: a common key counts {low:?}");
        }
    }
    if name == "difference" && b.start >= a.start && b.end <= a.end && result.as_fingerprints().is_some() {
        let expected = case.build(&members)?;
        ensure!(case, result.table() == expected.table(), "{when}: not the table of what is left");
    }
    if name == "difference" {
        return Ok(());
    }
    let queries: Vec<Digest> = absent_digests(2_000, 9).chain(all.iter().copied()).collect();
    let answers = |filter: &dyn Erased| -> Vec<bool> {
        let mut answers = vec![false; queries.len()];
        filter.contains_batch(&queries, &mut answers);
        answers
    };
    let Some(Ok(swapped)) = combine(&*right, &*left) else {
        return Err(case.fail(format!("{when} the other way round is refused")));
    };
    ensure!(case, answers(&*swapped) == answers(&*result), "{when}: other answers than the other way round");
    let idempotent = a != b || answers(&*result) == answers(&*left);
    ensure!(case, idempotent, "{when}: other answers than the operand's");
    Ok(())
}

/// Operands of another seed are refused with an error that names both seeds, those of another size are refused or combined
/// rightly, and those of another family are no operands; neither changes.
///
/// # Errors
/// The first failure.
pub fn foreign_operands_are_refused(descriptor: &Descriptor) -> Outcome {
    let members = digests(500, 1);
    for n in [0, 1, 500] {
        let spec = Spec::fpr(0.01, n).with_seed(1);
        let case = Case::new(descriptor, "foreign operands are refused", n, spec);
        let set = &members[..usize::try_from(n).unwrap_or(0)];
        let filter = case.build(set)?;
        let other_seed = Case { spec: spec.with_seed(2), ..case }.build(set)?;
        let other_sizes = [n + 1, n * 2 + 1, n * 4 + 64]
            .map(|capacity| Case { spec: Spec::fpr(0.01, capacity).with_seed(1), ..case }.build(set));
        let other_sizes = other_sizes.into_iter().collect::<Result<Vec<_>, Failure>>()?;
        for (name, capability, combine) in OPERATIONS {
            if !descriptor.can(capability) {
                ensure!(
                    case,
                    combine(&*filter, &*filter).is_none(),
                    "{name} is there, but not among the capabilities"
                );
                continue;
            }
            let (state, other_state) = (State::of(&*filter), State::of(&*other_seed));
            let refused = match combine(&*filter, &*other_seed) {
                Some(Err(MergeError::Seed { left: 1, right: 2 })) => true,
                Some(Err(error)) => return Err(case.fail(format!("{name} with another seed: {error}"))),
                Some(Ok(_)) | None => false,
            };
            ensure!(case, refused, "{name} with a filter of another seed is not refused");
            case.check_unchanged(&*filter, &state, name)?;
            case.check_unchanged(&*other_seed, &other_state, name)?;
            for other in &other_sizes {
                let other_state = State::of(&**other);
                match combine(&*filter, &**other) {
                    None => return Err(case.fail(format!("{name} is not there for filters of two sizes"))),
                    Some(Ok(result)) if name != "difference" => case.check_members(&*result, set, name)?,
                    Some(_) => {}
                }
                case.check_unchanged(&*filter, &state, name)?;
                case.check_unchanged(&**other, &other_state, name)?;
            }
            let stranger = (Descriptor::of::<Exact>().build)(&[], &spec);
            let stranger = stranger.map_err(|error| case.fail(error.to_string()))?;
            let same = descriptor.name == stranger.name();
            let refused = combine(&*filter, &*stranger).is_none();
            ensure!(case, refused || same, "{name} with another family is not refused");
        }
    }
    Ok(())
}
