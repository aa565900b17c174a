//! Partition: the words of all keys, ordered by the place that they belong to.
//!
//! Each part of a source, one for each thread, has a *bin* in each place. Hashes share themselves out evenly, so bins are
//! made a little larger than that and filled in one pass over the digests. What does not fit, because digests
//! are repeated or hostile, is counted first: one pass more. Within a place nothing depends on the order.

use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

use amq::{BuildError, Digest};

use crate::graph::{TAG, Word, hash};
use crate::memory::{Raw, Words, check_limit, index, reserve, zeros};
use crate::segments::Segments;
use crate::source::{Source, SourceError};
use crate::workers::for_each;

/// What decides the place of a hash.
pub(crate) trait Cut: Copy + Send + Sync {
    /// The number of places.
    fn places(&self) -> u64;

    /// The place and the word. Places do not decrease as hashes grow.
    fn cut(&self, hash: Digest) -> (u64, Word);
}

/// By the highest bits: 2^bits places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HighBits(pub(crate) u32);

impl Cut for HighBits {
    #[inline]
    fn places(&self) -> u64 {
        1 << self.0
    }

    #[inline]
    fn cut(&self, hash: Digest) -> (u64, Word) {
        let hash = hash.get();
        // In two steps, as a shift by 64 is none.
        (hash >> 1 >> (63 - self.0), (hash << self.0) & !TAG)
    }
}

impl<const K: usize> Cut for Segments<K> {
    #[inline]
    fn places(&self) -> u64 {
        self.count()
    }

    #[inline]
    fn cut(&self, hash: Digest) -> (u64, Word) {
        Self::cut(*self, hash)
    }
}

/// What is gone through: the digests of a source under a seed, cut into places.
#[derive(Debug)]
pub(crate) struct Input<'a, S: ?Sized, C> {
    pub(crate) source: &'a S,
    pub(crate) hash_seed: u64,
    pub(crate) cut: C,
}

/// Where words are written: by one thread, or by several.
trait Put {
    fn put(&self, raw: Raw);
}

impl Put for Cell<Raw> {
    #[inline]
    fn put(&self, raw: Raw) {
        self.set(raw);
    }
}

#[cfg(all(feature = "rayon", not(loom), target_has_atomic = "64"))]
impl Put for core::sync::atomic::AtomicU64 {
    #[inline]
    fn put(&self, raw: Raw) {
        // Threads that are joined before anything is read.
        self.store(u64::from_ne_bytes(raw), core::sync::atomic::Ordering::Relaxed);
    }
}

/// One part of a source.
#[derive(Debug, Default)]
struct Loader {
    /// Digests in each place, where they have been counted.
    counts: Vec<u64>,
    /// Of each place in the memory, where the next word of its bin goes; and where a word of no such place goes.
    next: Vec<usize>,
}

impl Loader {
    fn count<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
        part: usize,
        parts: usize,
        places: usize,
    ) -> Result<(), SourceError<S::Error>> {
        zeros(&mut self.counts, places)?;
        let (counts, &Input { hash_seed, cut, .. }) = (&mut self.counts, input);
        let mut visit = |digests: &[Digest]| {
            for &digest in digests {
                counts[index(cut.cut(hash(digest, hash_seed)).0)] += 1;
            }
        };
        input.source.replay_part(part, parts, &mut visit).map_err(SourceError::Source)
    }

    /// Writes the words of those digests that belong to a place in the memory, the first of which is `first`.
    ///
    /// There is no branch on whether a digest does: the others are written too, all to one word. Nor on whether there
    /// is room for it: if not, it is written into another bin, and all of this is repeated.
    fn write<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
        part: usize,
        parts: usize,
        first: u64,
        words: &[impl Put],
    ) -> Result<(), SourceError<S::Error>> {
        let others = self.next.len() - 1;
        let (next, &Input { hash_seed, cut, .. }) = (&mut self.next[..=others], input);
        let mut visit = |digests: &[Digest]| {
            for &digest in digests {
                let (place, word) = cut.cut(hash(digest, hash_seed));
                let place = index(place.wrapping_sub(first)).min(others);
                let next = &mut next[place];
                // A source that is not the same in each pass does no harm beyond a failed build.
                if let Some(slot) = words.get(*next) {
                    slot.put(word.to_le_bytes());
                }
                *next += usize::from(place != others);
            }
        };
        input.source.replay_part(part, parts, &mut visit).map_err(SourceError::Source)
    }
}

