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

#[cfg(test)]
mod tests {
    use amq_bits::columns::{Columns, MAX_COLUMNS};
    use amq_bits::{Portable, Store, Table};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec::Vec;

    use super::solve;
    use crate::band::{Added, Band};
    use crate::geometry::Geometry;
    use crate::layout::{Layout, index};
    use crate::width::{Row, W64, W128, Width, Window, fingerprint};

    /// Every equation that is in holds in the table, read column by column.
    fn check<W: Width>(slots: u64, r: u32) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(slots + u64::from(r));
        let geometry = Geometry::new::<W>(slots).unwrap();
        let (layer, layout) = (geometry.layers()[0], Layout::new(&geometry, r));
        let mut band = Band::<<W as Window>::Row>::new(index(slots)).unwrap();
        let hashes: Vec<u64> = (0..slots)
            .map(|_| rng.next_u64())
            .filter(|&hash| {
                let row = W::Row::of(hash);
                band.add(index(layer.start(hash)), row, fingerprint(hash, r)) != Added::Contradiction
            })
            .collect();
        assert!(hashes.len() as u64 > slots / 2, "{slots} slots");
        let mut table = Table::zeroed(layout.bytes()).unwrap();
        solve(&band, &layer, &layout, &mut table);
        let last = geometry.blocks() - 1;
        for hash in hashes {
            let start = layer.start(hash);
            let masks = W::Row::of(hash).masks(u32::try_from(start % 64).unwrap());
            let blocks = [0, 1, 2].map(|i| layout.block_at((start / 64 + i).min(last)));
            let sum = Portable.parities(table.bytes(), blocks, masks, r);
            assert_eq!(sum, fingerprint(hash, r), "{slots} slots of {r} bits");
        }
    }

    #[test]
    fn every_equation_holds() {
        for r in 1..=MAX_COLUMNS {
            for slots in [128, 129, 191, 192, 300, 500] {
                check::<W64>(slots, r);
                check::<W128>(slots, r);
            }
            check::<W64>(64, r);
        }
    }
}
