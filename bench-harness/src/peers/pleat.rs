//! [pleat](https://docs.rs/pleat): ribbon filters after those of `RocksDB`, homogeneous of width 64 and
//! standard of width 128.
//!
//! - Widths of 1 to 20 bits are types of the crate; a plan takes the smallest that meets the rate. The load
//!   is fixed by the crate, and a plan shows it whatever a shape asks for.
//! - Keys are partitioned before the elimination, the crate's faster build on one thread. Duplicates do no
//!   harm. Seeds are the crate's own.
//! - A homogeneous filter always builds, but answers a little more than 2^-r wrongly; the standard one tries
//!   64 seeds and gives exactly 2^-r.
//! - Batches go through the crate's own, which prefetches, in chunks copied out of the digests.

use core::fmt;
use core::marker::PhantomData;

use amq::{
    Amq, BuildError, Capable, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError, Target,
    assert_same_length, capabilities,
};
use pleat::filter::{Ribbon, StdRibbon};

use super::shared;

/// The most bits offered; the crate has up to 32.
const MOST_R: u32 = 20;

/// Digests copied at once for a batch.
const CHUNK: usize = 512;

/// A filter of one width.
trait Solved: Send + Sync {
    fn contains(&self, key: u64) -> bool;
    fn contains_batch(&self, keys: &[u64], answers: &mut [bool]);
    fn size_bytes(&self) -> usize;
}

macro_rules! solved {
    ($($filter:ident),*) => {$(
        impl<const R: usize> Solved for $filter<R> {
            fn contains(&self, key: u64) -> bool {
                self.contains(key)
            }

            fn contains_batch(&self, keys: &[u64], answers: &mut [bool]) {
                self.contains_batch(keys, answers);
            }

            fn size_bytes(&self) -> usize {
                self.size_bytes()
            }
        }
    )*};
}

solved!(Ribbon, StdRibbon);

/// A filter of one width as an [`Amq`]: loops over lookups know the width.
struct OfOneWidth<F> {
    filter: F,
    expected_fpr: Option<f64>,
}

impl<F: Solved> Amq for OfOneWidth<F> {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains(digest.get())
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        assert_same_length(digests, answers);
        let mut keys = [0; CHUNK];
        for (digests, answers) in digests.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            for (key, digest) in keys.iter_mut().zip(digests) {
                *key = digest.get();
            }
            self.filter.contains_batch(&keys[..digests.len()], answers);
        }
    }

    fn len(&self) -> Option<u64> {
        None
    }

    fn space(&self) -> Space {
        let bytes = self.filter.size_bytes() as u64;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    fn expected_fpr(&self) -> Option<f64> {
        self.expected_fpr
    }
}

/// One of the crate's two constructions.
pub trait Construction: Send + Sync + 'static {
    /// The peer's short name.
    const NAME: &'static str;
    /// The peer's name for people.
    const TITLE: &'static str;
    /// Bits of a coefficient row, and the multiple that slots come in.
    const WIDTH: u32;

    /// The filter with `r` bits, 1 to 20; `None` if none of the crate's seeds solves the system.
    fn construct(keys: &[u64], r: u32) -> Option<Box<dyn Amq>>;
}

/// `$body` with `$width` as the constant of the value of `$r`.
macro_rules! with_width {
    ($r:expr, $width:ident => $body:expr) => {
        with_width!(@ $r, $width => $body, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
    };
    (@ $r:expr, $width:ident => $body:expr, $($value:literal)*) => {
        match $r {
            $($value => {
                const $width: usize = $value;
                $body
            })*
            _ => None,
        }
    };
}

/// Rows of 64 bits, every result 0.
#[derive(Debug)]
pub struct Homogeneous;

impl Construction for Homogeneous {
    const NAME: &'static str = "pleat-homogeneous";
    const TITLE: &'static str = "pleat, homogeneous ribbon";
    const WIDTH: u32 = 64;

    fn construct(keys: &[u64], r: u32) -> Option<Box<dyn Amq>> {
        with_width!(r, R => {
            let filter = Ribbon::<R>::from_keys_pleated(keys);
            Some(Box::new(OfOneWidth { filter, expected_fpr: None }))
        })
    }
}

/// Rows of 128 bits, results of the key.
#[derive(Debug)]
pub struct Standard;

impl Construction for Standard {
    const NAME: &'static str = "pleat-standard";
    const TITLE: &'static str = "pleat, standard ribbon";
    const WIDTH: u32 = 128;

    fn construct(keys: &[u64], r: u32) -> Option<Box<dyn Amq>> {
        with_width!(r, R => {
            let filter = StdRibbon::<R>::from_keys_pleated(keys).ok()?;
            Some(Box::new(OfOneWidth { expected_fpr: Some(filter.false_positive_rate()), filter }))
        })
    }
}

/// A ribbon filter of pleat: see the [module](self).
pub struct Pleat<C> {
    filter: Box<dyn Amq>,
    construction: PhantomData<C>,
}

/// The crate's slots for `n` keys: an overhead of (4 + r/4) / 8 width-bytes, in whole blocks, at least two.
/// Its own expression, so that the rounding is its.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond 2^64 saturates and is refused"
)]
fn slots(n: u64, r: u32, width: u32) -> Option<u64> {
    let overhead = 1.0 + (4.0 + f64::from(r) * 0.25) / f64::from(width);
    let width = u64::from(width);
    Some(((overhead * n as f64) as u64).checked_next_multiple_of(width)?.max(2 * width))
}

