//! What the machine asks of any filter: reads of cache lines in a table of the same size, at random, in a dependent chain, or
//! one after the other. How reads are coded moves their time twofold, so each floor is the fastest of several codings.

use std::hint::black_box;

use amq::Digest;
use amq_bits::prefetch::prefetch_read;
use amq_bits::{AllocError, Store as _, StoreMut as _, Table};

use super::clock::Clock;
use crate::store::sample::Access;

const LINE: u64 = 64;

/// So many numbers of reads are timed without that one's lines are another's.
const TURNS: usize = 3;

/// Fewer places than this are too few to time.
const SHORTEST: usize = 4096;

/// Tables within this factor of each other share a floor.
const SAME_SIZE: f64 = 1.05;

/// Sizes that stand for all of `bytes`, and for each of `bytes` which one. The sizes are ascending.
pub fn representatives(bytes: &[u64]) -> (Vec<u64>, Vec<usize>) {
    let mut sorted = bytes.to_vec();
    sorted.sort_unstable();
    let mut sizes: Vec<u64> = Vec::new();
    for size in sorted {
        if sizes.last().is_none_or(|&last| size as f64 > last as f64 * SAME_SIZE) {
            sizes.push(size);
        }
    }
    let of =
        bytes.iter().map(|&size| sizes.partition_point(|&other| other <= size).saturating_sub(1)).collect();
    (sizes, of)
}

/// A way of reading so many lines for each digest: the sum of what is read.
type Coding = fn(&Floor, &[Digest], u32) -> u64;

/// Ways of reading a table from its beginning to its end.
const STREAMS: [fn(&[u8]) -> u64; 3] = [byte_of_each_line, words, words_in_lanes];

const CODINGS: [Coding; 4] = [Floor::plain, Floor::batches::<16>, Floor::batches::<64>, Floor::rolling];

/// Disjoint slices of equal length, at least one for each coding where there are enough places, and of at least
/// [`SHORTEST`] where there are.
fn slices(places: &[Digest]) -> Vec<&[Digest]> {
    let length =
        (places.len() / (CODINGS.len() * TURNS)).max(SHORTEST).min(places.len() / CODINGS.len()).max(1);
    if places.is_empty() { vec![places] } else { places.chunks_exact(length).collect() }
}

/// A table to read from.
#[derive(Debug)]
pub struct Floor {
    table: Table,
    lines: u64,
}

impl Floor {
    /// A table of `bytes`, rounded up to whole cache lines, at least one. Every page is written: pages that nobody has
    /// written may all be the same page of zeros, which is always in the cache.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(bytes: u64) -> Result<Self, AllocError> {
        let lines = bytes.div_ceil(LINE).max(1);
        let mut table = Table::zeroed(lines.saturating_mul(LINE))?;
        table.bytes_mut().fill(1);
        Ok(Self { table, lines })
    }

    /// Reads for all of `places`, as filters answer all arrays of lookups before they are timed.
    pub fn warm_up(&self, places: &[Digest], reads: u32) {
        black_box(self.rolling(black_box(places), reads));
    }

    /// Nanoseconds for reading `reads` lines, in the fastest coding: at the `places` or, where they are read one after the
    /// other, all of the table. Each coding has a slice of `places` of its own, so that none reads what another has just
    /// brought into the cache; `turn` says which.
    pub fn time(&self, clock: &Clock, places: &[Digest], access: Access, reads: u32, turn: usize) -> f64 {
        let at_places = |codings: &[Coding]| {
            let slices = slices(places);
            let times = codings.iter().enumerate().map(|(i, coding)| {
                let slice = slices[(turn * CODINGS.len() + i) % slices.len()];
                clock.time(slice.len() as u64, || {
                    black_box(coding(self, black_box(slice), reads));
                })
            });
            times.fold(f64::INFINITY, f64::min)
        };
        match access {
            Access::Random => at_places(&CODINGS),
            Access::Chain => at_places(&[Self::chain]),
            Access::Stream => {
                let time = |coding: &fn(&[u8]) -> u64| {
                    clock.time(self.lines, || {
                        black_box(coding(black_box(self.table.bytes())));
                    })
                };
                STREAMS.iter().map(time).fold(f64::INFINITY, f64::min) * f64::from(reads)
            }
        }
    }

    /// The offset of the line that a digest means in its `i`th read.
    #[inline]
    fn offset(&self, digest: Digest, i: u32) -> usize {
        // Steps of an odd number visit different lines; the multiplication in `scale` spreads them.
        let step = digest.get().rotate_left(32) | 1;
        let place = Digest::new(digest.get().wrapping_add(step.wrapping_mul(u64::from(i)))).scale(self.lines);
        // Within the table, whose length is a usize.
        usize::try_from(place * LINE).unwrap_or(0)
    }

    #[inline]
    fn read(&self, offset: usize) -> u64 {
        u64::from(self.table.bytes()[offset])
    }

    fn plain(&self, digests: &[Digest], reads: u32) -> u64 {
        let mut sum = 0;
        for &digest in digests {
            for i in 0..reads {
                sum += self.read(self.offset(digest, i));
            }
        }
        sum
    }

    /// No read can start before the one before it has ended.
    fn chain(&self, digests: &[Digest], reads: u32) -> u64 {
        // Zero, which the compiler cannot know: the next place depends on what was read, and does not change.
        let zero = black_box(0);
        let mut sum = 0;
        let mut last = 0;
        for &digest in digests {
            for i in 0..reads {
                last = self.read(self.offset(Digest::new(digest.get() ^ (last & zero)), i));
                sum += last;
            }
        }
        sum
    }

    /// First the places of a batch, then their lines.
    fn batches<const SIZE: usize>(&self, digests: &[Digest], reads: u32) -> u64 {
        let mut sum = 0;
        let mut offsets = [0; SIZE];
        for batch in digests.chunks(SIZE) {
            for i in 0..reads {
                for (offset, &digest) in offsets.iter_mut().zip(batch) {
                    *offset = self.offset(digest, i);
                    prefetch_read(self.table.bytes(), *offset);
                }
                for &offset in &offsets[..batch.len()] {
                    sum += self.read(offset);
                }
            }
        }
        sum
    }

    /// Each place is asked for sixteen digests before it is read.
    fn rolling(&self, digests: &[Digest], reads: u32) -> u64 {
        const AHEAD: usize = 16;
        let mut sum = 0;
        for (at, &digest) in digests.iter().enumerate() {
            if let Some(&next) = digests.get(at + AHEAD) {
                for i in 0..reads {
                    prefetch_read(self.table.bytes(), self.offset(next, i));
                }
            }
            for i in 0..reads {
                sum += self.read(self.offset(digest, i));
            }
        }
        sum
    }
}

