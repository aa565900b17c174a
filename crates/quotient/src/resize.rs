//! Growing and shrinking without the keys.

use amq::{Grow, ResizeError, Shrink};
use amq_bits::{Store, Table};

use crate::decode::Decoder;
use crate::filter::Header;
use crate::{Filter, Geometry, Layout, OutOfMemory};

impl From<OutOfMemory> for ResizeError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

impl<L: Layout> Filter<L, Table> {
    /// The same multiset over the same M, in another table.
    fn move_to(&mut self, geometry: Geometry) -> Result<(), ResizeError> {
        let layout = L::new(geometry).ok_or(ResizeError::TooLarge)?;
        let header = Header { layout, ..self.header };
        let moved = Self::load(header, &mut Decoder::new(self.header.layout, self.table.bytes()))?;
        *self = moved;
        Ok(())
    }

    /// Halves m as often as it is even, a remainder bit more can be stored, and the load stays at or below 0.95. No answer changes. One
    /// pass, however often.
    ///
    /// # Errors
    /// If the allocator refuses the smaller table; the filter is then as it was.
    pub fn shrink_to_fit(&mut self) -> Result<(), ResizeError> {
        let mut geometry = self.geometry();
        while geometry.r() < L::R.1
            && let Some(halved) = geometry.halved()
            && self.records() <= most_records(halved.slots(), 0)
        {
            geometry = halved;
        }
        if geometry == self.geometry() { Ok(()) } else { self.move_to(geometry) }
    }
}

/// The most records of `slots` slots at a load of at most 0.95, or of `fullest` if that is more; one slot stays empty.
pub(crate) fn most_records(slots: u64, fullest: u64) -> u64 {
    // slots·19/20 without overflow: the rounding down is by less than one record.
    let (part, whole) = (19, 20);
    (slots / whole * part + slots % whole * part / whole).max(fullest).min(slots - 1)
}

/// Doubles m and takes one bit from the remainder: F and M stay, hence every answer and the rate. The lowest r cannot grow.
/// Linear; both tables are live for a moment.
impl<L: Layout> Grow for Filter<L, Table> {
    fn grow(&mut self) -> Result<(), ResizeError> {
        let geometry = self.geometry();
        if geometry.r() <= L::R.0 {
            return Err(ResizeError::RemainderExhausted);
        }
        self.move_to(geometry.doubled().ok_or(ResizeError::RemainderExhausted)?)
    }
}

/// Halves m, where it is even, and gives the bit to the remainder: the inverse of [`Grow`].
impl<L: Layout> Shrink for Filter<L, Table> {
    fn shrink(&mut self) -> Result<(), ResizeError> {
        let geometry = self.geometry();
        let slots = geometry.slots();
        if !slots.is_multiple_of(2) {
            return Err(ResizeError::OddSlots { slots });
        }
        if geometry.r() >= L::R.1 {
            return Err(ResizeError::RemainderFull { highest: L::R.1 });
        }
        // Half of two slots would be one, and it has to stay empty.
        let halved = geometry.halved().ok_or(ResizeError::Smallest { slots })?;
        let (records, limit) = (self.records(), halved.highest_records());
        if records > limit {
            return Err(ResizeError::Full { records, limit });
        }
        self.move_to(halved)
    }
}
