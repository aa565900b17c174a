//! Random digests and small statistics for the tests.

#![allow(dead_code, reason = "each test program uses some of these")]

use amq::Digest;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// An endless sequence of uniform digests.
pub(crate) fn random_digests(seed: u64) -> impl Iterator<Item = Digest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    std::iter::repeat_with(move || Digest::new(random.next_u64()))
}

/// Some uniform digests.
pub(crate) fn some_digests(seed: u64, count: usize) -> Vec<Digest> {
    random_digests(seed).take(count).collect()
}

/// Digests as a bad hash function, or an adversary, would make them.
pub(crate) fn hostile_digests() -> Vec<Digest> {
    let numbers = (0..100_u64).chain([u64::MAX, u64::MAX - 1, 1 << 32, 1 << 63, u64::from(u32::MAX)]);
    let halves = (0..50_u64).flat_map(|i| {
        let low = i.wrapping_mul(0x9E37_79B9) & 0xffff_ffff;
        [low, low << 32, low | 0xffff_ffff << 32, low << 32 | 0xffff_ffff]
    });
    numbers.chain(halves).map(Digest::new).collect()
}

/// How far a chi-square statistic of equally likely cells is from its mean, in standard deviations.
pub(crate) fn chi_square_z(cells: &[u64]) -> f64 {
    let degrees = cells.len() as f64 - 1.0;
    let expected = cells.iter().sum::<u64>() as f64 / cells.len() as f64;
    let statistic: f64 = cells.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    (statistic - degrees) / (2.0 * degrees).sqrt()
}

/// The mean of some numbers, and its standard error.
pub(crate) fn mean_and_error(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
