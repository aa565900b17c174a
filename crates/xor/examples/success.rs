//! How often an attempt succeeds: the first of each of many key sets, at the default size.
//!
//! `cargo run -p amq-xor --release --example success -- [SETS [N...]]` prints a table: of so many key sets (1,000) of
//! each size, how many were built at the first attempt, and the most attempts that one took. A xor filter of several shards
//! counts as built at the first attempt if all of its shards were.

use amq::{Digest, Spec};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, Builder, XorFilter};

/// Every class of sizes: few keys, where chance decides; one shard; several; short segments and long ones; and the sizes
/// at which published segments fail.
const SIZES: [u64; 14] =
    [2, 10, 100, 1_000, 3_000, 10_000, 11_190, 11_480, 11_521, 30_000, 68_000, 100_000, 300_000, 1_000_000];

fn study<F: Build>(n: u64, sets: u64) -> String {
    let mut builder = Builder::new();
    let (mut first, mut most) = (0, 0);
    for seed in 0..sets {
        let digests: Vec<_> = (0..n).map(|i| Digest::new(i).remix(seed)).collect();
        let spec = Spec::fpr(1.0 / 256.0, n).with_seed(seed);
        match builder.build::<F>(&digests, &spec) {
            Ok(filter) => {
                first += u64::from(filter.build_attempts() == 1);
                most = most.max(filter.build_attempts());
                builder.recycle(filter);
            }
            Err(error) => return format!("seed {seed}: {error}"),
        }
    }
    format!("{:.1} %, {most}", 100.0 * first as f64 / sets as f64)
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("numbers: sets, then sizes"));
    let sets = numbers.next().unwrap_or(1_000);
    let mut sizes: Vec<u64> = numbers.collect();
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    println!("| n | xor | fuse 3 | fuse 4 |\n|---|---|---|---|");
    for n in sizes {
        let [xor, fuse3, fuse4] =
            [study::<XorFilter>(n, sets), study::<BinaryFuse3>(n, sets), study::<BinaryFuse4>(n, sets)];
        println!("| {n} | {xor} | {fuse3} | {fuse4} |");
    }
}
