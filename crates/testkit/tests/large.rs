//! Every registered family at fifty million keys: nothing overflows, nothing is lost, and memory is what it should be.
//!
//! `cargo test --release -p amq-testkit --test large -- --ignored --nocapture`

use amq::{Amq, Descriptor, Digest, Spec};
use amq_bits::counting::{CountingAllocator, measure};
use amq_families::FAMILIES;
use amq_testkit::keys::{absent_digests, digests};
use amq_testkit::statistics::{agrees, clopper_pearson};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const FPR: f64 = 0.01;
const COUNT: usize = 500_000;
const QUERIES: u64 = COUNT as u64;

fn lost(filter: &(impl Amq + ?Sized), members: &[Digest]) -> usize {
    let mut answers = vec![false; 1 << 16];
    let in_part = |part: &[Digest]| {
        let answers = &mut answers[..part.len()];
        filter.contains_batch(part, answers);
        answers.iter().filter(|&&answer| !answer).count()
    };
    members.chunks(1 << 16).map(in_part).sum()
}

fn check(descriptor: &Descriptor, members: &[Digest], seed: u64) {
    let n = members.len() as u64;
    let spec = Spec::fpr(FPR, n).with_seed(seed);
    let (filter, usage) = measure(|| (descriptor.build)(members, &spec));
    let filter =
        filter.unwrap_or_else(|error| panic!("{} of {n} keys, seed {seed}: {error}", descriptor.name));
    let context = format!("{} of {n} keys, seed {seed}", descriptor.name);
    assert_eq!(lost(&*filter, members), 0, "{context}: keys are lost");
    filter.check_invariants().unwrap_or_else(|error| panic!("{context}: {error}"));
    let expected = filter.expected_fpr().expect("a rate");
    let hits = |queries| {
        filter.count_hits(&absent_digests(2 * QUERIES, seed).skip(queries).take(COUNT).collect::<Vec<_>>())
    };
    let first = hits(0);
    // One of so many cells may be beyond four standard deviations by chance, but not with fresh keys again.
    if !agrees(first, QUERIES, expected) {
        let again = hits(COUNT);
        assert!(
            agrees(again, QUERIES, expected),
            "{context}: {first} and {again} of {QUERIES}, {expected} expected"
        );
    }
    let hits = first;
    // The target is for the mean; one table of few keys scatters around it.
    let low = clopper_pearson(hits, QUERIES, 0.999).low;
    assert!(n < 1_000 || low <= FPR * 1.01, "{context}: a rate of at least {low}");
    println!(
        "{context}: {:.2} payload bits a key, peak {:.2} bytes a key, rate {:.5}",
        filter.space().payload_bits as f64 / n as f64,
        usage.peak as f64 / n as f64,
        hits as f64 / QUERIES as f64,
    );
}

#[test]
fn tiny_sets() {
    for descriptor in FAMILIES {
        for n in 0..=2 {
            for seed in 0..10 {
                check(descriptor, &digests(n, seed), seed);
            }
        }
    }
}

#[test]
#[ignore = "fifty million keys a family: a minute and some gigabytes, meant for release builds"]
fn fifty_million_keys() {
    let members = digests(50_000_000, 1);
    for descriptor in FAMILIES {
        check(descriptor, &members, 1);
    }
}
