//! From a digest to its window: what a lookup reads, and what it compares that with.

use core::marker::PhantomData;

use amq::Digest;
use amq_bits::columns::Columns;

use crate::geometry::{BLOCK, Layer};
use crate::hashes::rehash;
use crate::sizing::Size;
use crate::width::{MAX_BLOCKS, Row, Width, fingerprint};

/// What a lookup reads, and what it compares that with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// Where the block begins in which the window starts.
    pub(crate) at: usize,
    /// The slots of each block that count.
    masks: [u64; MAX_BLOCKS],
    fingerprint: u32,
}

/// Everything beside the table that decides lookups.
///
/// Loops take a copy: what they write could otherwise be, as far as the compiler knows, what is read here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prober<W> {
    pub(crate) size: Size,
    /// `attempt_seed` of the attempt that succeeded.
    hash_seed: u64,
    /// Where the last block begins.
    last_at: usize,
    width: PhantomData<W>,
}

impl<W: Width> Prober<W> {
    pub(crate) fn new(size: &Size, hash_seed: u64) -> Self {
        let last_at = size.layout.block_at(size.geometry.blocks() - 1);
        Self { size: *size, hash_seed, last_at, width: PhantomData }
    }

    /// Finds the layer of a digest, and its window there.
    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    pub(crate) fn probe(&self, bytes: &[u8], digest: Digest) -> Probe {
        let hash = digest.remix(self.hash_seed).get();
        let first = self.size.geometry.first();
        let start = first.start(hash);
        if first.buckets > 0 && self.is_bumped(bytes, first, start) {
            return self.probe_bumped(bytes, hash);
        }
        self.window(first, hash, start)
    }

    /// The same, for one that the first layer has bumped: apart, because few are.
    #[cold]
    #[inline(never)]
    fn probe_bumped(&self, bytes: &[u8], mut hash: u64) -> Probe {
        let mut found = (self.size.geometry.first(), 0);
        for (i, layer) in (1..).zip(&self.size.geometry.layers()[1..]) {
            hash = rehash(hash, i);
            found = (layer, layer.start(hash));
            if layer.buckets == 0 || !self.is_bumped(bytes, layer, found.1) {
                break;
            }
        }
        self.window(found.0, hash, found.1)
    }

    /// Whether the keys that start there are below the threshold of their bucket.
    #[inline]
    fn is_bumped(&self, bytes: &[u8], layer: &Layer, start: u64) -> bool {
        let choice = self.size.layout.threshold(bytes, layer.first_bucket + (start >> W::BUCKET_BITS));
        start & ((1 << W::BUCKET_BITS) - 1) < u64::from(W::THRESHOLDS[choice])
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn window(&self, layer: &Layer, hash: u64, start: u64) -> Probe {
        let at = self.size.layout.block_at(layer.first_block + start / BLOCK);
        let masks = W::Row::of(hash).masks((start % BLOCK) as u32);
        Probe { at, masks, fingerprint: fingerprint(hash, self.size.layout.r()) }
    }

    /// Whether the slots that count XOR to the fingerprint.
    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    pub(crate) fn answer(&self, columns: impl Columns, bytes: &[u8], probe: &Probe) -> bool {
        let block_bytes = self.size.layout.block_bytes();
        let mut blocks = [probe.at; MAX_BLOCKS];
        for i in 1..W::BLOCKS {
            // A window that ends with the last block has no slot in the one behind it.
            blocks[i] = (blocks[i - 1] + block_bytes).min(self.last_at);
        }
        W::parities(columns, bytes, blocks, probe.masks, self.size.layout.r()) == probe.fingerprint
    }
}
