//! The xor filter.

use core::fmt;

use amq::theory::xor::PEELING_THRESHOLD_3;
use amq::{
    Amq, BuildError, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError, assert_same_length,
    attempt_seed, capabilities, theory,
};
use amq_bits::prefetch::prefetch_read;
use amq_bits::{Store, Table};

use crate::build::{MAX_ATTEMPTS, build};
use crate::graph::{Graph, fingerprint};
use crate::look_ahead::{self, Steps};
use crate::memory::index;
use crate::sizing::{R, Size};

/// Batches of lookups prefetch in tables of at least this many bytes: smaller ones stay in the second-level
/// cache of a core of today, where the look-ahead costs more than the misses.
const PREFETCH_FROM: usize = 1 << 20;

/// A static filter of 1.23·r bits a key with the false-positive rate 2^-r, r from 1 to 32, whatever the keys.
///
/// Three cells belong to a digest, one in each third of the table; a key is a member if they XOR to its
/// fingerprint of r bits. All keys have to be known when it is built; nothing can be added or removed later.
/// Graf, Lemire, *Xor filters: faster and smaller than Bloom and cuckoo filters*, ACM JEA 2020.
///
/// - **Lookup:** three reads, for members and others alike, and no branch that depends on them.
/// - **Build:** linear, with [`MAX_ATTEMPTS`] attempts at most. Duplicate digests are ignored.
/// - **Peak memory of the build:** 17 bytes a cell and 1 byte a key (22 bytes a key), or 8 bytes a cell, 1
///   byte a key and the table, whichever is more; 8 bytes for each digest given more if there are duplicates
///   or the first attempt fails.
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
    /// `attempt_seed(seed, attempts - 1)`
    hash_seed: u64,
    len: u64,
    store: S,
}

/// The numbers that, with the table, make a [`XorFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XorParts {
    /// Cells of each third, at least 1.
    pub cells_per_third: u64,
    /// Bits of a cell, 1 to 32.
    pub r: u32,
    /// The seed of the spec.
    pub seed: u64,
    /// Attempts that the build took, 1 to [`MAX_ATTEMPTS`]; they decide the hash function.
    pub attempts: u32,
    /// Distinct digests stored, at most as many as there are cells.
    pub len: u64,
}

/// Parts that no filter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// No table has so many cells of so many bits.
    Size {
        /// Cells of each third.
        cells_per_third: u64,
        /// Bits of a cell.
        r: u32,
    },
    /// No build takes so many attempts.
    Attempts {
        /// The number given.
        attempts: u32,
    },
    /// More keys than cells.
    Len {
        /// The number of keys given.
        len: u64,
        /// Cells of the table.
        cells: u64,
    },
    /// The table has another number of bytes.
    Bytes {
        /// The number given.
        bytes: u64,
        /// The number that the parts need.
        expected: u64,
    },
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { cells_per_third, r } => {
                write!(f, "three times {cells_per_third} cells of {r} bits are not a xor filter")
            }
            Self::Attempts { attempts } => {
                write!(f, "{attempts} attempts are not in 1 to {MAX_ATTEMPTS}")
            }
            Self::Len { len, cells } => write!(f, "{len} keys are more than {cells} cells"),
            Self::Bytes { bytes, expected } => write!(f, "the table has {bytes} bytes instead of {expected}"),
        }
    }
}

impl core::error::Error for PartsError {}

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
    /// If no build makes such parts, or the length of the table is not theirs. What the table contains is not
    /// looked at.
    pub fn from_parts(parts: XorParts, store: S) -> Result<Self, PartsError> {
        let XorParts { cells_per_third, r, seed, attempts, len } = parts;
        let size = Size::new(cells_per_third, r).ok_or(PartsError::Size { cells_per_third, r })?;
        if !(1..=MAX_ATTEMPTS).contains(&attempts) {
            return Err(PartsError::Attempts { attempts });
        }
        let cells = size.graph.cells();
        if len > cells {
            return Err(PartsError::Len { len, cells });
        }
        let bytes = store.bytes().len() as u64;
        if bytes != size.table_bytes {
            return Err(PartsError::Bytes { bytes, expected: size.table_bytes });
        }
        Ok(Self { size, seed, attempts, hash_seed: attempt_seed(seed, attempts - 1), len, store })
    }

    /// The numbers that, with the table, make this filter.
    pub fn parts(&self) -> XorParts {
        XorParts {
            cells_per_third: self.size.graph.third(),
            r: self.r(),
            seed: self.seed,
            attempts: self.attempts,
            len: self.len,
        }
    }

    /// Bits of a cell.
    pub fn r(&self) -> u32 {
        self.size.layout.width()
    }

    /// Cells, of all three thirds.
    pub fn cells(&self) -> u64 {
        self.size.graph.cells()
    }

    /// The seed of the spec: the one that keys are digested under.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of a digest under the seed of the attempt that succeeded.
    #[inline]
    fn hash(&self, digest: Digest) -> u64 {
        digest.remix(self.hash_seed).get()
    }

    /// The cells of a hash, and the fingerprint that they are compared with.
    #[inline]
    fn question(&self, hash: u64) -> ([u64; 3], u64) {
        (self.size.graph.edge(hash), fingerprint(hash, self.size.layout.mask()))
    }

    #[inline]
    fn answer(&self, bytes: &[u8], ([a, b, c], fingerprint): ([u64; 3], u64)) -> bool {
        let layout = self.size.layout;
        layout.get(bytes, a) ^ layout.get(bytes, b) ^ layout.get(bytes, c) == fingerprint
    }
}

