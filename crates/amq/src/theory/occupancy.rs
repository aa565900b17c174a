//! Throws into positions: how many positions are hit, and how likely further throws hit only those.

use alloc::vec;
use alloc::vec::Vec;

use super::distribution::Window;

/// `E[(X/positions)^probes]`, where X is the number of distinct positions that `throws` independent uniform throws hit.
///
/// Equal to the probability that `probes` further throws hit only occupied positions, and computed as that, from positive
/// terms alone (inclusion and exclusion over the occupied positions alternates, and loses every digit where the result is
/// small):
///
/// 1. the further throws hit D distinct positions, with the classical occupancy distribution for D ≤ probes;
/// 2. of the first throws, S ~ Binomial(throws, D/positions) fall on those D positions;
/// 3. S uniform throws into D positions leave none of them empty with a probability that a recurrence over S gives.
///
/// So the cost depends on `probes` and on the load, never on `positions` or `throws` themselves: of the order of
/// probes² · (probes · load + 100) multiplications, microseconds for 8 probes and a millisecond or two for 64.
/// The relative error is near 1e-13. `throws` is a whole number.
pub(super) fn mean_power(positions: u64, throws: f64, probes: u32) -> f64 {
    if probes == 0 {
        return 1.0;
    }
    if throws <= 0.0 {
        return 0.0;
    }
    if positions == 0 {
        return 1.0;
    }
    let m = positions as f64;
    // The chance that one of `probes` positions stays empty is below probes · e^-load, which no double beside 1 shows.
    if positions == 1 || throws / m > 40.0 + libm::log(f64::from(probes)) {
        return 1.0;
    }
    let most = u64::from(probes).min(positions);
    let mut sum = 0.0;
    for (distinct, probability) in (0..=most).zip(distinct_positions(m, probes, most)) {
        if probability > 0.0 {
            sum += probability * all_occupied(distinct, m, throws);
        }
    }
    // A probability: the sum may pass 1 by its rounding.
    sum.min(1.0)
}

/// The same mean after 0, 1, 2, … `rounds` rounds of `probes` throws each, as one table.
///
/// For a range of rounds this is cheaper than [`mean_power`] for each: probes³ · rounds / 2 multiplications in all.
pub(super) fn mean_power_by_round(positions: u64, probes: u32, rounds: usize) -> Vec<f64> {
    let m = positions as f64;
    let most = u64::from(probes).min(positions);
    let mut means = vec![0.0; rounds + 1];
    for (distinct, probability) in (0..=most).zip(distinct_positions(m, probes, most)) {
        if probability == 0.0 {
            continue;
        }
        // law[c]: the probability that c of the `distinct` positions are hit.
        let Ok(top) = usize::try_from(distinct) else { continue };
        let mut law = vec![0.0; top + 1];
        law[0] = 1.0;
        for (round, mean) in means.iter_mut().enumerate() {
            if round > 0 {
                for _ in 0..probes {
                    for c in (1..=top).rev() {
                        let missing = (top - c) as f64;
                        law[c] = law[c] * (1.0 - missing / m) + law[c - 1] * ((missing + 1.0) / m);
                    }
                    law[0] *= 1.0 - top as f64 / m;
                }
            }
            *mean += probability * law[top];
        }
    }
    means
}

/// P(D = d) for d in 0..=`most`, D the number of distinct positions among `m` that `throws` throws hit.
fn distinct_positions(m: f64, throws: u32, most: u64) -> impl Iterator<Item = f64> {
    let mut law = vec![0.0; 1];
    law[0] = 1.0;
    for _ in 0..throws {
        law.push(0.0);
        throw(&mut law, m);
    }
    law.into_iter().chain(core::iter::repeat(0.0)).take(usize::try_from(most).map_or(usize::MAX, |d| d + 1))
}

