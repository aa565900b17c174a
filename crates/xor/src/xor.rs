//! The xor filter.

use core::fmt;

use amq::{
    Amq, BuildError, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError, attempt_seed,
    capabilities, theory,
};
use amq_bits::lanes::Lanes;
use amq_bits::{Packed, Store, StoreMut, Table};

use crate::MAX_ATTEMPTS;
use crate::builder::{Build, Builder, Resources, Sealed};
use crate::construction::{Built, Construction};
use crate::graph::{Graph, TAG, hash, hash_lanes};
use crate::lookup::{self, Ask};
use crate::memory::index;
use crate::parts::{PartsError, XorParts};
use crate::sizing::Size;
use crate::source::{Source, SourceError};
use crate::table::check_padding;
use crate::thirds::{Thirds, locate_lanes};
use crate::wish::R;

/// A static filter of 1.23·r bits a key with the false-positive rate 2^-r, r from 1 to 32, whatever the keys.
///
/// Three cells belong to a digest, one in each third of its shard; a key is a member if they XOR to its
/// fingerprint of r bits. All keys have to be known when it is built; nothing can be added or removed later.
/// Graf, Lemire, *Xor filters: faster and smaller than Bloom and cuckoo filters*, ACM JEA 2020.
///
/// - **Lookup:** three reads, for members and others alike, and no branch that depends on them. Above 68,000
///   keys (36,500 with r = 15 to 17) one more, of a directory of 8 bytes for 34,000 to 68,000 keys (half as many with
///   r = 15 to 17).
/// - **Build:** linear, with [`MAX_ATTEMPTS`] attempts at most for each shard. Duplicate digests are ignored.
/// - **Peak memory of the build:** with one thread, 8 bytes for each digest given, the table, and some MiB for the
///   shard being built. Bins have room for their share s of the digests and 6 √s + 16 more, in each shard and for each thread,
///   8 bytes each; and each thread builds a shard of its own. Less with a [`Builder`] that has a limit.
/// - **No keys:** a table of zeros. Like every xor filter it answers `true` at the rate 2^-r, for digests
///   whose fingerprint is 0.
///
/// An explicit load ([`Spec::shape`]) is taken literally: `ceil(capacity / alpha / 3)` cells a third. Large
/// tables cannot be built above a load of .818.
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_xor::XorFilter;
///
/// let spec = Spec::fpr(0.01, 1_000).with_seed(7);
/// let digests: Vec<_> = (0..1_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = XorFilter::build(&digests, &spec)?;
///
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert_eq!((filter.r(), filter.expected_fpr()), (7, Some(1.0 / 128.0)));
/// # Ok::<(), amq::BuildError>(())
/// ```
#[derive(Clone)]
pub struct XorFilter<S: Store = Table> {
    size: Size,
    seed: u64,
    attempts: u32,
    /// `attempt_seed(seed, attempts - 1)`, or that of the first attempt if the shards have hash functions of
    /// their own.
    hash_seed: u64,
    len: u64,
    /// The number of shards: kept because shifts by a variable cost a lookup more than a multiplication.
    shards: u64,
    store: S,
}

impl<S: Store> XorFilter<S> {
    /// A filter over a table that exists, owned or borrowed.
    ///
    /// ```
    /// use amq::{Digest, Family, Spec};
    /// use amq_xor::XorFilter;
    ///
    /// let built = XorFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1))?;
    /// let view = XorFilter::from_parts(built.parts(), built.table()).expect("its own parts");
    /// assert!(built == view);
    /// # Ok::<(), amq::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If no build makes such parts, the length of the table is not theirs, or its directory is not one. What
    /// the cells contain is not looked at.
    pub fn from_parts(parts: XorParts, store: S) -> Result<Self, PartsError> {
        let XorParts { cells_per_third, r, seed, attempts, len } = parts;
        let size = Size::new(cells_per_third, r).ok_or(PartsError::Size { cells_per_third, r })?;
        if !(1..=MAX_ATTEMPTS).contains(&attempts) {
            return Err(PartsError::Attempts { attempts });
        }
        let cells = size.cells();
        if len > cells {
            return Err(PartsError::Len { len, cells });
        }
        let bytes = store.bytes().len() as u64;
        if bytes != size.table_bytes() {
            return Err(PartsError::Bytes { bytes, expected: size.table_bytes() });
        }
        size.check_directory(store.bytes()).map_err(|shard| PartsError::Shard { shard })?;
        Ok(Self::new(size, seed, attempts, len, store))
    }

    fn new(size: Size, seed: u64, attempts: u32, len: u64, store: S) -> Self {
        let attempt = if size.shards() == 1 { attempts - 1 } else { 0 };
        Self {
            size,
            seed,
            attempts,
            hash_seed: attempt_seed(seed, attempt),
            len,
            shards: size.shards(),
            store,
        }
    }

