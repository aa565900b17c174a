//! [sbbf-rs-safe](https://docs.rs/sbbf-rs-safe): the split-block Bloom filter of the Parquet format, digests
//! as hashes.
//!
//! - Blocks of 256 bits, one bit in each of eight words; as many blocks as theory gives for the rate. k is
//!   always 8, so a shape has to ask for r = 8, and gets 8/ln 2 bits for each key of the design capacity, as
//!   a Bloom filter with k = 8 does.
//! - The high 32 bits of the digest choose the block, the low 32 bits all eight positions in it, so that
//!   words are not quite independent: at low rates it stays a little above the formula.
//! - Block numbers have 32 bits, so plans end at 2^32 blocks.

use core::fmt;

use amq::theory::blocked;
use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, InvariantError, Kind, Plan, Space, Spec, SpecError,
    Target, capabilities,
};
use sbbf_rs_safe::Filter;

use super::shared;

/// Bits of a block, of a word, and words of a block.
const BLOCK_BITS: u64 = 256;
const WORDS: u32 = 8;

/// A split-block Bloom filter of sbbf-rs-safe: see the [module](self).
pub struct Sbbf {
    filter: Filter,
}

impl fmt::Debug for Sbbf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("sbbf-rs-safe").field("bytes", &self.filter.as_bytes().len()).finish_non_exhaustive()
    }
}

/// So many bits in whole blocks, at least one, if the crate can number them.
fn blocks_of(bits: f64, round: fn(f64) -> f64) -> Option<u64> {
    let blocks = round(bits / BLOCK_BITS as f64).max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, at least 1 and checked to be at most 2^32"
    )]
    (blocks <= MOST_BLOCKS as f64).then_some(blocks as u64)
}

const MOST_BLOCKS: u64 = 1 << 32;

fn blocks(spec: &Spec) -> Result<(u64, f64), SpecError> {
    let n = spec.capacity().max(1);
    let too_large = SpecError::TooLarge { capacity: spec.capacity() };
    let (blocks, alpha) = match spec.checked_target()? {
        Target::Fpr(fpr) => (blocked::smallest_split_blocks(n, fpr).ok_or(too_large)?, 1.0),
        Target::Shape { alpha, r } => {
            if r != WORDS {
                return Err(SpecError::Remainder { r, lowest: WORDS, highest: WORDS });
            }
            let bits = n as f64 / alpha * (f64::from(WORDS) / core::f64::consts::LN_2);
            (blocks_of(bits, f64::ceil).ok_or(too_large)?, alpha)
        }
        Target::BitsPerKey(bits) => {
            let lowest = BLOCK_BITS as f64 / n as f64;
            if bits < lowest {
                return Err(SpecError::BitsPerKey { bits, lowest, highest: f64::INFINITY });
            }
            (blocks_of(bits * n as f64, f64::floor).ok_or(too_large)?, 1.0)
        }
    };
    if blocks > MOST_BLOCKS { Err(too_large) } else { Ok((blocks, alpha)) }
}

impl Amq for Sbbf {
    fn contains(&self, digest: Digest) -> bool {
        self.filter.contains_hash(digest.get())
    }

    /// The crate does not count.
    fn len(&self) -> Option<u64> {
        None
    }

    fn space(&self) -> Space {
        let bytes = self.filter.as_bytes().len() as u64;
        // The crate's buffer is a whole number of cache lines.
        Space { payload_bits: bytes * 8, heap_bytes: bytes.next_multiple_of(64) }
    }

    /// Unknown: the mean over the blocks of the product of their words' densities assumes independent words.
    fn expected_fpr(&self) -> Option<f64> {
        None
    }
}

impl Family for Sbbf {
    const NAME: &'static str = "sbbf";
    const TITLE: &'static str = "sbbf-rs-safe";
    const KIND: Kind = Kind::Bloom;
    const R: (u32, u32) = (WORDS, WORDS);

    fn plan(spec: &Spec) -> Result<Plan, SpecError> {
        let capacity = spec.capacity();
        let (blocks, alpha) = blocks(spec)?;
        Ok(Plan {
            capacity,
            slots: blocks * BLOCK_BITS,
            alpha: if capacity == 0 { 0.0 } else { alpha },
            r: WORDS,
            k: Some(WORDS),
            table_bytes: shared::addressable(capacity, blocks.checked_mul(BLOCK_BITS / 8))?,
            fpr: blocked::split_fpr(capacity, blocks),
        })
    }

    fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        let plan = Self::plan(spec)?;
        shared::check_memory(plan.table_bytes)?;
        let bytes =
            usize::try_from(plan.table_bytes).map_err(|_| SpecError::TooLarge { capacity: plan.capacity })?;
        // 8 bits for each of as many keys as there are bytes: the crate has no other way to ask for a size.
        let mut filter = Filter::new(8, bytes);
        for digest in digests {
            filter.insert_hash(digest.get());
        }
        Ok(Self { filter })
    }

    fn table(&self) -> &[u8] {
        self.filter.as_bytes()
    }

    /// Nothing can be checked from outside.
    fn check_invariants(&self) -> Result<(), InvariantError> {
        Ok(())
    }
}

impl Insert for Sbbf {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        self.filter.insert_hash(digest.get());
        Ok(())
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        for digest in digests {
            self.filter.insert_hash(digest.get());
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

capabilities!(Sbbf: Insert);
