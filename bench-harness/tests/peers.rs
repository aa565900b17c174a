//! The peers keep the contract where they can, and where they cannot they fail as their documentation says.
#![cfg(feature = "peers")]

use std::time::{Duration, Instant};

use amq::{BuildError, Capability, Descriptor, Digest, Erased, InsertError, Kind, Spec, SpecError, Target};
use amq_bits::counting::{CountingAllocator, measure};
use amq_testkit::keys::{absent_digests, digests};
use bench_harness::peers::PEERS;
use bench_harness::registry;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SEED: u64 = 7;
/// A rate that every peer meets at every n.
const FPR: f64 = 0.03;
const SIZES: [u64; 8] = [0, 1, 2, 3, 64, 1_000, 11_480, 100_000];

fn spec(n: u64) -> Spec {
    Spec::fpr(FPR, n).with_seed(SEED)
}

fn build(peer: &Descriptor, keys: &[Digest]) -> Box<dyn Erased> {
    (peer.build)(keys, &spec(keys.len() as u64)).unwrap_or_else(|error| panic!("{}: {error}", peer.name))
}

fn peer(name: &str) -> &'static Descriptor {
    registry::filter(name).unwrap_or_else(|| panic!("there is no peer {name}"))
}

/// Whether the rate `p` explains `hits`, up to a relative error of `slack` and six standard deviations.
fn explains(p: f64, hits: u64, queries: u64, slack: f64) -> bool {
    let expected = p * queries as f64;
    (hits as f64 - expected).abs() <= slack * expected + 6.0 * expected.sqrt() + 3.0
}

#[test]
fn versions_are_those_of_the_lock_file() {
    let lock = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));
    let lock: toml::Table = lock.parse().expect("the lock file is TOML");
    let packages = lock["package"].as_array().expect("it lists packages");
    for peer in PEERS {
        let from = peer.peer.expect("a peer says where it comes from");
        let locked = |package: &toml::Value| {
            package["name"].as_str() == Some(from.krate) && package["version"].as_str() == Some(from.version)
        };
        assert!(packages.iter().any(locked), "{} {} is not in Cargo.lock", from.krate, from.version);
    }
}

#[test]
fn members_are_found_and_the_space_is_the_planned_one_and_the_allocated_one() {
    for n in SIZES {
        let keys = digests(n, SEED);
        for peer in PEERS {
            let context = format!("{} at n = {n}", peer.name);
            let plan = (peer.plan)(&spec(n)).unwrap_or_else(|error| panic!("{context}: {error}"));
            let (filter, usage) = measure(|| build(peer, &keys));
            assert_eq!(filter.count_hits(&keys), n, "{context}");
            assert!(filter.len().is_none_or(|len| len == n), "{context}: {:?}", filter.len());
            let space = filter.space();
            assert_eq!(space.payload_bits, plan.payload_bits(), "{context}");
            // The filter's own fields are boxed, too.
            let fields = usage.live.checked_sub(space.heap_bytes);
            assert!(fields.is_some_and(|bytes| bytes <= 512), "{context}: {usage:?}, {space:?}");
            assert!(usage.peak >= usage.live, "{context}");
            assert!(plan.fpr <= FPR * 1.05, "{context}: {}", plan.fpr);
            assert_eq!(filter.check_invariants(), Ok(()), "{context}");
        }
    }
}

#[test]
fn rates_are_those_that_plans_and_filters_promise() {
    const QUERIES: u64 = 2_000_000;
    for n in [1_000, 100_000] {
        let keys = digests(n, SEED);
        let absent: Vec<Digest> = absent_digests(QUERIES, SEED).collect();
        for peer in PEERS {
            let context = format!("{} at n = {n}", peer.name);
            let plan = (peer.plan)(&spec(n)).unwrap();
            let filter = build(peer, &keys);
            let hits = filter.count_hits(&absent);
            // One table of 1,000 keys scatters around the mean; at 100,000 what is left are hashes that are
            // not independent.
            let slack = if n == 1_000 { 0.25 } else { 0.06 };
            assert!(explains(plan.fpr, hits, QUERIES, slack), "{context}: {hits}, planned {}", plan.fpr);
            if let Some(fpr) = filter.expected_fpr() {
                let slack = if n == 1_000 { 0.08 } else { 0.02 };
                assert!(explains(fpr, hits, QUERIES, slack), "{context}: {hits}, expected {fpr}");
            }
        }
    }
}

