//! Assignment: values of the cells, so that the cells of each key XOR to its fingerprint.

use amq_bits::prefetch::prefetch_write;
use amq_bits::{AllocError, Packed, StoreMut, Table};

use crate::graph::{Graph, fingerprint};
use crate::look_ahead::{self, Steps};
use crate::memory::index;
use crate::peel::Order;

/// The table in which all `keys` keys of the order have their fingerprints. Linear in keys and cells.
///
/// The keys are gone through backwards. All cells start at 0, and the cell that a key is given is written
/// once: for no key handled before, which are the later ones, is it a cell at all. So it is still 0 and can
/// be read with the others, and what is written solves this key's equation and touches no equation solved
/// before.
pub(crate) fn assign<G: Graph>(
    graph: G,
    layout: Packed,
    order: &Order,
    keys: usize,
) -> Result<Table, AllocError> {
    let mut table = Table::zeroed(layout.bytes_for(graph.cells()).unwrap_or(u64::MAX))?;
    look_ahead::run(&mut Backwards { bytes: table.bytes_mut(), graph, layout, order, keys }, keys);
    Ok(table)
}

struct Backwards<'a, G> {
    bytes: &'a mut [u8],
    graph: G,
    layout: Packed,
    order: &'a Order,
    keys: usize,
}

impl<G: Graph> Steps for Backwards<'_, G> {
    /// The fingerprint, the cells, and the one to write.
    type Prepared = (u64, G::Edge, u64);

    #[inline]
    fn prepare(&self, i: usize) -> Self::Prepared {
        let (hash, side) = self.order.get(self.keys - 1 - i);
        let edge = self.graph.edge(hash);
        for cell in edge {
            // A cell of the table: its bits are fewer than 2^64.
            prefetch_write(self.bytes, index((cell * u64::from(self.layout.width())) >> 3));
        }
        (fingerprint(hash, self.layout.mask()), edge, edge.as_ref()[side])
    }

    #[inline]
    fn finish(&mut self, _: usize, (fingerprint, edge, free): Self::Prepared) {
        let value =
            edge.into_iter().fold(fingerprint, |value, cell| value ^ self.layout.get(self.bytes, cell));
        self.layout.set(self.bytes, free, value);
    }
}