fn byte_of_each_line(bytes: &[u8]) -> u64 {
    let (lines, _) = bytes.as_chunks::<64>();
    lines.iter().fold(0, |sum, line| sum + u64::from(line[0]))
}

fn words(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0, |sum, &word| sum ^ u64::from_le_bytes(word))
}

/// As [`words`], in sums that do not wait for each other.
fn words_in_lanes(bytes: &[u8]) -> u64 {
    let (lines, _) = bytes.as_chunks::<64>();
    let mut lanes = [0; 8];
    for line in lines {
        let (words, _) = line.as_chunks();
        for (lane, &word) in lanes.iter_mut().zip(words) {
            *lane ^= u64::from_le_bytes(word);
        }
    }
    lanes.into_iter().fold(0, |sum, lane| sum ^ lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_sizes_share_a_floor() {
        let (sizes, of) = representatives(&[1000, 104, 100, 1060, 106, 1049]);
        assert_eq!(sizes, [100, 106, 1000, 1060]);
        assert_eq!(of, [2, 0, 0, 3, 1, 2]);
        assert_eq!(representatives(&[]), (vec![], vec![]));
    }

    #[test]
    fn every_coding_reads_the_same_places() {
        let mut floor = Floor::new(64 * 100 - 1).unwrap();
        assert_eq!(floor.lines, 100);
        for line in 0..100_u8 {
            floor.table.bytes_mut()[usize::from(line) * 64] = line;
        }
        // Seen by a pass over all words only.
        floor.table.bytes_mut()[77 * 64 + 9] = 200;
        let digests: Vec<_> = (0..1003).map(|i| Digest::new(i).remix(1)).collect();
        for reads in [1, 3, 7] {
            let expected = floor.plain(&digests, reads);
            // The mean place is 49.5: the reads are spread over the table.
            let mean = expected as f64 / (1003.0 * f64::from(reads));
            assert!((mean - 49.5).abs() < 4.0, "{mean}");
            assert_eq!(floor.batches::<16>(&digests, reads), expected);
            assert_eq!(floor.batches::<64>(&digests, reads), expected);
            assert_eq!(floor.rolling(&digests, reads), expected);
            assert_eq!(floor.chain(&digests, reads), expected);
        }
        let bytes = floor.table.bytes();
        assert_eq!(byte_of_each_line(bytes), 4950, "0 + 1 + ... + 99");
        let all = bytes.chunks(8).fold(0, |all, word| all ^ u64::from_le_bytes(word.try_into().unwrap()));
        assert_ne!(all, 0);
        assert_eq!(words(bytes), all);
        assert_eq!(words_in_lanes(bytes), all);
    }

    #[test]
    fn the_smallest_table_is_a_line() {
        let floor = Floor::new(0).unwrap();
        assert_eq!(floor.plain(&[Digest::new(u64::MAX), Digest::new(0)], 3), 6);
    }

    #[test]
    fn codings_do_not_share_places() {
        let digests: Vec<_> = (0..200_000).map(Digest::new).collect();
        for (places, length) in [(200_000, 16_666), (30_000, 4096), (1000, 250), (3, 1), (1, 1)] {
            let slices = slices(&digests[..places]);
            assert!(slices.iter().all(|slice| slice.len() == length), "{places}");
            assert!(slices.len() >= CODINGS.len().min(places), "{places}");
        }
        let floor = Floor::new(1000).unwrap();
        let clock = Clock::measure();
        for access in [Access::Random, Access::Chain, Access::Stream] {
            assert!(floor.time(&clock, &digests[..9], access, 2, 7) > 0.0);
            assert!(floor.time(&clock, &[], access, 2, 7) >= 0.0);
        }
    }
}
