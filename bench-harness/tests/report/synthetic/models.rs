//! The filters of the model: their names, what they can do, their bits a key and rates by the formulas, and what a lookup and a
//! build take.

use amq::theory::{blocked, bloom, cuckoo, fuse, quotient, ribbon, xor};

/// A filter of the model.
#[derive(Clone, Copy)]
pub(super) struct Model {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) kind: &'static str,
    pub(super) peer: Option<&'static str>,
    pub(super) capabilities: &'static str,
    /// Bits a key and rate for (n, ε).
    pub(super) plan: fn(f64, f64) -> Option<(f64, f64)>,
    /// Cache lines of a hit and of a miss, nanoseconds of work, build nanoseconds a key, peak over final heap.
    pub(super) cost: (f64, f64, f64, f64, f64),
}

const GROWING: &str = "insert remove count fingerprints stats grow shrink union intersect multiset-algebra";

pub(super) const MODELS: &[Model] = &[
    Model {
        name: "bloom",
        title: "Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union intersect",
        plan: |_, e| Some((bloom::bits_per_key(e), e)),
        cost: (6.0, 2.0, 4.0, 12.0, 1.0),
    },
    Model {
        name: "blocked-bloom",
        title: "Blocked Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union",
        plan: blocked_plan,
        cost: (1.0, 1.0, 2.0, 4.0, 1.0),
    },
    Model {
        name: "split-block-bloom",
        title: "Split-block Bloom",
        kind: "bloom",
        peer: None,
        capabilities: "insert union",
        plan: split_plan,
        cost: (1.0, 1.0, 1.0, 2.5, 1.0),
    },
    Model {
        name: "counting-bloom",
        title: "Counting Bloom, 4 bits",
        kind: "bloom",
        peer: None,
        capabilities: "insert remove count",
        plan: |_, e| Some((4.0 * bloom::bits_per_key(e), e)),
        cost: (6.0, 2.0, 5.0, 20.0, 1.0),
    },
    Model {
        name: "quotient",
        title: "Quotient, three state bits",
        kind: "table",
        peer: None,
        capabilities: GROWING,
        plan: |n, e| quotient_plan(n, e, 3.0),
        cost: (1.3, 1.2, 12.0, 40.0, 2.1),
    },
    Model {
        name: "rank-select-quotient",
        title: "Quotient, rank and select",
        kind: "table",
        peer: None,
        capabilities: GROWING,
        plan: |n, e| quotient_plan(n, e, 2.125),
        cost: (1.6, 1.3, 9.0, 45.0, 2.1),
    },
    Model {
        name: "xor",
        title: "Xor",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(xor::cells(whole(n))? as f64 / n, e),
        cost: (3.0, 3.0, 1.5, 60.0, 14.0),
    },
    Model {
        name: "binary-fuse",
        title: "Binary fuse, 3 hashes",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(fuse::layout_3(whole(n))?.cells as f64 / n, e),
        cost: (2.5, 2.5, 1.5, 30.0, 12.0),
    },
    Model {
        name: "binary-fuse-4",
        title: "Binary fuse, 4 hashes",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: |n, e| cells_plan(fuse::layout_4(whole(n))?.cells as f64 / n, e),
        cost: (3.0, 3.0, 2.0, 34.0, 12.0),
    },
    Model {
        name: "ribbon",
        title: "Ribbon, homogeneous",
        kind: "static",
        peer: None,
        capabilities: "",
        plan: ribbon_plan,
        cost: (1.5, 1.5, 14.0, 80.0, 3.0),
    },
    Model {
        name: "cuckoo",
        title: "Cuckoo",
        kind: "table",
        peer: None,
        capabilities: "insert remove",
        plan: cuckoo_plan,
        cost: (1.5, 2.0, 3.0, 35.0, 1.0),
    },
    Model {
        name: "xorf-fuse8",
        title: "Binary fuse of xorf",
        kind: "static",
        peer: Some("xorf"),
        capabilities: "",
        plan: |n, _| Some((8.0 * fuse::layout_3(whole(n))?.cells as f64 / n, 1.0 / 256.0)),
        cost: (2.5, 2.5, 2.0, 40.0, 13.0),
    },
    Model {
        name: "fastbloom",
        title: "Bloom of fastbloom",
        kind: "bloom",
        peer: Some("fastbloom"),
        capabilities: "insert",
        plan: |_, e| Some((bloom::bits_per_key(e), e)),
        cost: (6.0, 2.5, 14.0, 18.0, 1.0),
    },
    Model {
        name: "qfilter",
        title: "Quotient of qfilter",
        kind: "table",
        peer: Some("qfilter"),
        capabilities: "insert remove count",
        plan: |n, e| {
            let alpha = n / n.log2().ceil().exp2();
            let alpha = if alpha > 0.9 { alpha / 2.0 } else { alpha };
            let r = quotient::remainder_bits(alpha, e)?;
            Some(((f64::from(r) + 2.125) / alpha, quotient::fpr_at_load(alpha, r)))
        },
        cost: (1.6, 1.3, 14.0, 26.0, 1.0),
    },
    Model {
        name: "cuckoofilter",
        title: "Cuckoo of cuckoofilter",
        kind: "table",
        peer: Some("cuckoofilter"),
        capabilities: "insert remove",
        plan: |n, _| Some((8.0 * n.log2().ceil().exp2() / n, 0.03 * n / n.log2().ceil().exp2())),
        cost: (2.0, 2.0, 18.0, 30.0, 1.0),
    },
    Model {
        name: "hash-set",
        title: "Hash set of digests",
        kind: "table",
        peer: Some("std"),
        capabilities: "insert remove count",
        plan: |n, _| Some((72.0 * (n * 8.0 / 7.0).log2().ceil().exp2() / n, n / 64_f64.exp2())),
        cost: (1.5, 1.2, 3.0, 30.0, 1.5),
    },
    Model {
        name: "sorted-array",
        title: "Sorted array of digests",
        kind: "static",
        peer: Some("std"),
        capabilities: "",
        plan: |n, _| Some((64.0, n / 64_f64.exp2())),
        cost: (12.0, 12.0, 30.0, 70.0, 1.5),
    },
];

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of this model, far below 2^53"
)]
pub(super) fn whole(x: f64) -> u64 {
    x.round() as u64
}