/// Where bins are.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    loaders: Vec<Loader>,
    /// Words of each bin; `None` if each has room for exactly the digests that were counted.
    size: Option<usize>,
    /// Where the first bin of each place in the memory begins, if they have been counted. The counts stay as they are, so that
    /// the same bins can be filled again when words have been removed.
    begins: Vec<usize>,
    /// Digests.
    len: u64,
    /// Places in the memory.
    places: Range<usize>,
}

impl Bins {
    /// Words for the bins of a place.
    pub(crate) fn room(&self, place: usize) -> usize {
        match self.size {
            Some(size) => size * self.loaders.len(),
            None => self.loaders.iter().map(|loader| index(loader.counts[place])).sum(),
        }
    }

    /// Digests, in all places.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The words in each bin of a place that is in the memory.
    #[inline]
    pub(crate) fn ranges(&self, place: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        let (at, parts) = (place - self.places.start, self.loaders.len());
        (0..).zip(&self.loaders).map(move |(part, loader)| {
            let end = loader.next[at];
            let begin = match self.size {
                Some(size) => (at * parts + part) * size,
                None if part == 0 => self.begins[at],
                None => self.loaders[part - 1].next[at],
            };
            begin..end
        })
    }

    /// Digests in a place that is in the memory.
    pub(crate) fn given(&self, place: usize) -> usize {
        self.ranges(place).map(|range| range.len()).sum()
    }

    /// Lays out the bins of some places. Returns the words that they take, those for nobody included.
    fn lay_out(&mut self, places: Range<usize>) -> Result<usize, BuildError> {
        let (parts, size) = (self.loaders.len(), self.size);
        for loader in &mut self.loaders {
            reserve(&mut loader.next, places.len() + 1)?;
        }
        if size.is_none() {
            reserve(&mut self.begins, places.len())?;
        }
        let mut end = 0;
        for place in places.clone() {
            if size.is_none() {
                self.begins.push(end);
            }
            for loader in &mut self.loaders {
                loader.next.push(end);
                end += size.unwrap_or_else(|| index(loader.counts[place]));
            }
        }
        for loader in &mut self.loaders {
            loader.next.push(end);
            end += 1;
        }
        self.places = places;
        debug_assert_eq!(self.loaders.len(), parts);
        Ok(end)
    }

    /// What came of filling the bins.
    fn check(&self) -> Filled {
        let mut end = 0;
        let mut sum = 0;
        for place in 0..self.places.len() {
            for loader in &self.loaders {
                let begin = end;
                let next = loader.next[place];
                sum += (next - begin) as u64;
                if let Some(size) = self.size {
                    end += size;
                    if next > end {
                        return Filled::TooFull;
                    }
                } else {
                    end += index(loader.counts[self.places.start + place]);
                    if next != end {
                        return Filled::Changed;
                    }
                }
            }
        }
        if self.size.is_some() && sum != self.len { Filled::Changed } else { Filled::Completely }
    }

    /// Brings the words of a place together in its first bin, which takes the room of the others if need be, and leaves
    /// those that `keep` moves to the front, which returns how many these are.
    pub(crate) fn retain(
        &mut self,
        place: usize,
        words: &mut [Raw],
        keep: impl FnOnce(&mut [Raw]) -> usize,
    ) -> usize {
        let at = place - self.places.start;
        let begin = self.ranges(place).next().map_or(0, |range| range.start);
        let mut end = begin;
        for range in self.ranges(place) {
            words.copy_within(range.clone(), end);
            end += range.len();
        }
        let kept = keep(&mut words[begin..end]);
        let size = self.size;
        for (part, loader) in self.loaders.iter_mut().enumerate() {
            loader.next[at] = match size {
                Some(size) if part > 0 => begin + part * size,
                // The other bins are empty and begin where the first ends.
                _ => begin + kept,
            };
        }
        kept
    }
}

enum Filled {
    Completely,
    /// A bin is too small.
    TooFull,
    /// The source has other digests than before.
    Changed,
}

/// The words in the memory, and where they are.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    pub(crate) bins: Bins,
    pub(crate) words: Words,
    /// What is in the memory is what was loaded last.
    pub(crate) is_loaded: bool,
}

