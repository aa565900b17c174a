//! Assignment: values of the cells, so that the cells of each key XOR to its fingerprint.

use amq_bits::Packed;

use crate::graph::Graph;
use crate::memory::Raw;
use crate::peel::read_entry;

/// Goes backwards through a part of an order whose places are at most `last`, and gives each key's own cell
/// the value that makes the cells of the key XOR to its fingerprint. Linear in the keys.
///
/// All cells of `bytes` start at 0, and the cell that a key is given is written once: for no key handled
/// before, which are the later ones of the order, is it a cell at all. So it is still 0 and can be read with the
/// others, and what is written solves this key's equation and touches no equation solved before.
pub(crate) fn assign<G: Graph>(graph: G, layout: Packed, order: &[Raw], last: u64, bytes: &mut [u8]) {
    for &raw in order.iter().rev() {
        let (word, place, side) = read_entry(u64::from_le_bytes(raw), last);
        let (edge, derived) = graph.locate(place, word);
        let fingerprint = derived.fingerprint(layout.mask());
        let value = edge.into_iter().fold(fingerprint, |value, cell| value ^ layout.get(bytes, cell));
        layout.set(bytes, edge.as_ref()[side], value);
    }
}
