//! Where the positions of a key lie: uniform, independent, and never out of range.

mod common;

use amq::theory::bloom::fpr_exact;
use amq::{Digest, Key};
use amq_bloom::Probes;
use common::{chi_square_z, hostile_digests, mean_and_error, random_digests, some_digests};

fn place(position: u64) -> usize {
    usize::try_from(position).expect("a small table")
}

/// The positions of double hashing, to show that the tests below notice what is wrong with it.
fn double_hashing(digest: Digest, m: u64) -> impl Iterator<Item = u64> {
    let step = digest.get().rotate_left(32) | 1;
    (0..).map(move |i: u64| Digest::new(digest.get().wrapping_add(i.wrapping_mul(step))).scale(m))
}

/// (measured - exact)/error of the mean false-positive rate of many filters, each with its own keys and queries.
fn rate_z<P: Iterator<Item = u64>>(m: u64, n: usize, k: u32, positions: impl Fn(Digest, u64) -> P) -> f64 {
    const FILTERS: u64 = 1_024;
    const QUERIES: usize = 8_192;
    let rates: Vec<f64> = (0..FILTERS)
        .map(|seed| {
            let mut digests = random_digests(seed * 4_294_967_291 + m * 64 + u64::from(k));
            let mut set = vec![false; place(m)];
            for digest in digests.by_ref().take(n) {
                positions(digest, m).take(k as usize).for_each(|position| set[place(position)] = true);
            }
            let found =
                |digest: &Digest| positions(*digest, m).take(k as usize).all(|position| set[place(position)]);
            digests.take(QUERIES).filter(found).count() as f64 / QUERIES as f64
        })
        .collect();
    let (mean, error) = mean_and_error(&rates);
    (mean - fpr_exact(m, n as u64, k)) / error
}

/// Filters from 16 positions on: the smallest are where correlated probes show.
#[test]
fn the_mean_rate_is_the_exact_one_at_every_size() {
    for m in [16_u64, 17, 64, 100, 256, 1_000, 4_096] {
        for k in [1_u32, 2, 3, 5, 7, 10] {
            let n = place(m * 7 / 10 / u64::from(k)).max(1);
            let z = rate_z(m, n, k, Probes::new);
            assert!(z.abs() < 4.0, "m {m} n {n} k {k} z {z}");
        }
    }
}

#[test]
fn double_hashing_would_not_pass() {
    for (m, n, k) in [(16, 2, 5), (64, 6, 7), (256, 25, 7), (1_024, 71, 10)] {
        let z = rate_z(m, n, k, double_hashing);
        assert!(z > 10.0, "m {m} n {n} k {k} z {z}");
    }
}

#[test]
fn each_probe_is_uniform() {
    for m in [3, 64, 3 << 6, 1_000] {
        let mut cells = vec![vec![0; place(m)]; 64];
        for digest in random_digests(m).take(200 * place(m)) {
            for (cells, position) in cells.iter_mut().zip(Probes::new(digest, m)) {
                cells[place(position)] += 1;
            }
        }
        for (i, cells) in cells.iter().enumerate() {
            let z = chi_square_z(cells);
            // For two degrees of freedom the law has a long tail: 9 standard deviations are e^-10.
            let limit = if m == 3 { 9.0 } else { 4.5 };
            assert!(z < limit, "m {m} probe {i} z {z}");
        }
    }
}

/// The same for the digests of consecutive integers, which are keys as users have them.
#[test]
fn keys_in_sequence_spread_evenly() {
    let m = 3 << 8;
    let mut cells = vec![0; place(m)];
    for key in 0..100_000_u64 {
        for position in Probes::new(key.digest(1), m).take(7) {
            cells[place(position)] += 1;
        }
    }
    let z = chi_square_z(&cells);
    assert!(z.abs() < 4.5, "z {z}");
}

/// 3 · 2^30 positions, where 32 bits of hash with a shift would favour some, and more than 2^32: through the index function only.
#[test]
fn huge_tables_are_used_evenly_and_to_the_end() {
    for m in [3 << 30, (1 << 33) + 7, 48 * 500_000_000, 1 << 60] {
        let coarse = 3 << 8;
        let mut cells = vec![0; coarse];
        let mut fine = vec![0; 64];
        let (mut lowest, mut highest) = (m, 0);
        for digest in random_digests(m).take(20_000) {
            for position in Probes::new(digest, m).take(7) {
                assert!(position < m);
                lowest = lowest.min(position);
                highest = highest.max(position);
                cells[place((u128::from(position) * coarse as u128 / u128::from(m)).try_into().unwrap())] +=
                    1;
                fine[place(position % 64)] += 1;
            }
        }
        assert!(lowest < m / 10_000 && highest > m - m / 10_000, "m {m}: {lowest} to {highest}");
        assert!(highest > u64::from(u32::MAX) || m < 1 << 32);
        let (coarse, fine) = (chi_square_z(&cells), chi_square_z(&fine));
        assert!(coarse.abs() < 4.5 && fine.abs() < 4.5, "m {m} z {coarse} {fine}");
    }
}