impl Partition {
    /// Prepares for a number of threads and places, which with the table of `table` bytes must not pass the limit.
    pub(crate) fn reserve(
        &mut self,
        threads: usize,
        places: u64,
        limit: u64,
        table: u64,
    ) -> Result<(), BuildError> {
        let lists = (threads as u64).saturating_mul(16).saturating_add(8).saturating_mul(places + 1);
        check_limit(table.saturating_add(lists), limit)?;
        if limit < u64::MAX {
            reserve(&mut self.bins.begins, index(places))?;
        }
        self.bins.loaders.resize_with(threads, Loader::default);
        self.bins.loaders.iter_mut().try_for_each(|loader| {
            if limit < u64::MAX {
                reserve(&mut loader.counts, index(places))?;
            }
            reserve(&mut loader.next, index(places) + 1)
        })
    }

    /// Gives the memory of the words back if it is more than this.
    pub(crate) fn release_above(&mut self, bytes: u64) {
        self.is_loaded &= self.words.bytes() <= bytes;
        self.words.release_above(bytes);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_of_lists() + self.words.bytes()
    }

    pub(crate) fn bytes_of_lists(&self) -> u64 {
        let lists = self.bins.loaders.iter().map(|loader| loader.counts.capacity() + loader.next.capacity());
        8 * (self.bins.begins.capacity() + lists.sum::<usize>()) as u64
    }

