//! The layout with occupied and run-end bits: the suite, and what is its own.

use amq_bits::Table;
use amq_quotient::{RankSelectQuotientFilter, RankSelectView};
use suite::common::{Record, reference};

mod suite;

#[path = "rank_select/examples.rs"]
mod examples;
#[path = "rank_select/offsets.rs"]
mod offsets;
#[path = "rank_select/parts.rs"]
mod parts;
#[path = "rank_select/plan.rs"]
mod plan;

type Tested<S = Table> = RankSelectQuotientFilter<S>;
type View = RankSelectView;

/// The slots that the reference layout stands for.
fn reference_views(slots: usize, records: &[Record]) -> Vec<RankSelectView> {
    let table = reference(slots, records);
    let home = |at: usize| table[at].map(|(quotient, _)| quotient);
    (0..slots)
        .map(|at| RankSelectView {
            occupied: records.iter().any(|&(quotient, _)| quotient == at as u64),
            run_end: table[at].is_some() && home((at + 1) % slots) != home(at),
            remainder: table[at].map_or(0, |(_, remainder)| remainder),
            quotient: home(at),
        })
        .collect()
}
