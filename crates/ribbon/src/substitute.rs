//! Back substitution: the slots' values from the echelon form, last slot first, straight into the table's layout.

use amq_bits::word::store_u64;

use crate::band::Band;
use crate::geometry::BLOCK;
use crate::layout::index;
use crate::reduced::{LANES, Reduced};

/// Solves the system of a range of slots; a slot without a row becomes 0. `blocks` are the blocks of these slots, of `r` columns.
///
/// Linear in slots times bits. Columns are computed [`LANES`] at a time, beside each other.
#[expect(clippy::inline_always, reason = "into the code compiled for the features")]
#[inline(always)]
pub(crate) fn solve<R: Reduced>(band: &Band<R>, blocks: &mut [u8], r: u32) {
    // One loop for each number of groups, so that its windows are in registers.
    match r.div_ceil(8) {
        0 | 1 => solve_groups::<R, 1>(band, blocks, r),
        2 => solve_groups::<R, 2>(band, blocks, r),
        3 => solve_groups::<R, 3>(band, blocks, r),
        _ => solve_groups::<R, 4>(band, blocks, r),
    }
}

#[expect(clippy::inline_always, reason = "into the code compiled for the features")]
#[inline(always)]
fn solve_groups<R: Reduced, const GROUPS: usize>(band: &Band<R>, blocks: &mut [u8], r: u32) {
    // Of each column, the slots from the present one on.
    let mut windows = [R::Windows::default(); GROUPS];
    let (rows, values) = band.get();
    let in_block = index(BLOCK);
    let slots = rows.chunks(in_block).zip(values.chunks(in_block));
    for ((rows, values), block) in slots.zip(blocks.chunks_exact_mut(8 * r as usize)).rev() {
        for (&row, &value) in rows.iter().zip(values).rev() {
            for (group, windows) in windows.iter_mut().enumerate() {
                let bit = |lane| u64::from(value) >> (group * LANES + lane);
                row.substitute(core::array::from_fn(bit), windows);
            }
        }
        for (windows, words) in windows.iter().zip(block.chunks_mut(8 * LANES)) {
            for (lane, word) in R::words(windows).into_iter().take(words.len() / 8).enumerate() {
                store_u64(words, 8 * lane, word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use amq_bits::Portable;
    use amq_bits::columns::{Columns, MAX_COLUMNS};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec::Vec;

    use super::solve;
    use crate::band::{Added, Band};
    use crate::geometry::Geometry;
    use crate::layout::{Layout, index};
    use crate::width::{Row, W64, W128, Width, fingerprint};

    /// Every equation that is in holds in the table, read column by column.
    fn check<W: Width>(slots: u64, r: u32) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(slots + u64::from(r));
        let geometry = Geometry::new::<W>(slots).unwrap();
        let (layer, layout) = (geometry.layers()[0], Layout::new(&geometry, r));
        let mut band = Band::default();
        band.reserve(index(slots)).unwrap();
        band.reset(index(slots));
        let hashes: Vec<u64> = (0..slots)
            .map(|_| rng.next_u64())
            .filter(|&hash| {
                let row = W::Row::of(hash).reduced();
                band.add(index(layer.start(hash)), row, fingerprint(hash, r)) != Added::Contradiction
            })
            .collect();
        assert!(hashes.len() as u64 > slots / 2, "{slots} slots");
        let mut table = std::vec![0; index(layout.bytes())];
        solve(&band, &mut table, r);
        let last = geometry.blocks() - 1;
        for hash in hashes {
            let start = layer.start(hash);
            let masks = W::Row::of(hash).masks(u32::try_from(start % 64).unwrap());
            let blocks = [0, 1, 2].map(|i| layout.block_at((start / 64 + i).min(last)));
            let sum = Portable.parities(&table, blocks, masks, r);
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
