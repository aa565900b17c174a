//! The table of a binary fuse filter: how many cells, in how long segments.

use amq::theory::{fuse, xor};
use amq::{Plan, Spec, SpecError};
use amq_bits::Packed;

use crate::graph::Graph;
use crate::segments::Segments;
use crate::wish::{R, Shape, resolve};

/// Cells and segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row<const K: usize> {
    segments: Segments<K>,
    /// At least those of the segments. What is left over is in no key's edge.
    cells: u64,
}

/// Segments are not longer than this, except for more than 10^8 keys.
///
/// Published lengths grow to 2^18. The shorter the segments, the fewer cells at both ends are in few edges, and
/// the more of the construction stays in the cache; but the sooner does chance make a place that is too dense to
/// be peeled through. Of 2^13 and more cells that was not seen in some ten key sets of 10^6 to 8·10^6 keys; of 2^11,
/// with 3 hash functions, it is the rule.
const LONG_BITS: u32 = 14;

/// Keys over the cells in which a key may begin, above which shorter segments are taken.
///
/// Where the published rule has just doubled the length, few segments are left, with too many keys: with 3 hash
/// functions near 11,500 keys, 99 of 100 attempts fail, in others 1 of 10. Half the length leaves room.
const CROWDED: [f64; 2] = [0.905, 0.955];

impl<const K: usize> Row<K> {
    /// The published size, and the length of segments that go with it.
    fn published(n: u64) -> Option<(u64, u32)> {
        let layout = if K == 3 { fuse::layout_3(n) } else { fuse::layout_4(n) }?;
        let bits = layout.segment_length.trailing_zeros();
        // With 4 hash functions, up to 300 keys: 95 instead of 85 of 100 attempts succeed at 100 keys, 87
        // instead of 40 at 5.
        let few = K == 4 && n < 300 && layout.cells >> (bits + 1) >= 4;
        Some((layout.cells, (bits + u32::from(few)).min(LONG_BITS.max(bits.saturating_sub(3)))))
    }

    /// As many segments of `2^bits` cells as go into `cells`.
    fn new(cells: u64, bits: u32) -> Option<Self> {
        let count = (cells >> bits).checked_sub(K as u64 - 1)?;
        let segments = Segments::new(count, bits)?;
        Some(Self { segments, cells })
    }

    /// Whether `n` keys leave too little room at the ends.
    fn is_crowded(&self, n: u64) -> bool {
        let begin = self.segments.count() << self.segments.bits();
        n >= 1_000 && n as f64 > CROWDED[K - 3] * begin as f64
    }
}

impl<const K: usize> Shape for Row<K> {
    const CELLS_PER_KEY: f64 = if K == 3 { 1.125 } else { 1.075 };

    fn for_keys(n: u64) -> Option<Self> {
        let (cells, bits) = Self::published(n)?;
        let row = Self::new(cells, bits)?;
        if row.is_crowded(n) && bits > 0 { Self::new(cells, bits - 1) } else { Some(row) }
    }

    /// All cells asked for are there, in segments as for the default size, or shorter ones where these would
    /// leave too many cells over: more than one of 128, or of 8 for few keys, which need long segments more. At
    /// least 2 cells a segment, so that two keys can be told apart.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is whole, not negative and at most 2^57, which is checked first"
    )]
    fn for_cells(cells: f64, n: u64) -> Option<Self> {
        if cells > (1_u64 << 57) as f64 {
            return None;
        }
        let cells = (cells as u64).max(2 * K as u64);
        let over = cells / if n < 1_000 { 8 } else { 128 };
        (1..=Self::published(n)?.1.max(1)).rev().find_map(|bits| {
            let row = Self::new(cells, bits)?;
            (bits == 1 || cells - row.segments.cells() <= over).then_some(row)
        })
    }

    fn bits(&self, r: u32) -> f64 {
        self.cells as f64 * f64::from(r)
    }
}

/// What decides the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size<const K: usize> {
    row: Row<K>,
    /// Of a width in [`R`].
    layout: Packed,
    /// `layout.bytes_for(cells)`
    table_bytes: u64,
}

impl<const K: usize> Size<K> {
    /// The size for `cells` cells of `r` bits, and as many segments of 2^`segment_bits` cells as go into them;
    /// `None` if one of them is out of its range.
    pub(crate) fn new(cells: u64, segment_bits: u32, r: u32) -> Option<Self> {
        if segment_bits > Segments::<K>::MAX_BITS {
            return None;
        }
        Self::of_row(Row::new(cells, segment_bits)?, r)
    }

    fn of_row(row: Row<K>, r: u32) -> Option<Self> {
        let layout = Packed::new(r).filter(|_| (R.0..=R.1).contains(&r) && row.cells < 1 << 58)?;
        Some(Self { row, layout, table_bytes: layout.bytes_for(row.cells)? })
    }

    /// The size that a spec asks for.
    ///
    /// # Errors
    /// See [`Family::plan`](amq::Family::plan).
    pub(crate) fn of(spec: &Spec) -> Result<Self, SpecError> {
        let (row, r) = resolve::<Row<K>>(spec)?;
        Self::of_row(row, r).ok_or(SpecError::TooLarge { capacity: spec.capacity() })
    }

    /// The plan of a spec that this is the size of.
    pub(crate) fn plan(&self, capacity: u64) -> Plan {
        let r = self.layout.width();
        Plan {
            capacity,
            slots: self.row.cells,
            alpha: capacity as f64 / self.row.cells as f64,
            r,
            k: Some(if K == 3 { 3 } else { 4 }),
            table_bytes: self.table_bytes,
            fpr: xor::fpr(r),
        }
    }

    pub(crate) fn cells(&self) -> u64 {
        self.row.cells
    }

    #[inline]
    pub(crate) fn segments(&self) -> Segments<K> {
        self.row.segments
    }

    #[inline]
    pub(crate) fn layout(&self) -> Packed {
        self.layout
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        self.table_bytes
    }
}