/// One more throw into `positions` places, where `law[d]` is the probability that d of them are occupied.
fn throw(law: &mut [f64], positions: f64) {
    let each = 1.0 / positions;
    for d in (1..law.len()).rev() {
        let occupied = d as f64;
        law[d] = law[d] * (occupied * each) + law[d - 1] * ((positions - occupied + 1.0).max(0.0) * each);
    }
    law[0] = 0.0;
}

/// The probability that `distinct` given positions among `m` are all hit by `throws` throws.
fn all_occupied(distinct: u64, m: f64, throws: f64) -> f64 {
    let d = distinct as f64;
    if throws < d {
        return 0.0;
    }
    let Ok(top) = usize::try_from(distinct) else { return 0.0 };
    let mut law = vec![0.0; top + 1];
    law[0] = 1.0;
    if d >= m {
        // The given positions are all there are: every throw falls on them. At most 45 · probes throws get here.
        let mut thrown = 0.0;
        while thrown < throws {
            throw(&mut law, d);
            thrown += 1.0;
        }
        return law[top];
    }
    let Some(hits) = Window::binomial(throws, d / m, 0.0) else { return 1.0 };
    for _ in 0..hits.first {
        throw(&mut law, d);
    }
    let mut sum = 0.0;
    let mut previous = 0.0;
    for (count, probability) in hits.iter() {
        sum += probability * law[top];
        // Past the mode the probabilities fall faster than geometrically, so the rest is below `probability` times a few.
        if count > distinct && probability < previous && probability * 100.0 < sum * 1e-18 {
            break;
        }
        previous = probability;
        throw(&mut law, d);
    }
    sum.min(1.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The same mean from the whole law of X, one throw at a time: obviously right, and slow.
    pub(in crate::theory) fn mean_power_by_law(positions: u32, throws: u32, probes: u32) -> f64 {
        let m = f64::from(positions);
        let mut law = vec![0.0; positions as usize + 1];
        law[0] = 1.0;
        for _ in 0..throws {
            for x in (0..law.len()).rev() {
                let stays = law[x] * (x as f64 / m);
                let grows = if x == 0 { 0.0 } else { law[x - 1] * ((m - x as f64 + 1.0) / m) };
                law[x] = stays + grows;
            }
        }
        law.iter().enumerate().map(|(x, p)| p * libm::pow(x as f64 / m, f64::from(probes))).sum()
    }

    #[test]
    fn agrees_with_the_whole_law() {
        for positions in [1, 2, 3, 7, 64, 100, 512] {
            for throws in [0, 1, 2, 5, 40, 64, 333, 700, 3000] {
                for probes in [1, 2, 3, 7, 16, 64] {
                    let expected = mean_power_by_law(positions, throws, probes);
                    let actual = mean_power(u64::from(positions), f64::from(throws), probes);
                    assert!(
                        (actual - expected).abs() <= 1e-11 * expected,
                        "{positions} {throws} {probes}: {actual} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_table_by_rounds_agrees_with_the_single_mean() {
        for (positions, probes) in [(1, 3), (2, 2), (5, 8), (64, 7), (512, 8), (512, 1), (256, 20)] {
            for (round, mean) in mean_power_by_round(positions, probes, 60).into_iter().enumerate() {
                let expected = mean_power(positions, round as f64 * f64::from(probes), probes);
                assert!((mean - expected).abs() <= 1e-11 * expected, "{positions} {probes} {round}");
            }
        }
    }

    #[test]
    fn one_at_the_seam_of_the_large_loads() {
        for (positions, probes) in [(2_u64, 1_u32), (64, 7), (100, 64), (1 << 20, 64)] {
            let seam = positions as f64 * (40.0 + libm::log(f64::from(probes)));
            let below = mean_power(positions, libm::floor(seam), probes);
            let above = mean_power(positions, libm::ceil(seam) + 1.0, probes);
            assert!((below - 1.0).abs() < 1e-11, "{positions} {probes} {below}");
            assert_eq!(above, 1.0);
        }
    }
}
