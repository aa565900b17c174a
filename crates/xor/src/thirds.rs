//! The graph of a xor filter: one cell in each third of a shard.

use amq_bits::lanes::Lanes;

use crate::graph::{Derived, DerivedLanes, Graph, Word, scale_half};

/// Three hash functions, each over a third of the cells of its own, so that the cells of a key always differ.
///
/// This is one shard: there is one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thirds {
    /// Cells of one third, at least 1.
    third: u64,
    /// Which of the hash functions over a word is used.
    rotation: u32,
}

impl Thirds {
    /// The most cells of a third, so that 32 bits make an index and three thirds are numbered in 32 bits.
    pub(crate) const MAX: u64 = 1 << 30;

    /// Thirds of this many cells, 1 to [`MAX`](Self::MAX); otherwise an index may be wrong.
    #[inline]
    pub(crate) const fn new(third: u64, rotation: u32) -> Self {
        Self { third, rotation }
    }
}

impl Graph for Thirds {
    type Edge = [u64; 3];
    const ONE_PLACE: bool = true;

    #[inline]
    fn cells(&self) -> u64 {
        3 * self.third
    }

    #[inline]
    fn locate(&self, _: u64, word: Word) -> ([u64; 3], Derived) {
        let derived = Derived::new(word, self.rotation);
        let low = derived.indices & 0xFFFF_FFFF;
        // The high half of a word is the third number that does not depend on the other two; but that of regular
        // digests is regular, and cells that all have about as many keys cannot be peeled.
        let edge = [
            scale_half((word >> 32) ^ low, self.third),
            self.third + scale_half(derived.indices >> 32, self.third),
            2 * self.third + scale_half(low, self.third),
        ];
        (edge, derived)
    }

    #[inline]
    fn side(&self, cell: u64, _: u64) -> u64 {
        u64::from(cell >= self.third) + u64::from(cell >= 2 * self.third)
    }

    #[inline]
    fn tag(&self, _: u64) -> u64 {
        0
    }

    #[inline]
    fn place(&self, _: u64, _: u64) -> u64 {
        0
    }
}

/// [`Thirds::locate`] for eight keys, each in a shard of its own, and their fingerprints.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
pub(crate) fn locate_lanes<L: Lanes>(
    lanes: L,
    third: L::Vector,
    rotation: L::Vector,
    words: L::Vector,
) -> ([L::Vector; 3], L::Vector) {
    let back = lanes.sub(lanes.splat(64), rotation);
    let rotated = lanes.xor(lanes.shl_each(words, rotation), lanes.shr_each(words, back));
    let DerivedLanes { indices, print } = DerivedLanes::new(lanes, rotated);
    // Of the factors, the low 32 bits count.
    let index = |half| lanes.shr(lanes.product(half, third), 32);
    let second = lanes.add(third, index(lanes.shr(indices, 32)));
    let last = lanes.add(lanes.add(third, third), index(indices));
    ([index(lanes.xor(lanes.shr(words, 32), indices)), second, last], print)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec;

    use super::Thirds;
    use crate::graph::{Graph, TAG};

    #[test]
    fn cells_lie_in_their_thirds_at_every_size() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for third in [1, 2, 3, 11, 28_000, 1 << 20, Thirds::MAX] {
            for rotation in [0, 1, 31] {
                let graph = Thirds::new(third, rotation);
                for hash in (0..1000).map(|_| rng.next_u64()).chain([0, 1, u64::MAX, 1 << 32]) {
                    for (i, cell) in (0..).zip(graph.edge(0, hash & !TAG)) {
                        assert!((i * third..(i + 1) * third).contains(&cell), "{hash:#x} of {third}");
                        assert_eq!(graph.side(cell, 0), i);
                    }
                }
            }
        }
    }

    /// Chi-square over the joint distribution of four bits each of any two of: the high and low bits of the
    /// three indices, and the fingerprint.
    #[test]
    fn indices_and_fingerprint_are_pairwise_independent() {
        const SAMPLES: u32 = 400_000;
        for (third, rotation) in [(1 << 10, 0), (27_000, 0), (27_000, 1), (27_000, 17), (3 << 20, 0)] {
            let graph = Thirds::new(third, rotation);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(third);
            let mut joint = vec![[0_u32; 256]; 64];
            for _ in 0..SAMPLES {
                let (edge, derived) = graph.locate(0, rng.next_u64() & !TAG);
                let index = |i: usize| edge[i] - i as u64 * third;
                let print = derived.fingerprint(u64::from(u32::MAX));
                let nibble = |x: u64| usize::try_from(x & 15).unwrap();
                let views = [
                    nibble(index(0)),
                    nibble(index(1)),
                    nibble(index(2)),
                    nibble(index(0) * 16 / third),
                    nibble(index(1) * 16 / third),
                    nibble(index(2) * 16 / third),
                    nibble(print),
                    nibble(print >> 28),
                ];
                for (a, &x) in views.iter().enumerate() {
                    for (b, &y) in views.iter().enumerate().skip(a + 1) {
                        joint[8 * a + b][16 * x + y] += 1;
                    }
                }
            }
            // What both views are expected to have in common, given how often each has its own values: a third
            // that is no multiple of 16 does not share its low bits out evenly.
            for (pair, counts) in joint.iter().enumerate().filter(|(pair, _)| pair / 8 < pair % 8) {
                let row = |x: usize| counts[16 * x..16 * (x + 1)].iter().sum::<u32>();
                let column = |y: usize| counts.iter().skip(y).step_by(16).sum::<u32>();
                let chi: f64 = (0..256)
                    .map(|cell| {
                        let expected =
                            f64::from(row(cell / 16)) * f64::from(column(cell % 16)) / f64::from(SAMPLES);
                        (f64::from(counts[cell]) - expected).powi(2) / expected
                    })
                    .sum();
                // 225 degrees of freedom: mean 225, standard deviation 21.2; six of them above.
                assert!(chi < 352.0, "views {} and {} of {third}, {rotation}: {chi}", pair / 8, pair % 8);
            }
        }
    }
}
