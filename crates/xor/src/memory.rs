//! The working memory of a construction: what is kept of each cell, and a list of words.
//!
//! Both live in [`Table`]s, whose allocation can fail without ending the process and which ask for huge
//! pages.

use amq_bits::prefetch::prefetch_write;
use amq_bits::word::{load_u64, store_u64};
use amq_bits::{AllocError, Store, StoreMut, Table};

/// A position as an index: the one place where a `u64` becomes a `usize`. What does not fit (only where
/// `usize` has 32 bits) is beyond every table, and the bounds check of the access refuses it.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// What is known of each cell: how many of the remaining keys have it, and the XOR of their hashes.
///
/// Nine bytes a cell, the count in the ninth, so that one touch is one cache line in 56 of 64 cases. A count
/// inside the word would save the byte and cost bits of the hash: with 59 bits, two of 5·10^8 keys collide in
/// every other attempt, and an absent key that collides with a member is a false positive that no fingerprint
/// prevents.
#[derive(Debug)]
pub(crate) struct State {
    table: Table,
}

impl State {
    const STRIDE: u64 = 9;

    /// The highest count. A cell that has it must not be given another key.
    pub(crate) const MAX_DEGREE: u8 = u8::MAX;

    /// All cells without keys.
    pub(crate) fn new(cells: u64) -> Result<Self, AllocError> {
        Ok(Self { table: Table::zeroed(cells.saturating_mul(Self::STRIDE))? })
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.table.bytes_mut().fill(0);
    }

    #[inline]
    fn offset(cell: u64) -> usize {
        // No overflow for a cell of the table, whose size in bytes is a `u64`; another one is only
        // prefetched.
        index(cell.wrapping_mul(Self::STRIDE))
    }

    /// The XOR of the hashes of a cell, and how many they are.
    #[inline]
    pub(crate) fn get(&self, cell: u64) -> (u64, u8) {
        let (bytes, offset) = (self.table.bytes(), Self::offset(cell));
        (load_u64(bytes, offset), bytes[offset + 8])
    }

    /// Adds a key and returns the count before it. At [`MAX_DEGREE`](Self::MAX_DEGREE) the count wraps, and
    /// the state is of no use any more.
    #[inline]
    pub(crate) fn add(&mut self, cell: u64, hash: u64) -> u8 {
        let (sum, degree) = self.get(cell);
        self.set(cell, sum ^ hash, degree.wrapping_add(1));
        degree
    }

    /// Takes away a key (`count` = 1), or nothing (`count` = 0, `hash` = 0), and returns the count left.
    #[inline]
    pub(crate) fn take(&mut self, cell: u64, hash: u64, count: u8) -> u8 {
        let (sum, degree) = self.get(cell);
        let left = degree.wrapping_sub(count);
        self.set(cell, sum ^ hash, left);
        left
    }

    #[inline]
    fn set(&mut self, cell: u64, sum: u64, degree: u8) {
        let offset = Self::offset(cell);
        let bytes = self.table.bytes_mut();
        store_u64(bytes, offset, sum);
        bytes[offset + 8] = degree;
    }

    /// Asks for the line of a cell; any number is allowed.
    #[inline]
    pub(crate) fn prefetch(&self, cell: u64) {
        prefetch_write(self.table.bytes(), Self::offset(cell));
    }
}

/// A list of 64-bit words of a fixed length.
#[derive(Debug)]
pub(crate) struct Words {
    table: Table,
}

impl Words {
    pub(crate) fn new(len: u64) -> Result<Self, AllocError> {
        Ok(Self { table: Table::zeroed(len.saturating_mul(8))? })
    }

    #[inline]
    pub(crate) fn get(&self, i: u64) -> u64 {
        load_u64(self.table.bytes(), index(8 * i))
    }

    #[inline]
    pub(crate) fn set(&mut self, i: u64, word: u64) {
        store_u64(self.table.bytes_mut(), index(8 * i), word);
    }
}

#[cfg(test)]
mod tests {
    use super::{State, Words};

    #[test]
    fn cells_do_not_touch_their_neighbours() {
        let mut state = State::new(3).unwrap();
        for cell in 0..3 {
            assert_eq!(state.add(cell, u64::MAX - cell), 0);
            assert_eq!(state.add(cell, 7 << cell), 1);
        }
        for cell in 0..3 {
            assert_eq!(state.get(cell), ((u64::MAX - cell) ^ (7 << cell), 2));
        }
        assert_eq!(state.take(1, 14, 1), 1);
        assert_eq!(state.take(1, 0, 0), 1);
        assert_eq!(state.get(1), (u64::MAX - 1, 1));
        assert_eq!(state.get(0), (u64::MAX ^ 7, 2));
        assert_eq!(state.get(2), ((u64::MAX - 2) ^ (7 << 2), 2));
        state.prefetch(u64::MAX);
        state.clear();
        assert!((0..3).all(|cell| state.get(cell) == (0, 0)));
    }

    #[test]
    fn words_read_back() {
        let mut words = Words::new(4).unwrap();
        (0..4).for_each(|i| words.set(i, u64::MAX - i));
        assert!((0..4).all(|i| words.get(i) == u64::MAX - i));
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(State::new(u64::MAX).is_err());
        assert!(Words::new(u64::MAX).is_err());
    }
}
