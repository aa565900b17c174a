//! Random operations on tables small enough that everything wraps and fills, slot by slot against a simulated layout.

use super::common::{Record, assert_is, digest, empty};
use crate::Tested;
use amq::{Amq, Count, Grow, Insert, InsertError, Remove, ResizeError, Shrink};
use amq_quotient::Geometry;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u64, u64),
    /// Of one that is there, by position.
    Duplicate(usize),
    Remove(u64, u64),
    /// Of one that is there, by position.
    Withdraw(usize),
    Grow,
    Shrink,
}

/// Where the homes of a test lie: everywhere, or where clusters are worst.
#[derive(Clone, Copy, Debug)]
enum Homes {
    Any,
    One,
    Last,
    Ends,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (any::<u64>(), any::<u64>()).prop_map(|(q, r)| Operation::Insert(q, r)),
        2 => any::<usize>().prop_map(Operation::Duplicate),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(q, r)| Operation::Remove(q, r)),
        4 => any::<usize>().prop_map(Operation::Withdraw),
        1 => Just(Operation::Grow),
        1 => Just(Operation::Shrink),
    ]
}

/// The record that raw numbers stand for.
fn record(geometry: Geometry, homes: Homes, q: u64, r: u64) -> Record {
    let slots = geometry.slots();
    let quotient = match homes {
        Homes::Any => q % slots,
        Homes::One => slots / 3,
        Homes::Last => slots - 1,
        Homes::Ends => (slots - 1 + q % 3) % slots,
    };
    (quotient, r & ((1 << geometry.r()) - 1))
}

/// The same fingerprints in another geometry over the same M.
fn resized(records: &[Record], from: Geometry, to: Geometry) -> Vec<Record> {
    records.iter().map(|&(quotient, remainder)| to.parts(from.join(quotient, remainder))).collect()
}

fn insert(filter: &mut Tested, model: &mut Vec<Record>, new: Record) {
    let (before, limit) = (filter.clone(), filter.geometry().slots() - 1);
    let result = filter.insert(digest(filter.geometry(), new));
    let len = model.len() as u64;
    if len == limit {
        assert_eq!(result, Err(InsertError::Full { records: 1, len, limit }));
        assert_eq!(*filter, before);
    } else {
        assert_eq!(result, Ok(()));
        model.push(new);
    }
}

fn remove(filter: &mut Tested, model: &mut Vec<Record>, old: Record) {
    let before = filter.clone();
    let there = model.iter().position(|&record| record == old);
    assert_eq!(filter.remove(digest(filter.geometry(), old)), there.is_some());
    match there {
        Some(position) => drop(model.swap_remove(position)),
        None => assert_eq!(*filter, before),
    }
}

fn grow(filter: &mut Tested, model: &mut Vec<Record>) {
    let (before, from) = (filter.clone(), filter.geometry());
    if from.slots() > 260 {
        return;
    }
    match filter.grow() {
        Ok(()) => {
            assert_eq!(filter.geometry(), from.doubled().unwrap());
            *model = resized(model, from, filter.geometry());
        }
        Err(error) => {
            assert_eq!((error, from.r()), (ResizeError::RemainderExhausted, 1));
            assert_eq!(*filter, before);
        }
    }
}

fn shrink(filter: &mut Tested, model: &mut Vec<Record>) {
    let (before, from, records) = (filter.clone(), filter.geometry(), model.len() as u64);
    let slots = from.slots();
    let result = filter.shrink();
    if slots % 2 == 1 {
        assert_eq!(result, Err(ResizeError::OddSlots { slots }));
    } else if slots == 2 {
        assert_eq!(result, Err(ResizeError::Smallest { slots }));
    } else if records > slots / 2 - 1 {
        assert_eq!(result, Err(ResizeError::Full { records, limit: slots / 2 - 1 }));
    } else {
        assert_eq!(result, Ok(()));
        *model = resized(model, from, filter.geometry());
        return;
    }
    assert_eq!(*filter, before);
}

/// Every possible fingerprint of a small table, or a sample: `contains` and `count` against the model.
fn assert_answers(filter: &Tested, model: &[Record]) {
    let geometry = filter.geometry();
    let all = u64::try_from(geometry.fingerprints()).unwrap();
    for fingerprint in (0..all).step_by(usize::try_from(all / 500 + 1).unwrap()) {
        let digest = geometry.smallest_digest(fingerprint);
        let count = model.iter().filter(|&&(q, r)| geometry.join(q, r) == fingerprint).count() as u64;
        assert_eq!(filter.count(digest), count);
        assert_eq!(filter.contains(digest), count > 0);
    }
    let mut sorted: Vec<u64> = model.iter().map(|&(q, r)| geometry.join(q, r)).collect();
    sorted.sort_unstable();
    let listed = filter.fingerprints().flat_map(|(f, times)| (0..times).map(move |_| f));
    assert!(listed.eq(sorted.iter().copied()));
    sorted.dedup();
    assert_eq!(filter.expected_fpr(), Some(sorted.len() as f64 / geometry.fingerprints() as f64));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn behaves_as_a_multiset(
        slots in prop_oneof![2_u64..12, 2_u64..=130],
        r in 1_u32..=8,
        homes in prop_oneof![
            3 => Just(Homes::Any), 1 => Just(Homes::One), 1 => Just(Homes::Last), 2 => Just(Homes::Ends)
        ],
        operations in prop::collection::vec(operation(), 0..250),
    ) {
        let mut filter = empty(slots, r);
        let mut model = Vec::new();
        for operation in operations {
            let geometry = filter.geometry();
            match operation {
                Operation::Insert(q, r) => insert(&mut filter, &mut model, record(geometry, homes, q, r)),
                Operation::Remove(q, r) => remove(&mut filter, &mut model, record(geometry, homes, q, r)),
                Operation::Duplicate(i) if !model.is_empty() => {
                    let old = model[i % model.len()];
                    insert(&mut filter, &mut model, old);
                }
                Operation::Withdraw(i) if !model.is_empty() => {
                    let old = model[i % model.len()];
                    remove(&mut filter, &mut model, old);
                }
                Operation::Duplicate(_) | Operation::Withdraw(_) => {}
                Operation::Grow => grow(&mut filter, &mut model),
                Operation::Shrink => shrink(&mut filter, &mut model),
            }
            assert_is(&filter, &model);
        }
        assert_answers(&filter, &model);
    }

    /// Full to the last slot but one, then empty again, in other orders.
    #[test]
    fn fills_and_empties(
        slots in 2_u64..=130,
        r in 1_u32..=8,
        homes in prop_oneof![
            Just(Homes::Any), Just(Homes::One), Just(Homes::Last), Just(Homes::Ends)
        ],
        raw in prop::collection::vec((any::<u64>(), any::<u64>()), 130),
        order in any::<prop::sample::Index>(),
    ) {
        let mut filter = empty(slots, r);
        let mut model = Vec::new();
        for &(q, r) in &raw {
            let new = record(filter.geometry(), homes, q, r);
            insert(&mut filter, &mut model, new);
        }
        prop_assert_eq!(filter.remaining(), Some(0));
        assert_is(&filter, &model);
        assert_answers(&filter, &model);
        while !model.is_empty() {
            let old = model[order.index(model.len())];
            remove(&mut filter, &mut model, old);
            assert_is(&filter, &model);
        }
        prop_assert_eq!(&filter, &empty(slots, r));
    }
}
