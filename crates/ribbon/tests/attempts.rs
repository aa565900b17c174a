//! How often a single attempt succeeds at the default size.

use amq::{Digest, Family, Spec};
use amq_ribbon::{BumpedRibbon, W64, W128, Width};

fn digests(n: u64, seed: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(seed)).collect()
}

/// At r = 32, where no key is implied by others: the least favourable width.
fn check<W: Width>()
where
    BumpedRibbon<W>: Family,
{
    for (n, seeds) in [
        (1, 2_000),
        (10, 2_000),
        (56, 2_000),
        (57, 2_000),
        (100, 2_000),
        (200, 2_000),
        (479, 1_000),
        (480, 1_000),
        (700, 1_000),
        (1_000, 1_000),
        (1_500, 1_000),
        (3_000, 500),
        (10_000, 200),
        (30_000, 100),
        (100_000, 40),
        (1_000_000, 3),
    ] {
        let (mut first, mut most) = (0, 0);
        for seed in 0..seeds {
            let slots = BumpedRibbon::<W>::plan(&Spec::fpr(0.01, n)).unwrap().slots;
            let spec = Spec::shape(n as f64 / slots as f64, 32, n).with_seed(seed);
            let filter = BumpedRibbon::<W>::build(&digests(n, seed), &spec).unwrap();
            let attempts = filter.parts().attempts;
            first += u64::from(attempts == 1);
            most = most.max(attempts);
        }
        let rate = first as f64 / seeds as f64;
        println!(
            "{}, n = {n}: {first} of {seeds} first attempts ({rate:.4}), at most {most} attempts",
            W::NAME
        );
        assert!(rate >= 0.9, "{}, n = {n}: {rate}", W::NAME);
        assert!(most <= 5, "{}, n = {n}: {most} attempts", W::NAME);
    }
}

#[test]
fn first_attempts_succeed_as_often_as_documented() {
    check::<W64>();
    check::<W128>();
}
