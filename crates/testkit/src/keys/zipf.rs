//! Skewed multisets.

use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Draws from the ranks `0..distinct` with probability proportional to `1 / (rank + 1)^exponent`.
///
/// ```
/// use amq_testkit::keys::Zipf;
///
/// let draws: Vec<u64> = Zipf::new(1_000, 1.0, 42).take(10_000).collect();
/// assert!(draws.iter().all(|&rank| rank < 1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Zipf {
    /// `cumulative[i]`: the weight of the ranks up to and including `i`.
    cumulative: Vec<f64>,
    rng: Xoshiro256PlusPlus,
}

impl Zipf {
    /// Ranks below `distinct`, of this exponent (0: all alike), in a sequence that the seed fixes. Takes 8 bytes a rank.
    ///
    /// # Panics
    /// If `distinct` is 0, or the exponent is negative or not finite.
    pub fn new(distinct: usize, exponent: f64, seed: u64) -> Self {
        assert!(distinct > 0, "no ranks to draw from");
        assert!(exponent >= 0.0 && exponent.is_finite(), "{exponent} is no exponent");
        let weights = (1..=distinct).map(|rank| (rank as f64).powf(-exponent));
        let cumulative = weights
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        Self { cumulative, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

impl Iterator for Zipf {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let last = self.cumulative.len() - 1;
        let point = self.rng.random::<f64>() * self.cumulative[last];
        Some(self.cumulative.partition_point(|&sum| sum <= point).min(last) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::agrees;

    #[test]
    fn ranks_have_their_shares() {
        let draws = 200_000;
        let mut counts = [0; 50];
        for rank in Zipf::new(50, 1.2, 3).take(draws) {
            counts[usize::try_from(rank).unwrap()] += 1;
        }
        let total: f64 = (1..=50).map(|rank| f64::from(rank).powf(-1.2)).sum();
        for (rank, weight) in (1..=50).map(|rank| f64::from(rank).powf(-1.2)).enumerate() {
            assert!(agrees(counts[rank], draws as u64, weight / total), "rank {rank}: {}", counts[rank]);
        }
    }
}
