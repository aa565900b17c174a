//! The table of a xor filter: thirds, shards, cells, directory.

use amq::theory::xor;
use amq::{Plan, Spec, SpecError};
use amq_bits::Packed;
use amq_bits::word::load_u64;

use crate::MAX_ATTEMPTS;
use crate::memory::index;
use crate::shards::write_directory;
use crate::thirds;
use crate::wish::{R, Shape, resolve};

/// Cells of a third and how they are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thirds {
    /// Cells of a third of the table, at least 1.
    third: u64,
    /// Binary logarithm of the number of shards.
    bits: u32,
}

/// The most cells of a third in a shard, in the mean over shards.
///
/// 68,000 keys: the state of their cells (1 MiB with what is rounded up), the queue and the order are used
/// together.
const MOST_PER_SHARD: u64 = 28_000;

/// Shards begin at a multiple of this many cells of a third, so that they begin in a byte of their own at every
/// width.
const UNIT: u64 = 8;

impl Thirds {
    /// All cells together are indices of a packed table, below 2^58; and their number takes up to 56 bits in the
    /// directory.
    const MAX: u64 = (1 << 56) - 1;

    const fn new(third: u64) -> Option<Self> {
        if third < 1 || third > Self::MAX {
            return None;
        }
        Some(Self { third, bits: third.div_ceil(MOST_PER_SHARD).next_power_of_two().trailing_zeros() })
    }

    /// Bytes of the directory.
    const fn directory(self) -> u64 {
        if self.bits == 0 { 0 } else { ((1 << self.bits) + 1) * 8 }
    }
}

impl Shape for Thirds {
    const CELLS_PER_KEY: f64 = 1.23;

    /// `ceil((1.23 n + 32) / 3)`.
    fn for_keys(n: u64) -> Option<Self> {
        xor::cells(n).and_then(|cells| Self::new(cells / 3))
    }

    /// A third, rounded up, and at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is whole, not negative and at most 2^56, which is checked first"
    )]
    fn for_cells(cells: f64, _: u64) -> Option<Self> {
        let third = libm::ceil(cells / 3.0).max(1.0);
        if third <= Self::MAX as f64 { Self::new(third as u64) } else { None }
    }

    fn bits(&self, r: u32) -> f64 {
        3.0 * self.third as f64 * f64::from(r) + 8.0 * self.directory() as f64
    }
}

/// What decides the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    thirds: Thirds,
    /// Of a width in [`R`].
    layout: Packed,
    /// Where the directory begins: behind the cells and their padding, at a multiple of 8.
    directory: u64,
}

impl Size {
    /// The size for `third` cells a third of `r` bits each; `None` if one of them is out of its range.
    pub(crate) fn new(third: u64, r: u32) -> Option<Self> {
        Self::of_thirds(Thirds::new(third)?, r)
    }

    fn of_thirds(thirds: Thirds, r: u32) -> Option<Self> {
        let layout = Packed::new(r).filter(|_| (R.0..=R.1).contains(&r))?;
        let cells = layout.bytes_for(3 * thirds.third)?;
        let directory = if thirds.bits == 0 { cells } else { cells.next_multiple_of(8) };
        Some(Self { thirds, layout, directory })
    }

    /// The size that a spec asks for.
    ///
    /// # Errors
    /// See [`Family::plan`](amq::Family::plan).
    pub(crate) fn of(spec: &Spec) -> Result<Self, SpecError> {
        let (thirds, r) = resolve::<Thirds>(spec)?;
        Self::of_thirds(thirds, r).ok_or(SpecError::TooLarge { capacity: spec.capacity() })
    }

    /// The plan of a spec that this is the size of.
    pub(crate) fn plan(&self, capacity: u64) -> Plan {
        let r = self.layout.width();
        Plan {
            capacity,
            slots: self.cells(),
            alpha: capacity as f64 / self.cells() as f64,
            r,
            k: Some(3),
            table_bytes: self.table_bytes(),
            fpr: xor::fpr(r),
        }
    }

    /// Cells of a third, over all shards.
    #[inline]
    pub(crate) fn third(&self) -> u64 {
        self.thirds.third
    }

