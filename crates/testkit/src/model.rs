//! Reference models: what filters are held against. Short enough to be right at a glance.

use std::collections::BTreeMap;

use amq::Digest;

/// An exact multiset of numbers: of digests, or of fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multiset {
    counts: BTreeMap<u64, u64>,
}

impl Multiset {
    /// Adds one.
    pub fn insert(&mut self, number: u64) {
        *self.counts.entry(number).or_default() += 1;
    }

    /// Takes one out; `false` if there is none.
    pub fn remove(&mut self, number: u64) -> bool {
        let Some(count) = self.counts.get_mut(&number) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&number);
        }
        true
    }

    /// How many there are of this number.
    pub fn count(&self, number: u64) -> u64 {
        self.counts.get(&number).copied().unwrap_or(0)
    }

    /// How many there are in all.
    pub fn len(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The distinct numbers in ascending order, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(&number, &count)| (number, count))
    }
}

impl Extend<u64> for Multiset {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.insert(number));
    }
}

impl FromIterator<u64> for Multiset {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut multiset = Self::default();
        multiset.extend(numbers);
        multiset
    }
}

/// A filter that stores fingerprints, as an exact multiset of them: it answers what the real one must answer, false positives
/// included.
#[derive(Clone, Debug)]
pub struct FingerprintModel<F> {
    fingerprint: F,
    /// The fingerprints stored.
    pub records: Multiset,
}

impl<F: Fn(Digest) -> u64> FingerprintModel<F> {
    /// An empty one, for the fingerprints that the function makes of digests.
    pub fn new(fingerprint: F) -> Self {
        Self { fingerprint, records: Multiset::default() }
    }

    /// Stores one more record.
    pub fn insert(&mut self, digest: Digest) {
        self.records.insert((self.fingerprint)(digest));
    }

    /// Takes out one record of the digest's fingerprint, if there is one.
    pub fn remove(&mut self, digest: Digest) -> bool {
        self.records.remove((self.fingerprint)(digest))
    }

    /// Records with the digest's fingerprint.
    pub fn count(&self, digest: Digest) -> u64 {
        self.records.count((self.fingerprint)(digest))
    }

    /// Whether there is one.
    pub fn contains(&self, digest: Digest) -> bool {
        self.count(digest) > 0
    }
}

/// The quotient family's fingerprint of a digest among `space` = M: `floor(digest · M / 2^64)`.
///
/// # Panics
/// If `space` is not in `1..=2^64`.
pub fn quotient_fingerprint(digest: Digest, space: u128) -> u64 {
    assert!((1..=1 << 64).contains(&space), "{space} fingerprints");
    u64::try_from((u128::from(digest.get()) * space) >> 64).expect("below M, which is at most 2^64")
}

/// The smallest digest of a fingerprint among `space` = M: `ceil(fingerprint · 2^64 / M)`.
///
/// # Panics
/// If `space` is not in `1..=2^64`, or the fingerprint not below it.
///
/// ```
/// use amq_testkit::model::{quotient_fingerprint, smallest_digest};
///
/// // m = 5 slots, r = 3: quotient 4, remainder 1.
/// let space = 5 << 3;
/// let digest = smallest_digest(4 << 3 | 1, space);
/// assert_eq!(quotient_fingerprint(digest, space), 33);
/// assert_eq!(quotient_fingerprint(amq::Digest::new(digest.get() - 1), space), 32);
/// ```
pub fn smallest_digest(fingerprint: u64, space: u128) -> Digest {
    assert!((1..=1 << 64).contains(&space), "{space} fingerprints");
    assert!(u128::from(fingerprint) < space, "fingerprint {fingerprint} of {space}");
    let digest = (u128::from(fingerprint) << 64).div_ceil(space);
    Digest::new(u64::try_from(digest).expect("below 2^64, as the fingerprint is below M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiset_counts() {
        let mut multiset: Multiset = [5, 5, 2].into_iter().collect();
        assert_eq!((multiset.len(), multiset.count(5), multiset.count(9)), (3, 2, 0));
        assert!(multiset.remove(5) && multiset.remove(5) && !multiset.remove(5));
        assert_eq!(multiset.iter().collect::<Vec<_>>(), [(2, 1)]);
        assert!(multiset.remove(2) && multiset.is_empty());
    }

    #[test]
    fn a_fingerprint_model_answers_for_all_that_collide() {
        let mut model = FingerprintModel::new(|digest: Digest| digest.get() % 10);
        model.insert(Digest::new(3));
        model.insert(Digest::new(13));
        assert_eq!(model.count(Digest::new(23)), 2);
        assert!(model.remove(Digest::new(33)) && model.contains(Digest::new(3)));
        assert!(model.remove(Digest::new(3)) && !model.contains(Digest::new(13)));
    }

    #[test]
    fn smallest_digests_are_the_smallest() {
        for space in [1, 2, 3, 64, 1_000_003, (1 << 64) - 1, 1 << 64] {
            let last = u64::try_from(space - 1).unwrap();
            for fingerprint in [0, 1, 2, 31, last / 2, last] {
                if fingerprint <= last {
                    let digest = smallest_digest(fingerprint, space);
                    assert_eq!(quotient_fingerprint(digest, space), fingerprint, "of {space}");
                    if let Some(before) = digest.get().checked_sub(1) {
                        assert_eq!(quotient_fingerprint(Digest::new(before), space) + 1, fingerprint);
                    }
                }
            }
        }
    }
}
