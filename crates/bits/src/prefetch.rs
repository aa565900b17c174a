//! Asking for a cache line before it is needed.
//!
//! A prefetch never faults and changes no value, so that any offset is allowed, in range or not, and nothing
//! is checked. It is an x86-64 instruction here and nothing on other processors.

/// Fetches the cache line in which `items[index]` starts into all cache levels, to be read.
#[inline]
pub fn prefetch_read<T>(items: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = items.as_ptr().wrapping_add(index);
        // SAFETY: (1) PREFETCH belongs to SSE, which every x86-64 has. (2) It is defined for every address,
        // mapped or not, and the address is computed with `wrapping_add`, which allows any offset.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (items, index);
}

/// Fetches what a loop over `items` that is at `items[i]` will read 1 KiB further on.
///
/// Processors do that themselves for a loop that does little else. One that reads a table at random keeps all line fills busy, and they
/// give up: lookups in a table of 30 MiB then waited for their digests and not for the table, 24 ns each and not 12 (1,024 to 2,048 bytes
/// were best).
#[inline]
pub fn prefetch_stream<T>(items: &[T], i: usize) {
    const AHEAD: usize = 1024;
    prefetch_read(items, i.wrapping_add(AHEAD / size_of::<T>().max(1)));
}

/// Fetches the cache line of `bytes[offset]` into all cache levels, to be written.
///
/// Where the program is compiled for a processor without PREFETCHW, as the baseline x86-64, this is
/// [`prefetch_read`].
#[inline]
pub fn prefetch_write(bytes: &[u8], offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        let address = bytes.as_ptr().wrapping_add(offset);
        // SAFETY: (1) PREFETCH belongs to SSE, which every x86-64 has, and PREFETCHW is used only where the
        // target has it. (2) Both are defined for every address, mapped or not, and the address is computed
        // with `wrapping_add`, which allows any offset.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (bytes, offset);
}

#[cfg(test)]
mod tests {
    use super::{prefetch_read, prefetch_stream, prefetch_write};

    #[test]
    fn no_offset_faults_or_changes_a_byte() {
        let bytes: std::vec::Vec<u8> = (0..200).collect();
        for offset in [0, 1, 63, 64, 199, 200, 4096, 1 << 20, isize::MAX.cast_unsigned(), usize::MAX] {
            prefetch_read(&bytes, offset);
            prefetch_write(&bytes, offset);
            prefetch_read::<u64>(&[], offset);
            prefetch_stream(&bytes, offset);
            prefetch_stream::<()>(&[], offset);
            prefetch_write(&[], offset);
        }
        assert!(bytes.iter().copied().eq(0..200));
    }
}
