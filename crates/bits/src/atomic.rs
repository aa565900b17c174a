//! A table whose bytes many threads read and write at once.

use core::fmt;

use crate::store::{Store, StoreMut};
use crate::table::Table;

#[cfg(not(loom))]
pub use core::sync::atomic::AtomicU8;
#[cfg(all(not(loom), target_has_atomic = "64"))]
use core::sync::atomic::AtomicU64;
#[cfg(loom)]
pub use loom::sync::atomic::AtomicU8;

/// A [`Table`] that is shared: its bytes are atomics, and nobody sees them as anything else until it is owned alone again.
///
/// Bytes, and not words: a table of any length becomes a shared one and back without a copy, a bit is in the same place on machines of
/// either byte order, and setting one costs the same locked instruction.
///
/// Under `--cfg loom` the bytes are those of the model checker [loom](https://docs.rs/loom).
///
/// ```
/// use amq_bits::{Store, Table, atomic::AtomicTable};
/// use std::sync::atomic::Ordering::Relaxed;
///
/// let shared = AtomicTable::new(Table::zeroed(100)?);
/// std::thread::scope(|scope| {
///     for bit in 0..8 {
///         let cells = shared.cells();
///         scope.spawn(move || cells[99].fetch_or(1 << bit, Relaxed));
///     }
/// });
/// assert_eq!(shared.into_table().bytes()[99], 0xff);
/// # Ok::<(), amq_bits::AllocError>(())
/// ```
pub struct AtomicTable {
    #[cfg(not(loom))]
    table: Table,
    #[cfg(loom)]
    cells: alloc::boxed::Box<[AtomicU8]>,
}

#[cfg(not(loom))]
impl AtomicTable {
    /// Shares a table. Constant time.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The bytes.
    #[inline]
    pub fn cells(&self) -> &[AtomicU8] {
        let (start, len) = self.table.raw_parts();
        // SAFETY: (1) `AtomicU8` has the size, alignment and bit patterns of `u8`, so this is the table's memory, valid for `len`
        // elements as the table's invariant says. (2) While `self` is borrowed shared, every access is through this
        // function and hence atomic: the table is private, and its bytes are lent as plain ones only by `into_table` and
        // `bytes_mut`, which need `self` alone. (3) The pointer comes from the allocator, not from a shared
        // reference to plain bytes, so writing through it is allowed.
        unsafe { core::slice::from_raw_parts(start.as_ptr().cast::<AtomicU8>(), len) }
    }

    /// The bytes, while nobody else has the table.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.table.bytes_mut()
    }

    /// The table, owned alone again. Constant time.
    pub fn into_table(self) -> Table {
        self.table
    }

    /// As [`Store::heap_bytes`].
    pub fn heap_bytes(&self) -> u64 {
        self.table.heap_bytes()
    }
}

#[cfg(loom)]
impl AtomicTable {
    /// Copies a table into the model.
    pub fn new(table: Table) -> Self {
        Self { cells: table.bytes().iter().map(|&byte| AtomicU8::new(byte)).collect() }
    }

    /// The bytes.
    pub fn cells(&self) -> &[AtomicU8] {
        &self.cells
    }

    /// A copy of the model's bytes as they are.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub fn into_table(mut self) -> Table {
        let mut table = Table::zeroed(self.cells.len() as u64).expect("memory for a small table");
        for (byte, cell) in table.bytes_mut().iter_mut().zip(&mut self.cells) {
            *byte = cell.with_mut(|cell| *cell);
        }
        table
    }

    /// As [`Store::heap_bytes`].
    pub fn heap_bytes(&self) -> u64 {
        self.cells.len() as u64
    }
}

#[cfg(all(not(loom), target_has_atomic = "64"))]
impl Table {
    /// The words of 8 bytes, for threads that write them at once, each where it likes; up to 7 bytes at the end are left
    /// out.
    ///
    /// ```
    /// use amq_bits::{Store, Table};
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// let mut table = Table::zeroed(23)?;
    /// let words = table.words_shared();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| words[0].store(u64::MAX, Relaxed));
    ///     scope.spawn(|| words[1].store(0, Relaxed));
    /// });
    /// assert_eq!(table.bytes()[..9], [255, 255, 255, 255, 255, 255, 255, 255, 0]);
    /// # Ok::<(), amq_bits::AllocError>(())
    /// ```
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "aligned to a line, asserted below")]
    pub fn words_shared(&mut self) -> &[AtomicU64] {
        const { assert!(crate::table::LINE.is_multiple_of(align_of::<AtomicU64>())) };
        let (start, len) = self.raw_parts();
        // SAFETY: (1) `AtomicU64` has the size and the bit patterns of eight `u8`; the start of a table is a multiple of `LINE`,
        // and hence of its alignment; `len / 8` of them lie within the table's memory, which is initialised, as the
        // table's invariant says, or are none. (2) `self` is borrowed exclusively for as long as the slice lives, so that
        // nothing else reads or writes this memory, as atomics of another size neither. (3) The pointer comes from
        // the allocator, so writing through it is allowed.
        unsafe { core::slice::from_raw_parts(start.as_ptr().cast::<AtomicU64>(), len / 8) }
    }
}

impl fmt::Debug for AtomicTable {
    /// The size only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicTable").field("bytes", &self.cells().len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;
    use std::thread;

    use super::AtomicTable;
    use crate::store::Store;
    use crate::table::Table;

    #[test]
    fn threads_that_share_every_byte_lose_nothing() {
        for len in [0, 1, 7, 64, 65] {
            let mut shared = AtomicTable::new(Table::zeroed(len).unwrap());
            assert_eq!((shared.cells().len() as u64, shared.heap_bytes()), (len, len));
            thread::scope(|scope| {
                for bit in 0..8 {
                    let cells = shared.cells();
                    scope.spawn(move || cells.iter().for_each(|cell| _ = cell.fetch_or(1 << bit, Relaxed)));
                }
            });
            assert!(shared.bytes_mut().iter().all(|&byte| byte == 0xff));
            assert!(shared.into_table().bytes().iter().all(|&byte| byte == 0xff));
        }
    }
}
