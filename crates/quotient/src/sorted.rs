//! Streams of (fingerprint, multiplicity), ascending, each fingerprint once, no multiplicity 0: what every operation on whole
//! filters is made of. Each combination is one linear pass.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

/// Neighbours with the same fingerprint become one. The input is ascending.
pub(crate) fn grouped(mut sorted: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = (u64, u64)> {
    let mut pending = sorted.next();
    core::iter::from_fn(move || {
        let (fingerprint, mut multiplicity) = pending.take()?;
        for (next, more) in sorted.by_ref() {
            if next != fingerprint {
                pending = Some((next, more));
                break;
            }
            multiplicity += more;
        }
        Some((fingerprint, multiplicity))
    })
}

/// The same records in a space of 2^`bits` times fewer fingerprints: each loses its lowest bits. Order is kept, so those that
/// become equal are neighbours.
pub(crate) fn truncated(
    sorted: impl Iterator<Item = (u64, u64)>,
    bits: u32,
) -> impl Iterator<Item = (u64, u64)> {
    grouped(sorted.map(move |(fingerprint, multiplicity)| (fingerprint >> bits, multiplicity)))
}

/// What becomes of the multiplicities of one fingerprint in two multisets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// The sum.
    Sum,
    /// The larger.
    Union,
    /// The smaller.
    Intersection,
    /// The left less the right, not below 0.
    Difference,
}

impl Combine {
    fn apply(self, left: u64, right: u64) -> u64 {
        match self {
            // Each is at most the number of records of a table in memory.
            Self::Sum => left + right,
            Self::Union => left.max(right),
            Self::Intersection => left.min(right),
            Self::Difference => left.saturating_sub(right),
        }
    }
}

/// Two multisets, fingerprint by fingerprint.
pub(crate) fn combined(
    left: impl Iterator<Item = (u64, u64)>,
    right: impl Iterator<Item = (u64, u64)>,
    how: Combine,
) -> impl Iterator<Item = (u64, u64)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    core::iter::from_fn(move || {
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => left.0.cmp(&right.0),
            };
            let from_left = if order.is_le() { left.next() } else { None };
            let from_right = if order.is_ge() { right.next() } else { None };
            let (fingerprint, _) = from_left.or(from_right)?;
            let multiplicity = |side: Option<(u64, u64)>| side.map_or(0, |(_, multiplicity)| multiplicity);
            let result = how.apply(multiplicity(from_left), multiplicity(from_right));
            if result > 0 {
                return Some((fingerprint, result));
            }
        }
    })
}

/// The sum of many multisets: a heap of the next fingerprint of each.
pub(crate) fn summed<I: Iterator<Item = (u64, u64)>>(
    mut streams: alloc::vec::Vec<I>,
) -> impl Iterator<Item = (u64, u64)> {
    let mut heads: BinaryHeap<_> = streams
        .iter_mut()
        .enumerate()
        .filter_map(|(stream, sorted)| sorted.next().map(|head| Reverse((head, stream))))
        .collect();
    grouped(core::iter::from_fn(move || {
        let mut smallest = heads.peek_mut()?;
        let Reverse((head, stream)) = *smallest;
        match streams[stream].next() {
            // Replaced in place: one sift instead of two.
            Some(next) => smallest.0.0 = next,
            None => {
                alloc::collections::binary_heap::PeekMut::pop(smallest);
            }
        }
        Some(head)
    }))
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    const A: [(u64, u64); 4] = [(1, 2), (3, 1), (4, 5), (9, 1)];
    const B: [(u64, u64); 3] = [(0, 1), (3, 3), (4, 2)];

    fn of(how: Combine) -> Vec<(u64, u64)> {
        combined(A.into_iter(), B.into_iter(), how).collect()
    }

    #[test]
    fn pairs() {
        assert_eq!(of(Combine::Sum), [(0, 1), (1, 2), (3, 4), (4, 7), (9, 1)]);
        assert_eq!(of(Combine::Union), [(0, 1), (1, 2), (3, 3), (4, 5), (9, 1)]);
        assert_eq!(of(Combine::Intersection), [(3, 1), (4, 2)]);
        assert_eq!(of(Combine::Difference), [(1, 2), (4, 3), (9, 1)]);
    }

    #[test]
    fn truncation_groups_what_becomes_equal() {
        let all: Vec<_> = truncated([(0, 1), (1, 2), (2, 1), (7, 4), (8, 1)].into_iter(), 1).collect();
        assert_eq!(all, [(0, 3), (1, 1), (3, 4), (4, 1)]);
        let one: Vec<_> = truncated([(0, 1), (1, 2), (u64::MAX >> 1, 1)].into_iter(), 63).collect();
        assert_eq!(one, [(0, 4)]);
        assert_eq!(grouped(core::iter::empty()).next(), None);
    }

    #[test]
    fn many() {
        let streams =
            vec![A.to_vec().into_iter(), B.to_vec().into_iter(), vec![].into_iter(), A.to_vec().into_iter()];
        let sum: Vec<_> = summed(streams).collect();
        assert_eq!(sum, [(0, 1), (1, 4), (3, 5), (4, 12), (9, 2)]);
        assert_eq!(summed(Vec::<vec::IntoIter<(u64, u64)>>::new()).next(), None);
    }
}
