//! Streams of (fingerprint, multiplicity), ascending, each fingerprint once, no multiplicity 0: what every operation on whole
//! filters is made of. Each combination is one linear pass.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

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

/// A sorted stream with the next few of its records at hand.
///
/// Which of two streams comes next is a coin toss. As the choice between two iterators it is a branch that is mispredicted half the
/// time; as the step of an index it costs nothing.
pub(crate) struct Stream<I> {
    records: Vec<(u64, u64)>,
    /// The first record that has not been taken. Below the number of records, unless there is none left.
    at: usize,
    source: Source<I>,
}

enum Source<I> {
    One(I),
    Two(Box<(Stream<I>, Stream<I>)>, Combine),
}

/// Records that a stream has at hand: 2 KiB.
const AT_HAND: usize = 128;

impl<I: Iterator<Item = (u64, u64)>> Stream<I> {
    pub(crate) fn one(sorted: I) -> Self {
        Self::new(Source::One(sorted))
    }

    /// Two multisets, fingerprint by fingerprint.
    pub(crate) fn combined(left: I, right: I, how: Combine) -> Self {
        Self::new(Source::Two(Box::new((Self::one(left), Self::one(right))), how))
    }

    /// The sum of many multisets: a balanced tree of sums of two.
    pub(crate) fn summed(mut sorted: Vec<I>) -> Option<Self> {
        let second = sorted.split_off(sorted.len().div_ceil(2));
        if second.is_empty() {
            return sorted.pop().map(Self::one);
        }
        let (left, right) = (Self::summed(sorted)?, Self::summed(second)?);
        Some(Self::new(Source::Two(Box::new((left, right)), Combine::Sum)))
    }

    fn new(source: Source<I>) -> Self {
        let mut stream = Self { records: Vec::with_capacity(AT_HAND), at: 0, source };
        stream.refill();
        stream
    }

    fn refill(&mut self) {
        self.records.clear();
        self.at = 0;
        match &mut self.source {
            Source::One(sorted) => self.records.extend(sorted.take(AT_HAND)),
            Source::Two(pair, how) => combine(&mut pair.0, &mut pair.1, *how, &mut self.records),
        }
    }

    #[inline]
    fn skip(&mut self, records: usize) {
        self.at += records;
        if self.at == self.records.len() {
            self.refill();
        }
    }
}

impl<I: Iterator<Item = (u64, u64)>> Iterator for Stream<I> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let record = *self.records.get(self.at)?;
        self.skip(1);
        Some(record)
    }
}

/// The next few records of two streams.
fn combine<I: Iterator<Item = (u64, u64)>>(
    left: &mut Stream<I>,
    right: &mut Stream<I>,
    how: Combine,
    combined: &mut Vec<(u64, u64)>,
) {
    while combined.len() < AT_HAND {
        let (from_left, from_right) = match (left.records.get(left.at), right.records.get(right.at)) {
            (Some(&left), Some(&right)) => (left, right),
            (None, None) => return,
            // One side alone: the other one's record is the same with multiplicity 0.
            (Some(&left), None) => (left, (left.0, 0)),
            (None, Some(&right)) => ((right.0, 0), right),
        };
        let (takes_left, takes_right) = (from_left.0 <= from_right.0, from_right.0 <= from_left.0);
        let multiplicity = how.apply(
            select_unpredictable(takes_left, from_left.1, 0),
            select_unpredictable(takes_right, from_right.1, 0),
        );
        if multiplicity > 0 {
            combined.push((from_left.0.min(from_right.0), multiplicity));
        }
        if left.at < left.records.len() {
            left.skip(usize::from(takes_left));
        }
        if right.at < right.records.len() {
            right.skip(usize::from(takes_right));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    const A: [(u64, u64); 4] = [(1, 2), (3, 1), (4, 5), (9, 1)];
    const B: [(u64, u64); 3] = [(0, 1), (3, 3), (4, 2)];

    fn of(how: Combine) -> Vec<(u64, u64)> {
        Stream::combined(A.iter().copied(), B.iter().copied(), how).collect()
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
        let sum: Vec<_> = Stream::summed(streams).unwrap().collect();
        assert_eq!(sum, [(0, 1), (1, 4), (3, 5), (4, 12), (9, 2)]);
        assert!(Stream::summed(Vec::<vec::IntoIter<(u64, u64)>>::new()).is_none());
    }

    /// Longer than what is at hand, one side much longer than the other, and both ends of the fingerprints.
    #[test]
    fn long_streams_in_step_and_out_of_step() {
        for (left, right) in [(1, 1), (1, 2), (7, 3), (1, 1_000), (500, 1)] {
            let of = |step: u64| (0..5_000 / step).map(move |i| (u64::MAX - (4_999 - i * step), step));
            for how in [Combine::Sum, Combine::Union, Combine::Intersection, Combine::Difference] {
                let combined: Vec<_> = Stream::combined(of(left), of(right), how).collect();
                let expected: Vec<_> = (0..5_000_u64)
                    .map(|i| {
                        let count = |step: u64| {
                            if i.is_multiple_of(step) && i / step < 5_000 / step { step } else { 0 }
                        };
                        (u64::MAX - (4_999 - i), how.apply(count(left), count(right)))
                    })
                    .filter(|&(_, multiplicity)| multiplicity > 0)
                    .collect();
                assert_eq!(combined, expected, "{how:?} of every {left} and every {right}");
            }
        }
    }
}