    /// The numbers that, with the table, make this filter.
    pub fn parts(&self) -> XorParts {
        XorParts {
            cells_per_third: self.size.third(),
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

    /// Cells, of all three thirds.
    pub fn cells(&self) -> u64 {
        self.size.cells()
    }

    /// Shards: parts of the table that are built on their own.
    pub fn shards(&self) -> u64 {
        self.size.shards()
    }

    /// The seed of the spec: the one that keys are digested under.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl<S: Store> Ask<3> for XorFilter<S> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that what it finds stays in registers")]
    fn ask(&self, digest: Digest) -> ([u64; 3], u64) {
        let hash = hash(digest, self.hash_seed);
        if self.shards == 1 {
            let (edge, derived) = Thirds::new(self.size.third(), 0).locate(0, hash.get() & !TAG);
            return (edge, derived.print());
        }
        // The highest bits, as [`HighBits`](crate::partition::HighBits) takes them.
        let (shard, rest) = hash.scale_with_rest(self.shards);
        let (start, third, rotation) = self.size.shard(self.store.bytes(), shard);
        let (edge, derived) = Thirds::new(third, rotation).locate(0, rest & !TAG);
        (edge.map(|cell| 3 * start + cell), derived.print())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that it is compiled for the processor's features")]
    fn ask_lanes<L: Lanes>(&self, lanes: L, digests: L::Vector) -> ([L::Vector; 3], L::Vector) {
        let hashes = hash_lanes(lanes, digests, self.hash_seed);
        let tag = lanes.splat(!TAG);
        if self.shards == 1 {
            let (third, rotation) = (lanes.splat(self.size.third()), lanes.splat(0));
            return locate_lanes(lanes, third, rotation, lanes.and(hashes, tag));
        }
        let bits = self.size.bits();
        let words = lanes.and(lanes.shl(hashes, bits), tag);
        let (start, third, rotation) =
            self.size.shard_lanes(lanes, self.store.bytes(), lanes.shr(hashes, 64 - bits));
        let (edge, print) = locate_lanes(lanes, third, rotation, words);
        let start = lanes.add(start, lanes.add(start, start));
        (edge.map(|cell| lanes.add(start, cell)), print)
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

impl<S: Store> Amq for XorFilter<S> {
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

impl Family for XorFilter {
    const NAME: &'static str = "xor";
    const TITLE: &'static str = "Xor";
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = R;

    /// By default `3 ceil((1.23 n + 32) / 3)` cells for a capacity of n; for an explicit load α, `3 ceil(n /
    /// α / 3)` and at least 3.
    ///
    /// A rate ε takes `r = ceil(log2(1/ε))` bits a cell, exactly. A number of bits per key takes the largest
    /// r with which the table fits in; at capacity 0, where nothing can be promised per key, the r of a large
    /// table.
    ///
    /// # Errors
    /// If the spec makes no sense; if ε < 2^-32; if r is not in 1 to 32 or α not in (0, 1]; if the bits per
    /// key are too few for r = 1; [`SpecError::TooLarge`] beyond 2^56 cells a third.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(Size::of(spec)?.plan(spec.capacity()))
    }

    /// As by a fresh [`Builder`].
    ///
    /// # Errors
    /// If the spec cannot be planned; if there are more distinct digests than cells; if memory cannot be had;
    /// or [`BuildError::Exhausted`] after [`MAX_ATTEMPTS`]: never with the default sizes in practice, certain
    /// for an explicit load above the peeling threshold of .818 keys a cell in all but the smallest tables.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Builder::new().build(digests, spec)
    }

    fn table(&self) -> &[u8] {
        self.store.bytes()
    }

    fn build_attempts(&self) -> u32 {
        self.attempts
    }

    /// The size of the table and its directory; that no bit is set beyond the last cell; and that no more cells
    /// differ from 0 than there are keys, as each key writes one.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        let (bytes, layout) = (self.store.bytes(), self.size.layout());
        if bytes.len() as u64 != self.size.table_bytes() {
            return Err(InvariantError {
                what: "the table has another size than its cells",
                at: bytes.len() as u64,
            });
        }
        self.size
            .check_directory(bytes)
            .map_err(|at| InvariantError { what: "the directory entry of a shard is impossible", at })?;
        check_padding(&bytes[..index(self.size.end_of_cells())], layout, self.cells(), self.len)
    }
}

capabilities!(XorFilter:);

impl Sealed for XorFilter {
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
        let Built { len, attempts, peak } = construction.run(resources.shards, table.bytes_mut())?;
        Ok((Self::new(size, seed, attempts, len, table), peak))
    }

    fn into_table(self) -> Table {
        self.store
    }
}

impl Build for XorFilter {}

impl<S: Store, T: Store> PartialEq<XorFilter<T>> for XorFilter<S> {
    fn eq(&self, other: &XorFilter<T>) -> bool {
        self.parts() == other.parts() && self.store.bytes() == other.store.bytes()
    }
}

impl<S: Store> fmt::Debug for XorFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XorFilter")
            .field("len", &self.len)
            .field("cells", &self.cells())
            .field("r", &self.r())
            .field("seed", &self.seed)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
