//! The table of a xor filter: thirds, shards, cells, directory.

use amq::theory::xor;
use amq::{Plan, Spec, SpecError};
use amq_bits::Packed;
use amq_bits::lanes::Lanes;
use amq_bits::word::{load_u64, store_u64};

use crate::MAX_ATTEMPTS;
use crate::assign::is_whole;
use crate::codec::Fields;
use crate::memory::index;
use crate::shards::Shard;
use crate::thirds;
use crate::wish::{R, Shape, resolve};

/// Cells of a third of the table, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thirds(u64);

/// The most cells of a third in a shard, in the mean over shards.
///
/// 68,000 keys: the state of their cells (1 MiB with what is rounded up), the queue and the order are used
/// together. Somewhat fewer where a key's three indices and its fingerprint then fit one word.
const fn most_per_shard(r: u32) -> u64 {
    if r > Fields::<15>::MAX_R && r <= Fields::<14>::MAX_R { 15_000 } else { 28_000 }
}

/// Shards begin at a multiple of this many cells of a third, so that they begin in a byte of their own at every
/// width.
const UNIT: u64 = 8;

/// Units that a shard has beyond its share: a few keys need more than that.
const SPARE_UNITS: u64 = 2;

impl Thirds {
    /// All cells together are indices of a packed table, below 2^58; and their number takes up to 56 bits in the
    /// directory.
    const MAX: u64 = (1 << 56) - 1;

    const fn new(third: u64) -> Option<Self> {
        if third < 1 || third > Self::MAX { None } else { Some(Self(third)) }
    }

    /// Binary logarithm of the number of shards, with cells of `r` bits.
    const fn shard_bits(self, r: u32) -> u32 {
        self.0.div_ceil(most_per_shard(r)).next_power_of_two().trailing_zeros()
    }

    /// Bytes of the directory.
    const fn directory(self, r: u32) -> u64 {
        match self.shard_bits(r) {
            0 => 0,
            bits => ((1 << bits) + 1) * 8,
        }
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
        3.0 * self.0 as f64 * f64::from(r) + 8.0 * self.directory(r) as f64
    }
}