impl<S: Store> Amq for XorFilter<S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.answer(self.store.bytes(), self.question(self.hash(digest)))
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        let bytes = self.store.bytes();
        if bytes.len() < PREFETCH_FROM {
            for (answer, &digest) in answers.iter_mut().zip(digests) {
                *answer = self.answer(bytes, self.question(self.hash(digest)));
            }
        } else {
            look_ahead::run(&mut Batch { filter: self, bytes, digests, answers }, digests.len());
        }
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
    /// is that with the probability 2^-r. (That members are not among the absent digests changes this by less
    /// than n/2^64.)
    fn expected_fpr(&self) -> Option<f64> {
        Some(theory::xor::fpr(self.r()))
    }
}

/// A batch of lookups that looks ahead.
struct Batch<'a, S: Store> {
    filter: &'a XorFilter<S>,
    bytes: &'a [u8],
    digests: &'a [Digest],
    answers: &'a mut [bool],
}

impl<S: Store> Steps for Batch<'_, S> {
    type Prepared = ([u64; 3], u64);

    #[inline]
    fn prepare(&self, i: usize) -> Self::Prepared {
        let question = self.filter.question(self.filter.hash(self.digests[i]));
        for cell in question.0 {
            // A cell of the table: its bits are fewer than 2^64.
            prefetch_read(self.bytes, index((cell * u64::from(self.filter.r())) >> 3));
        }
        question
    }

    #[inline]
    fn finish(&mut self, i: usize, question: Self::Prepared) {
        self.answers[i] = self.filter.answer(self.bytes, question);
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
    /// r with which the cells fit in; at capacity 0, where nothing can be promised per key, the r of a large
    /// table.
    ///
    /// # Errors
    /// If the spec makes no sense; if ε < 2^-32; if r is not in 1 to 32 or α not in (0, 1]; if the bits per
    /// key are too few for r = 1; [`SpecError::TooLarge`] beyond 2^58 cells.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(Size::of(spec)?.plan(spec.capacity()))
    }

    /// # Errors
    /// If the spec cannot be planned; if there are more distinct digests than cells; if memory cannot be had;
    /// or [`BuildError::Exhausted`] after [`MAX_ATTEMPTS`]: never with the default sizes in practice, certain
    /// for an explicit load above the peeling threshold of .818 keys a cell in all but the smallest tables.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let size = Size::of(spec)?;
        let seed = spec.seed();
        let built = build(digests, seed, size.graph, size.layout, PEELING_THRESHOLD_3, MAX_ATTEMPTS)?;
        let hash_seed = attempt_seed(seed, built.attempts - 1);
        Ok(Self { size, seed, attempts: built.attempts, hash_seed, len: built.len, store: built.table })
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
        let (bytes, layout, cells) = (self.store.bytes(), self.size.layout, self.cells());
        if bytes.len() as u64 != self.size.table_bytes {
            return Err(InvariantError {
                what: "the table has another size than its cells",
                at: bytes.len() as u64,
            });
        }
        let end = cells * u64::from(layout.width());
        let last = bytes.get(index(end >> 3)).map_or(0, |&byte| byte >> (end & 7));
        let padding = bytes.get(index(end.div_ceil(8))..).unwrap_or_default();
        if (end & 7 != 0 && last != 0) || padding.iter().any(|&byte| byte != 0) {
            return Err(InvariantError { what: "a bit is set beyond the last cell", at: end >> 3 });
        }
        let written = (0..cells).filter(|&cell| layout.get(bytes, cell) != 0).count() as u64;
        if written > self.len {
            return Err(InvariantError { what: "more cells are written than there are keys", at: written });
        }
        Ok(())
    }
}

capabilities!(XorFilter:);

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