    /// Decides how large bins are: from the number of digests, or `exactly`, from a pass over them.
    pub(crate) fn prepare<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
        exactly: bool,
    ) -> Result<(), SourceError<S::Error>> {
        self.is_loaded = false;
        let Some(len) = input.source.digests().filter(|_| !exactly) else { return self.count(input) };
        let part = len.div_ceil(self.bins.loaders.len() as u64);
        let places = input.cut.places();
        // A share, and six standard deviations and some more.
        let share = part.div_ceil(places);
        let size = if places == 1 { part } else { share + 6 * share.isqrt() + 16 };
        (self.bins.size, self.bins.len) = (Some(index(size)), len);
        Ok(())
    }

    fn count<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
    ) -> Result<(), SourceError<S::Error>> {
        let (places, parts) = (index(input.cut.places()), self.bins.loaders.len());
        for_each(&mut self.bins.loaders, 0, &|part, loader: &mut Loader| {
            loader.count(input, part, parts, places)
        })?;
        self.bins.size = None;
        self.bins.len = self.bins.loaders.iter().flat_map(|loader| &loader.counts).sum();
        Ok(())
    }

    /// Words for the bins of all places, those for nobody included.
    pub(crate) fn room(&self, places: u64) -> u64 {
        let bins = match self.bins.size {
            Some(_) => (self.bins.room(0) as u64).saturating_mul(places),
            None => self.bins.len,
        };
        bins.saturating_add(self.bins.loaders.len() as u64)
    }

    /// Brings the words of some places into the memory, if they are not there: of all, unless they have been counted.
    pub(crate) fn load<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
        places: Range<usize>,
    ) -> Result<(), SourceError<S::Error>> {
        if self.is_loaded && self.bins.places == places {
            return Ok(());
        }
        self.is_loaded = true;
        loop {
            let room = self.bins.lay_out(places.clone())?;
            self.words.reserve(room as u64)?;
            self.write(input, places.start as u64)?;
            match self.bins.check() {
                Filled::Completely => return Ok(()),
                Filled::TooFull => self.count(input)?,
                Filled::Changed => return Err(SourceError::Changed),
            }
        }
    }

    fn write<S: Source + ?Sized, C: Cut>(
        &mut self,
        input: &Input<'_, S, C>,
        first: u64,
    ) -> Result<(), SourceError<S::Error>> {
        let loaders = &mut self.bins.loaders;
        let parts = loaders.len();
        #[cfg(all(feature = "rayon", not(loom), target_has_atomic = "64"))]
        if parts > 1 {
            let words = self.words.shared();
            return for_each(loaders, 0, &|part, loader: &mut Loader| {
                loader.write(input, part, parts, first, words)
            });
        }
        // One part, or several of which one thread writes one after the other.
        let words = Cell::from_mut(self.words.get_mut()).as_slice_of_cells();
        (0..).zip(loaders).try_for_each(|(part, loader)| loader.write(input, part, parts, first, words))
    }

    /// The words of a place that is in the memory.
    pub(crate) fn slices(&self, place: usize) -> impl Iterator<Item = &[Raw]> + Clone {
        self.bins.ranges(place).map(|range| &self.words.get()[range])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    use amq::Digest;

    use super::{Cut, HighBits, Input, Partition};
    use crate::distinct::keep_distinct;
    use crate::graph::hash;
    use crate::segments::Segments;

    fn words_of(digests: &[Digest], cut: impl Cut, place: u64) -> Vec<u64> {
        let mut words: Vec<_> = digests
            .iter()
            .map(|&digest| cut.cut(hash(digest, 3)))
            .filter(|cut| cut.0 == place)
            .map(|cut| cut.1)
            .collect();
        words.sort_unstable();
        words
    }

    /// Bins that were counted can be filled again after words have been removed.
    #[test]
    fn places_are_filled_again_after_a_removal() {
        let digests: Vec<_> = (0..4_000).map(|i| Digest::new(i % 3_900).remix(9)).collect();
        let cut = HighBits(4);
        for threads in if cfg!(feature = "rayon") { vec![1, 2, 5] } else { vec![1] } {
            let mut partition = Partition::default();
            partition.reserve(threads, cut.places(), u64::MAX, 0).unwrap();
            let input = Input { source: &digests[..], hash_seed: 3, cut };
            partition.prepare(&input, true).unwrap();
            for _ in 0..3 {
                partition.load(&input, 0..16).unwrap();
                for place in 0..16 {
                    let mut words: Vec<u64> =
                        partition.slices(place).flatten().map(|&raw| u64::from_le_bytes(raw)).collect();
                    words.sort_unstable();
                    assert_eq!(words, words_of(&digests, cut, place as u64), "place {place}");
                    let Partition { bins, words: memory, .. } = &mut partition;
                    bins.retain(place, memory.get_mut(), |words| keep_distinct(words, &mut []));
                }
                partition.is_loaded = false;
            }
        }
    }

    /// Every word is in its place once, whether bins are counted or not, and with several parts.
    fn check(digests: &[Digest], cut: impl Cut) {
        let threads = if cfg!(feature = "rayon") { vec![1, 2, 5] } else { vec![1] };
        for threads in threads {
            for exactly in [false, true] {
                let mut partition = Partition::default();
                partition.reserve(threads, cut.places(), u64::MAX, 0).unwrap();
                let input = Input { source: digests, hash_seed: 3, cut };
                partition.prepare(&input, exactly).unwrap();
                let places = usize::try_from(cut.places()).unwrap();
                let middle = if exactly { places / 2 } else { places };
                for range in [0..middle, middle..places] {
                    if range.is_empty() {
                        continue;
                    }
                    partition.load(&input, range.clone()).unwrap();
                    for place in range {
                        let mut words: Vec<u64> =
                            partition.slices(place).flatten().map(|&raw| u64::from_le_bytes(raw)).collect();
                        words.sort_unstable();
                        assert_eq!(words, words_of(digests, cut, place as u64), "place {place}");
                        words.dedup();
                        let Partition { bins, words: memory, .. } = &mut partition;
                        let kept =
                            bins.retain(place, memory.get_mut(), |words| keep_distinct(words, &mut []));
                        assert_eq!(kept, words.len());
                        let kept: BTreeSet<u64> =
                            partition.slices(place).flatten().map(|&raw| u64::from_le_bytes(raw)).collect();
                        assert!(kept.iter().eq(&words) && partition.bins.given(place) == words.len());
                    }
                }
            }
        }
    }

    #[test]
    fn words_lie_in_their_places() {
        for n in [0, 1, 10, 5_000] {
            let digests: Vec<_> = (0..n).map(|i| Digest::new(i).remix(9)).collect();
            check(&digests, HighBits(0));
            check(&digests, HighBits(5));
            check(&digests, Segments::<3>::new(23, 7).unwrap());
            check(&digests.repeat(2), HighBits(3));
        }
        // One place has all: bins of equal size are too small.
        check(&vec![Digest::new(77); 3_000], HighBits(6));
    }
}
