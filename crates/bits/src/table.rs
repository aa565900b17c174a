//! An owned, zeroed, aligned buffer that asks for huge pages.

use alloc::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use core::fmt;
use core::num::NonZeroUsize;
use core::ptr::NonNull;
use core::slice;

use crate::store::{Store, StoreMut};

/// Alignment of every [`Table`]: one cache line.
pub const LINE: usize = 64;

/// Tables of at least this many bytes start at a multiple of [`HUGE_PAGE`] and ask for huge pages.
///
/// Two huge pages: a smaller table would have at most one of them and fits the second-level TLB with plain
/// pages.
pub const HUGE_FROM: usize = 4 << 20;

/// The size of a huge page: 2 MiB.
pub const HUGE_PAGE: usize = 2 << 20;

/// The allocator could not, or must not, give a table of the size asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocError {
    /// The size asked for, in bytes.
    pub bytes: u64,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot allocate a table of {} bytes", self.bytes)
    }
}

impl core::error::Error for AllocError {}

/// An owned buffer of a fixed number of bytes, all zero at first.
///
/// Its address is a multiple of [`LINE`]; from [`HUGE_FROM`] bytes on a multiple of [`HUGE_PAGE`], and on
/// Linux (with the feature `std`) the kernel is asked for huge pages before the first byte is touched. An
/// empty table allocates nothing.
///
/// ```
/// use amq_bits::{Store, StoreMut, Table};
///
/// let mut table = Table::zeroed(100)?;
/// table.bytes_mut()[99] = 7;
/// assert_eq!(table.bytes().len(), 100);
/// assert_eq!(table.heap_bytes(), 100);
/// assert_eq!(table.clone(), table);
/// assert_eq!(Table::zeroed(u64::MAX).unwrap_err().bytes, u64::MAX);
/// # Ok::<(), amq_bits::AllocError>(())
/// ```
pub struct Table {
    /// Invariant: the start of a live allocation of `layout(len)` whose bytes are all initialised, owned by
    /// this value alone; or, if and only if `len` is 0, a dangling address that is a multiple of `LINE`.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: (1) by the invariant of `start`, a `Table` is the only owner of plain bytes, like a `Box<[u8]>`:
// nothing refers to the thread that allocated them, and the global allocator frees on any thread.
unsafe impl Send for Table {}

// SAFETY: (1) `&Table` gives only `&[u8]`; there is no interior mutability.
unsafe impl Sync for Table {}

impl Table {
    /// A table of `bytes` zero bytes.
    ///
    /// From [`HUGE_FROM`] on every page is touched here, so that page faults fall into the construction and not into the first
    /// operations on the table; below, that is up to the allocator (the usual ones of Unix write the zeros of an aligned
    /// block themselves). Cost: linear in `bytes`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the size exceeds the address space or the allocator has no such block. A system that
    /// grants more memory than it has (overcommit) may still end the process when the pages are touched.
    pub fn zeroed(bytes: u64) -> Result<Self, AllocError> {
        let layout = Self::layout_for(bytes)?;
        if layout.size() == 0 {
            return Ok(Self::default());
        }
        if layout.align() != HUGE_PAGE {
            // SAFETY: (1) the size of `layout` is not zero, checked above.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(AllocError { bytes })?;
            return Ok(Self { start, len: layout.size() });
        }
        let start = Self::allocate(layout).ok_or(AllocError { bytes })?;
        // SAFETY: (1) `start` is valid for writes of `layout.size()` bytes: it was allocated with this layout
        // just now. (2) Any byte pattern, zero included, is a valid `u8`.
        unsafe { start.write_bytes(0, layout.size()) };
        Ok(Self { start, len: layout.size() })
    }

    /// A copy of this table, or an error instead of an abort where there is no memory for it.
    ///
    /// # Errors
    ///
    /// As [`zeroed`](Table::zeroed).
    pub fn try_clone(&self) -> Result<Self, AllocError> {
        let layout = self.layout();
        if layout.size() == 0 {
            return Ok(Self::default());
        }
        let start = Self::allocate(layout).ok_or(AllocError { bytes: self.len as u64 })?;
        // SAFETY: (1) the source is valid for reads of `len` initialised bytes, by the invariant. (2) The
        // destination was allocated with `layout`, whose size is `len`. (3) Two live allocations do not
        // overlap.
        unsafe { self.start.copy_to_nonoverlapping(start, self.len) };
        Ok(Self { start, len: self.len })
    }

