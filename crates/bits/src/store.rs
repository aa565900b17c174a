//! Who owns the bytes of a table.
//!
//! A filter is generic over its store: the same code answers from a [`Table`](crate::Table) that it owns and
//! from a slice that it borrows, of a file or a memory map.

/// The bytes of a table, readable.
///
/// Two calls of [`bytes`](Store::bytes) with no mutation in between return the same slice.
pub trait Store: Send + Sync {
    /// The whole table.
    fn bytes(&self) -> &[u8];

    /// Bytes requested from the allocator for this table and still live; 0 for a borrowed slice.
    fn heap_bytes(&self) -> u64;
}

/// The bytes of a table, writable.
pub trait StoreMut: Store {
    /// The whole table; the same bytes as [`bytes`](Store::bytes).
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Store for &[u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn heap_bytes(&self) -> u64 {
        0
    }
}

impl Store for &mut [u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn heap_bytes(&self) -> u64 {
        0
    }
}

impl StoreMut for &mut [u8] {
    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Store, StoreMut};
    use crate::Table;

    fn flip_last<S: StoreMut>(mut store: S) -> u8 {
        if let Some(byte) = store.bytes_mut().last_mut() {
            *byte ^= 0xff;
        }
        store.bytes().last().copied().unwrap_or(0)
    }

    #[test]
    fn every_owner_shows_the_same_bytes() {
        let mut bytes = [1_u8, 2, 3];
        assert_eq!((&bytes[..]).bytes(), [1, 2, 3]);
        assert_eq!((&bytes[..]).heap_bytes(), 0);
        assert_eq!(Store::heap_bytes(&&mut bytes[..]), 0);
        assert_eq!(flip_last(&mut bytes[..]), 3 ^ 0xff);
        assert_eq!(bytes, [1, 2, 3 ^ 0xff]);

        let table = Table::zeroed(3).unwrap();
        assert_eq!(table.heap_bytes(), 3);
        assert_eq!(flip_last(table), 0xff);
    }
}