#[test]
fn batches_and_chains_answer_as_single_lookups() {
    let keys = digests(1_000, SEED);
    let queries: Vec<Digest> = keys.iter().copied().chain(absent_digests(20_000, SEED)).collect();
    for peer in PEERS {
        let filter = build(peer, &keys);
        let single: Vec<bool> = queries.iter().map(|&query| filter.contains(query)).collect();
        let mut batch = vec![false; queries.len()];
        filter.contains_batch(&queries, &mut batch);
        assert!(single == batch, "{}", peer.name);
        let hits = single.iter().filter(|&&hit| hit).count() as u64;
        assert_eq!(filter.count_hits(&queries), hits, "{}", peer.name);
        assert_eq!(filter.count_hits_chained(&queries), hits, "{}", peer.name);
    }
}

#[test]
fn peers_that_insert_take_the_keys_of_their_capacity() {
    for n in [1, 1_000, 100_000] {
        let keys = digests(n, SEED);
        let (some, rest) = keys.split_at(keys.len() / 2);
        for peer in PEERS.iter().filter(|peer| peer.can(Capability::Insert)) {
            let mut filter = (peer.build)(&[], &spec(n)).unwrap();
            assert_eq!(filter.count_hits(&keys), 0, "{}", peer.name);
            let insert = filter.as_insert().expect(peer.name);
            some.iter().try_for_each(|&key| insert.insert(key)).expect(peer.name);
            insert.insert_batch(rest).expect(peer.name);
            assert_eq!(filter.count_hits(&keys), n, "{}", peer.name);
        }
    }
}

#[test]
fn peers_that_remove_forget_what_is_removed_and_nothing_else() {
    let keys = digests(100_000, SEED);
    let (gone, kept) = keys.split_at(50_000);
    for peer in PEERS.iter().filter(|peer| peer.can(Capability::Remove)) {
        let mut filter = build(peer, &keys);
        let remove = filter.as_remove().expect(peer.name);
        assert_eq!(remove.remove_batch(gone), 50_000, "{}", peer.name);
        assert_eq!(filter.count_hits(kept), 50_000, "{}", peer.name);
        assert!(filter.count_hits(gone) <= 50_000 / 20, "{}", peer.name);
        assert!(filter.len().is_none_or(|len| len == 50_000), "{}", peer.name);
    }
}

#[test]
fn peers_that_count_are_never_below_the_truth() {
    let keys = digests(1_000, SEED);
    let thrice: Vec<Digest> = keys.iter().flat_map(|&key| [key; 3]).collect();
    for peer in PEERS.iter().filter(|peer| peer.can(Capability::Count)) {
        let mut filter = build(peer, &thrice);
        let count = |filter: &dyn Erased, key| filter.as_count().expect(peer.name).count(key);
        assert!(keys.iter().all(|&key| count(&*filter, key) >= 3), "{}", peer.name);
        let exact = keys.iter().filter(|&&key| count(&*filter, key) == 3).count();
        assert!(exact > 900, "{}: {exact}", peer.name);
        assert_eq!(filter.as_remove().expect(peer.name).remove_batch(&keys), 1_000);
        assert!(keys.iter().all(|&key| count(&*filter, key) >= 2), "{}", peer.name);
    }
}

#[test]
fn qfilter_lists_its_fingerprints_and_refuses_what_does_not_fit() {
    let keys = digests(1_000, SEED);
    let mut filter = build(peer("qfilter"), &keys);
    let (mut last, mut records) = (None, 0);
    let fingerprints = filter.as_fingerprints().unwrap();
    let space = fingerprints.fingerprint_space();
    fingerprints.for_each_fingerprint(&mut |fingerprint, multiplicity| {
        assert!(last.is_none_or(|last| last < fingerprint) && u128::from(fingerprint) < space);
        last = Some(fingerprint);
        records += multiplicity;
    });
    assert_eq!(records, 1_000);

    let insert = filter.as_insert().unwrap();
    let room = insert.remaining().unwrap();
    assert_eq!(room, 2_048 * 19 / 20 + 1 - 1_000);
    let more = digests(room + 1, SEED + 1);
    let full = |records, len| Err(InsertError::Full { records, len, limit: 1_946 });
    assert_eq!(insert.insert_batch(&more), full(room + 1, 1_000));
    assert_eq!(insert.insert_batch(&more[1..]), Ok(()));
    assert_eq!(insert.insert(more[0]), full(1, 1_946));
    assert_eq!(filter.count_hits(&keys), 1_000);
}

