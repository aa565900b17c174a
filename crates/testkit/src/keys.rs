//! Seeded keys and digests: members that are distinct by construction, others that are absent by construction, and the
//! awkward ones.

mod absent;
mod hostile;
mod pattern;
mod zipf;

pub use absent::{Duplicate, absent_from, check_distinct};
pub use hostile::Hostile;
pub use pattern::{Pattern, absent_digests, digests, permute};
pub use zipf::Zipf;
