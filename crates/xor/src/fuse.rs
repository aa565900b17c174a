//! The binary fuse filter.

use core::fmt;

use amq::{
    Amq, BuildError, Capable, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError,
    attempt_seed, capabilities, theory,
};
use amq_bits::lanes::Lanes;
use amq_bits::{Packed, Store, StoreMut, Table};

use crate::MAX_ATTEMPTS;
use crate::builder::{Build, Builder, Resources, Sealed};
use crate::construction::{Built, Construction};
use crate::fuse_sizing::Size;
use crate::graph::{hash, hash_lanes};
use crate::lookup::{self, Ask};
use crate::parts::{FuseParts, PartsError};
use crate::source::{Source, SourceError};
use crate::table::check_padding;
use crate::wish::R;

/// A [`BinaryFuse`] filter with 3 hash functions: 1.13·r bits a key from 10^6 keys on.
pub type BinaryFuse3<S = Table> = BinaryFuse<3, S>;

/// A [`BinaryFuse`] filter with 4 hash functions: 1.08·r bits a key from 10^6 keys on.
pub type BinaryFuse4<S = Table> = BinaryFuse<4, S>;

/// A static filter of 1.13·r (`K` = 3) or 1.08·r bits a key (`K` = 4) with the false-positive rate 2^-r, r from
/// 1 to 32, whatever the keys.
///
/// `K` cells belong to a digest, one in each of as many neighbouring segments of the table; a key is a member if
/// they XOR to its fingerprint of r bits. All keys have to be known when it is built; nothing can be added or
/// removed later. Graf, Lemire, *Binary fuse filters: fast and smaller than xor filters*, ACM JEA 2022.
///
/// - **Lookup:** `K` reads, for members and others alike, and no branch that depends on them.
/// - **Build:** linear, with [`MAX_ATTEMPTS`] attempts at most. Duplicate digests are ignored.
/// - **Peak memory of the build:** with one thread, 8 bytes for each digest given, the table, and some MiB for the
///   segments being peeled. Bins have room for their share s of the digests and 6 √s + 16 more, in each segment and for each
///   thread, 8 bytes each.
/// - **Size:** as published, which for few keys is more than the large tables' share: 1.41 cells a key at 1,000
///   keys and 1.28 at 10,000 (`K` = 3). Segments are shorter than published where that makes builds succeed
///   sooner or stay in the cache.
/// - **No keys:** a table of zeros. Like every fuse filter it answers `true` at the rate 2^-r, for digests
///   whose fingerprint is 0.
///
/// An explicit load ([`Spec::shape`]) is taken literally: `ceil(capacity / alpha)` cells. Large tables cannot be
/// built above a load of .918 (`K` = 3) or .977 (`K` = 4).
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_xor::BinaryFuse3;
///
/// let spec = Spec::fpr(0.01, 1_000).with_seed(7);
/// let digests: Vec<_> = (0..1_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = BinaryFuse3::build(&digests, &spec)?;
///
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert_eq!((filter.r(), filter.expected_fpr()), (7, Some(1.0 / 128.0)));
/// # Ok::<(), amq::BuildError>(())
/// ```
#[derive(Clone)]
pub struct BinaryFuse<const K: usize, S: Store = Table> {
    size: Size<K>,
    seed: u64,
    attempts: u32,
    /// `attempt_seed(seed, attempts - 1)`
    hash_seed: u64,
    len: u64,
    store: S,
}

impl<const K: usize, S: Store> BinaryFuse<K, S> {
    /// A filter over a table that exists, owned or borrowed.
    ///
    /// ```
    /// use amq::{Digest, Family, Spec};
    /// use amq_xor::{BinaryFuse, BinaryFuse3};
    ///
    /// let built = BinaryFuse3::build(&[Digest::new(1)], &Spec::fpr(0.01, 1))?;
    /// let view = BinaryFuse::from_parts(built.parts(), built.table()).expect("its own parts");
    /// assert!(built == view);
    /// # Ok::<(), amq::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If no build makes such parts, or the length of the table is not theirs. What the table contains is not
    /// looked at.
    pub fn from_parts(parts: FuseParts, store: S) -> Result<Self, PartsError> {
        const { assert!(K == 3 || K == 4, "binary fuse filters have 3 or 4 hash functions") };
        let FuseParts { cells, segment_length, r, seed, attempts, len } = parts;
        let size = segment_length
            .is_power_of_two()
            .then(|| Size::new(cells, segment_length.trailing_zeros(), r))
            .flatten()
            .ok_or(PartsError::Segments { cells, segment_length, r })?;
        if !(1..=MAX_ATTEMPTS).contains(&attempts) {
            return Err(PartsError::Attempts { attempts });
        }
        if len > cells {
            return Err(PartsError::Len { len, cells });
        }
        let bytes = store.bytes().len() as u64;
        if bytes != size.table_bytes() {
            return Err(PartsError::Bytes { bytes, expected: size.table_bytes() });
        }
        Ok(Self::new(size, seed, attempts, len, store))
    }

    fn new(size: Size<K>, seed: u64, attempts: u32, len: u64, store: S) -> Self {
        Self { size, seed, attempts, hash_seed: attempt_seed(seed, attempts - 1), len, store }
    }

    /// The numbers that, with the table, make this filter.
    pub fn parts(&self) -> FuseParts {
        FuseParts {
            cells: self.size.cells(),
            segment_length: 1 << self.size.segments().bits(),
            r: self.r(),
            seed: self.seed,
            attempts: self.attempts,
            len: self.len,
        }
    }

