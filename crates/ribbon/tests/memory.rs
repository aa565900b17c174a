//! What a build takes of memory beyond its input.

use amq::{Amq, BuildError, Digest, Family, Spec};
use amq_bits::counting::{CountingAllocator, is_installed, measure};
use amq_ribbon::{BumpedRibbon, RibbonFilter, W64, W128, Width};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const N: u32 = 200_000;

fn digests() -> Vec<Digest> {
    (0..u64::from(N)).map(|i| Digest::new(i).remix(1)).collect()
}

fn check<W: Width>(row: f64)
where
    BumpedRibbon<W>: Family,
{
    let digests = digests();
    for r in [1, 8, 16, 32] {
        let spec = Spec::fpr(0.5_f64.powi(r), u64::from(N));
        let (filter, usage) = measure(|| BumpedRibbon::<W>::build(&digests, &spec).unwrap());
        assert_eq!(usage.live, filter.space().heap_bytes);
        let bound = BumpedRibbon::<W>::peak_build_bytes(&spec, digests.len()).unwrap();
        assert!(usage.peak <= bound, "r = {r}: {} bytes, at most {bound} promised", usage.peak);
        let (peak, documented) = (usage.peak as f64 / f64::from(N), 8.0 + row + f64::from(r) / 8.0);
        println!("{}, r = {r}: peak {peak:.2} bytes a key, {documented:.2} documented", W::NAME);
        assert!((peak / documented - 1.0).abs() < 0.03, "r = {r}: {peak}");
    }
}

#[test]
fn the_peak_is_as_documented() {
    assert!(is_installed());
    check::<W64>(12.0);
    check::<W128>(20.0);
    // Far more copies than slots.
    let copies = vec![Digest::new(7); 1_000_000];
    let (_, usage) = measure(|| RibbonFilter::build(&copies, &Spec::fpr(0.01, 1)).unwrap());
    assert!(usage.peak < 8_100_000, "{} bytes", usage.peak);
}

#[test]
fn a_budget_is_kept_or_refused_for_free() {
    let digests = &digests()[..10_000];
    let spec = Spec::fpr(0.01, 10_000);
    let needed = RibbonFilter::<amq_bits::Table>::peak_build_bytes(&spec, digests.len()).unwrap();
    for budget in [0, 1_024, needed - 1] {
        let (result, usage) = measure(|| RibbonFilter::build_within(digests, &spec, budget));
        let error = result.unwrap_err();
        assert_eq!(error, BuildError::OutOfMemory { bytes: needed });
        assert!(error.to_string().contains(&needed.to_string()), "{error}");
        assert_eq!(usage.peak, 0, "a budget of {budget}");
    }
    let (result, usage) = measure(|| RibbonFilter::build_within(digests, &spec, needed));
    assert_eq!(result.unwrap(), RibbonFilter::build(digests, &spec).unwrap());
    assert!(usage.peak <= needed, "{} of {needed} bytes", usage.peak);
}