    pub(crate) fn cells(&self) -> u64 {
        3 * self.thirds.third
    }

    #[inline]
    pub(crate) fn layout(&self) -> Packed {
        self.layout
    }

    /// Binary logarithm of the number of shards.
    #[inline]
    pub(crate) fn bits(&self) -> u32 {
        self.thirds.bits
    }

    pub(crate) fn shards(&self) -> u64 {
        1 << self.thirds.bits
    }

    /// Bytes of the table, all of it.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.directory + self.thirds.directory()
    }

    /// The byte of the table where a shard begins that begins with this cell of a third; at the end, the first
    /// byte without a cell.
    pub(crate) fn first_byte(&self, start: u64) -> u64 {
        (3 * start * u64::from(self.layout.width())).div_ceil(8)
    }

    /// Words for the cells of one shard and their padding.
    pub(crate) fn scratch_words(&self, third: u64) -> u64 {
        self.layout.bytes_for(3 * third).unwrap_or(u64::MAX).div_ceil(8)
    }

    /// Gives each shard cells in proportion to its keys, and some to a shard without keys: what a third of shard
    /// `i` takes of the thirds is `starts[i]..starts[i + 1]`.
    pub(crate) fn share(&self, keys: &[u64], starts: &mut [u64]) {
        let shards = keys.len() as u64;
        let units = self.thirds.third / UNIT;
        // A table of several shards has a thousand units for each.
        let free = u128::from(units.saturating_sub(shards));
        let all = keys.iter().sum::<u64>();
        let mut before = 0;
        for (shard, (start, &keys)) in (0..).zip(starts.iter_mut().zip(keys)) {
            let share = if all == 0 {
                free * u128::from(shard) / u128::from(shards)
            } else {
                free * u128::from(before) / u128::from(all)
            };
            // At most `free`, a `u64`.
            *start = UNIT * (shard + u64::try_from(share).unwrap_or(u64::MAX));
            before += keys;
        }
        if let Some(end) = starts.last_mut() {
            *end = self.thirds.third;
        }
    }

    /// Writes where the shards begin and which hash functions they have, if there are several.
    pub(crate) fn write_directory(&self, starts: &[u64], rotations: &[u8], table: &mut [u8]) {
        if self.thirds.bits > 0 {
            write_directory(starts, rotations, &mut table[index(self.directory)..]);
        }
    }

    /// The byte of the table behind the cells and their padding.
    pub(crate) fn end_of_cells(&self) -> u64 {
        self.directory
    }

    /// Whether every shard has cells, all shards have all cells, and the hash functions exist; if not, the first
    /// shard for which that is wrong. `table` has the right size.
    pub(crate) fn check_directory(&self, table: &[u8]) -> Result<(), u64> {
        if self.thirds.bits == 0 {
            return Ok(());
        }
        let shards = self.shards();
        let entry = |shard: u64| load_u64(table, index(self.directory + 8 * shard));
        let is_sound = |shard: u64| {
            let (start, end) = (entry(shard) >> 8, entry(shard + 1) >> 8);
            let is_begun = start.is_multiple_of(UNIT) && (shard > 0 || start == 0);
            let is_ended = shard + 1 < shards || entry(shards) == self.thirds.third << 8;
            let rotation = u32::from(entry(shard).to_le_bytes()[0]);
            is_begun
                && is_ended
                && start < end
                && end - start <= thirds::Thirds::MAX
                && rotation < MAX_ATTEMPTS
        };
        (0..shards).find(|&shard| !is_sound(shard)).map_or(Ok(()), Err)
    }

    /// Where a shard begins and its third, in cells of a third, and its hash function.
    #[inline]
    pub(crate) fn shard(&self, table: &[u8], shard: u64) -> (u64, u64, u32) {
        if self.thirds.bits == 0 {
            return (0, self.thirds.third, 0);
        }
        let offset = index(self.directory + 8 * shard);
        let (entry, next) = (load_u64(table, offset), load_u64(table, offset + 8));
        // 6 bits are enough for a rotation.
        let rotation = entry.to_le_bytes()[0];
        (entry >> 8, (next >> 8).wrapping_sub(entry >> 8), u32::from(rotation))
    }
}
