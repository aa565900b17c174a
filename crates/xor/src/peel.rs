//! Peeling: an order of the keys in which each, when its turn comes, has a cell that no later key has.
//!
//! As long as some cell belongs to exactly one remaining key, that key is taken away with all its cells. If
//! the keys run out before the cells do, the graph has no 2-core and the order exists. It does with high
//! probability below a threshold of keys per cell, and not above it (Molloy, *Cores in random hypergraphs and
//! Boolean formulas*, 2005; Botelho, Pagh, Ziviani, *Simple and space-efficient minimal perfect hash
//! functions*, WADS 2007).

use amq::Digest;
use amq_bits::{AllocError, Store, StoreMut, Table};

use crate::graph::Graph;
use crate::look_ahead::{self, DISTANCE, Steps};
use crate::memory::{State, Words, index};

/// The memory for peeling, to be used for any number of attempts.
#[derive(Debug)]
pub(crate) struct Peeler {
    state: State,
    /// First a queue of cells, from the front of which the order grows over what has been consumed.
    queue: Words,
    /// Which of its cells each key of the order was taken away from.
    sides: Table,
}

/// The order of a complete peeling.
#[derive(Debug)]
pub(crate) struct Order {
    hashes: Words,
    sides: Table,
}

impl Order {
    /// The hash of key `i` of the order, and which of its cells no later key has.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> (u64, usize) {
        (self.hashes.get(i as u64), usize::from(self.sides.bytes()[i]))
    }
}

impl Peeler {
    /// Memory for at most `keys` keys over `cells` cells: 17 bytes a cell and 1 byte a key.
    pub(crate) fn new(cells: u64, keys: u64) -> Result<Self, AllocError> {
        Ok(Self {
            state: State::new(cells)?,
            // A cell enters the queue at most once; beyond them, the entries that are read in advance.
            queue: Words::new(cells.saturating_add(DISTANCE as u64))?,
            // One more, which stale entries write after the last key.
            sides: Table::zeroed(keys.saturating_add(1))?,
        })
    }

    /// Tries to peel all keys, remixed under `seed`. `false` if they have a 2-core: by chance, or because a
    /// digest is there twice. Linear in keys and cells. Nothing of an earlier attempt matters.
    pub(crate) fn peel<G: Graph>(&mut self, graph: G, digests: &[Digest], seed: u64) -> bool {
        self.state.clear();
        let mut gather = Gather { state: &mut self.state, graph, digests, seed, overflow: false };
        look_ahead::run(&mut gather, digests.len());
        !gather.overflow && self.take_away(graph) == digests.len() as u64
    }

    /// The order, once [`peel`](Self::peel) has succeeded. The larger part of the memory is given back.
    pub(crate) fn into_order(self) -> Order {
        Order { hashes: self.queue, sides: self.sides }
    }

    /// Takes keys away as long as there is a cell with only one, and returns how many went. First in, first
    /// out.
    ///
    /// There is no branch on what a cell holds: many entries of the queue are stale when their turn comes, in no
    /// order that a processor could learn. Instead, the steps for a stale entry take zero keys, and what is
    /// written for it is overwritten by the next.
    ///
    /// - Counts are exact, so a cell with the count 1 holds the hash of one key and a cell with the count 0
    ///   holds 0. A cell enters the queue when its count *becomes* 1, which happens once as counts only fall.
    ///   So every entry has a count of 1 or 0 when it is read, at most `cells` entries are made, and the loop
    ///   ends.
    /// - An entry yields at most one key of the order, so the order stays behind the head of the queue.
    fn take_away<G: Graph>(&mut self, graph: G) -> u64 {
        let Self { state, queue, sides } = self;
        let sides = sides.bytes_mut();
        let mut tail = 0;
        for cell in 0..graph.cells() {
            queue.set(tail, cell);
            tail += u64::from(state.get(cell).1 == 1);
        }
        let (mut head, mut taken) = (0, 0);
        while head < tail {
            let cell = queue.get(head);
            state.prefetch(queue.get(head + DISTANCE as u64));
            head += 1;
            let (hash, count) = state.get(cell);
            debug_assert!(count == 1 || (count, hash) == (0, 0), "cell {cell} has {count} keys");
            let is_key = count == 1;
            let mut side = 0_u64;
            for (i, other) in (0..).zip(graph.edge(hash)) {
                side |= i * u64::from(other == cell);
                let left = state.take(other, hash, count);
                queue.set(tail, other);
                // Two conditions joined as such: of a condition and a number, the compiler makes a branch.
                tail += u64::from((left == 1) & is_key);
            }
            queue.set(taken, hash);
            sides[index(taken)] = side.to_le_bytes()[0];
            taken += u64::from(count);
        }
        taken
    }
}