impl<C: Construction> Pleat<C> {
    fn plan_with(capacity: u64, r: u32) -> Result<Plan, SpecError> {
        let slots = slots(capacity, r, C::WIDTH).ok_or(SpecError::TooLarge { capacity })?;
        // Whole blocks of at least 64 slots, so a multiple of 8.
        let table_bytes = shared::addressable(capacity, (slots / 8).checked_mul(r.into()))?;
        let fpr = (-f64::from(r)).exp2();
        Ok(Plan { capacity, slots, alpha: shared::load(capacity, slots), r, k: None, table_bytes, fpr })
    }
}

impl<C: Construction> fmt::Debug for Pleat<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(C::TITLE).field("space", &self.filter.space()).finish_non_exhaustive()
    }
}

impl<C: Construction> Amq for Pleat<C> {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains(digest)
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        self.filter.contains_batch(digests, answers);
    }

    fn count_hits(&self, digests: &[Digest]) -> u64 {
        self.filter.count_hits(digests)
    }

    fn count_hits_chained(&self, digests: &[Digest]) -> u64 {
        self.filter.count_hits_chained(digests)
    }

    fn len(&self) -> Option<u64> {
        self.filter.len()
    }

    fn space(&self) -> Space {
        self.filter.space()
    }

    fn expected_fpr(&self) -> Option<f64> {
        self.filter.expected_fpr()
    }
}

impl<C: Construction> Family for Pleat<C>
where
    Self: Capable,
{
    const NAME: &'static str = C::NAME;
    const TITLE: &'static str = C::TITLE;
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = (1, MOST_R);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        match spec.checked_target()? {
            Target::Fpr(fpr) => {
                let r = (1..=MOST_R).find(|&r| (-f64::from(r)).exp2() <= fpr);
                let lowest = (-f64::from(MOST_R)).exp2();
                Self::plan_with(capacity, r.ok_or(SpecError::FprTooLow { fpr, lowest })?)
            }
            Target::Shape { r, .. } => {
                if !(1..=MOST_R).contains(&r) {
                    return Err(SpecError::Remainder { r, lowest: 1, highest: MOST_R });
                }
                Self::plan_with(capacity, r)
            }
            Target::BitsPerKey(bits) => {
                let lowest = Self::plan_with(capacity, 1)?;
                let bits_of = |plan: &Plan| plan.payload_bits() as f64 / capacity.max(1) as f64;
                let plans = (1..=MOST_R).rev().filter_map(|r| Self::plan_with(capacity, r).ok());
                plans.into_iter().find(|plan| bits_of(plan) <= bits).ok_or(SpecError::BitsPerKey {
                    bits,
                    lowest: bits_of(&lowest),
                    highest: f64::INFINITY,
                })
            }
        }
    }

    /// As the crate builds, which sizes by the digests and not by the capacity.
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let r = Self::plan(spec)?.r;
        let plan = Self::plan_with(digests.len() as u64, r)?;
        // The largest single allocation: the coefficient rows.
        shared::check_memory(plan.slots.saturating_mul(u64::from(C::WIDTH) / 8))?;
        let keys = shared::keys(digests)?;
        let filter = C::construct(&keys, r).ok_or(BuildError::Exhausted {
            alpha: plan.alpha,
            threshold: 1.0,
            attempts: 64,
        })?;
        Ok(Self { filter, construction: PhantomData })
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

capabilities!(Pleat<Homogeneous>:);
capabilities!(Pleat<Standard>:);
