//! A layer filled from sorted hashes: as many keys as its slots take, the others bumped.
//!
//! Buckets are filled from the first to the last, and within a bucket keys from the last start to the first. What is too
//! much for a bucket spills over its end, into the first slots of the next one; so the keys that start there are the
//! ones that find no place. At the first that does not, the threshold of the bucket is set above its offset, and all keys
//! that start below the threshold are bumped: those not tried yet are skipped, and those that are in, because the
//! thresholds are coarse, are taken out again, last in, first out.
//!
//! A row takes some twenty steps in the mean, each of which waits for the one before, and the end comes unforeseen. Filling two
//! to six ranges of buckets in turn, one step of each, was tried to hide the waiting, and took as long: 80 to 90 ns a key.
//!
//! Dillinger, Hübschle-Schneider, Sanders, Walzer, *Fast Succinct Retrieval and Approximate Membership Using Ribbon*, SEA
//! 2022.

use amq::BuildError;

use crate::band::{Added, Band};
use crate::geometry::Layer;
use crate::hashes::{filled, rehash};
use crate::layout::{Layout, index};
use crate::width::{Row, Width, fingerprint};

/// Adds the keys of ascending `hashes` to the empty `band` of `layer`, writes the thresholds of its buckets to `table`, and
/// moves the hashes that are bumped, made anew for the layer `next`, to the front of `hashes`, in no particular order but a
/// determined one; their number.
///
/// # Errors
/// If there is no memory for the rows of one bucket: a few kilobytes.
pub(crate) fn fill<W: Width>(
    hashes: &mut [u64],
    layer: &Layer,
    layout: &Layout,
    band: &mut Band<W::Row>,
    table: &mut [u8],
    next: usize,
) -> Result<usize, BuildError> {
    // The rows of this bucket's keys, with the offsets that they start at. Each takes one of the slots that the keys of the
    // bucket can reach.
    let mut added = filled((0, 0), (1 << W::BUCKET_BITS) + W::BITS as usize)?;
    let (mut from, mut bumped) = (0, 0);
    for bucket in 0..layer.buckets {
        let begin = bucket << W::BUCKET_BITS;
        let end = begin + (1 << W::BUCKET_BITS);
        let keys = hashes[from..].iter().take_while(|&&hash| layer.start(hash) < end).count();
        let choice = fill_bucket::<W>(&hashes[from..from + keys], layer, begin, layout.r(), band, &mut added);
        if choice > 0 {
            layout.set_threshold(table, layer.first_bucket + bucket, choice);
            let threshold = begin + u64::from(W::THRESHOLDS[usize::from(choice)]);
            // They start first, so they come first.
            for i in from..from + keys {
                if layer.start(hashes[i]) >= threshold {
                    break;
                }
                hashes[bumped] = rehash(hashes[i], next);
                bumped += 1;
            }
        }
        from += keys;
    }
    Ok(bumped)
}

/// Adds the keys of a bucket that begins at slot `begin`, and returns the number of the threshold below which it could not.
fn fill_bucket<W: Width>(
    hashes: &[u64],
    layer: &Layer,
    begin: u64,
    r: u32,
    band: &mut Band<W::Row>,
    added: &mut [(usize, u64)],
) -> u8 {
    let mut count = 0;
    for &hash in hashes.iter().rev() {
        let start = layer.start(hash);
        let offset = start - begin;
        match band.add(index(start), W::Row::of(hash), fingerprint(hash, r)) {
            Added::At(slot) => {
                added[count] = (slot, offset);
                count += 1;
            }
            Added::Implied => {}
            Added::Contradiction => {
                let choice = threshold_above::<W>(offset);
                let threshold = u64::from(W::THRESHOLDS[usize::from(choice)]);
                // Keys with this offset or a later one came first; all that is below the threshold is at the end.
                while let Some(&(slot, _)) = added[..count].last().filter(|&&(_, offset)| offset < threshold)
                {
                    band.remove(slot);
                    count -= 1;
                }
                return choice;
            }
        }
    }
    0
}

/// The number of the lowest threshold above an offset.
fn threshold_above<W: Width>(offset: u64) -> u8 {
    W::THRESHOLDS.iter().map(|&threshold| u8::from(u64::from(threshold) <= offset)).sum()
}

/// Adds all keys to the empty `band` of the last layer; `false` if they do not fit.
pub(crate) fn fill_last<W: Width>(hashes: &[u64], layer: &Layer, r: u32, band: &mut Band<W::Row>) -> bool {
    hashes.iter().all(|&hash| {
        band.add(index(layer.start(hash)), W::Row::of(hash), fingerprint(hash, r)) != Added::Contradiction
    })
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use amq::Digest;

    use super::fill;
    use crate::band::{Added, Band};
    use crate::geometry::Geometry;
    use crate::hashes::rehash;
    use crate::layout::{Layout, index};
    use crate::width::{Row, W64, W128, Width, Window, fingerprint};

    /// A key is bumped exactly if it starts below the threshold of its bucket, and the rows of all others are in: adding one of
    /// them again says that it is implied. At loads from slack to far too high.
    fn check<W: Width>(slots: u64, load: f64) {
        let geometry = Geometry::new::<W>(slots).unwrap();
        let (layer, layout) = (geometry.layers()[0], Layout::new(&geometry, 8));
        let count = (0..slots * 4).take_while(|&i| (i as f64) < layer.slots as f64 * load);
        let mut hashes: Vec<u64> = count.map(|i| Digest::new(i).remix(slots).get()).collect();
        hashes.sort_unstable();
        let given = hashes.clone();
        let mut band = Band::<<W as Window>::Row>::new(index(layer.slots)).unwrap();
        let mut table = std::vec![0; index(layout.bytes())];
        let bumped = fill::<W>(&mut hashes, &layer, &layout, &mut band, &mut table, 1).unwrap();
        let mut expected = Vec::new();
        for hash in given {
            let start = layer.start(hash);
            let threshold = W::THRESHOLDS[layout.threshold(&table, start >> W::BUCKET_BITS)];
            if start % (1 << W::BUCKET_BITS) < u64::from(threshold) {
                expected.push(rehash(hash, 1));
            } else {
                let again = band.add(index(start), W::Row::of(hash), fingerprint(hash, 8));
                assert_eq!(again, Added::Implied, "{slots} slots, load {load}");
            }
        }
        assert_eq!(hashes[..bumped], expected[..], "{slots} slots, load {load}");
        assert_eq!(bumped > 0, load > 0.9, "{slots} slots, load {load}: {bumped} bumped");
    }

    #[test]
    fn keys_are_in_or_bumped() {
        for slots in [1_100, 2_000, 30_000] {
            for load in [0.0, 0.5, 1.05, 1.5, 3.0] {
                check::<W64>(slots, load);
                check::<W128>(slots, load);
            }
        }
    }
}
