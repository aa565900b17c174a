//! What measuring processes do with a filter: verify it ([`verify`], [`fpr`], [`space`]), then time it ([`time`]) beside the
//! floors of the machine ([`floors`]) and a [`sentinel`].

pub mod clock;
pub mod floors;
pub mod fpr;
pub mod sentinel;
pub mod space;
pub mod time;
pub mod verify;

use amq::Combined;
use amq::Erased;

/// One filter of two: by the multiset sum where the family has it, by the union elsewhere.
fn join(left: &dyn Erased, right: &dyn Erased) -> Combined {
    left.merge(right).or_else(|| left.union(right))
}
