//! Sequences of operations on both layouts against a multiset.
//!
//! Tables are small, so that everything wraps, collides and fills. After each operation both filters hold the fingerprints of the
//! model, their tables pass the check, and answers are those of the model.
#![no_main]

use std::collections::BTreeMap;

use amq::{Amq, Count, Digest, Grow, Insert, Intersect, MultisetAlgebra, Remove, Shrink, Union};
use amq_quotient::{Filter, Geometry, Layout, RankSelect, ThreeBit};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    slots: u8,
    r: u8,
    /// Homes are this far from each other at most: few of them make long runs.
    spread: u8,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8, u8),
    InsertMany(u8, u8, u8),
    InsertBatch(Vec<(u8, u8)>),
    Remove(u8, u8),
    RemoveBatch(Vec<(u8, u8)>),
    Query(u8, u8),
    Grow,
    Shrink,
    ShrinkToFit,
    Combine(u8, Vec<(u8, u8)>),
    Clear,
}

type Multiset = BTreeMap<u64, u64>;

struct Pair<L: Layout> {
    filter: Filter<L>,
    model: Multiset,
}

impl<L: Layout> Pair<L> {
    fn digest(&self, spread: u8, (home, remainder): (u8, u8)) -> Digest {
        let geometry = self.filter.geometry();
        let home = (u64::from(home) % (u64::from(spread) + 1) + geometry.slots() - 1) % geometry.slots();
        geometry.smallest_digest(geometry.join(home, u64::from(remainder) & ((1 << geometry.r()) - 1)))
    }

    fn digests(&self, spread: u8, records: &[(u8, u8)]) -> Vec<Digest> {
        records.iter().map(|&record| self.digest(spread, record)).collect()
    }

    fn insert(&mut self, digests: &[Digest]) {
        let fits = self.filter.remaining().unwrap() >= digests.len() as u64;
        let result = match digests {
            [one] => self.filter.insert(*one),
            _ => self.filter.insert_batch(digests),
        };
        assert_eq!(result.is_ok(), fits);
        if fits {
            for &digest in digests {
                *self.model.entry(self.filter.geometry().fingerprint(digest)).or_default() += 1;
            }
        }
    }

    fn remove(&mut self, digests: &[Digest]) {
        let mut expected = 0;
        for &digest in digests {
            let fingerprint = self.filter.geometry().fingerprint(digest);
            if let Some(count) = self.model.get_mut(&fingerprint) {
                expected += 1;
                *count -= 1;
                if *count == 0 {
                    self.model.remove(&fingerprint);
                }
            }
        }
        let removed = match digests {
            [one] => u64::from(self.filter.remove(*one)),
            _ => self.filter.remove_batch(digests),
        };
        assert_eq!(removed, expected);
    }

    fn combine(&mut self, how: u8, digests: &[Digest]) {
        let mut other = Filter::<L>::with_geometry(self.filter.geometry(), 0).unwrap();
        let fits = digests.len().min(usize::try_from(other.remaining().unwrap()).unwrap());
        other.insert_batch(&digests[..fits]).unwrap();
        let theirs: Multiset = other.fingerprints().collect();
        let result = match how % 4 {
            0 => self.filter.merge(&other),
            1 => self.filter.union(&other),
            2 => self.filter.intersect(&other),
            _ => self.filter.difference(&other),
        };
        // Only a sum or a union can fail, for want of slots.
        let Ok(result) = result else { return };
        let mut all = Multiset::new();
        for &fingerprint in self.model.keys().chain(theirs.keys()) {
            let count = |set: &Multiset| set.get(&fingerprint).copied().unwrap_or(0);
            let (ours, theirs) = (count(&self.model), count(&theirs));
            let combined = match how % 4 {
                0 => ours + theirs,
                1 => ours.max(theirs),
                2 => ours.min(theirs),
                _ => ours.saturating_sub(theirs),
            };
            if combined > 0 {
                all.insert(fingerprint, combined);
            }
        }
        (self.filter, self.model) = (result, all);
    }

    fn apply(&mut self, spread: u8, operation: &Operation) {
        match operation {
            Operation::Insert(home, remainder) => self.insert(&[self.digest(spread, (*home, *remainder))]),
            Operation::InsertMany(home, remainder, times) => {
                self.insert(&vec![self.digest(spread, (*home, *remainder)); usize::from(*times)]);
            }
            Operation::InsertBatch(records) => self.insert(&self.digests(spread, records)),
            Operation::Remove(home, remainder) => self.remove(&[self.digest(spread, (*home, *remainder))]),
            Operation::RemoveBatch(records) => self.remove(&self.digests(spread, records)),
            Operation::Query(home, remainder) => {
                let digest = self.digest(spread, (*home, *remainder));
                let fingerprint = self.filter.geometry().fingerprint(digest);
                let expected = self.model.get(&fingerprint).copied().unwrap_or(0);
                assert_eq!(self.filter.count(digest), expected);
                assert_eq!(self.filter.contains(digest), expected > 0);
                return;
            }
            Operation::Grow if self.filter.geometry().slots() <= 512 => drop(self.filter.grow()),
            Operation::Grow => return,
            Operation::Shrink => drop(self.filter.shrink()),
            Operation::ShrinkToFit => self.filter.shrink_to_fit().unwrap(),
            Operation::Combine(how, records) => self.combine(*how, &self.digests(spread, records)),
            Operation::Clear => {
                self.filter.clear();
                self.model.clear();
            }
        }
        self.filter.check_invariants().unwrap();
        assert!(self.filter.fingerprints().eq(self.model.iter().map(|(&f, &count)| (f, count))));
    }

    fn check_answers(&self) {
        let geometry = self.filter.geometry();
        let digests: Vec<_> = self.model.keys().map(|&f| geometry.smallest_digest(f)).collect();
        let mut answers = vec![false; digests.len()];
        self.filter.contains_batch(&digests, &mut answers);
        assert!(answers.iter().all(|&answer| answer));
        let mut counts = vec![0; digests.len()];
        self.filter.count_batch(&digests, &mut counts);
        assert!(counts.iter().eq(self.model.values()));
    }
}

fuzz_target!(|input: Input| {
    let slots = 2 + u64::from(input.slots);
    // All widths that both layouts have, the narrow ones more often.
    let r = 1 + u32::from(input.r) % if input.r < 128 { 12 } else { 54 };
    let Some(geometry) = Geometry::new(slots, r) else { return };
    let mut three_bit =
        Pair::<ThreeBit> { filter: Filter::with_geometry(geometry, 0).unwrap(), model: Multiset::new() };
    let mut rank_select =
        Pair::<RankSelect> { filter: Filter::with_geometry(geometry, 0).unwrap(), model: Multiset::new() };
    let mut in_step = true;
    for operation in &input.operations {
        three_bit.apply(input.spread, operation);
        rank_select.apply(input.spread, operation);
        // Where one layout has no wider remainders, it cannot shrink like the other: from then on the two are two tests.
        in_step &= three_bit.filter.geometry() == rank_select.filter.geometry();
        assert!(!in_step || three_bit.model == rank_select.model);
    }
    three_bit.check_answers();
    rank_select.check_answers();
});