#[test]
fn no_two_probes_are_correlated() {
    const PROBES: usize = 16;
    const M: u64 = 16;
    const KEYS: usize = 60_000;
    let mut cells = vec![vec![0_u64; place(M * M)]; PROBES * PROBES];
    let mut positions = [0; PROBES];
    for digest in random_digests(0xc0).take(KEYS) {
        for (place, position) in positions.iter_mut().zip(Probes::new(digest, M)) {
            *place = position;
        }
        for i in 0..PROBES {
            for j in i + 1..PROBES {
                cells[i * PROBES + j][place(positions[i] * M + positions[j])] += 1;
            }
        }
    }
    for i in 0..PROBES {
        for j in i + 1..PROBES {
            let cells = &cells[i * PROBES + j];
            let z = chi_square_z(cells);
            assert!(z.abs() < 5.0, "probes {i} and {j}: z {z}");
            let equal: u64 = (0..place(M)).map(|p| cells[p * place(M) + p]).sum();
            let expected = KEYS as f64 / M as f64;
            let z = (equal as f64 - expected) / (expected * (1.0 - 1.0 / M as f64)).sqrt();
            assert!(z.abs() < 5.0, "probes {i} and {j} meet: z {z}");
        }
    }
}

/// Two probes of one key against two of another, in neighbouring places: what double hashing gets wrong.
#[test]
fn keys_that_share_one_position_share_no_more_than_chance_has_it() {
    const K: usize = 8;
    let m = 64;
    let keys = some_digests(0xca5e, 3_000);
    let positions: Vec<Vec<u64>> =
        keys.iter().map(|&digest| Probes::new(digest, m).take(K).collect()).collect();
    let mut shared = [0_u64; K + 1];
    for (i, left) in positions.iter().enumerate() {
        for right in &positions[..i] {
            shared[left.iter().zip(right).filter(|(a, b)| a == b).count()] += 1;
        }
    }
    let pairs = shared.iter().sum::<u64>() as f64;
    let p = 1.0 / m as f64;
    let mut ways = 1.0;
    for (count, &seen) in shared.iter().enumerate() {
        let common = i32::try_from(count).unwrap();
        let expected = pairs * ways * p.powi(common) * (1.0 - p).powi(8 - common);
        let z = (seen as f64 - expected) / expected.max(1.0).sqrt();
        assert!(z.abs() < 5.0, "{count} shared positions: {seen} seen, {expected} expected");
        ways *= (K - count) as f64 / (count + 1) as f64;
    }
}

/// No digest keeps all its probes in one place, as one with a step of zero does in double hashing.
#[test]
fn no_digest_degenerates() {
    for digest in hostile_digests() {
        let m = 1 << 20;
        let mut positions: Vec<u64> = Probes::new(digest, m).take(8).collect();
        assert!(positions.iter().all(|&position| position < m));
        positions.sort_unstable();
        positions.dedup();
        assert_eq!(positions.len(), 8, "{digest:?}");
    }
    for m in [1, 2, 3, u64::MAX] {
        for digest in hostile_digests() {
            assert!(Probes::new(digest, m).take(64).all(|position| position < m));
        }
    }
}

/// Double hashing as textbooks have it, with the halves of the digest as its two hashes.
fn textbook(digest: Digest, m: u64) -> impl Iterator<Item = u64> {
    let (first, step) = (digest.get() & 0xffff_ffff, digest.get() >> 32);
    (0..).map(move |i: u64| (first + i * step) % m)
}

/// How many different positions 8 probes meet, of keys one half of whose digest is `half` and the other random: in standard errors from
/// what independent probes meet.
fn distinct_z<P: Iterator<Item = u64>>(
    m: u64,
    digest: impl Fn(u64) -> u64,
    positions: impl Fn(Digest, u64) -> P,
) -> f64 {
    const K: i32 = 8;
    let counts: Vec<f64> = random_digests(m)
        .take(20_000)
        .map(|random| {
            let mut seen: Vec<u64> =
                positions(Digest::new(digest(random.get() & 0xffff_ffff)), m).take(8).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.len() as f64
        })
        .collect();
    let expected = m as f64 * (1.0 - (1.0 - 1.0 / m as f64).powi(K));
    let (mean, error) = mean_and_error(&counts);
    // Where no two of so many probes are likely to meet, the error is that of a count of none.
    (mean - expected) / error.max(1.0 / 20_000.0)
}

/// A second hash of 0, of m, of a multiple or a part of m, and m small: double hashing then stays in one place, or in a few.
#[test]
fn what_traps_double_hashing_traps_no_probes() {
    for m in [6_u64, 12, 64, 96, 1_000, 1 << 20] {
        for half in [0, m, 2 * m, m / 2, m / 3, m - 1, 1] {
            let high = distinct_z(m, |random| half << 32 | random, Probes::new);
            let low = distinct_z(m, |random| random << 32 | half, Probes::new);
            assert!(high.abs() < 5.0 && low.abs() < 5.0, "m {m}, half {half}: z {high:.1} and {low:.1}");
            let period = (1..=m).find(|i| i * half % m == 0).expect("m itself is one");
            if period < 8 && period < m {
                let trapped = distinct_z(m, |random| half << 32 | random, textbook);
                assert!(trapped < -50.0, "m {m}, half {half}: double hashing would pass, z {trapped:.1}");
            }
        }
    }
}