/// What decides the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    thirds: Thirds,
    /// Binary logarithm of the number of shards.
    shard_bits: u32,
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
        let cells = layout.bytes_for(3 * thirds.0)?;
        let shard_bits = thirds.shard_bits(r);
        let directory = if shard_bits == 0 { cells } else { cells.next_multiple_of(8) };
        Some(Self { thirds, shard_bits, layout, directory })
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
        self.thirds.0
    }

    pub(crate) fn cells(&self) -> u64 {
        3 * self.thirds.0
    }

    #[inline]
    pub(crate) fn layout(&self) -> Packed {
        self.layout
    }

    /// Binary logarithm of the number of shards.
    #[inline]
    pub(crate) fn bits(&self) -> u32 {
        self.shard_bits
    }

    pub(crate) fn shards(&self) -> u64 {
        1 << self.shard_bits
    }

    /// Bytes of the table, all of it.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.directory + self.thirds.directory(self.layout.width())
    }

    /// The byte of the table where a shard begins that begins with this cell of a third; at the end, the first
    /// byte without a cell.
    pub(crate) fn first_byte(&self, start: u64) -> u64 {
        (3 * start * u64::from(self.layout.width())).div_ceil(8)
    }

    /// Bytes for the cells of one shard and their padding, if it is not built in the table.
    pub(crate) fn scratch_bytes(&self, third: u64) -> u64 {
        if is_whole(self.layout) { 0 } else { self.layout.bytes_for(3 * third).unwrap_or(u64::MAX) }
    }

    /// How `keys` keys share the cells.
    pub(crate) fn share(&self, keys: u64) -> Share {
        if self.shard_bits == 0 {
            return Share::Alone(self.thirds.0);
        }
        // A table of several shards has a thousand units for each.
        let units = (self.thirds.0 / UNIT).saturating_sub(SPARE_UNITS << self.shard_bits);
        Share::Of { units, keys: keys.max(1) }
    }

    /// Writes where the shards begin and which hash functions they have, if there are several: for each in one word, the
    /// latter in the 8 lowest bits; and where the last ends.
    pub(crate) fn write_directory(&self, shards: &[Shard], table: &mut [u8]) {
        if self.shard_bits == 0 {
            return;
        }
        let (mut start, mut offset) = (0, index(self.directory));
        for shard in shards {
            store_u64(table, offset, start << 8 | u64::from(shard.rotation));
            start += shard.third;
            offset += 8;
        }
        store_u64(table, offset, start << 8);
    }

    /// The byte of the table behind the cells and their padding.
    pub(crate) fn end_of_cells(&self) -> u64 {
        self.directory
    }

    /// Whether every shard has cells, all of them are there, and the hash functions exist; if not, the first
    /// shard for which that is wrong. `table` has the right size.
    pub(crate) fn check_directory(&self, table: &[u8]) -> Result<(), u64> {
        if self.shard_bits == 0 {
            return Ok(());
        }
        let shards = self.shards();
        let entry = |shard: u64| load_u64(table, index(self.directory + 8 * shard));
        let is_sound = |shard: u64| {
            let (start, end) = (entry(shard) >> 8, entry(shard + 1) >> 8);
            let is_begun = start.is_multiple_of(UNIT) && (shard > 0 || start == 0);
            let is_ended = shard + 1 < shards
                || (entry(shards) <= self.thirds.0 << 8 && entry(shards).is_multiple_of(256));
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
        if self.shard_bits == 0 {
            return (0, self.thirds.0, 0);
        }
        let offset = index(self.directory + 8 * shard);
        let (entry, next) = (load_u64(table, offset), load_u64(table, offset + 8));
        // 6 bits are enough for a rotation.
        let rotation = entry.to_le_bytes()[0];
        (entry >> 8, (next >> 8).wrapping_sub(entry >> 8), u32::from(rotation))
    }

    /// [`shard`](Self::shard) of eight shards of a table of several.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    pub(crate) fn shard_lanes<L: Lanes>(
        &self,
        lanes: L,
        table: &[u8],
        shards: L::Vector,
    ) -> (L::Vector, L::Vector, L::Vector) {
        let offsets = lanes.add(lanes.splat(self.directory), lanes.shl(shards, 3));
        let entry = lanes.gather(table, offsets);
        let next = lanes.gather(table, lanes.add(offsets, lanes.splat(8)));
        let start = lanes.shr(entry, 8);
        (start, lanes.sub(lanes.shr(next, 8), start), lanes.and(entry, lanes.splat(0xff)))
    }
}

/// How the keys share the cells of a table among the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// A lone shard has them all.
    Alone(u64),
    /// Each key has a part of so many units.
    Of {
        units: u64,
        /// At least 1.
        keys: u64,
    },
}

impl Share {
    /// Cells of a third of a shard with so many keys, whatever the other shards have. All shards together have no more than
    /// there are, if all together have no more keys than share them.
    pub(crate) fn third(self, keys: u64) -> u64 {
        match self {
            Self::Alone(third) => third,
            Self::Of { units, keys: all } => {
                let share = u128::from(units) * u128::from(keys) / u128::from(all);
                UNIT.saturating_mul(u64::try_from(share).unwrap_or(u64::MAX).saturating_add(SPARE_UNITS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use amq::Spec;

    use super::Size;

    #[test]
    fn shards_have_room_and_no_more_than_there_is() {
        for n in [100_000, 1_000_000, 123_456_789] {
            for r in [8, 16, 20] {
                let size = Size::of(&Spec::fpr(0.5_f64.powi(r), n)).unwrap();
                let (share, shards) = (size.share(n), size.shards());
                for few in 0..100 {
                    assert!((3 * share.third(few)) as f64 >= 1.23 * few as f64 + 24.0, "{few} keys");
                }
                // The most that a sum can be rounded up: no shard has a fraction to lose.
                let even = n / shards;
                let sum =
                    (0..shards).map(|shard| share.third(even + u64::from(shard < n % shards))).sum::<u64>();
                assert!(sum <= size.third() && sum + 8 * shards >= size.third(), "{sum} of {}", size.third());
            }
        }
    }
}
