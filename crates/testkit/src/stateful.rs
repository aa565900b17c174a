//! Random sequences of operations on tables so small that everything wraps, collides and fills, against the reference model,
//! shrunk to the shortest sequence that fails.

use std::collections::BTreeMap;

use amq::{Capability, Descriptor, Digest, Erased, Spec};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::conformance::{Failure, Outcome};
use crate::keys::permute;
use crate::model::Multiset;

/// Digests that a sequence draws from.
const UNIVERSE: usize = 40;
/// Sequences for each spec.
const SEQUENCES: u32 = 48;
/// A count that every family holds.
const LOWEST_HIGHEST_COUNT: u64 = 15;

/// One step. Digests are given by their index in the universe.
#[derive(Clone, Debug)]
enum Operation {
    Insert(usize),
    InsertBatch(Vec<usize>),
    Remove(usize),
    RemoveBatch(Vec<usize>),
    Grow,
    Shrink,
}

fn operations(descriptor: &Descriptor) -> impl Strategy<Value = Vec<Operation>> + use<> {
    let one = 0..UNIVERSE;
    let some = || prop::collection::vec(0..UNIVERSE, 0..6);
    let can = |capability, weight| if descriptor.can(capability) { weight } else { 0 };
    let operation = prop_oneof![
        10 => one.clone().prop_map(Operation::Insert),
        2 => some().prop_map(Operation::InsertBatch),
        can(Capability::Remove, 8) => one.prop_map(Operation::Remove),
        can(Capability::Remove, 2) => some().prop_map(Operation::RemoveBatch),
        can(Capability::Grow, 1) => Just(Operation::Grow),
        can(Capability::Shrink, 1) => Just(Operation::Shrink),
    ];
    prop::collection::vec(operation, 0..80)
}

/// Random ones, neighbours of each other, and both ends.
fn universe(seed: u64) -> Vec<Digest> {
    let random = (0..UNIVERSE as u64 / 2).map(|i| permute(i, seed));
    let near = permute(0, seed);
    let step = 1 << 58;
    let neighbours = (0..UNIVERSE as u64 / 2 - 4).map(|i| near.wrapping_add(i / 3 * step + i % 3));
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    random.chain(neighbours).chain(ends).map(Digest::new).collect()
}

/// Any sequence of inserts, removals of what is in, removals of what is not, growing and shrinking keeps the filter equal to
/// the model: every member found, counts high enough, the number of records right, the table consistent, fingerprints exactly
/// the model's, and what fails changes nothing. Static families have no operations.
///
/// # Errors
/// The first failure, with the shortest sequence that was found for it.
pub fn random_operations_agree_with_the_model(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Insert) {
        return Ok(());
    }
    for capacity in [0, 1, 4, 11, 24] {
        for fpr in [0.6, 0.2, 0.02] {
            for seed in 0..2 {
                run(descriptor, Spec::fpr(fpr, capacity).with_seed(seed))?;
            }
        }
    }
    Ok(())
}

fn run(descriptor: &Descriptor, spec: Spec) -> Outcome {
    let failure = |what: String| Failure {
        family: descriptor.name,
        concern: "random operations agree with the model",
        n: spec.capacity(),
        spec,
        what,
    };
    let universe = universe(spec.seed());
    let fingerprints = learn_fingerprints(descriptor, &universe, &spec).map_err(failure)?;
    let config = Config { cases: SEQUENCES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[spec.seed().to_le_bytes()[0]; 32]);
    let result = TestRunner::new_with_rng(config, rng).run(&operations(descriptor), |operations| {
        let filter =
            (descriptor.build)(&[], &spec).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut pair =
            Pair { filter, universe: &universe, fingerprints: &fingerprints, members: Multiset::default() };
        for operation in &operations {
            pair.apply(operation).and_then(|()| pair.check()).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, operations)) => {
            Err(failure(format!("{reason} after {operations:?} on the universe {universe:x?}")))
        }
        Err(TestError::Abort(reason)) => Err(failure(reason.to_string())),
    }
}

/// The fingerprint of each digest, from filters that hold nothing else; empty where a family does not show them.
fn learn_fingerprints(
    descriptor: &Descriptor,
    universe: &[Digest],
    spec: &Spec,
) -> Result<BTreeMap<Digest, u64>, String> {
    let mut fingerprints = BTreeMap::new();
    // The smallest table of the family has room for one; a capacity of 0 promises none.
    if !descriptor.can(Capability::Fingerprints) || spec.capacity() == 0 {
        return Ok(fingerprints);
    }
    for &digest in universe {
        let filter = (descriptor.build)(&[digest], spec).map_err(|error| error.to_string())?;
        if let Some(view) = filter.as_fingerprints() {
            view.for_each_fingerprint(&mut |fingerprint, _| {
                fingerprints.insert(digest, fingerprint);
            });
        }
    }
    Ok(fingerprints)
}

