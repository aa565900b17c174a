//! How the slots are divided: layers, each for the keys that the one before it bumped, and buckets.
//!
//! The division is a function of the number of slots and the width alone. Every layer but the last has fewer
//! slots than keys, so that nearly all of them are used; what does not fit goes on. The last one has slots to
//! spare and bumps nothing.

use amq::Digest;

use crate::width::Width;

/// The slots at which no more layers are made, in units of the width: the last layer is this small at most.
///
/// A smaller one needs fewer slots to spare, but is met by one branch more that a lookup mispredicts.
const LAST_WIDTHS: u64 = 8;

/// The most layers that there can be: each leaves at most a 24th and two blocks to the next, so that [`MAX_SLOTS`] are
/// divided into no more than 11.
const MAX_LAYERS: usize = 12;

/// The most slots: 32 bits for each of them are counted in a `u64`.
pub(crate) const MAX_SLOTS: u64 = 1 << 50;

/// Slots of a block, the unit of the table's layout.
pub(crate) const BLOCK: u64 = 64;

/// The most slots of a last layer, which is the only one up to there.
pub(crate) const fn last_slots<W: Width>() -> u64 {
    LAST_WIDTHS * W::BITS as u64
}

/// One layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layer {
    /// At least one window.
    pub(crate) slots: u64,
    /// Where a window can start: `slots - width + 1` places.
    pub(crate) starts: u64,
    /// The block in which it begins: each layer begins with a block of its own.
    pub(crate) first_block: u64,
    /// The number of its first bucket among those of all layers.
    pub(crate) first_bucket: u64,
    /// Buckets, 0 in the last layer.
    pub(crate) buckets: u64,
}

impl Layer {
    /// The start of the window of a hash: monotone in the hash.
    #[inline]
    pub(crate) fn start(&self, hash: u64) -> u64 {
        Digest::new(hash).scale(self.starts)
    }

    /// The blocks of its slots; the last one may be filled in part.
    pub(crate) fn blocks(&self) -> u64 {
        self.slots.div_ceil(BLOCK)
    }
}

/// All layers of a number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    slots: u64,
    layers: [Layer; MAX_LAYERS],
    count: usize,
    blocks: u64,
    buckets: u64,
}

impl Geometry {
    /// The layers of `slots` slots; `None` unless there is room for one window and there are at most [`MAX_SLOTS`].
    pub(crate) fn new<W: Width>(slots: u64) -> Option<Self> {
        let width = u64::from(W::BITS);
        if !(width..=MAX_SLOTS).contains(&slots) {
            return None;
        }
        let mut geometry =
            Self { slots, layers: [Layer::default(); MAX_LAYERS], count: 0, blocks: 0, buckets: 0 };
        let mut left = slots;
        while left > last_slots::<W>() {
            // Room for a window; and whole blocks, so that none but the last layer's last is filled in part.
            let share = (left / W::SHARE).max(width).next_multiple_of(BLOCK);
            let taken = (left - share) / BLOCK * BLOCK;
            geometry.push::<W>(taken, ((taken - width) >> W::BUCKET_BITS) + 1);
            left -= taken;
        }
        geometry.push::<W>(left, 0);
        Some(geometry)
    }

    fn push<W: Width>(&mut self, slots: u64, buckets: u64) {
        let layer = Layer {
            slots,
            starts: slots - u64::from(W::BITS) + 1,
            first_block: self.blocks,
            first_bucket: self.buckets,
            buckets,
        };
        self.layers[self.count] = layer;
        self.count += 1;
        self.blocks += layer.blocks();
        self.buckets += buckets;
    }

    /// Slots of all layers.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// Blocks of all layers.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Buckets of all layers.
    pub(crate) fn buckets(&self) -> u64 {
        self.buckets
    }

    /// The first layer, in which most keys are.
    #[inline]
    pub(crate) fn first(&self) -> &Layer {
        &self.layers[0]
    }

    /// The layers, from the first to the last.
    #[inline]
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Geometry, MAX_SLOTS, last_slots};
    use crate::width::{W64, W128, Width};

    fn check<W: Width>(slots: u64) {
        let width = u64::from(W::BITS);
        let geometry = Geometry::new::<W>(slots).unwrap();
        let (last, others) = geometry.layers().split_last().unwrap();
        let (mut blocks, mut buckets, mut sum) = (0, 0, 0);
        for layer in geometry.layers() {
            assert_eq!((layer.first_block, layer.first_bucket), (blocks, buckets), "{slots}");
            assert!(layer.slots >= width && layer.starts == layer.slots - width + 1, "{slots}");
            // Monotone, so these are the first and the last start.
            assert_eq!((layer.start(0), layer.start(u64::MAX)), (0, layer.slots - width), "{slots}");
            blocks += layer.blocks();
            buckets += layer.buckets;
            sum += layer.slots;
        }
        assert_eq!(
            (geometry.blocks(), geometry.buckets(), geometry.slots(), sum),
            (blocks, buckets, slots, slots)
        );
        for layer in others {
            assert_eq!(layer.slots % BLOCK, 0, "{slots}");
            // The bucket of the last start is the last bucket.
            assert_eq!((layer.starts - 1) >> W::BUCKET_BITS, layer.buckets - 1, "{slots}");
        }
        assert!(last.buckets == 0 && last.slots <= last_slots::<W>(), "{slots}");
    }

    #[test]
    fn layers_cover_all_slots_once() {
        for slots in
            (128..5_000).chain((13..50).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 65]))
        {
            check::<W64>(slots);
            check::<W128>(slots);
        }
        check::<W64>(64);
        check::<W64>(MAX_SLOTS);
        check::<W128>(MAX_SLOTS);
    }

    #[test]
    fn sizes_out_of_range_have_no_layers() {
        for slots in [0, 1, 63, MAX_SLOTS + 1, u64::MAX] {
            assert_eq!(Geometry::new::<W64>(slots), None, "{slots}");
        }
        assert_eq!(Geometry::new::<W128>(127), None);
    }
}