    /// Bits of a cell.
    pub fn r(&self) -> u32 {
        self.size.layout().width()
    }

    /// Cells, of all segments.
    pub fn cells(&self) -> u64 {
        self.size.cells()
    }

    /// The seed of the spec: the one that keys are digested under.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl<const K: usize, S: Store> Ask<K> for BinaryFuse<K, S> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that what it finds stays in registers")]
    fn ask(&self, digest: Digest) -> ([u64; K], u64) {
        let (edge, derived) = self.size.segments().find(hash(digest, self.hash_seed));
        (edge, derived.print())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn ask_lanes<L: Lanes>(&self, lanes: L, digests: L::Vector) -> ([L::Vector; K], L::Vector) {
        self.size.segments().find_lanes(lanes, hash_lanes(lanes, digests, self.hash_seed))
    }

    #[inline]
    fn layout(&self) -> Packed {
        self.size.layout()
    }

    #[inline]
    fn cells(&self) -> u64 {
        self.size.cells()
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.store.bytes()
    }
}

impl<const K: usize, S: Store> Amq for BinaryFuse<K, S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        lookup::contains(self, digest)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        lookup::contains_batch(self, digests, answers);
    }

    /// Distinct digests.
    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn space(&self) -> Space {
        Space::of_table(&self.store)
    }

    /// 2^-r, for any table and any number of keys, 0 too.
    ///
    /// The fingerprint of a random digest is uniform, and independent of its cells: whatever these XOR to, it
    /// is that with the probability 2^-r. (That an absent digest may have all that a filter sees in common with
    /// a member changes this by less than 2^-37.)
    fn expected_fpr(&self) -> Option<f64> {
        Some(theory::xor::fpr(self.r()))
    }
}

impl<const K: usize> Family for BinaryFuse<K>
where
    Self: Capable,
{
    const NAME: &'static str = if K == 3 { "fuse3" } else { "fuse4" };
    const TITLE: &'static str = if K == 3 { "Binary fuse 3" } else { "Binary fuse 4" };
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = R;

    /// By default the published cells for a capacity of n; for an explicit load α, `ceil(n / α)` and at least
    /// `2 K`.
    ///
    /// A rate ε takes `r = ceil(log2(1/ε))` bits a cell, exactly. A number of bits per key takes the largest
    /// r with which the cells fit in; at capacity 0, where nothing can be promised per key, the r of a large
    /// table.
    ///
    /// # Errors
    /// If the spec makes no sense; if ε < 2^-32; if r is not in 1 to 32 or α not in (0, 1]; if the bits per
    /// key are too few for r = 1; [`SpecError::TooLarge`] beyond 2^57 cells.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(Size::<K>::of(spec)?.plan(spec.capacity()))
    }

    /// As by a fresh [`Builder`].
    ///
    /// # Errors
    /// If the spec cannot be planned; if there are more distinct digests than cells; if memory cannot be had;
    /// or [`BuildError::Exhausted`] after [`MAX_ATTEMPTS`]: never with the default sizes in practice, certain
    /// for an explicit load above the threshold in all but the smallest tables.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Builder::new().build(digests, spec)
    }

    fn table(&self) -> &[u8] {
        self.store.bytes()
    }

    fn build_attempts(&self) -> u32 {
        self.attempts
    }

    /// The size of the table; that no bit is set beyond the last cell; and that no more cells differ from 0
    /// than there are keys, as each key writes one.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        let bytes = self.store.bytes();
        if bytes.len() as u64 != self.size.table_bytes() {
            return Err(InvariantError {
                what: "the table has another size than its cells",
                at: bytes.len() as u64,
            });
        }
        check_padding(bytes, self.size.layout(), self.cells(), self.len)
    }
}

capabilities!(BinaryFuse<3>:);
capabilities!(BinaryFuse<4>:);

impl<const K: usize> Sealed for BinaryFuse<K> {
    fn build_with<Q: Source + ?Sized>(
        source: &Q,
        spec: &Spec,
        mut resources: Resources<'_>,
    ) -> Result<(Self, u64), SourceError<Q::Error>> {
        let size = Size::of(spec).map_err(BuildError::Spec)?;
        let seed = spec.seed();
        let construction = Construction {
            source,
            seed,
            size,
            capacity: spec.capacity(),
            limit: resources.limit,
            threads: resources.threads,
            max_attempts: MAX_ATTEMPTS,
        };
        let mut table = resources.table(size.table_bytes())?;
        let Built { len, attempts, peak } = construction.run(resources.stream, table.bytes_mut())?;
        Ok((Self::new(size, seed, attempts, len, table), peak))
    }

    fn into_table(self) -> Table {
        self.store
    }
}

impl<const K: usize> Build for BinaryFuse<K> where Self: Family {}

impl<const K: usize, S: Store, T: Store> PartialEq<BinaryFuse<K, T>> for BinaryFuse<K, S> {
    fn eq(&self, other: &BinaryFuse<K, T>) -> bool {
        self.parts() == other.parts() && self.store.bytes() == other.store.bytes()
    }
}

impl<const K: usize, S: Store> fmt::Debug for BinaryFuse<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryFuse")
            .field("hashes", &K)
            .field("len", &self.len)
            .field("cells", &self.cells())
            .field("r", &self.r())
            .field("seed", &self.seed)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
