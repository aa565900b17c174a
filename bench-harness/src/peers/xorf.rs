//! [xorf](https://docs.rs/xorf): xor and binary fuse filters of 8 and 16 bits, digests as keys.
//!
//! - A peer is planned for every ε that its width meets, so both widths appear at ε ≥ 2^-8: the wider one
//!   shows what it costs to have no width between.
//! - The load is fixed by the crate, and a plan shows it whatever a shape asks for.
//! - The crate draws its own seeds from a constant, so the spec's seed does not reach it; it fills the unused
//!   cells of a fuse filter from the thread's random generator, so that two builds differ there.
//! - **Duplicates.** The build of the xor filters would repeat forever in release builds: they get the
//!   digests sorted and without duplicates, and the time for it counts, since a caller who does not know that
//!   the keys are distinct has to do the same. The fuse filters end after 1,000 attempts with an error; they
//!   get the digests as they are, and only after that error without duplicates: distinct keys pay nothing,
//!   repeated ones may pay for the failed attempts. Builds with debug assertions check that keys are distinct
//!   and panic if not, so there the fuse filters always get distinct ones.
//! - The build of an xor filter needs 96 bytes of scratch for each cell, three times what its three blocks
//!   use.
//! - Sizes are computed in 32 bits without a check, so plans end where these do: 3 · 2^32 cells (xor), 2^32
//!   (fuse).

use core::fmt;

use amq::theory::{fuse, xor};
use amq::{
    Amq, BuildError, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError, capabilities,
};
use xorf::{BinaryFuse8, BinaryFuse16, Filter, Xor8, Xor16};

use super::shared;

/// A filter of the crate.
pub trait Construction: Filter<u64> + Send + Sync + Sized + 'static {
    /// The peer's short name.
    const NAME: &'static str;
    /// The peer's name for people.
    const TITLE: &'static str;
    /// Bits of a cell.
    const CELL_BITS: u32;
    /// Bytes of scratch for each cell during a build.
    const SCRATCH: u64;
    /// What a build does that meets a key twice.
    const DUPLICATES: Duplicates;
    /// Attempts before a build gives up.
    const ATTEMPTS: u32;

    /// The cells that the crate gives to `n` keys; `None` beyond its arithmetic.
    fn cells(n: u64) -> Option<u64>;

    /// The crate's build.
    ///
    /// # Errors
    /// If it gives up.
    fn construct(digests: &[Digest]) -> Result<Self, &'static str>;

    /// The cells as bytes, where the crate shows them.
    fn cells_as_bytes(&self) -> &[u8] {
        &[]
    }
}

/// What a build does that meets a key twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// It repeats forever.
    Hang,
    /// It copes with a few and gives up on many.
    MayFail,
}

/// 1.23 n + 32, in three equal blocks. The crate's own expression, so that the rounding is its.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond 2^64 saturates and is refused"
)]
fn xor_cells(n: u64) -> Option<u64> {
    let block = ((1.23 * n as f64) as u64).checked_add(32)? / 3;
    Some(u64::from(u32::try_from(block).ok()?) * 3)
}

/// The published sizes, which the crate computes in 32 bits.
fn fuse_cells(n: u64) -> Option<u64> {
    u32::try_from(n).ok()?;
    Some(u32::try_from(fuse::layout_3(n)?.cells).ok()?.into())
}

macro_rules! constructions {
    ($(
        $filter:ident: $name:literal, $title:literal, $bits:literal, $cells:ident, $scratch:literal, $duplicates:ident,
        $attempts:expr, $construct:expr, $bytes:expr;
    )*) => {$(
        impl Construction for $filter {
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const CELL_BITS: u32 = $bits;
            const SCRATCH: u64 = $scratch;
            const DUPLICATES: Duplicates = Duplicates::$duplicates;
            const ATTEMPTS: u32 = $attempts;

            fn cells(n: u64) -> Option<u64> {
                $cells(n)
            }

            fn construct(digests: &[Digest]) -> Result<Self, &'static str> {
                let construct: fn(Keys<'_>) -> Result<Self, &'static str> = $construct;
                construct(digests.iter().map(|digest| digest.get()))
            }

            fn cells_as_bytes(&self) -> &[u8] {
                let bytes: fn(&Self) -> &[u8] = $bytes;
                bytes(self)
            }
        }

        capabilities!(Xorf<$filter>:);
    )*};
}

