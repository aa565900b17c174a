//! One shard of a xor filter, built in the cache.

use amq::BuildError;
use amq_bits::Packed;

use crate::assign::{assign, is_whole};
use crate::codec::{Codec, Fields, Plain};
use crate::distinct::keep_distinct;
use crate::graph::Graph;
use crate::memory::{Raw, Words, index};
use crate::peel::{Peeler, Progress};
use crate::shards::Shard;
use crate::sizing::{Share, Size};
use crate::thirds::Thirds;

/// What a thread needs to build shards.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    peeler: Peeler,
    order: Words,
    /// The cells of one shard, where they are no whole bytes.
    cells: Words,
    /// Cells of the longest third that there is room for.
    longest: u64,
    /// A digest of the last shard was there twice, so that it is likely that some of the next are.
    expects_duplicates: bool,
}

/// What the largest shard takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Largest {
    /// Cells of a third, of a shard that can be built.
    pub(crate) third: u64,
    /// Digests given.
    pub(crate) given: u64,
    /// Bytes for all its cells and their padding, if they are not built in the table.
    pub(crate) bytes: u64,
}

/// Why a shard, or the worst of several, is not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// It takes a third of so many cells, for which there is no room yet.
    Crowded { third: u64 },
    /// No hash function that may be tried peels, or there are not enough cells.
    Stuck,
}

impl Worker {
    /// Makes room for the largest shard. A longer one is [`Crowded`](Failure::Crowded).
    pub(crate) fn reserve(&mut self, shard: Largest) -> Result<(), BuildError> {
        self.longest = shard.third;
        self.peeler.reserve(3 * shard.third)?;
        self.order.reserve(shard.given + 1)?;
        self.cells.reserve(shard.bytes.div_ceil(8))
    }

    /// The bytes that it takes once there is room for the largest shard.
    pub(crate) fn bytes_with(&self, shard: Largest) -> u64 {
        self.order.bytes_with(shard.given + 1)
            + self.cells.bytes_with(shard.bytes.div_ceil(8))
            + self.peeler.bytes_with(3 * shard.third)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.order.bytes() + self.cells.bytes() + self.peeler.bytes()
    }

    /// Forgets what was learnt from other digests.
    pub(crate) fn expect_duplicates(&mut self, expects: bool) {
        self.expects_duplicates = expects;
    }

    /// How many distinct words there are.
    pub(crate) fn count<'a>(&mut self, slices: impl Iterator<Item = &'a [Raw]>) -> usize {
        self.expects_duplicates = true;
        self.keep_distinct(slices)
    }

    /// Builds a shard of the words at the front of `out`, which ends with the last cell that there is.
    ///
    /// Duplicates are looked for when a shard has not peeled, as it never does with them; and beforehand in a shard behind
    /// one that had some.
    pub(crate) fn build<'a>(
        &mut self,
        slices: &(impl Iterator<Item = &'a [Raw]> + Clone),
        share: Share,
        size: Size,
        rotations: u32,
        out: &mut [u8],
    ) -> Result<Shard, Failure> {
        let given = slices.clone().map(<[Raw]>::len).sum::<usize>();
        let mut removes = self.expects_duplicates || share.third(given as u64) > self.longest;
        let mut rotation = 0;
        while rotation < rotations {
            let len = if removes { self.keep_distinct(slices.clone()) } else { given };
            let third = share.third(len as u64);
            if size.first_byte(third) > out.len() as u64 || third > Thirds::MAX {
                break;
            }
            if third > self.longest {
                return Err(Failure::Crowded { third });
            }
            let graph = Thirds::new(third, rotation);
            let is_built = if removes {
                self.attempt(None::<core::iter::Empty<_>>, len, graph, size, out)
            } else {
                self.attempt(Some(slices.clone()), len, graph, size, out)
            };
            if is_built {
                self.expects_duplicates = len < given;
                // At most 31, as a larger number of attempts is not used.
                return Ok(Shard { len: len as u64, third, rotation: rotation.to_le_bytes()[0] });
            }
            self.peeler.clear();
            if rotation == 0 && !removes && self.keep_distinct(slices.clone()) < given {
                removes = true;
            } else {
                rotation += 1;
            }
        }
        Err(Failure::Stuck)
    }

    /// Copies the distinct words to the front of the order, and returns how many they are.
    fn keep_distinct<'a>(&mut self, slices: impl Iterator<Item = &'a [Raw]>) -> usize {
        let order = self.order.get_mut();
        let mut len = 0;
        for words in slices {
            order[len..len + words.len()].copy_from_slice(words);
            len += words.len();
        }
        keep_distinct(&mut order[..len], self.peeler.scratch())
    }

    /// Tries one hash function with so many words: those given, or the first of the order.
    fn attempt<'a>(
        &mut self,
        words: Option<impl Iterator<Item = &'a [Raw]>>,
        len: usize,
        graph: Thirds,
        size: Size,
        out: &mut [u8],
    ) -> bool {
        let (third, r) = (graph.cells() / 3, size.layout().width());
        if third <= Fields::<15>::MAX_THIRD && r <= Fields::<15>::MAX_R {
            self.solve(words, len, Fields::<15>::new(graph), size, out)
        } else if third <= Fields::<14>::MAX_THIRD && r <= Fields::<14>::MAX_R {
            self.solve(words, len, Fields::<14>::new(graph), size, out)
        } else {
            self.solve(words, len, Plain(graph), size, out)
        }
    }

    fn solve<'a>(
        &mut self,
        words: Option<impl Iterator<Item = &'a [Raw]>>,
        len: usize,
        codec: impl Codec,
        size: Size,
        out: &mut [u8],
    ) -> bool {
        let order = self.order.get_mut();
        let mut progress = Progress { added: len, taken: 0 };
        let fits = match words {
            Some(mut words) => words.all(|words| self.peeler.add(codec, 0, words)),
            None => self.peeler.add(codec, 0, &order[..len]),
        };
        if fits {
            self.peeler.take_away(codec, 0..codec.cells(), order, &mut progress);
        }
        if !fits || progress.taken < len {
            return false;
        }
        let (order, layout) = (&order[..len], size.layout());
        let out = &mut out[..index(size.first_byte(codec.cells() / 3))];
        if is_whole(layout) {
            out.fill(0);
            assign(codec, layout, order, 0, out);
        } else {
            // So that the padding behind the last cell does not meet the next shard.
            let cells = &mut self.cells.get_mut().as_flattened_mut()[..out.len() + Packed::PADDING];
            cells.fill(0);
            assign(codec, layout, order, 0, cells);
            out.copy_from_slice(&cells[..out.len()]);
        }
        true
    }
}
