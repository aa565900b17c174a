//! Assignment: values of the cells, so that the cells of each key XOR to its fingerprint.

use amq_bits::Packed;

use crate::codec::Codec;
use crate::memory::{Raw, index};

/// Goes backwards through a part of an order whose places are at most `last`, and gives each key's own cell
/// the value that makes the cells of the key XOR to its fingerprint. Linear in the keys.
///
/// All cells of `bytes` start at 0, and the cell that a key is given is written once: for no key handled
/// before, which are the later ones of the order, is it a cell at all. So it is still 0 and can be read with the
/// others, and what is written solves this key's equation and touches no equation solved before.
pub(crate) fn assign<C: Codec>(codec: C, layout: Packed, order: &[Raw], last: u64, bytes: &mut [u8]) {
    match layout.width() {
        8 => solve(codec, layout, order, last, &mut Whole::<1>(bytes.as_chunks_mut().0)),
        16 => solve(codec, layout, order, last, &mut Whole::<2>(bytes.as_chunks_mut().0)),
        32 => solve(codec, layout, order, last, &mut Whole::<4>(bytes.as_chunks_mut().0)),
        _ => solve(codec, layout, order, last, &mut Bits { layout, bytes }),
    }
}

/// Whether cells of this layout are whole numbers of bytes that need no padding behind the last.
pub(crate) fn is_whole(layout: Packed) -> bool {
    matches!(layout.width(), 8 | 16 | 32)
}

fn solve<C: Codec>(codec: C, layout: Packed, order: &[Raw], last: u64, cells: &mut impl Cells) {
    for &raw in order.iter().rev() {
        let (edge, side, print) = codec.equation(u64::from_le_bytes(raw), last);
        let value = edge.into_iter().fold(print & layout.mask(), |value, cell| value ^ cells.get(cell));
        cells.set(edge.as_ref()[side], value);
    }
}

/// Cells that are read and written in no order.
trait Cells {
    fn get(&self, cell: u64) -> u64;

    fn set(&mut self, cell: u64, value: u64);
}

/// Cells of `B` bytes: no shift and no mask, without which the assignment takes less than half the time.
struct Whole<'a, const B: usize>(&'a mut [[u8; B]]);

impl<const B: usize> Cells for Whole<'_, B> {
    #[inline]
    fn get(&self, cell: u64) -> u64 {
        let mut bytes = [0; 8];
        bytes[..B].copy_from_slice(&self.0[index(cell)]);
        u64::from_le_bytes(bytes)
    }

    #[inline]
    fn set(&mut self, cell: u64, value: u64) {
        self.0[index(cell)].copy_from_slice(&value.to_le_bytes()[..B]);
    }
}

/// Cells of any width.
struct Bits<'a> {
    layout: Packed,
    bytes: &'a mut [u8],
}

impl Cells for Bits<'_> {
    #[inline]
    fn get(&self, cell: u64) -> u64 {
        self.layout.get(self.bytes, cell)
    }

    #[inline]
    fn set(&mut self, cell: u64, value: u64) {
        self.layout.set(self.bytes, cell, value);
    }
}