/// A filter and what it must be.
struct Pair<'a> {
    filter: Box<dyn Erased>,
    universe: &'a [Digest],
    fingerprints: &'a BTreeMap<Digest, u64>,
    /// The digests that are in, with their multiplicities.
    members: Multiset,
}

impl Pair<'_> {
    fn apply(&mut self, operation: &Operation) -> Result<(), String> {
        let before = (self.filter.table().to_vec(), self.filter.len());
        let changed = match operation {
            Operation::Insert(i) => self.insert(&[*i], "an insert")?,
            Operation::InsertBatch(indices) => self.insert(indices, "a batch of inserts")?,
            Operation::Remove(i) => self.remove(self.universe[*i])?,
            Operation::RemoveBatch(indices) => {
                let mut changed = false;
                for &i in indices {
                    changed |= self.remove(self.universe[i])?;
                }
                changed
            }
            Operation::Grow => self.filter.as_grow().is_some_and(|grow| grow.grow().is_ok()),
            Operation::Shrink => self.filter.as_shrink().is_some_and(|shrink| shrink.shrink().is_ok()),
        };
        if !changed && before != (self.filter.table().to_vec(), self.filter.len()) {
            return Err("an operation that did not succeed changed the filter".into());
        }
        Ok(())
    }

    fn insert(&mut self, indices: &[usize], what: &str) -> Result<bool, String> {
        let digests: Vec<Digest> = indices.iter().map(|&i| self.universe[i]).collect();
        let insert = self.filter.as_insert().ok_or("no inserts")?;
        let remaining = insert.remaining();
        let result = match digests[..] {
            [digest] => insert.insert(digest),
            _ => insert.insert_batch(&digests),
        };
        if result.is_ok() {
            self.members.extend(digests.iter().map(|digest| digest.get()));
            return Ok(!digests.is_empty());
        }
        if remaining.is_none_or(|remaining| remaining >= digests.len() as u64) {
            return Err(format!("{what} failed, although {remaining:?} more certainly fit"));
        }
        Ok(false)
    }

    /// Removes a member, or what is seen not to be in; anything else might take a record that it collides with.
    fn remove(&mut self, digest: Digest) -> Result<bool, String> {
        let member = self.members.remove(digest.get());
        if !member && self.filter.contains(digest) {
            return Ok(false);
        }
        let removed = self.filter.as_remove().ok_or("no removals")?.remove(digest);
        if removed == member {
            Ok(removed)
        } else {
            Err(format!(
                "removing {:#x}, {}, says {removed}",
                digest.get(),
                if member { "a member" } else { "no member" }
            ))
        }
    }

    fn check(&self) -> Result<(), String> {
        self.filter.check_invariants().map_err(|error| error.to_string())?;
        let mut answers = vec![false; self.universe.len()];
        self.filter.contains_batch(self.universe, &mut answers);
        for (&digest, &answer) in self.universe.iter().zip(&answers) {
            let inserted = self.members.count(digest.get());
            let found = self.filter.contains(digest);
            if found != answer {
                return Err(format!("{:#x} is {found} alone and {answer} in a batch", digest.get()));
            }
            if inserted > 0 && !found {
                return Err(format!("{:#x} is lost", digest.get()));
            }
            if let Some(counter) = self.filter.as_count() {
                let count = counter.count(digest);
                if count < inserted.min(LOWEST_HIGHEST_COUNT) {
                    return Err(format!(
                        "{:#x} was inserted {inserted} times and counts {count}",
                        digest.get()
                    ));
                }
            }
        }
        let len = self.members.len();
        if self.filter.capabilities().contains(&Capability::Remove)
            && self.filter.len().is_some_and(|says| says != len)
        {
            return Err(format!("len is {:?}, not {len}", self.filter.len()));
        }
        self.check_fingerprints()
    }

    fn check_fingerprints(&self) -> Result<(), String> {
        let Some(view) = self.filter.as_fingerprints() else { return Ok(()) };
        if self.fingerprints.is_empty() {
            return Ok(());
        }
        let mut expected = BTreeMap::<u64, u64>::new();
        for (digest, count) in self.members.iter() {
            *expected.entry(self.fingerprints[&Digest::new(digest)]).or_default() += count;
        }
        let mut listed = Vec::new();
        view.for_each_fingerprint(&mut |fingerprint, count| listed.push((fingerprint, count)));
        if listed != expected.iter().map(|(&f, &c)| (f, c)).collect::<Vec<_>>() {
            return Err(format!("fingerprints {listed:?}, not {expected:?}"));
        }
        // A fingerprint filter answers exactly by its fingerprints.
        let wrong = self.universe.iter().find(|&&digest| {
            self.filter.contains(digest) != expected.contains_key(&self.fingerprints[&digest])
        });
        wrong.map_or(Ok(()), |digest| Err(format!("{:#x} is not answered by its fingerprint", digest.get())))
    }
}
