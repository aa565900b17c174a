//! Back substitution: the slots' values from the echelon form, last slot first, straight into the table's layout.

use amq_bits::StoreMut;

use crate::band::Band;
use crate::geometry::{BLOCK, Layer};
use crate::layout::Layout;
use crate::width::Row;

/// The most bits of a slot: as many as a value has.
const MAX_R: usize = u32::BITS as usize;

/// Solves the system of a layer; a slot without a row becomes 0. Linear in slots times bits.
pub(crate) fn solve<R: Row>(band: &Band<R>, layer: &Layer, layout: &Layout, table: &mut impl StoreMut) {
    let columns = layout.r() as usize;
    // Of each column, the slots from the present one on.
    let mut windows = [R::default(); MAX_R];
    let windows = &mut windows[..columns];
    let block_slots = usize::try_from(BLOCK).unwrap_or(64);
    for slot in (0..band.slots()).rev() {
        let (row, value) = band.get(slot);
        for (column, window) in windows.iter_mut().enumerate() {
            // The parity of the others, as the slot itself is 0 so far.
            let others = row.parity(window.push(0));
            *window = window.push(others ^ u64::from(value >> column & 1));
        }
        if slot % block_slots == 0 {
            let block = layer.first_block + (slot / block_slots) as u64;
            for (column, window) in windows.iter().enumerate() {
                layout.set_word(table, block, column, window.first_word());
            }
        }
    }
}
