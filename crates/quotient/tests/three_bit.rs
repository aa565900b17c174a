//! The layout with three state bits: the suite, and what is its own.

use amq_bits::Table;
use amq_quotient::{QuotientFilter, SlotView};
use suite::common::{Record, reference};

mod suite;

#[path = "three_bit/examples.rs"]
mod examples;
#[path = "three_bit/parts.rs"]
mod parts;
#[path = "three_bit/plan.rs"]
mod plan;

type Tested<S = Table> = QuotientFilter<S>;
type View = SlotView;

/// The slots that the reference layout stands for.
fn reference_views(slots: usize, records: &[Record]) -> Vec<SlotView> {
    let table = reference(slots, records);
    let home = |at: usize| table[at].map(|(quotient, _)| quotient);
    (0..slots)
        .map(|at| SlotView {
            occupied: records.iter().any(|&(quotient, _)| quotient == at as u64),
            continuation: table[at].is_some() && home((at + slots - 1) % slots) == home(at),
            shifted: home(at).is_some_and(|quotient| quotient != at as u64),
            remainder: table[at].map_or(0, |(_, remainder)| remainder),
            quotient: home(at),
        })
        .collect()
}