    /// The allocation and its length, for [`AtomicTable`](crate::atomic::AtomicTable), which lends it as atomics.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn raw_parts(&self) -> (NonNull<u8>, usize) {
        (self.start, self.len)
    }

    /// Fresh memory, not initialised, with the kernel's advice given; `None` where there is none.
    ///
    /// `layout` comes from `layout_for` and has a size that is not zero: a private precondition of the
    /// callers above.
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0, "an empty table has no allocation");
        // SAFETY: (1) the size is not zero, asserted above.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        if layout.align() == HUGE_PAGE {
            advise_huge_pages(start, layout);
        }
        Some(start)
    }

    fn layout_for(bytes: u64) -> Result<Layout, AllocError> {
        let error = AllocError { bytes };
        let size = usize::try_from(bytes).map_err(|_| error)?;
        Layout::from_size_align(size, alignment(size)).map_err(|_| error)
    }

    /// The layout of the allocation behind `start`.
    fn layout(&self) -> Layout {
        // SAFETY: (1) `alignment` returns a power of two. (2) The same size and alignment made a valid layout
        // in `layout_for` before this table was built; 0 with `LINE` is valid too.
        unsafe { Layout::from_size_align_unchecked(self.len, alignment(self.len)) }
    }
}

const fn alignment(size: usize) -> usize {
    if size < HUGE_FROM { LINE } else { HUGE_PAGE }
}

