//! Foreign filters behind our own traits, so that they run in the same sweep: what a user would pick
//! otherwise.
//!
//! Each file is one crate, and says what of it deviates from the contract. What holds for all:
//!
//! - Digests are what is inserted and looked up; what a crate still does to them counts towards its time.
//! - Each gets the parameters nearest to the asked that its interface allows.
//! - Batches are plain loops, except where the crate has its own.
//! - Bytes are those that a crate shows or that follow from its documented layout. Tests hold plans against
//!   filters, and filters against a counting allocator.
//! - A foreign crate may panic, hang or end the program where memory is short: run them in a process of their
//!   own.

use amq::Descriptor;

pub mod cuckoofilter;
pub mod exact;
pub mod fastbloom;
pub mod fastbloom_rs;
pub mod pleat;
pub mod qfilter;
pub mod sbbf;
mod shared;
pub mod xorf;

/// Versions as in Cargo.lock, which a test compares.
mod version {
    pub(super) const CUCKOOFILTER: &str = "0.5.0";
    pub(super) const FASTBLOOM: &str = "0.17.0";
    pub(super) const FASTBLOOM_RS: &str = "0.5.10";
    pub(super) const HASHBROWN: &str = "0.17.2";
    pub(super) const PLEAT: &str = "0.1.0";
    pub(super) const QFILTER: &str = "0.3.1";
    pub(super) const SBBF_RS_SAFE: &str = "0.3.2";
    pub(super) const XORF: &str = "0.13.0";
}

/// Every peer, in the order of reports.
pub static PEERS: &[Descriptor] = &[
    Descriptor::of::<xorf::Xorf<::xorf::Xor8>>().from_peer("xorf", version::XORF),
    Descriptor::of::<xorf::Xorf<::xorf::Xor16>>().from_peer("xorf", version::XORF),
    Descriptor::of::<xorf::Xorf<::xorf::BinaryFuse8>>().from_peer("xorf", version::XORF),
    Descriptor::of::<xorf::Xorf<::xorf::BinaryFuse16>>().from_peer("xorf", version::XORF),
    Descriptor::of::<pleat::Pleat<pleat::Homogeneous>>().from_peer("pleat", version::PLEAT),
    Descriptor::of::<pleat::Pleat<pleat::Standard>>().from_peer("pleat", version::PLEAT),
    Descriptor::of::<fastbloom::Fastbloom<fastbloom::ByHash>>().from_peer("fastbloom", version::FASTBLOOM),
    Descriptor::of::<fastbloom::Fastbloom<fastbloom::ByKey>>().from_peer("fastbloom", version::FASTBLOOM),
    Descriptor::of::<sbbf::Sbbf>().from_peer("sbbf-rs-safe", version::SBBF_RS_SAFE),
    Descriptor::of::<fastbloom_rs::CountingFastbloomRs>().from_peer("fastbloom-rs", version::FASTBLOOM_RS),
    Descriptor::of::<qfilter::Qfilter>().from_peer("qfilter", version::QFILTER),
    Descriptor::of::<cuckoofilter::Cuckoofilter>().from_peer("cuckoofilter", version::CUCKOOFILTER),
    Descriptor::of::<exact::HashSet>().from_peer("hashbrown", version::HASHBROWN),
    Descriptor::of::<exact::SortedArray>().from_peer(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
];
