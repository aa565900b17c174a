//! How the keys and the slots of a layer are divided into ranges, which are filled and solved each for itself.
//!
//! A key belongs to the range in which its window starts, and the window may end in the next. So that ranges do not depend on
//! each other, the slots of a range but the first of a layer begin one window, the *seam*, behind its first key, and the
//! slots of the seam go to the range before. There, those up to a threshold of bumping can be used; the keys that
//! start among them are bumped. The others, some twenty or thirty, are fixed to zero: windows of both
//! sides touch them. That is one slot of 8,000 or fewer, and a lookup knows nothing of it.
//!
//! Ranges consist of whole *parts*, the unit in which hashes are sorted by the start of their windows.

use core::ops::Range;

use crate::geometry::Layer;
use crate::layout::index;
use crate::width::Width;

/// log2 of the slots of the smallest part: its keys are sorted in the first-level cache. Whole buckets of any width, and their
/// thresholds whole bytes.
const PART_BITS: u32 = 11;

/// The most parts: each is a place that is written to in turn, and beyond some thousands these fall out of the caches.
const MAX_PARTS: u64 = 4_096;

/// log2 of the slots of a range, about: the system of one is a few megabytes, and there are four for 10^6 keys.
const RANGE_BITS: u32 = 18;

/// The division of a layer: a function of its slots alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    slots: u64,
    seam: u64,
    part_bits: u32,
    parts: u64,
    count: u64,
}

impl Ranges {
    pub(crate) fn of<W: Width>(layer: &Layer) -> Self {
        let slots = layer.slots;
        let mut part_bits = PART_BITS;
        while slots.div_ceil(1 << part_bits) > MAX_PARTS {
            part_bits += 1;
        }
        let parts = slots.div_ceil(1 << part_bits);
        // No range consists of a short part only.
        let most = (slots >> part_bits).max(1);
        // The last layer is never divided.
        let count = if layer.buckets == 0 { 1 } else { slots.div_ceil(1 << RANGE_BITS).min(most) };
        Self { slots, seam: u64::from(W::BITS), part_bits, parts, count }
    }

    /// The number of ranges.
    pub(crate) fn count(&self) -> usize {
        index(self.count)
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        index(self.parts)
    }

    /// The part of a slot.
    #[inline]
    pub(crate) fn part(&self, slot: u64) -> usize {
        index(slot >> self.part_bits)
    }

    /// The parts of a range: about as many as of every other.
    pub(crate) fn parts_of(&self, range: usize) -> Range<usize> {
        index(self.part_bound(range as u64))..index(self.part_bound(range as u64 + 1))
    }

    /// Where the windows of the keys of a range start.
    pub(crate) fn starts_of(&self, range: usize) -> Range<u64> {
        let slot = |bound| (self.part_bound(bound) << self.part_bits).min(self.slots);
        slot(range as u64)..slot(range as u64 + 1)
    }

    /// The slots of a range: whole blocks.
    pub(crate) fn slots_of(&self, range: usize) -> Range<u64> {
        let Range { start, end } = self.starts_of(range);
        let begin = if start == 0 { 0 } else { start + self.seam };
        begin..(end + self.seam).min(self.slots)
    }

    /// The slots of the longest range, or more.
    pub(crate) fn longest(&self) -> u64 {
        ((self.parts.div_ceil(self.count) << self.part_bits) + self.seam).min(self.slots)
    }

    /// The parts before a range.
    fn part_bound(&self, range: u64) -> u64 {
        // At most 2^12 parts, and no more ranges.
        self.parts * range / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARTS, RANGE_BITS, Ranges};
    use crate::geometry::{BLOCK, Geometry, MAX_SLOTS};
    use crate::width::{W64, W128, Width};

    fn check<W: Width>(slots: u64) {
        for layer in Geometry::new::<W>(slots).unwrap().layers() {
            let ranges = Ranges::of::<W>(layer);
            let (mut start, mut slot, mut part) = (0, 0, 0);
            for range in 0..ranges.count() {
                let (starts_of, slots_of) = (ranges.starts_of(range), ranges.slots_of(range));
                let parts_of = ranges.parts_of(range);
                assert_eq!((starts_of.start, slots_of.start, parts_of.start), (start, slot, part), "{slots}");
                (start, slot, part) = (starts_of.end, slots_of.end, parts_of.end);
                let len = slot - slots_of.start;
                assert!(len <= ranges.longest() && part > parts_of.start, "{slots}");
                // Room for far more than the seam; blocks are whole, and so are bytes of thresholds.
                assert!(ranges.count() == 1 || len >= 1 << (RANGE_BITS - 2), "{slots}: {len}");
                assert!(starts_of.start.is_multiple_of(4 << W::BUCKET_BITS), "{slots}");
                assert!(slots_of.start.is_multiple_of(BLOCK), "{slots}");
                let parts = (ranges.part(starts_of.start), ranges.part(starts_of.end - 1));
                assert_eq!(parts, (parts_of.start, parts_of.end - 1), "{slots}");
            }
            assert_eq!((start, slot, part), (layer.slots, layer.slots, ranges.parts()), "{slots}");
            assert!(ranges.parts() as u64 <= MAX_PARTS && (ranges.count() == 1 || layer.buckets > 0));
        }
    }

    #[test]
    fn ranges_cover_a_layer() {
        for slots in (10..50).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) * 3 / 2 + 65]) {
            check::<W64>(slots);
            check::<W128>(slots);
        }
        check::<W64>(MAX_SLOTS);
        check::<W128>(MAX_SLOTS);
    }
}