/// Adds every key to the state of its cells.
struct Gather<'a, G> {
    state: &'a mut State,
    graph: G,
    digests: &'a [Digest],
    seed: u64,
    /// Whether a count has wrapped.
    overflow: bool,
}

impl<G: Graph> Steps for Gather<'_, G> {
    type Prepared = (u64, G::Edge);

    #[inline]
    fn prepare(&self, i: usize) -> Self::Prepared {
        let hash = self.digests[i].remix(self.seed).get();
        let edge = self.graph.edge(hash);
        edge.into_iter().for_each(|cell| self.state.prefetch(cell));
        (hash, edge)
    }

    #[inline]
    fn finish(&mut self, _: usize, (hash, edge): Self::Prepared) {
        for cell in edge {
            self.overflow |= self.state.add(cell, hash) == State::MAX_DEGREE;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec::Vec;

    use amq::Digest;

    use super::Peeler;
    use crate::graph::{Graph, Thirds};

    fn digests(n: u64) -> Vec<Digest> {
        (0..n).map(|i| Digest::new(i).remix(99)).collect()
    }

    /// What the order promises, checked one key after the other.
    #[test]
    fn each_key_of_the_order_has_a_cell_that_no_later_key_has() {
        for n in [0, 1, 2, 10, 100, 1_000] {
            let graph = Thirds::new(n / 2 + 11).unwrap();
            let digests = digests(n);
            let mut peeler = Peeler::new(graph.cells(), n).unwrap();
            assert!(peeler.peel(graph, &digests, 5), "{n}");
            let order = peeler.into_order();
            let mut later = BTreeSet::new();
            let mut hashes = BTreeSet::new();
            for i in (0..digests.len()).rev() {
                let (hash, side) = order.get(i);
                let edge = graph.edge(hash);
                assert!(!later.contains(&edge[side]), "key {i} of {n}");
                later.extend(edge);
                hashes.insert(hash);
            }
            assert!(hashes.into_iter().eq(digests.iter().map(|d| d.remix(5).get()).collect::<BTreeSet<_>>()));
        }
    }

    #[test]
    fn duplicates_make_a_core_whatever_their_number() {
        let graph = Thirds::new(1_000).unwrap();
        for copies in (2..=6).chain([254, 255, 256, 257, 258, 511, 512, 513]) {
            let mut digests = digests(300);
            let first = digests[0];
            digests.resize(299 + copies, first);
            let mut peeler = Peeler::new(graph.cells(), digests.len() as u64).unwrap();
            assert!(!peeler.peel(graph, &digests, 1), "{copies} copies");
            // The memory serves the next attempt as if it were new.
            assert!(peeler.peel(graph, &digests[..300], 1));
        }
    }

    #[test]
    fn too_many_keys_do_not_peel() {
        let graph = Thirds::new(1_000).unwrap();
        let digests = digests(2_700);
        assert!(!Peeler::new(3_000, 2_700).unwrap().peel(graph, &digests, 1));
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Peeler::new(u64::MAX, 0).is_err());
        assert!(Peeler::new(1, u64::MAX).is_err());
    }
    /// Three indices that share nothing: each from a digest remixed under a seed of its own.
    #[derive(Clone, Copy)]
    struct Independent {
        third: u64,
    }

    impl Graph for Independent {
        type Edge = [u64; 3];

        fn cells(&self) -> u64 {
            3 * self.third
        }

        fn edge(&self, hash: u64) -> [u64; 3] {
            [0, 1, 2].map(|i| i * self.third + Digest::new(hash).remix(1_000 + i).scale(self.third))
        }
    }

    /// Where one attempt in six fails by chance, a derivation of indices that falls short fails more often.
    #[test]
    fn thirds_peel_as_often_as_independent_indices() {
        const SEEDS: u64 = 2_000;
        let third = 1_241;
        let mut peeler = Peeler::new(3 * third, 3_000).unwrap();
        let (mut ours, mut independent) = (0, 0);
        for seed in 0..SEEDS {
            let digests: Vec<_> = (0..3_000).map(|i| Digest::new(i).remix(seed)).collect();
            ours += u64::from(peeler.peel(Thirds::new(third).unwrap(), &digests, 1));
            independent += u64::from(peeler.peel(Independent { third }, &digests, 2));
        }
        std::println!("of {SEEDS} attempts, {ours} and {independent} succeeded");
        // The difference of two counts with the variance 2000 · .84 · .16 each: four standard deviations.
        assert!(ours.abs_diff(independent) <= 93, "{ours} and {independent} of {SEEDS}");
        assert!((1_550..1_800).contains(&ours), "{ours} of {SEEDS}");
    }
}
