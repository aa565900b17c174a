//! Lookups by vectors, eight at a time.

#![expect(clippy::inline_always, reason = "what is not inlined is compiled without the processor's features")]

use amq::Digest;
use amq_bits::cells::Cells;
use amq_bits::lanes::{Job, Lanes};
use amq_bits::prefetch::{prefetch_read, prefetch_stream};

use crate::lookup::{Ask, PREFETCH_FROM};
use crate::memory::index;

pub(crate) use amq_bits::lanes::LANES;

/// Groups of eight lookups between the request for their lines and the use of these.
const AHEAD: usize = 4;

/// A batch of whole groups, of a table of fewer than 2^32 cells.
pub(crate) struct Eight<'a, const K: usize, A, C> {
    pub(crate) filter: &'a A,
    pub(crate) cells: C,
    pub(crate) groups: &'a [[Digest; LANES]],
    pub(crate) answers: &'a mut [[bool; LANES]],
}

impl<const K: usize, A: Ask<K>, C: Cells> Job for Eight<'_, K, A, C> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { filter, cells, groups, answers } = self;
        let table = Table { filter, cells, lanes };
        if filter.bytes().len() < PREFETCH_FROM {
            for (i, (answers, group)) in answers.iter_mut().zip(groups).enumerate() {
                prefetch_stream(groups, i);
                *answers = table.answer(table.ask(group));
            }
        } else {
            table.look_ahead(groups, answers);
        }
    }
}

/// How eight lookups are done.
struct Table<'a, const K: usize, A, C, L> {
    filter: &'a A,
    cells: C,
    lanes: L,
}

impl<const K: usize, A: Ask<K>, C: Cells, L: Lanes> Table<'_, K, A, C, L> {
    #[inline(always)]
    fn ask(&self, group: &[Digest; LANES]) -> ([L::Vector; K], L::Vector) {
        self.filter.ask_lanes(self.lanes, self.lanes.load(group.map(Digest::get)))
    }

    #[inline(always)]
    fn answer(&self, (edge, print): ([L::Vector; K], L::Vector)) -> [bool; LANES] {
        let Self { filter, cells, lanes } = self;
        let mut rest = print;
        for cell in edge {
            rest = lanes.xor(rest, cells.read_lanes(*lanes, filter.bytes(), cell));
        }
        lanes.are_zero(lanes.and(rest, lanes.splat(cells.mask())))
    }

    #[inline(always)]
    fn prefetch(&self, edge: [L::Vector; K]) {
        for cells in edge {
            for cell in self.lanes.store(cells) {
                prefetch_read(self.filter.bytes(), index(self.cells.first_byte(cell)));
            }
        }
    }

    /// Answers each group [`AHEAD`] groups after its lines were asked for.
    #[inline(always)]
    fn look_ahead(&self, groups: &[[Digest; LANES]], answers: &mut [[bool; LANES]]) {
        let zero = self.lanes.splat(0);
        let mut ring = [([zero; K], zero); AHEAD];
        // No slice has so many elements that this could overflow.
        for i in 0..groups.len() + AHEAD {
            let slot = &mut ring[i % AHEAD];
            if let Some(due) = i.checked_sub(AHEAD) {
                answers[due] = self.answer(*slot);
            }
            if let Some(group) = groups.get(i) {
                prefetch_stream(groups, i);
                *slot = self.ask(group);
                self.prefetch(slot.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use amq::{Amq, Digest, Family, Spec};
    use amq_bits::arch::{Avx2, Avx512};
    use amq_bits::cells::{self, Cells};
    use amq_bits::lanes::{Job, Lanes};

    use super::{Eight, LANES};
    use crate::lookup::{Ask, one_by_one};
    use crate::{BinaryFuse3, BinaryFuse4, XorFilter};

    /// All ways to answer a batch, against single lookups.
    struct Check<'a, const K: usize, A>(&'a A, &'a [Digest]);

    impl<const K: usize, A: Ask<K> + Amq> Check<'_, K, A> {
        fn lanes<L: Lanes>(&self, cells: impl Cells, lanes: L) {
            let (groups, _) = self.1.as_chunks::<LANES>();
            let mut answers = vec![[false; LANES]; groups.len()];
            Eight { filter: self.0, cells, groups, answers: &mut answers }.run(lanes);
            self.compare(answers.as_flattened());
        }

        fn compare(&self, answers: &[bool]) {
            for (&digest, &answer) in self.1.iter().zip(answers) {
                assert_eq!(answer, self.0.contains(digest), "{digest:?}");
            }
        }
    }

    impl<const K: usize, A: Ask<K> + Amq> cells::Job for Check<'_, K, A> {
        type Output = ();

        fn run<C: Cells>(self, cells: C) {
            if let Some(avx2) = Avx2::detect() {
                self.lanes(cells, avx2);
            }
            if let Some(avx512) = Avx512::detect() {
                self.lanes(cells, avx512);
            }
            let mut answers = vec![false; self.1.len()];
            one_by_one(self.0, cells, self.1, &mut answers);
            self.compare(&answers);
        }
    }

    fn agree<const K: usize, A: Family + Ask<K>>() {
        // One shard, several, and so large a table that lookups look ahead.
        for (n, r) in [(0, 8), (1, 1), (3_000, 5), (3_000, 8), (100_000, 12), (100_000, 16), (700_000, 32)] {
            let digests: Vec<_> = (0..n + 4_000).map(|i| Digest::new(i).remix(7)).collect();
            let (members, _) = digests.split_at(usize::try_from(n).unwrap());
            let filter = A::build(members, &Spec::fpr(0.5_f64.powi(r), n)).unwrap();
            // Members and others, a multiple of eight.
            let queries = &digests[digests.len() - 8_000.min(digests.len())..];
            cells::dispatch(filter.layout(), Check(&filter, queries));
        }
    }

    #[test]
    fn every_way_gives_the_same_answers() {
        agree::<3, XorFilter>();
        agree::<3, BinaryFuse3>();
        agree::<4, BinaryFuse4>();
    }
}
