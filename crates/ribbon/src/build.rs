//! From digests to a table: layer by layer, in attempts under fresh seeds until the last layer takes what is left.

use amq::{BuildError, Digest, attempt_seed};
use amq_bits::{StoreMut, Table};

use crate::band::Band;
use crate::bump::{fill, fill_last};
use crate::hashes::{filled, sort};
use crate::layout::index;
use crate::sizing::Size;
use crate::substitute::solve;
use crate::width::Width;

/// How often a construction is tried before it is given up.
///
/// With the default size few attempts fail, so that 32 in a row do not happen. The limit is for explicit loads, where
/// most may fail or all.
pub const MAX_ATTEMPTS: u32 = 32;

/// The load up to which large tables can be built.
const LOAD_LIMIT: f64 = 0.999;

/// A table and how it came about.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) table: Table,
    /// Distinct digests.
    pub(crate) len: u64,
    /// Attempts made, the last of which succeeded, under the seed of attempt `attempts - 1`.
    pub(crate) attempts: u32,
}

/// An upper bound of what [`build`] takes of memory, table included, for as many digests.
pub(crate) fn peak_bytes<W: Width>(size: &Size, digests: u64) -> u64 {
    /// The counters of the parts and the rows of a bucket.
    const SCRATCH: u64 = 64 << 10;
    let slots = size.geometry.layers()[0].slots;
    digests
        .saturating_mul(8)
        .saturating_add(Band::<W::Row>::bytes(slots))
        .saturating_add(size.layout.bytes())
        .saturating_add(SCRATCH)
}

/// Builds the table of `digests`.
///
/// Nothing that comes out depends on the order of the digests or on how often one is there: they are sorted first.
///
/// # Errors
/// [`BuildError::Full`] if there are more distinct digests than slots, [`BuildError::OutOfMemory`], or
/// [`BuildError::Exhausted`] after `max_attempts`.
pub(crate) fn build<W: Width>(
    digests: &[Digest],
    seed: u64,
    size: &Size,
    max_attempts: u32,
) -> Result<Built, BuildError> {
    let slots = size.geometry.slots();
    // Before anything is sized by it: the largest of all.
    let mut table = Table::zeroed(size.layout.bytes())?;
    let mut hashes = filled(0, digests.len())?;
    let mut band = Band::<W::Row>::new(index(size.geometry.layers()[0].slots))?;
    let mut len = 0;
    for attempt in 0..max_attempts {
        let distinct = sort(digests, attempt_seed(seed, attempt), &mut hashes)?;
        len = distinct as u64;
        if len > slots {
            return Err(BuildError::Full { records: len, limit: slots });
        }
        if attempt > 0 {
            table.bytes_mut().fill(0);
        }
        if attempt_layers::<W>(&mut hashes[..distinct], size, &mut band, &mut table)? {
            return Ok(Built { table, len, attempts: attempt + 1 });
        }
    }
    let alpha = len as f64 / slots as f64;
    Err(BuildError::Exhausted { alpha, threshold: LOAD_LIMIT, attempts: max_attempts })
}

/// Fills and solves layer after layer; `false` if there are keys left at the end.
fn attempt_layers<W: Width>(
    hashes: &mut [u64],
    size: &Size,
    band: &mut Band<W::Row>,
    table: &mut Table,
) -> Result<bool, BuildError> {
    let layout = &size.layout;
    let mut len = hashes.len();
    for (i, layer) in (1..).zip(size.geometry.layers()) {
        band.reset(index(layer.slots));
        if layer.buckets == 0 {
            if !fill_last::<W>(&hashes[..len], layer, layout.r(), band) {
                return Ok(false);
            }
        } else {
            len = fill::<W>(&mut hashes[..len], layer, layout, band, table.bytes_mut(), i)?;
            // Fewer by far, and in no order.
            hashes[..len].sort_unstable();
        }
        solve(band, layer, layout, table);
    }
    Ok(true)
}
