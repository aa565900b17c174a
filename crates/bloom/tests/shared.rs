//! Filters that many threads insert into: the small cases by loom are in `tests/loom.rs`.
#![cfg(not(loom))]

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use amq::{Amq, Digest, Family, Insert, SharedInsert, Spec};
use amq_bloom::{AtomicBlockedBloom, AtomicBloom, BitFilter, BitPlaces, SharedFilter};
use common::{random_digests, some_digests};

/// Threads insert interleaved, overlapping sets into a small table, where every byte is fought over, while others look up what has been
/// reported as inserted.
fn threads_lose_nothing<P: BitPlaces>(spec: &Spec)
where
    SharedFilter<P>: Family,
    BitFilter<P>: Family,
{
    const WRITERS: usize = 4;
    let digests = some_digests(1, 20_000);
    for round in 0..10 {
        let shared = SharedFilter::<P>::for_spec(spec).unwrap();
        let done = AtomicUsize::new(0);
        let start = Barrier::new(WRITERS + 2);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (shared, done, start, digests) = (&shared, &done, &start, &digests);
                scope.spawn(move || {
                    start.wait();
                    for (i, &digest) in digests.iter().enumerate() {
                        // Each digest by two of the writers; the first writer reports how far it is.
                        if i % WRITERS == writer || (i + 1) % WRITERS == writer {
                            shared.insert_shared(digest).unwrap();
                        }
                        if writer == 0 {
                            shared.insert_shared(digest).unwrap();
                            done.store(i + 1, Ordering::Release);
                        }
                    }
                });
            }
            for _ in 0..2 {
                let (shared, done, start, digests) = (&shared, &done, &start, &digests);
                scope.spawn(move || {
                    start.wait();
                    loop {
                        let reported = done.load(Ordering::Acquire);
                        let checked = reported.saturating_sub(50)..reported;
                        assert!(
                            digests[checked].iter().all(|&digest| shared.contains(digest)),
                            "round {round}"
                        );
                        if reported == digests.len() {
                            return;
                        }
                    }
                });
            }
        });
        assert!(shared.check_invariants().is_ok());
        let snapshot = shared.snapshot().unwrap();
        let expected = BitFilter::<P>::build(&digests, spec).unwrap();
        assert!(snapshot == expected);
        assert_eq!(
            (shared.set_bits(), shared.expected_fpr()),
            (expected.set_bits(), expected.expected_fpr())
        );
        assert_eq!(shared.estimated_count(), expected.estimated_count());
        assert!(shared.into_filter() == expected, "round {round}");
    }
}

#[test]
fn threads_lose_nothing_in_a_bloom_filter() {
    threads_lose_nothing::<amq_bloom::Layout>(&Spec::fpr(0.3, 20_000).with_seed(7));
}

#[test]
fn threads_lose_nothing_in_a_blocked_filter() {
    threads_lose_nothing::<amq_bloom::BlockLayout<amq_bloom::Spread>>(&Spec::fpr(0.3, 20_000).with_seed(7));
}

fn answers_as_the_filter_of_one_owner<P: BitPlaces>()
where
    SharedFilter<P>: Family,
    BitFilter<P>: Family,
{
    let digests = some_digests(2, 1_000);
    let spec = Spec::fpr(0.02, 1_000).with_seed(3);
    let owned = BitFilter::<P>::build(&digests, &spec).unwrap();
    let mut shared = SharedFilter::<P>::build(&digests[..500], &spec).unwrap();
    shared.insert_batch(&digests[500..900]).unwrap();
    for &digest in &digests[900..] {
        shared.insert(digest).unwrap();
    }
    let queries: Vec<Digest> = random_digests(4).take(5_000).chain(digests.iter().copied()).collect();
    let mut answers = vec![false; queries.len()];
    shared.contains_batch(&queries, &mut answers);
    for (&digest, &answer) in queries.iter().zip(&answers) {
        assert_eq!((answer, shared.contains(digest)), (owned.contains(digest), owned.contains(digest)));
    }
    assert_eq!((shared.len(), shared.space(), shared.seed()), (None, owned.space(), 3));
    assert!(SharedFilter::from(owned.clone()).into_filter() == owned);
}

#[test]
fn a_shared_filter_answers_as_one_of_one_owner() {
    answers_as_the_filter_of_one_owner::<amq_bloom::Layout>();
    answers_as_the_filter_of_one_owner::<amq_bloom::BlockLayout<amq_bloom::Spread>>();
    assert_eq!((AtomicBloom::NAME, AtomicBlockedBloom::NAME), ("atomic-bloom", "atomic-blocked-bloom"));
}
