//! Partition: the words of all keys, ordered by the place that they belong to.
//!
//! Two passes over the digests: one that counts, one that writes each word to where its place is. Within a
//! place the order is that of the digests, and nothing depends on it.

use alloc::vec::Vec;

use amq::{BuildError, Digest};

use crate::graph::{TAG, Word, hash};
use crate::memory::{Raw, index, reserve, zeros};
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

/// Adds the digests to the number of keys of their place; `counts` has one number for each.
fn count(digests: &[Digest], hash_seed: u64, cut: impl Cut, counts: &mut [u64]) {
    for &digest in digests {
        counts[index(cut.cut(hash(digest, hash_seed)).0)] += 1;
    }
}

/// Writes the words of a range of places one place behind the other.
#[derive(Debug, Default)]
struct Scatter {
    first: u64,
    /// Where the next word of each place goes, and where a word of no place of the range goes.
    next: Vec<usize>,
}

impl Scatter {
    /// Prepares for the places from `first` on that have so many keys each. Returns the words they take, all
    /// together, one more for the words of other places included.
    fn plan(&mut self, first: u64, counts: &[u64]) -> Result<usize, BuildError> {
        self.first = first;
        self.next.clear();
        let places = counts.len() + 1;
        reserve(&mut self.next, places)?;
        let mut end = 0;
        for &count in counts {
            self.next.push(end);
            end += index(count);
        }
        self.next.push(end);
        Ok(end + 1)
    }

    /// Writes the words of those digests that belong to a place of the range.
    ///
    /// There is no branch on whether a digest does: the others are written too, all to the last word.
    fn write(&mut self, digests: &[Digest], hash_seed: u64, cut: impl Cut, words: &mut [Raw]) {
        let others = self.next.len() - 1;
        for &digest in digests {
            let (place, word) = cut.cut(hash(digest, hash_seed));
            let place = index(place.wrapping_sub(self.first)).min(others);
            let next = &mut self.next[place];
            // A source that is not the same in each pass does no harm beyond a failed build.
            if let Some(slot) = words.get_mut(*next) {
                *slot = word.to_le_bytes();
            }
            *next += usize::from(place != others);
        }
    }

    /// Whether each place was given exactly the keys that were planned.
    fn is_complete(&self, counts: &[u64]) -> bool {
        let mut end = 0;
        self.next.iter().zip(counts).all(|(&next, &count)| {
            end += count;
            next as u64 == end
        })
    }
}

/// What a thread needs to take part in a partition.
#[derive(Debug, Default)]
pub(crate) struct Loader {
    counts: Vec<u64>,
    scatter: Scatter,
}

impl Loader {
    /// Two lists, of counts and of positions.
    pub(crate) const BYTES_A_PLACE: u64 = 16;

    /// Makes room for so many places, which is all that it ever allocates for them.
    pub(crate) fn reserve(&mut self, places: usize) -> Result<(), BuildError> {
        reserve(&mut self.counts, places)?;
        // One more, for the others.
        reserve(&mut self.scatter.next, places + 1)
    }

    pub(crate) fn bytes(&self) -> u64 {
        8 * (self.counts.capacity() + self.scatter.next.capacity()) as u64
    }

    /// The first place of those that were loaded last.
    pub(crate) fn first(&self) -> u64 {
        self.scatter.first
    }

    /// Writes the words of the places from `first` on, which have as many digests as `given` says, one place
    /// behind the other, and one word that is nobody's.
    pub(crate) fn load<S: Source + ?Sized>(
        &mut self,
        source: &S,
        hash_seed: u64,
        cut: impl Cut,
        first: u64,
        given: &[u64],
        words: &mut [Raw],
    ) -> Result<(), SourceError<S::Error>> {
        let needed = self.scatter.plan(first, given)?;
        let words = &mut words[..needed];
        source
            .replay(&mut |digests| self.scatter.write(digests, hash_seed, cut, words))
            .map_err(SourceError::Source)?;
        if self.scatter.is_complete(given) { Ok(()) } else { Err(SourceError::Changed) }
    }
}

/// Counts the digests of each place.
pub(crate) fn count_all<S: Source + ?Sized>(
    source: &S,
    hash_seed: u64,
    cut: impl Cut,
    loaders: &mut [Loader],
    given: &mut [u64],
) -> Result<(), SourceError<S::Error>> {
    let (places, parts) = (given.len(), loaders.len());
    for_each(loaders, 0, &|part, loader: &mut Loader| {
        zeros(&mut loader.counts, places)?;
        source
            .replay_part(part, parts, &mut |digests| count(digests, hash_seed, cut, &mut loader.counts))
            .map_err(SourceError::Source)
    })?;
    given.fill(0);
    for loader in loaders {
        for (sum, count) in given.iter_mut().zip(&loader.counts) {
            *sum += count;
        }
    }
    Ok(())
}

/// Sorts the words of one place and moves the distinct ones to the front. Returns how many they are.
pub(crate) fn deduplicate(words: &mut [Raw]) -> usize {
    words.sort_unstable_by_key(|&raw| u64::from_le_bytes(raw));
    let mut len = 0;
    for i in 0..words.len() {
        if len == 0 || words[len - 1] != words[i] {
            words[len] = words[i];
            len += 1;
        }
    }
    len
}
