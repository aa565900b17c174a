//! The bumped ribbon filter.

use core::fmt;

use amq::{
    Amq, BuildError, Capable, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError,
    assert_same_length, attempt_seed, capabilities, theory,
};
use amq_bits::columns::dispatch;
use amq_bits::{Store, Table};

use crate::batch::{Batch, One};
use crate::build::{Built, MAX_ATTEMPTS};
use crate::builder::{Build, Builder, Resources, Sealed};
use crate::geometry::BLOCK;
use crate::parts::{PartsError, RibbonParts};
use crate::probe::Prober;
use crate::sizing::{R, Size};
use crate::width::{W64, W128, Width};

/// A bumped ribbon filter with windows of 64 slots: the one to take by default.
pub type RibbonFilter<S = Table> = BumpedRibbon<W64, S>;

/// A bumped ribbon filter with windows of 128 slots: smaller at r = 1 to 3, slower to build.
pub type WideRibbonFilter<S = Table> = BumpedRibbon<W128, S>;

/// A static filter of little more than r bits a key with the false-positive rate 2^-r, r from 1 to 32, whatever the keys.
///
/// A window of consecutive slots belongs to a digest, about half of which count; a key is a member if the slots that
/// count XOR to its fingerprint of r bits. All keys have to be known when it is built; nothing can be added or removed
/// later. Dillinger, Hübschle-Schneider, Sanders, Walzer, *Fast Succinct Retrieval and Approximate Membership Using
/// Ribbon*, SEA 2022.
///
/// - **Space:** see the crate's table; under 1 % over r bits a key from 10^6 keys on ([`RibbonFilter`] from r = 2, the
///   wide one at r = 1 too).
/// - **Lookup:** a two-bit threshold in a small array, then 2·r neighbouring words (3·r in the wide filter), for members and
///   others alike; for one key in some twenty, which was bumped, the same again in the next layer.
/// - **Build:** linear up to the sort in it, with [`MAX_ATTEMPTS`] attempts at most. Duplicate digests are ignored. A
///   [`Builder`] keeps the memory for the next, bounds it, and uses several threads.
/// - **Peak memory of the build:** 8 bytes for each digest, the table, and 3 megabytes for each thread (5 in the wide filter).
/// - **No keys:** a table of zeros, which answers `true` at the rate 2^-r, for digests whose fingerprint is 0.
///
/// An explicit load ([`Spec::shape`]) is taken literally: `ceil(capacity / alpha)` slots, at least one window.
///
/// ```
/// use amq::{Amq, Family, Key, Spec};
/// use amq_ribbon::RibbonFilter;
///
/// let spec = Spec::fpr(0.01, 10_000).with_seed(7);
/// let digests: Vec<_> = (0..10_000_u64).map(|key| key.digest(spec.seed())).collect();
/// let filter = RibbonFilter::build(&digests, &spec)?;
///
/// assert!(digests.iter().all(|&digest| filter.contains(digest)));
/// assert_eq!((filter.r(), filter.expected_fpr()), (7, Some(1.0 / 128.0)));
/// assert!(filter.space().payload_bits < 7 * 10_300);
/// # Ok::<(), amq::BuildError>(())
/// ```
pub struct BumpedRibbon<W: Width, S: Store = Table> {
    prober: Prober<W>,
    seed: u64,
    attempts: u32,
    len: u64,
    store: S,
}

impl<W: Width, S: Store> BumpedRibbon<W, S> {
    /// A filter over a table that exists, owned or borrowed.
    ///
    /// ```
    /// use amq::{Digest, Family, Spec};
    /// use amq_ribbon::RibbonFilter;
    ///
    /// let built = RibbonFilter::build(&[Digest::new(1)], &Spec::fpr(0.01, 1))?;
    /// let view = RibbonFilter::from_parts(built.parts(), built.table()).expect("its own parts");
    /// assert!(built == view);
    /// # Ok::<(), amq::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If no build makes such parts, or the length of the table is not theirs. What the table contains is not looked at.
    pub fn from_parts(parts: RibbonParts, store: S) -> Result<Self, PartsError> {
        let RibbonParts { slots, r, seed, attempts, len } = parts;
        let size = Size::new::<W>(slots, r).ok_or(PartsError::Size { slots, r })?;
        if !(1..=MAX_ATTEMPTS).contains(&attempts) {
            return Err(PartsError::Attempts { attempts });
        }
        if len > slots {
            return Err(PartsError::Len { len, slots });
        }
        let (bytes, expected) = (store.bytes().len() as u64, size.layout.bytes());
        if bytes != expected {
            return Err(PartsError::Bytes { bytes, expected });
        }
        let prober = Prober::new(&size, attempt_seed(seed, attempts - 1));
        Ok(Self { prober, seed, attempts, len, store })
    }

    /// The numbers that, with the table, make this filter.
    pub fn parts(&self) -> RibbonParts {
        RibbonParts {
            slots: self.slots(),
            r: self.r(),
            seed: self.seed,
            attempts: self.attempts,
            len: self.len,
        }
    }

    /// Bits of a slot.
    #[inline]
    pub fn r(&self) -> u32 {
        self.prober.size.layout.r()
    }

