//! From keys to digests: one documented byte form, one documented hash.

use core::hash::{BuildHasher, Hash};

use alloc::{borrow::Cow, boxed::Box, string::String, vec::Vec};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Digest;

/// A key: anything with a documented byte form. Its digest is the one-shot XXH3-64 of those bytes under a seed.
///
/// | type | bytes |
/// |---|---|
/// | `[u8]`, `[u8; N]`, `Vec<u8>` | themselves |
/// | `str`, `String` | their UTF-8 bytes: equal to the byte slice |
/// | `u8` … `u128`, `i8` … `i128` | little-endian, in the type's width: `5u32` and `5u64` are different keys |
/// | `&K`, `Box<K>`, `Cow<K>` | those of `K` |
///
/// `usize` and `isize` are left out: their width depends on the machine, and a filter may travel. The byte form and the hash
/// are part of the contract: they never change for a given version of the stored format. XXH3 is not keyed against an
/// adversary; for keys that an adversary chooses use [`Hashed`] with a secretly seeded hasher.
///
/// ```
/// use amq::Key;
///
/// assert_eq!("abc".digest(0), b"abc".digest(0));
/// assert_eq!(5u32.digest(0), 5u32.to_le_bytes().digest(0));
/// assert_ne!("abc".digest(0), "abc".digest(1));
/// ```
pub trait Key {
    /// Calls `read` with the key's byte form. Allocates nothing.
    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R;

    /// XXH3-64 of the byte form under `seed`. Some nanoseconds for short keys, memory speed for long ones.
    #[inline]
    fn digest(&self, seed: u64) -> Digest {
        self.with_bytes(|bytes| Digest::new(xxh3_64_with_seed(bytes, seed)))
    }
}

macro_rules! key_as_bytes {
    ($(($($generics:tt)*) $type:ty;)*) => {$(
        impl<$($generics)*> Key for $type {
            #[inline]
            fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
                read(self.as_ref())
            }
        }
    )*};
}

key_as_bytes! {
    () [u8];
    () Vec<u8>;
    () str;
    () String;
    (const N: usize) [u8; N];
}

macro_rules! key_as_little_endian {
    ($($integer:ty),*) => {$(
        impl Key for $integer {
            #[inline]
            fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
                read(&self.to_le_bytes())
            }
        }
    )*};
}

key_as_little_endian!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

macro_rules! key_behind_pointer {
    ($(($($generics:tt)*) $pointer:ty;)*) => {$(
        impl<$($generics)*> Key for $pointer {
            #[inline]
            fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(read)
            }
        }
    )*};
}

key_behind_pointer! {
    (K: Key + ?Sized) &K;
    (K: Key + ?Sized) Box<K>;
    (K: Key + alloc::borrow::ToOwned + ?Sized) Cow<'_, K>;
}

/// Digests of any `K: Hash` through a [`BuildHasher`] of the caller's choice: for use within one process.
///
/// How a type feeds a hasher is not documented by the standard library and may differ between platforms and versions, so a
/// filter over such digests must not be stored or sent. With `std`'s `RandomState` the hash is SipHash-1-3 under a secret
/// key, which is what keys from an adversary need.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use amq::Hashed;
///
/// let hashed = Hashed::new(std::hash::RandomState::new());
/// assert_eq!(hashed.digest(&("a", 1)), hashed.digest(&("a", 1)));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed<S>(S);

impl<S: BuildHasher> Hashed<S> {
    /// Takes the hasher; its keys or seeds are its own affair.
    pub const fn new(build_hasher: S) -> Self {
        Self(build_hasher)
    }

    /// The hasher's 64 bits for `key`.
    #[inline]
    pub fn digest<K: Hash + ?Sized>(&self, key: &K) -> Digest {
        Digest::new(self.0.hash_one(key))
    }
}

#[cfg(test)]
mod tests {
    use alloc::{borrow::ToOwned, vec};

    use super::*;

    /// Values of the reference implementation of XXH3-64 (xxHash 0.8).
    #[test]
    fn golden_vectors() {
        let counting: Vec<u8> = (0..100).collect();
        let long: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        for (bytes, seed, expected) in [
            (&b""[..], 0, 0x2D06_8005_38D3_94C2_u64),
            (b"abc", 0, 0x78AF_5F94_892F_3950),
            (b"abc", 42, 0xD843_8DEF_21BB_DCC3),
            (&[b'a'; 17], 1, 0xE82C_0C3D_7EDE_DA3A),
            (&counting, 7, 0xF99B_7990_5A88_DC51),
            (&long, 0, 0x6E0D_7AC3_6B8C_10FF),
        ] {
            assert_eq!(bytes.digest(seed).get(), expected, "{} bytes under seed {seed}", bytes.len());
        }
    }

    #[test]
    fn one_byte_form_for_one_text() {
        let digest = "text".digest(9);
        assert_eq!("text".to_owned().digest(9), digest);
        assert_eq!(b"text"[..].digest(9), digest);
        assert_eq!(b"text".digest(9), digest);
        assert_eq!(vec![b't', b'e', b'x', b't'].digest(9), digest);
        assert_eq!(Box::<str>::from("text").digest(9), digest);
        assert_eq!(Cow::Borrowed("text").digest(9), digest);
        assert_eq!((&&"text").digest(9), digest);
    }

    #[test]
    fn integers_are_little_endian_in_their_width() {
        assert_eq!(0x0102_u16.digest(0), [2, 1].digest(0));
        assert_eq!((-1_i64).digest(0), [0xFF; 8].digest(0));
        assert_ne!(5_u32.digest(0), 5_u64.digest(0));
        assert_eq!(5_u128.digest(0).get(), {
            let mut b = [0; 16];
            b[0] = 5;
            b.digest(0).get()
        });
    }

    #[test]
    fn short_keys_that_are_easily_confused_differ() {
        let keys: [&[u8]; 4] = [b"", b"\0", b"a\0", b"a"];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[..i] {
                assert_ne!(a.digest(3), b.digest(3), "{a:?} {b:?}");
            }
        }
    }
}
