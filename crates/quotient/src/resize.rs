//! Growing and shrinking without the keys.

use amq::{Grow, ResizeError, Shrink};
use amq_bits::Table;

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
        let moved = Self::load(header, self.fingerprints())?;
        *self = moved;
        Ok(())
    }
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