    /// Slots, of all layers.
    pub fn slots(&self) -> u64 {
        self.prober.size.geometry.slots()
    }

    /// Layers: one, and one more for each time that some hundreds of slots or more can be left to those which are bumped.
    pub fn layers(&self) -> usize {
        self.prober.size.geometry.layers().len()
    }

    /// The seed of the spec: the one that keys are digested under.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl<W: Width> Build for BumpedRibbon<W> where Self: Capable {}

impl<W: Width> Sealed for BumpedRibbon<W> {
    fn build_with(
        digests: &[Digest],
        spec: &Spec,
        resources: Resources<'_>,
    ) -> Result<(Self, u64), BuildError> {
        let (size, seed) = (Size::of::<W>(spec)?, spec.seed());
        let (store, Built { len, attempts }, peak) = resources.build::<W>(digests, seed, &size)?;
        let prober = Prober::new(&size, attempt_seed(seed, attempts - 1));
        Ok((Self { prober, seed, attempts, len, store }, peak))
    }

    fn into_table(self) -> Table {
        self.store
    }
}

impl<W: Width, S: Store> Amq for BumpedRibbon<W, S> {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        dispatch(One { prober: &self.prober, bytes: self.store.bytes(), digest })
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        dispatch(Batch { prober: &self.prober, bytes: self.store.bytes(), digests, answers });
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
    /// The fingerprint of a random digest is uniform, and independent of its window: whatever the slots XOR to, it is that
    /// with the probability 2^-r. (That members are not among the absent digests changes this by less than n/2^64.)
    fn expected_fpr(&self) -> Option<f64> {
        Some(theory::xor::fpr(self.r()))
    }
}

impl<W: Width> Family for BumpedRibbon<W>
where
    Self: Capable,
{
    const NAME: &'static str = W::NAME;
    const TITLE: &'static str = W::TITLE;
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = R;

    /// By default a few slots more than keys, in whole blocks of 64; for an explicit load α, `ceil(n / α)` and at least one
    /// window.
    ///
    /// A rate ε takes `r = ceil(log2(1/ε))` bits a slot, exactly. A number of bits per key takes the largest r with which
    /// the table fits in; at capacity 0, where nothing can be promised per key, the r of a large table, as long as that
    /// takes at most 128 bytes.
    ///
    /// # Errors
    /// If the spec makes no sense; if ε < 2^-32; if r is not in 1 to 32 or α not in (0, 1]; if the bits per key are too few
    /// for r = 1; [`SpecError::TooLarge`] beyond 2^50 slots.
    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        Ok(Size::of::<W>(spec)?.plan(spec.capacity()))
    }

    /// # Errors
    /// If the spec cannot be planned; if there are more distinct digests than slots; if memory cannot be had; or
    /// [`BuildError::Exhausted`] after [`MAX_ATTEMPTS`]: never with the default sizes in practice, certain for an explicit
    /// load of 1 in all but the smallest tables.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Builder::new().build(digests, spec)
    }

    fn table(&self) -> &[u8] {
        self.store.bytes()
    }

    fn build_attempts(&self) -> u32 {
        self.attempts
    }

    /// The size of the table; that no bit is set beyond the last slot and the last threshold; and that, where all slots are
    /// 0, no key was bumped.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        let (bytes, size) = (self.store.bytes(), &self.prober.size);
        let error = |what, at| Err(InvariantError { what, at });
        if bytes.len() as u64 != size.layout.bytes() {
            return error("the table has another size than its slots", bytes.len() as u64);
        }
        let used = self.slots() % BLOCK;
        let end = size.layout.block_at(size.geometry.blocks());
        if used != 0 {
            for word in bytes[end - size.layout.block_bytes()..end].chunks_exact(8) {
                if amq_bits::word::load_u64(word, 0) >> used != 0 {
                    return error("a bit is set beyond the last slot", self.slots());
                }
            }
        }
        let thresholds = size.geometry.buckets();
        let last = bytes.last().map_or(0, |&byte| byte >> (2 * (thresholds % 4)));
        if thresholds % 4 != 0 && last != 0 {
            return error("a bit is set beyond the last threshold", thresholds);
        }
        let zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        if self.len == 0 && !zero(bytes) {
            return error("a bit is set without any key", 0);
        }
        Ok(())
    }
}

capabilities!(RibbonFilter:);
capabilities!(WideRibbonFilter:);

impl<W: Width, S: Store + Clone> Clone for BumpedRibbon<W, S> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), ..*self }
    }
}

impl<W: Width, S: Store, T: Store> PartialEq<BumpedRibbon<W, T>> for BumpedRibbon<W, S> {
    fn eq(&self, other: &BumpedRibbon<W, T>) -> bool {
        self.parts() == other.parts() && self.store.bytes() == other.store.bytes()
    }
}

impl<W: Width, S: Store> fmt::Debug for BumpedRibbon<W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BumpedRibbon")
            .field("width", &W::BITS)
            .field("len", &self.len)
            .field("slots", &self.slots())
            .field("layers", &self.layers())
            .field("r", &self.r())
            .field("seed", &self.seed)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
