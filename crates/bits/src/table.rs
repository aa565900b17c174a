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
/// Two huge pages: a smaller table would have at most one of them and fits the second-level TLB with plain pages.
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
/// Its address is a multiple of [`LINE`]; from [`HUGE_FROM`] bytes on a multiple of [`HUGE_PAGE`], and on Linux (with the
/// feature `std`) the kernel is asked for huge pages before the first byte is touched. An empty table allocates nothing.
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
    /// Invariant: the start of a live allocation of `layout(len)` whose bytes are all initialised, owned by this value alone;
    /// or, if and only if `len` is 0, a dangling address that is a multiple of `LINE`.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: (1) by the invariant of `start`, a `Table` is the only owner of plain bytes, like a `Box<[u8]>`: nothing refers to the
// thread that allocated them, and the global allocator frees on any thread.
unsafe impl Send for Table {}

// SAFETY: (1) `&Table` gives only `&[u8]`; there is no interior mutability.
unsafe impl Sync for Table {}

impl Table {
    /// A table of `bytes` zero bytes.
    ///
    /// Every page is touched here, so that page faults fall into the construction and not into the first operations on the
    /// table. Cost: linear in `bytes`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the size exceeds the address space or the allocator has no such block. A system that grants more
    /// memory than it has (overcommit) may still end the process when the pages are touched.
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
        // SAFETY: (1) `start` is valid for writes of `layout.size()` bytes: it was allocated with this layout just now.
        // (2) Any byte pattern, zero included, is a valid `u8`.
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
        // SAFETY: (1) the source is valid for reads of `len` initialised bytes, by the invariant. (2) The destination was
        // allocated with `layout`, whose size is `len`. (3) Two live allocations do not overlap.
        unsafe { self.start.copy_to_nonoverlapping(start, self.len) };
        Ok(Self { start, len: self.len })
    }

    /// Fresh memory, not initialised, with the kernel's advice given; `None` where there is none.
    ///
    /// `layout` comes from `layout_for` and has a size that is not zero: a private precondition of the callers above.
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
        // SAFETY: (1) `alignment` returns a power of two. (2) The same size and alignment made a valid layout in `layout_for`
        // before this table was built; 0 with `LINE` is valid too.
        unsafe { Layout::from_size_align_unchecked(self.len, alignment(self.len)) }
    }
}

const fn alignment(size: usize) -> usize {
    if size < HUGE_FROM { LINE } else { HUGE_PAGE }
}

/// Asks the kernel to back a block by huge pages; it is free to refuse, hence no result.
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
fn advise_huge_pages(start: NonNull<u8>, layout: Layout) {
    // SAFETY: (1) the range is a live allocation, so it is mapped, and its start is page-aligned as a multiple of 2 MiB.
    // (2) MADV_HUGEPAGE changes neither contents nor protection, of the range or of the rest of its last page.
    unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
fn advise_huge_pages(_start: NonNull<u8>, _layout: Layout) {}

impl Store for Table {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: (1) `start` is aligned, not null and valid for reads of `len` initialised bytes, by the invariant; for a
        // length of 0 a dangling pointer is allowed. (2) `len` is at most `isize::MAX`, as every size of a `Layout`. (3) The
        // borrow of `self` excludes writes for the lifetime of the slice.
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
        // SAFETY: (1) and (2) as in `bytes`. (3) The exclusive borrow of `self`, the only owner, excludes every other access for
        // the lifetime of the slice.
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
    /// As [`try_clone`](Table::try_clone), but ends the process where there is no memory, like every `clone` of a collection.
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
            // SAFETY: (1) by the invariant `start` is a live allocation of exactly this layout, as `len` is not zero. (2) No
            // slice of it is alive: they borrow from `self`. (3) It is freed once, as `drop` runs once.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}
