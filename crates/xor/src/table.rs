//! What holds for every table of cells.

use amq::InvariantError;
use amq_bits::Packed;

use crate::memory::index;

/// That no bit is set beyond the last cell, and that no more cells differ from 0 than there are keys.
pub(crate) fn check_padding(
    bytes: &[u8],
    layout: Packed,
    cells: u64,
    keys: u64,
) -> Result<(), InvariantError> {
    let end = cells * u64::from(layout.width());
    let last = bytes.get(index(end >> 3)).map_or(0, |&byte| byte >> (end & 7));
    let padding = bytes.get(index(end.div_ceil(8))..).unwrap_or_default();
    if (end & 7 != 0 && last != 0) || padding.iter().any(|&byte| byte != 0) {
        return Err(InvariantError { what: "a bit is set beyond the last cell", at: end >> 3 });
    }
    let written = (0..cells).filter(|&cell| layout.get(bytes, cell) != 0).count() as u64;
    if written > keys {
        return Err(InvariantError { what: "more cells are written than there are keys", at: written });
    }
    Ok(())
}