/// Digests as the crate takes keys: an iterator that it runs through once an attempt, so that nothing is
/// copied.
type Keys<'a> = core::iter::Map<core::slice::Iter<'a, Digest>, fn(&Digest) -> u64>;

constructions! {
    Xor8: "xorf-xor8", "xorf Xor8", 8, xor_cells, 96, Hang, u32::MAX,
        |keys| Ok(Self::from_iterator(keys)), |filter| &filter.fingerprints;
    Xor16: "xorf-xor16", "xorf Xor16", 16, xor_cells, 96, Hang, u32::MAX,
        |keys| Ok(Self::from_iterator(keys)), |_| &[];
    BinaryFuse8: "xorf-fuse8", "xorf BinaryFuse8", 8, fuse_cells, 13, MayFail, 1_000,
        |keys| Self::try_from_iterator(keys), |filter| &filter.fingerprints;
    BinaryFuse16: "xorf-fuse16", "xorf BinaryFuse16", 16, fuse_cells, 13, MayFail, 1_000,
        |keys| Self::try_from_iterator(keys), |_| &[];
}

/// A static filter of xorf: see the [module](self).
pub struct Xorf<F> {
    filter: F,
    distinct: Option<u64>,
}

impl<F: Construction> fmt::Debug for Xorf<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(F::TITLE).field("cells", &self.filter.len()).finish_non_exhaustive()
    }
}

impl<F: Construction> Amq for Xorf<F> {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains(&digest.get())
    }

    fn len(&self) -> Option<u64> {
        self.distinct
    }

    fn space(&self) -> Space {
        let bits = self.filter.len() as u64 * u64::from(F::CELL_BITS);
        Space { payload_bits: bits, heap_bytes: bits / 8 }
    }

    /// 2^-bits: a digest that is not in matches with this probability whatever the cells hold.
    fn expected_fpr(&self) -> Option<f64> {
        Some((-f64::from(F::CELL_BITS)).exp2())
    }
}

impl<F: Construction> Family for Xorf<F>
where
    Self: amq::Capable,
{
    const NAME: &'static str = F::NAME;
    const TITLE: &'static str = F::TITLE;
    const KIND: Kind = Kind::Static;
    const R: (u32, u32) = (F::CELL_BITS, F::CELL_BITS);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        spec.checked_target()?;
        let slots = F::cells(capacity).ok_or(SpecError::TooLarge { capacity })?;
        let table_bytes = shared::addressable(capacity, slots.checked_mul(u64::from(F::CELL_BITS / 8)))?;
        shared::without_choice(
            spec,
            Plan {
                capacity,
                slots,
                alpha: shared::load(capacity, slots),
                r: F::CELL_BITS,
                k: Some(3),
                table_bytes,
                fpr: (-f64::from(F::CELL_BITS)).exp2(),
            },
        )
    }

    /// As the crate builds, which sizes by the digests and not by the capacity. Duplicates: see the
    /// [module](self).
    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        Self::plan(spec)?;
        let n = digests.len() as u64;
        let cells = F::cells(n).ok_or(SpecError::TooLarge { capacity: n })?;
        shared::check_memory(cells.saturating_mul(F::SCRATCH))?;
        if F::DUPLICATES == Duplicates::MayFail
            && !cfg!(debug_assertions)
            && let Ok(filter) = F::construct(digests)
        {
            return Ok(Self { filter, distinct: None });
        }
        let distinct = shared::distinct(digests)?;
        let n = distinct.len() as u64;
        let filter = F::construct(&distinct).map_err(|_| BuildError::Exhausted {
            alpha: shared::load(n, F::cells(n).unwrap_or(0)),
            threshold: xor::FUSE_THRESHOLD_3,
            attempts: F::ATTEMPTS,
        })?;
        Ok(Self { filter, distinct: Some(n) })
    }

    fn table(&self) -> &[u8] {
        self.filter.cells_as_bytes()
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}
