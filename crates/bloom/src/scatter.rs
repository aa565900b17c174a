//! Inserting many keys into a table that no cache holds.
//!
//! Each key sets bits in k far places, and each of them brings a cache line from memory for one bit. So positions are first sorted into
//! buckets, one for each region of the table, and a bucket that is full is written to its region at once: the region is small enough for a
//! second-level cache, and each of its lines is brought in once for several bits.

use alloc::vec::Vec;

use amq::Digest;
use amq_bits::prefetch::{prefetch_stream, prefetch_write};

use crate::batch::{index, probes};
use crate::free::set_bit;
use crate::layout::Layout;
use crate::probes::Probes;

/// Bits in a region, as a power of two: 512 KiB.
const REGION_LOG: u32 = 22;

/// Positions in a bucket: two for each cache line of its region.
const BUCKET: usize = 16 << 10;

/// Tables below this size are written to directly.
const SMALLEST: usize = 32 << 20;

/// Regions that a table may have: the buckets of more would not stay in the cache themselves while they fill.
const MOST_REGIONS: usize = 4 << 10;

/// Sets the bits of all digests, bucket by bucket; `false`, and nothing done, where that does not pay or memory for the buckets (an
/// eighth of the table) cannot be had.
///
/// The table is the same in any case: setting bits in another order makes no difference.
pub(crate) fn scatter<const K: u32>(table: &mut [u8], layout: Layout, digests: &[Digest]) -> bool {
    let k = probes::<K>(layout.k());
    let regions = table.len().div_ceil(1 << (REGION_LOG - 3));
    let positions = digests.len().saturating_mul(k as usize);
    // Half a bucket for each region is where sorting begins to pay.
    if table.len() < SMALLEST || regions > MOST_REGIONS || positions / regions < BUCKET / 2 {
        return false;
    }
    let Some(mut buckets) = Buckets::new(regions) else { return false };
    for (i, &digest) in digests.iter().enumerate() {
        prefetch_stream(digests, i);
        let mut positions = Probes::new(digest, layout.m());
        for _ in 0..k {
            buckets.push(table, positions.next_position());
        }
    }
    buckets.flush(table);
    true
}

/// Positions that have yet to be set, by region.
struct Buckets {
    /// `BUCKET` places for each region: positions relative to it.
    positions: Vec<u32>,
    /// How many of them are taken.
    lengths: Vec<usize>,
}

impl Buckets {
    fn new(regions: usize) -> Option<Self> {
        let mut buckets = Self { positions: Vec::new(), lengths: Vec::new() };
        let size = regions.checked_mul(BUCKET)?;
        buckets.positions.try_reserve_exact(size).ok()?;
        buckets.lengths.try_reserve_exact(regions).ok()?;
        buckets.positions.resize(size, 0);
        buckets.lengths.resize(regions, 0);
        Some(buckets)
    }

    #[inline]
    fn push(&mut self, table: &mut [u8], position: u64) {
        let region = index(position >> REGION_LOG);
        let length = self.lengths[region];
        self.positions[region * BUCKET + length] = (position & ((1 << REGION_LOG) - 1)) as u32;
        if length + 1 == BUCKET {
            self.lengths[region] = 0;
            self.write(table, region, BUCKET);
        } else {
            self.lengths[region] = length + 1;
        }
    }

    /// Sets the first `length` bits of a region's bucket.
    #[inline(never)]
    fn write(&self, table: &mut [u8], region: usize, length: usize) {
        const AHEAD: usize = 16;
        let start = region << (REGION_LOG - 3);
        let end = table.len().min(start + (1 << (REGION_LOG - 3)));
        let bits = &mut table[start..end];
        let positions = &self.positions[region * BUCKET..][..length];
        for (i, &position) in positions.iter().enumerate() {
            if let Some(&next) = positions.get(i + AHEAD) {
                prefetch_write(bits, next as usize >> 3);
            }
            set_bit(bits, position.into());
        }
    }

    fn flush(&self, table: &mut [u8]) {
        for (region, &length) in self.lengths.iter().enumerate() {
            self.write(table, region, length);
        }
    }
}
