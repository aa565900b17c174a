//! A range of a layer filled from sorted hashes: as many keys as its slots take, the others bumped.
//!
//! Buckets are filled from the first to the last, and within a bucket keys from the last start to the first. What is too
//! much for a bucket spills over its end, into the first slots of the next one; so the keys that start there are the
//! ones that find no place. At the first that does not, the threshold of the bucket is set above its offset, and all keys
//! that start below the threshold are bumped: those not tried yet are skipped, and those that are in, because the
//! thresholds are coarse, are taken out again, last in, first out.
//!
//! Dillinger, Hübschle-Schneider, Sanders, Walzer, *Fast Succinct Retrieval and Approximate Membership Using Ribbon*, SEA
//! 2022.

use core::ops::Range;

use crate::band::{Added, Band};
use crate::geometry::Layer;
use crate::hashes::rehash;
use crate::layout::{index, set_threshold};
use crate::memory::Raw;
use crate::reduced::Reduced;
use crate::width::{Row, Width, fingerprint};

/// A row that is in: its slot, and the offset in the bucket at which its window starts.
pub(crate) type Kept = (usize, u64);

/// The number of the threshold up to which the slots of a seam go to the range before.
const GIVEN: u8 = 2;

/// A range of slots of a layer, and what is done there.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) layer: &'a Layer,
    /// Where the windows of its keys start.
    pub(crate) starts: Range<u64>,
    /// Its slots.
    pub(crate) slots: Range<u64>,
    /// Bits of a slot.
    pub(crate) r: u32,
    /// The number of the layer that bumped keys go to.
    pub(crate) next: usize,
}

impl Place<'_> {
    /// Slots.
    pub(crate) fn len(&self) -> usize {
        index(self.slots.end - self.slots.start)
    }

    /// The slots of the seam that the range before has use for: its keys that start there are bumped.
    fn given<W: Width>(&self) -> u64 {
        if self.starts.start == 0 { 0 } else { u64::from(W::THRESHOLDS[usize::from(GIVEN)]) }
    }

    /// Adds the row of a hash to the system, without what it selects of slots that are fixed.
    #[expect(clippy::cast_possible_truncation, reason = "less than the width")]
    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn add<W: Width>(&self, hash: u64, start: u64, band: &mut Band<W::Reduced>) -> Added {
        let mut row = W::Row::of(hash).reduced();
        // Behind the end there is the seam, or nothing that a window could reach.
        let left = index(self.starts.end + u64::from(W::THRESHOLDS[usize::from(GIVEN)]) - start);
        if left < W::BITS as usize {
            row = row.first(left as u32);
        }
        // At most the seam, of one window.
        let fixed = self.slots.start.saturating_sub(start) as u32;
        if fixed > 0 {
            row = row.skip(fixed);
        }
        band.add(index(start + u64::from(fixed) - self.slots.start), row, fingerprint(hash, self.r))
    }

    /// Adds the keys of ascending `hashes` to the empty `band`, writes the thresholds of the buckets to `thresholds`, where the
    /// first of the range is number `first_bucket`, and moves the hashes that are bumped, made anew for the next layer, to the
    /// front of `hashes`, in no particular order but a determined one; their number.
    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    pub(crate) fn fill<W: Width>(
        &self,
        hashes: &mut [Raw],
        band: &mut Band<W::Reduced>,
        kept: &mut [Kept],
        thresholds: &mut [u8],
        first_bucket: u64,
    ) -> usize {
        let (mut from, mut bumped) = (0, 0);
        let buckets = self.starts.start >> W::BUCKET_BITS..self.starts.end.div_ceil(1 << W::BUCKET_BITS);
        for (bucket, number) in buckets.zip(first_bucket..) {
            let begin = bucket << W::BUCKET_BITS;
            let end = begin + (1 << W::BUCKET_BITS);
            let in_bucket = |&&hash: &&Raw| self.layer.start(u64::from_le_bytes(hash)) < end;
            let keys = hashes[from..].iter().take_while(in_bucket).count();
            let first = if begin == self.starts.start { self.given::<W>() } else { 0 };
            let choice = self.fill_bucket::<W>(&hashes[from..from + keys], begin, first, band, kept);
            if choice > 0 {
                set_threshold(thresholds, number, choice);
                let threshold = begin + u64::from(W::THRESHOLDS[usize::from(choice)]);
                // They start first, so they come first.
                for i in from..from + keys {
                    let hash = u64::from_le_bytes(hashes[i]);
                    if self.layer.start(hash) >= threshold {
                        break;
                    }
                    hashes[bumped] = rehash(hash, self.next).to_le_bytes();
                    bumped += 1;
                }
            }
            from += keys;
        }
        bumped
    }

    /// Adds the keys of a bucket that begins at slot `begin` from offset `first` on, a threshold, and returns the number of the
    /// threshold below which it did not.
    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn fill_bucket<W: Width>(
        &self,
        hashes: &[Raw],
        begin: u64,
        first: u64,
        band: &mut Band<W::Reduced>,
        kept: &mut [Kept],
    ) -> u8 {
        let mut count = 0;
        for &hash in hashes.iter().rev() {
            let hash = u64::from_le_bytes(hash);
            let start = self.layer.start(hash);
            let offset = start - begin;
            if offset < first {
                break;
            }
            match self.add::<W>(hash, start, band) {
                Added::At(slot) => {
                    kept[count] = (slot, offset);
                    count += 1;
                }
                Added::Implied => {}
                Added::Contradiction => {
                    let choice = threshold_above::<W>(offset);
                    let threshold = u64::from(W::THRESHOLDS[usize::from(choice)]);
                    // Keys with this offset or a later one came first; all that is below the threshold is at the end.
                    while let Some(&(slot, _)) =
                        kept[..count].last().filter(|&&(_, offset)| offset < threshold)
                    {
                        band.remove(slot);
                        count -= 1;
                    }
                    return choice;
                }
            }
        }
        if first == 0 { 0 } else { GIVEN }
    }

    /// Adds all keys to the empty `band` of the last layer; `false` if they do not fit.
    pub(crate) fn fill_last<W: Width>(&self, hashes: &[Raw], band: &mut Band<W::Reduced>) -> bool {
        hashes.iter().all(|&hash| {
            let hash = u64::from_le_bytes(hash);
            self.add::<W>(hash, self.layer.start(hash), band) != Added::Contradiction
        })
    }
}

