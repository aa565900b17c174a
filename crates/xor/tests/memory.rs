//! What a build takes of memory beyond its input.

use amq::{Amq, Digest, Family, Spec};
use amq_bits::counting::{CountingAllocator, is_installed, measure};
use amq_xor::XorFilter;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn the_peak_is_as_documented() {
    assert!(is_installed());
    let n = 200_000_u32;
    let digests: Vec<_> = (0..u64::from(n)).map(|i| Digest::new(i).remix(1)).collect();
    let per_key = |bytes: u64| bytes as f64 / f64::from(n);
    for r in [1, 8, 16, 32] {
        let spec = Spec::shape(1.0 / 1.23, r, u64::from(n));
        let (filter, usage) = measure(|| XorFilter::build(&digests, &spec).unwrap());
        assert_eq!(filter.build_attempts(), 1);
        assert_eq!(usage.live, filter.space().heap_bytes);
        println!("r = {r}: peak {:.2} bytes a key", per_key(usage.peak));
        assert!((21.8..22.0).contains(&per_key(usage.peak)), "r = {r}: {}", per_key(usage.peak));
    }
    // With one duplicate: a sorted copy.
    let duplicates: Vec<_> = digests.iter().chain(&digests[..1]).copied().collect();
    let (filter, usage) = measure(|| XorFilter::build(&duplicates, &Spec::fpr(0.01, u64::from(n))).unwrap());
    assert_eq!(filter.len(), Some(u64::from(n)));
    println!("with a duplicate: peak {:.2} bytes a key", per_key(usage.peak));
    assert!((29.8..30.0).contains(&per_key(usage.peak)), "{}", per_key(usage.peak));
    // Far more copies than cells: they are dropped before anything is sized by them.
    let copies = vec![Digest::new(7); 1_000_000];
    let (_, usage) = measure(|| XorFilter::build(&copies, &Spec::fpr(0.01, 1)).unwrap());
    assert!(usage.peak < 8_100_000, "{} bytes", usage.peak);
}
