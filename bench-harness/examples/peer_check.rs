//! Whether the harness times a foreign filter as a program does that knows nothing of the harness.
//!
//! For each of three peers there is such a program below: it uses the peer's crate and the standard clock, nothing else. It
//! and the harness's own measurement run alternately over the same digests, and the medians are printed side by side:
//!
//! ```sh
//! cargo run --release -p bench-harness --example peer_check
//! ```
//!
//! Exit status 1 where one of them is more than 15 % from the other.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use amq::{Digest, Key as _, Spec};
use amq_testkit::statistics::median;
use anyhow::{Context as _, Result};
use bench_harness::measure::clock::Clock;
use bench_harness::measure::time::{Lookups, Queries, Subject};
use bench_harness::registry;
use bench_harness::store::cell::{Hashing, Mode, Workload};
use bench_harness::store::sample::Work;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

const N: usize = 1_000_000;
const LOOKUPS: usize = 1 << 20;
const SEED: u64 = 1;
const RATE: f64 = 0.01;
const REPETITIONS: usize = 9;
const ALLOWED: f64 = 0.15;

/// What both time: nanoseconds for a key of the build, a lookup of a member, and one of an absent key.
type Times = [f64; 3];

/// Nanoseconds of `work` for each of so many operations, and its result.
fn timed<R>(operations: usize, work: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed().as_secs_f64() * 1e9 / operations as f64, result)
}

/// Looks up every key, after once doing so without looking at the clock. The barrier hands out each answer, as to a caller who
/// acts on it, and as the harness's loop does; a loop that only counts was up to 27 % faster (absent keys in qfilter).
fn look_up(keys: &[u64], contains: impl Fn(&u64) -> bool) -> f64 {
    let count = || {
        let mut hits = 0_u64;
        for key in black_box(keys) {
            hits += u64::from(black_box(contains(key)));
        }
        hits
    };
    black_box(count());
    timed(keys.len(), count).0
}

fn xorf(keys: &[u64], hits: &[u64], misses: &[u64]) -> Times {
    use xorf::Filter as _;
    let build = || xorf::BinaryFuse8::try_from_iterator(black_box(keys).iter().copied());
    let (build, filter) = timed(keys.len(), build);
    let filter = filter.expect("the keys are distinct");
    [build, look_up(hits, |key| filter.contains(key)), look_up(misses, |key| filter.contains(key))]
}

/// The number of bits and of hashes is the harness's, since the crate has another formula.
fn fastbloom(keys: &[u64], hits: &[u64], misses: &[u64], bits: usize, hashes: u32) -> Times {
    let (build, filter) = timed(keys.len(), || {
        let mut filter = fastbloom::BloomFilter::with_num_bits(bits).seed(&u128::from(SEED)).hashes(hashes);
        for &key in black_box(keys) {
            filter.insert_hash(key);
        }
        filter
    });
    let contains = |key: &u64| filter.contains_hash(*key);
    [build, look_up(hits, contains), look_up(misses, contains)]
}

fn qfilter(keys: &[u64], hits: &[u64], misses: &[u64], records: u64, rate: f64) -> Times {
    let (build, filter) = timed(keys.len(), || {
        let mut filter = qfilter::Filter::new(records, rate).expect("a filter of this size");
        for &key in black_box(keys) {
            let _ = filter.insert_fingerprint(true, key).expect("there is room");
        }
        filter
    });
    let contains = |key: &u64| filter.contains_fingerprint(*key);
    [build, look_up(hits, contains), look_up(misses, contains)]
}

fn main() -> Result<ExitCode> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let digests = |from: usize, count: usize| -> Vec<Digest> {
        (from..from + count).map(|key| (key as u64).digest(SEED)).collect()
    };
    let (members, absent) = (digests(0, N), digests(N, LOOKUPS));
    let lookups = [1.0, 0.0].map(|ratio| Lookups::new(ratio, LOOKUPS, &members, &absent, &mut rng));
    let plain = |digests: &[Digest]| digests.iter().map(|digest| digest.get()).collect::<Vec<_>>();
    let (keys, hits, misses) = (plain(&members), plain(&lookups[0].digests), plain(&lookups[1].digests));
    let queries = Queries { members, removals: Vec::new(), newcomers: Vec::new(), lookups: lookups.into() };

    let work = |workload, mode, hit_ratio| Work { workload, mode, hit_ratio, hashing: Hashing::Digest };
    let works = [
        work(Workload::Build, Mode::Batch, None),
        work(Workload::Lookup, Mode::Single, Some(1.0)),
        work(Workload::Lookup, Mode::Single, Some(0.0)),
    ];
    let clock = Clock::measure();
    let mut agree = true;
    println!("n = {N}, {LOOKUPS} lookups, medians of {REPETITIONS} in ns per operation");
    println!("{:12} {:6} {:>8} {:>8} {:>6}", "peer", "", "harness", "program", "ratio");
    for name in ["xorf-fuse8", "fastbloom", "qfilter"] {
        let descriptor = registry::filter(name).with_context(|| format!("there is no peer {name}"))?;
        let spec = Spec::fpr(RATE, N as u64).with_seed(SEED);
        let plan = (descriptor.plan)(&spec)?;
        let bits = usize::try_from(plan.slots)?;
        let program = || match name {
            "xorf-fuse8" => xorf(&keys, &hits, &misses),
            "fastbloom" => fastbloom(&keys, &hits, &misses, bits, plan.r),
            _ => qfilter(&keys, &hits, &misses, (plan.slots * 19).div_ceil(20), (-f64::from(plan.r)).exp2()),
        };
        let mut subject = Subject::new(descriptor, spec);
        let mut times: [[Vec<f64>; 2]; 3] = Default::default();
        for repetition in 0..REPETITIONS {
            for turn in 0..2 {
                let side = (repetition + turn) % 2;
                let found: Vec<f64> = if side == 0 {
                    let pass = subject.pass(&works, &queries, &clock, &mut rng);
                    pass.map_err(|fault| anyhow::Error::msg(fault.reason))?.into_iter().flatten().collect()
                } else {
                    program().into()
                };
                for (all, ns) in times.iter_mut().zip(found) {
                    all[side].push(ns);
                }
            }
        }
        for (what, times) in ["build", "hit", "miss"].iter().zip(&mut times) {
            let [harness, program] = times.each_mut().map(|ns| median(ns).unwrap_or(f64::NAN));
            let ratio = harness / program;
            agree &= (ratio.ln().abs() <= f64::ln_1p(ALLOWED)) && ratio.is_finite();
            println!("{name:12} {what:6} {harness:8.2} {program:8.2} {ratio:6.3}");
        }
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