/// The number of the lowest threshold above an offset.
fn threshold_above<W: Width>(offset: u64) -> u8 {
    W::THRESHOLDS.iter().map(|&threshold| u8::from(u64::from(threshold) <= offset)).sum()
}

#[cfg(test)]
mod tests {
    use core::ops::Range;
    use std::vec::Vec;

    use amq::Digest;

    use super::{Kept, Place};
    use crate::band::{Added, Band};
    use crate::geometry::Geometry;
    use crate::hashes::rehash;
    use crate::layout::{Layout, index};
    use crate::width::{W64, W128, Width};

    /// A key is bumped exactly if it starts below the threshold of its bucket, and the rows of all others are in: adding one of
    /// them again says that it is implied. At loads from slack to far too high.
    fn check<W: Width>(slots: u64, starts: Range<u64>, load: f64) {
        let geometry = Geometry::new::<W>(slots).unwrap();
        let (layer, layout) = (geometry.layers()[0], Layout::new(&geometry, 8));
        let starts = starts.start..starts.end.min(layer.slots);
        let (seam, inner) = (u64::from(W::BITS), starts.start > 0);
        let begin = if inner { starts.start + seam } else { 0 };
        let place = Place {
            layer: &layer,
            starts: starts.clone(),
            slots: begin..(starts.end + seam).min(layer.slots),
            r: 8,
            next: 1,
        };
        let count = (0..slots * 4).take_while(|&i| (i as f64) < layer.slots as f64 * load);
        let hashes = count.map(|i| Digest::new(i).remix(slots).get());
        let mut given: Vec<u64> = hashes.filter(|&hash| starts.contains(&layer.start(hash))).collect();
        given.sort_unstable();
        let mut hashes: Vec<_> = given.iter().map(|hash| hash.to_le_bytes()).collect();
        let mut band = Band::default();
        band.reserve(place.len()).unwrap();
        band.reset(place.len());
        let mut kept = std::vec![Kept::default(); 1_000];
        let mut table = std::vec![0; index(layout.bytes())];
        let first = starts.start >> W::BUCKET_BITS;
        let thresholds = layout.split(&mut table).1;
        let bumped = place.fill::<W>(&mut hashes, &mut band, &mut kept, thresholds, first);
        let mut expected = Vec::new();
        for hash in given {
            let start = layer.start(hash);
            let threshold = W::THRESHOLDS[layout.threshold(&table, start >> W::BUCKET_BITS)];
            if start % (1 << W::BUCKET_BITS) < u64::from(threshold) {
                expected.push(rehash(hash, 1).to_le_bytes());
            } else {
                let again = place.add::<W>(hash, start, &mut band);
                assert_eq!(again, Added::Implied, "{slots} slots, load {load}");
            }
        }
        assert_eq!(hashes[..bumped], expected[..], "{slots} slots, load {load}");
        // The keys of a part of the seam are bumped in any case.
        assert_eq!(
            bumped > 0,
            load > 0.9 || inner && load > 0.0,
            "{slots} slots, load {load}: {bumped} bumped"
        );
        // Nothing in the part of the next seam that both sides touch.
        if place.slots.end < layer.slots {
            let fixed = index(seam) - W::THRESHOLDS[2] as usize;
            assert!(band.get().0[place.len() - fixed..].iter().all(|row| *row == Default::default()));
        }
    }

    #[test]
    fn keys_are_in_or_bumped() {
        for slots in [1_100, 2_000, 30_000] {
            for load in [0.0, 0.5, 1.05, 1.5, 3.0] {
                check::<W64>(slots, 0..slots, load);
                check::<W128>(slots, 0..slots, load);
            }
        }
    }

    #[test]
    fn ranges_keep_to_themselves() {
        for starts in [0..8_192, 8_192..20_480, 20_480..30_000] {
            for load in [0.0, 0.5, 1.05, 3.0] {
                check::<W64>(30_000, starts.clone(), load);
                check::<W128>(30_000, starts.clone(), load);
            }
        }
    }
}
