//! The working memory of a construction: lists of 64-bit words that grow on demand and are kept.

use alloc::vec::Vec;

use amq::BuildError;
use amq_bits::{Store, StoreMut, Table};

/// A 64-bit word in memory, little-endian.
pub(crate) type Raw = [u8; 8];

/// A position as an index: the one place where a `u64` becomes a `usize`. What does not fit (only where
/// `usize` has 32 bits) is beyond every table, and the bounds check of the access refuses it.
#[inline]
pub(crate) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// The error for a list that the allocator refused.
pub(crate) fn out_of_memory(bytes: u64) -> BuildError {
    BuildError::OutOfMemory { bytes }
}

/// Refuses what needs more bytes than may be used.
pub(crate) fn check_limit(needed: u64, limit: u64) -> Result<(), BuildError> {
    if needed > limit { Err(BuildError::MemoryLimit { needed, limit }) } else { Ok(()) }
}

/// Empties a list and makes room for `len` elements.
pub(crate) fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<(), BuildError> {
    list.clear();
    list.try_reserve_exact(len).map_err(|_| out_of_memory((len as u64).saturating_mul(size_of::<T>() as u64)))
}

/// Makes a list of `len` zeros of an existing one, whose memory is used again.
pub(crate) fn zeros<T: Copy + Default>(list: &mut Vec<T>, len: usize) -> Result<(), BuildError> {
    reserve(list, len)?;
    list.resize(len, T::default());
    Ok(())
}

/// Words in a [`Table`], whose allocation can fail without ending the process and which asks for huge pages.
#[derive(Debug, Default)]
pub(crate) struct Words {
    table: Table,
}

impl Words {
    /// Makes room for `len` words. What was there is forgotten if it grows.
    pub(crate) fn reserve(&mut self, len: u64) -> Result<(), BuildError> {
        let bytes = len.saturating_mul(8);
        if self.bytes() < bytes {
            // The old memory goes first, or the peak would be that of both.
            self.table = Table::default();
            self.table = Table::zeroed(bytes)?;
        }
        Ok(())
    }

    /// Gives the memory back if it is more than this.
    pub(crate) fn release_above(&mut self, bytes: u64) {
        if self.bytes() > bytes {
            self.table = Table::default();
        }
    }

    /// The bytes that it takes once there is room for `len` words.
    pub(crate) fn bytes_with(&self, len: u64) -> u64 {
        self.bytes().max(len.saturating_mul(8))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.table.heap_bytes()
    }

    /// For threads that write at once.
    #[cfg(all(feature = "rayon", not(loom), target_has_atomic = "64"))]
    pub(crate) fn shared(&mut self) -> &[core::sync::atomic::AtomicU64] {
        self.table.words_shared()
    }

    #[inline]
    pub(crate) fn get(&self) -> &[Raw] {
        self.table.bytes().as_chunks().0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut [Raw] {
        self.table.bytes_mut().as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn words_grow_and_stay() {
        let mut words = Words::default();
        assert!(words.get().is_empty());
        words.reserve(4).unwrap();
        assert_eq!((words.get().len(), words.bytes()), (4, 32));
        words.get_mut()[3] = 7_u64.to_le_bytes();
        words.reserve(2).unwrap();
        assert_eq!(words.get()[3], 7_u64.to_le_bytes());
        words.reserve(5).unwrap();
        assert_eq!(words.get(), [[0; 8]; 5]);
        assert!(words.reserve(u64::MAX).is_err());
    }
}