fn blocked_plan(n: f64, e: f64) -> Option<(f64, f64)> {
    // Large numbers of blocks behave like the limit, which is quick to compute.
    let scale = n.min(20_000.0);
    let (blocks, k) = blocked::smallest_blocks(whole(scale), e, 512)?;
    Some((512.0 * blocks as f64 / scale, blocked::fpr_many_blocks(scale / blocks as f64, 512, k)))
}

fn split_plan(n: f64, e: f64) -> Option<(f64, f64)> {
    let scale = n.min(20_000.0);
    let blocks = blocked::smallest_split_blocks(whole(scale), e)?;
    Some((
        256.0 * blocks as f64 / scale,
        blocked::split_fpr_many_blocks(256.0 * scale / (256.0 * blocks as f64)),
    ))
}

fn quotient_plan(_: f64, e: f64, extra: f64) -> Option<(f64, f64)> {
    let r = quotient::remainder_bits(0.95, e)?;
    Some(((f64::from(r) + extra) / 0.95, quotient::fpr_at_load(0.95, r)))
}

fn cells_plan(cells: f64, e: f64) -> Option<(f64, f64)> {
    let r = xor::cell_bits(e)?;
    Some((cells * f64::from(r), xor::fpr(r)))
}

fn ribbon_plan(_: f64, e: f64) -> Option<(f64, f64)> {
    let r = xor::cell_bits(e)?;
    Some((f64::from(r) * (1.0 + ribbon::homogeneous_overhead(64, r)), xor::fpr(r)))
}

fn cuckoo_plan(_: f64, e: f64) -> Option<(f64, f64)> {
    let bits = cuckoo::fingerprint_bits(0.94, 4, e)?;
    Some((f64::from(bits) / 0.94, cuckoo::fpr(0.94, 4, cuckoo::values_beside_empty_mark(bits))))
}