/// Asks the kernel to back a block by huge pages; it is free to refuse, hence no result.
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
fn advise_huge_pages(start: NonNull<u8>, layout: Layout) {
    // SAFETY: (1) the range is a live allocation, so it is mapped, and its start is page-aligned as a
    // multiple of 2 MiB. (2) MADV_HUGEPAGE changes neither contents nor protection, of the range or of the
    // rest of its last page.
    unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
fn advise_huge_pages(_start: NonNull<u8>, _layout: Layout) {}

impl Store for Table {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: (1) `start` is aligned, not null and valid for reads of `len` initialised bytes, by the
        // invariant; for a length of 0 a dangling pointer is allowed. (2) `len` is at most `isize::MAX`, as
        // every size of a `Layout`. (3) The borrow of `self` excludes writes for the lifetime of the slice.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    #[inline]
    fn heap_bytes(&self) -> u64 {
        self.len as u64
    }
}

impl StoreMut for Table {
    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: (1) and (2) as in `bytes`. (3) The exclusive borrow of `self`, the only owner, excludes
        // every other access for the lifetime of the slice.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Default for Table {
    /// The empty table.
    fn default() -> Self {
        const DANGLING: NonZeroUsize = NonZeroUsize::new(LINE).unwrap();
        Self { start: NonNull::without_provenance(DANGLING), len: 0 }
    }
}

impl Clone for Table {
    /// As [`try_clone`](Table::try_clone), but ends the process where there is no memory, like every `clone`
    /// of a collection.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|_| handle_alloc_error(self.layout()))
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    /// The size only: the contents are millions of numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("bytes", &self.len).finish_non_exhaustive()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let layout = self.layout();
        if layout.size() != 0 {
            // SAFETY: (1) by the invariant `start` is a live allocation of exactly this layout, as `len` is
            // not zero. (2) No slice of it is alive: they borrow from `self`. (3) It is freed once, as `drop`
            // runs once.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use proptest::prelude::*;

    use super::{AllocError, HUGE_FROM, HUGE_PAGE, LINE, Table};
    use crate::store::{Store, StoreMut};

    fn is_send_and_sync<T: Send + Sync>() {}

    #[test]
    fn every_size_is_zero_and_aligned() {
        is_send_and_sync::<Table>();
        for size in (0..=300).chain([4095, 4096, 65_537]) {
            let mut table = Table::zeroed(size).unwrap();
            assert_eq!(table.bytes().len() as u64, size);
            assert_eq!(table.heap_bytes(), size);
            assert_eq!(table.bytes().as_ptr().addr() % LINE, 0, "{size} bytes");
            assert!(table.bytes().iter().all(|&byte| byte == 0), "{size} bytes");
            // Dirty memory goes back to the allocator, so that the next table is zero by its own doing.
            table.bytes_mut().fill(0xa5);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "megabytes are slow to interpret")]
    fn large_tables_start_at_a_huge_page() {
        for _ in 0..3 {
            for size in [HUGE_FROM - 1, HUGE_FROM, HUGE_FROM + 1, 3 * HUGE_PAGE + 12_345] {
                let mut table = Table::zeroed(size as u64).unwrap();
                let alignment = if size < HUGE_FROM { LINE } else { HUGE_PAGE };
                assert_eq!(table.bytes().as_ptr().addr() % alignment, 0, "{size} bytes");
                assert_eq!(table.bytes().len(), size);
                assert!(table.bytes().iter().all(|&byte| byte == 0));
                table.bytes_mut().fill(0xa5);
                let copy = table.try_clone().unwrap();
                assert_eq!(copy.bytes().as_ptr().addr() % alignment, 0);
                assert_eq!(copy, table);
            }
        }
    }

    /// The kernel marks the mapping of an advised block with "hg".
    #[cfg(all(feature = "std", target_os = "linux", not(miri)))]
    #[test]
    fn the_kernel_took_the_advice() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            return;
        }
        let table = Table::zeroed(2 * HUGE_FROM as u64).unwrap();
        let address = table.bytes().as_ptr().addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        let flags = maps.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|word| word.split_once('-'));
            if let Some((from, to)) = range {
                let number = |text| usize::from_str_radix(text, 16);
                if let (Ok(from), Ok(to)) = (number(from), number(to)) {
                    inside = (from..to).contains(&address);
                }
            }
            line.strip_prefix("VmFlags:").filter(|_| inside)
        });
        assert!(flags.unwrap().split(' ').any(|flag| flag == "hg"), "{flags:?}");
    }

    #[test]
    fn absurd_sizes_are_errors() {
        let largest = isize::MAX as u64;
        for bytes in [u64::MAX, u64::MAX - 63, largest + 1, largest, largest - HUGE_PAGE as u64 + 2] {
            let error = Table::zeroed(bytes).unwrap_err();
            assert_eq!(error, AllocError { bytes });
            assert_eq!(error.to_string(), format!("cannot allocate a table of {bytes} bytes"));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program when its memory is exhausted")]
    fn sizes_that_no_machine_has_are_errors() {
        for bytes in [1 << 62, isize::MAX as u64 - HUGE_PAGE as u64 + 1] {
            assert_eq!(Table::zeroed(bytes), Err(AllocError { bytes }));
        }
    }

    #[test]
    fn debug_shows_the_size_only() {
        assert_eq!(format!("{:?}", Table::zeroed(1000).unwrap()), "Table { bytes: 1000, .. }");
    }

    #[test]
    fn a_table_moves_between_threads() {
        let mut table = Table::zeroed(100).unwrap();
        table.bytes_mut()[7] = 9;
        let table = std::thread::spawn(move || table).join().unwrap();
        assert_eq!(table.bytes()[7], 9);
    }

    proptest! {
        #![proptest_config(crate::cases(200))]

        #[test]
        fn copies_are_equal_and_independent(contents in prop::collection::vec(any::<u8>(), 0..200), at in any::<usize>()) {
            let mut table = Table::zeroed(contents.len() as u64).unwrap();
            table.bytes_mut().copy_from_slice(&contents);
            let mut copy = table.clone();
            prop_assert_eq!(&copy, &table);
            prop_assert_eq!(copy.bytes(), &contents[..]);
            prop_assert_eq!(copy.bytes().as_ptr().addr() % LINE, 0);
            if !contents.is_empty() {
                copy.bytes_mut()[at % contents.len()] ^= 1;
                prop_assert_ne!(&copy, &table);
            }
            prop_assert_eq!(table.bytes(), &contents[..]);
            prop_assert_ne!(Table::zeroed(contents.len() as u64 + 1).unwrap(), table);
        }
    }
}