#[test]
fn fastbloom_combines_filters_of_one_layout_and_seed_only() {
    let keys = digests(2_000, SEED);
    let (left, right) = keys.split_at(1_200);
    for name in ["fastbloom", "fastbloom-siphash"] {
        let built = |keys, spec: Spec| (peer(name).build)(keys, &spec).unwrap();
        let (a, b) = (built(left, spec(2_000)), built(right, spec(2_000)));
        let union = a.union(&*b).unwrap().unwrap();
        assert_eq!(union.count_hits(&keys), 2_000);
        assert!(union.count_hits(&absent_digests(10_000, SEED).collect::<Vec<_>>()) < 500);
        let all = built(&keys, spec(2_000));
        let intersection = all.intersect(&*b).unwrap().unwrap();
        assert_eq!(intersection.count_hits(right), 800);
        assert_eq!(intersection.space(), all.space());
        for other in [spec(2_000).with_seed(SEED + 1), spec(4_000), Spec::shape(1.0, 4, 2_000)] {
            assert!(a.union(&*built(right, other)).unwrap().is_err(), "{name}: {other:?}");
        }
        assert!(a.union(&*build(peer("sbbf"), right)).is_none());
    }
}

#[test]
fn repeated_keys_neither_hang_a_build_nor_lose_a_key() {
    let mut repeated = digests(1_000, SEED);
    repeated.extend(digests(1_000, SEED).into_iter().step_by(20));
    let same = vec![Digest::new(7); 1_000];
    let few = [1, 1, 2].map(Digest::new);
    for peer in PEERS {
        let started = Instant::now();
        for keys in [&few[..], &repeated, &same] {
            match (peer.build)(keys, &spec(keys.len() as u64)) {
                Ok(filter) => assert_eq!(filter.count_hits(keys), keys.len() as u64, "{}", peer.name),
                // Two buckets of four hold eight equal keys.
                Err(error) => {
                    let full = matches!(error, BuildError::Full { records: 1_000, .. });
                    assert!(full && peer.name == "cuckoofilter", "{}: {error}", peer.name);
                }
            }
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{}", peer.name);
    }
}

/// What the documentation calls a known defect: should a new version of the crate mend it, this says so.
#[test]
fn cuckoofilter_loses_a_key_when_it_refuses_one() {
    let mut lost = 0;
    for seed in 0..20 {
        let keys = digests(2_048, seed);
        let mut filter = (peer("cuckoofilter").build)(&[], &Spec::shape(1.0, 5, 1_024)).unwrap();
        let insert = filter.as_insert().unwrap();
        let accepted = keys.iter().take_while(|&&key| insert.insert(key).is_ok()).count();
        assert!((900..=1_024).contains(&accepted), "seed {seed}: {accepted}");
        // The refused one is in, in the place of another.
        lost += accepted as u64 + 1 - filter.count_hits(&keys[..=accepted]);
    }
    assert!(lost > 0, "nothing is lost any more");
}

/// As above.
#[test]
fn fastbloom_rs_forgets_a_key_that_passed_fifteen() {
    let key = Digest::new(42);
    let mut filter = build(peer("fastbloom-rs-counting"), &[key; 20]);
    assert_eq!(filter.as_count().unwrap().count(key), 15);
    assert_eq!(filter.as_remove().unwrap().remove_batch(&[key; 15]), 15);
    assert!(!filter.contains(key), "a counter at 15 sticks now");
}

#[test]
fn shapes_are_planned_for_every_width_and_refused_beside_them() {
    for peer in PEERS {
        let (lowest, highest) = peer.r;
        for r in lowest..=highest {
            let plan = (peer.plan)(&Spec::shape(0.95, r, 60)).unwrap_or_else(|error| {
                panic!("{} at r = {r}: {error}", peer.name);
            });
            assert_eq!(plan.r, r, "{}", peer.name);
            assert!(plan.alpha > 0.0 && plan.alpha <= 1.0, "{}: {plan:?}", peer.name);
            assert!(peer.kind != Kind::Table || plan.alpha == 60.0 / plan.slots as f64, "{}", peer.name);
        }
        for r in [0, lowest - 1, highest + 1, u32::MAX] {
            let refused = (peer.plan)(&Spec::shape(0.95, r, 60));
            assert!(matches!(refused, Err(SpecError::Remainder { .. })), "{} at r = {r}", peer.name);
        }
    }
}

#[test]
fn tables_of_powers_of_two_take_the_load_nearest_to_the_asked() {
    let slots = |name, alpha, r| (peer(name).plan)(&Spec::shape(alpha, r, 1_000)).unwrap().slots;
    for (alpha, expected) in [(0.95, 2_048), (0.5, 2_048), (0.3, 4_096), (0.1, 8_192)] {
        assert_eq!(slots("qfilter", alpha, 8), expected, "alpha = {alpha}");
    }
    // Literally: a table that inserting may fail to fill.
    assert_eq!(slots("cuckoofilter", 0.95, 5), 1_024);
    assert_eq!(slots("cuckoofilter", 0.5, 5), 2_048);
}

#[test]
fn rates_below_what_a_peer_has_are_refused_with_the_lowest() {
    let n = 1_000_000;
    let plan = |name, fpr| (peer(name).plan)(&Spec::fpr(fpr, n));
    let lowest_of = |name, fpr| match plan(name, fpr) {
        Err(SpecError::FprTooLow { lowest, .. }) => lowest,
        other => panic!("{name}: {other:?}"),
    };
    for (name, rate) in [("xorf-xor8", 2_f64.powi(-8)), ("xorf-fuse16", 2_f64.powi(-16))] {
        assert_eq!(plan(name, rate).unwrap().fpr, rate);
        assert_eq!(lowest_of(name, rate * 0.99), rate);
    }
    assert_eq!(lowest_of("pleat-standard", 2_f64.powi(-21)), 2_f64.powi(-20));
    assert_eq!(plan("pleat-homogeneous", 0.001).unwrap().r, 10);
    // 2^20 slots would be 95 % full, 2^21 are 48 % full, and 2^22 meet 1 %.
    assert_eq!(plan("cuckoofilter", 0.02).unwrap().slots, 1 << 21);
    assert_eq!(plan("cuckoofilter", 0.01).unwrap().slots, 1 << 22);
    assert!(lowest_of("cuckoofilter", 0.001) > 0.001);
    assert_eq!(lowest_of("hash-set", 1e-300), n as f64 / 2_f64.powi(64));
    assert_eq!(plan("qfilter", 1.0 / 256.0).unwrap().r, 8);
}

#[test]
fn bits_per_key_are_kept_or_refused() {
    for peer in PEERS {
        for bits in [0.5, 4.0, 9.2, 12.0, 20.0, 40.0, 200.0] {
            match (peer.plan)(&Spec::bits_per_key(bits, 100_000)) {
                // Up to the padding of one table: a block, or a word.
                Ok(plan) => {
                    assert!(plan.payload_bits() as f64 <= bits * 1e5 + 256.0, "{}: {plan:?}", peer.name);
                }
                Err(SpecError::BitsPerKey { lowest, .. }) => {
                    assert!(lowest > bits, "{}: {lowest}", peer.name);
                    assert!((peer.plan)(&Spec::bits_per_key(lowest, 100_000)).is_ok(), "{}", peer.name);
                }
                Err(error) => panic!("{}: {error}", peer.name),
            }
        }
        assert!((peer.plan)(&Spec::bits_per_key(200.0, 100_000)).is_ok(), "{}", peer.name);
    }
}

#[test]
fn absurd_wishes_are_refused_before_anything_is_allocated() {
    let rates =
        [0.0, -0.0, 1e-320, 1e-300, 1e-12, 1e-9, 0.01, 0.5, 0.999, 1.0, 1.5, -1.0, f64::NAN, f64::INFINITY];
    let targets = rates.iter().flat_map(|&x| {
        let shapes = [0, 1, 8, 64, u32::MAX].map(|r| Target::Shape { alpha: x, r });
        [Target::Fpr(x), Target::BitsPerKey(x), Target::BitsPerKey(x * 1e9)].into_iter().chain(shapes)
    });
    let targets: Vec<Target> = targets.collect();
    for peer in PEERS {
        for &target in &targets {
            for n in [0, 1, 1_000, 1 << 32, 1 << 40, 1 << 62, u64::MAX] {
                let spec = Spec::new(target, n);
                let (plan, usage) = measure(|| (peer.plan)(&spec));
                // No table: at most what a formula adds up in.
                assert!(usage.peak <= 1 << 20 && usage.live == 0, "{}: {spec:?}: {usage:?}", peer.name);
                if let Ok(plan) = plan {
                    assert!(spec.checked_target().is_ok(), "{}: {spec:?}", peer.name);
                    assert!(
                        plan.fpr >= 0.0 && plan.fpr <= 1.0 && plan.alpha.is_finite(),
                        "{}: {plan:?}",
                        peer.name
                    );
                }
            }
        }
    }
}

#[test]
fn tables_that_do_not_fit_into_memory_are_errors() {
    for peer in PEERS.iter().filter(|peer| peer.kind != Kind::Static) {
        // Bits a key that every peer of these kinds has at least.
        match (peer.build)(&[], &Spec::fpr(0.03, 1 << 46)) {
            Err(BuildError::OutOfMemory { bytes }) => assert!(bytes > 1 << 43, "{}", peer.name),
            Err(BuildError::Spec(SpecError::TooLarge { .. })) => {}
            Err(other) => panic!("{}: {other}", peer.name),
            Ok(_) => panic!("{}: built", peer.name),
        }
    }
}
