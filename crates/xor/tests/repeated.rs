//! Attempts of a fuse filter that do not peel, with bins that were counted: the same attempt goes on without duplicates.
#![cfg(feature = "rayon")]

use core::convert::Infallible;
use core::num::NonZeroUsize;

use amq::{Digest, Family, Spec};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, Builder, Source};

/// A source that does not know how long it is.
struct Unknown<'a>(&'a [Digest]);

impl Source for Unknown<'_> {
    type Error = Infallible;

    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> Result<(), Infallible> {
        self.0.replay(visit)
    }

    fn replay_part(
        &self,
        part: usize,
        parts: usize,
        visit: &mut dyn FnMut(&[Digest]),
    ) -> Result<(), Infallible> {
        self.0.replay_part(part, parts, visit)
    }
}

/// Builds from a slice, with a limit that is no obstacle, and from a source of unknown length, with several threads. All must be
/// as the serial build. Returns the attempts.
fn check<F: Build>(digests: &[Digest], spec: &Spec, attempts: impl Fn(&F) -> u32) -> u32 {
    let expected = F::build(digests, spec).unwrap();
    for threads in [1, 2, 3, 4] {
        let builder = || Builder::new().with_threads(NonZeroUsize::new(threads).unwrap());
        let filters: [F; 3] = [
            builder().build(digests, spec).unwrap(),
            builder().with_memory_limit(1 << 30).build(digests, spec).unwrap(),
            builder().build_from(&Unknown(digests), spec).unwrap(),
        ];
        for filter in filters {
            assert!(filter.table() == expected.table(), "{}, {threads} threads, {spec:?}", F::NAME);
            assert_eq!((attempts(&filter), filter.len()), (attempts(&expected), expected.len()));
            assert_eq!(filter.count_hits(digests), digests.len() as u64);
        }
    }
    attempts(&expected)
}

fn the_same_attempt_goes_on<F: Build>(attempts: impl Fn(&F) -> u32 + Copy) {
    // At least 16 segments, so that the first of them is searched for duplicates.
    let n = 3_000;
    let mut later = 0;
    for seed in 0..200 {
        let spec = Spec::fpr(0.01, n).with_seed(seed);
        let distinct: Vec<_> = (0..n).map(|i| Digest::new(i).remix(seed)).collect();
        later += u32::from(check(&distinct, &spec, attempts) > 1);
        // One duplicate, which is seldom in the first segment.
        let mut one = distinct.clone();
        one.push(distinct[7]);
        check(&one, &spec, attempts);
        // One digest has more copies than there is room for in a bin, but all of them have cells.
        let mut many = distinct[..1_000].to_vec();
        many.resize(6_000, distinct[11]);
        check(&many, &Spec::fpr(0.01, 7_000).with_seed(seed), attempts);
    }
    println!("{}: {later} of 200 sets of distinct digests took more than one attempt", F::NAME);
    assert!(later > 0);
}

#[test]
fn an_attempt_that_does_not_peel_is_repeated_without_duplicates() {
    the_same_attempt_goes_on(BinaryFuse3::build_attempts);
    the_same_attempt_goes_on(BinaryFuse4::build_attempts);
}
