//! Blocked Bloom filters: all probes of a key stay in one block, so a lookup reads one cache line (Putze, Sanders,
//! Singler 2007).
//!
//! Blocks fill unevenly, and full blocks answer "present" more often: that costs space against a Bloom filter.

use alloc::vec::Vec;

use super::bloom::MOST_PROBES;
use super::distribution::Window;
use super::occupancy::mean_power_by_round;
use super::{bloom, is_rate, power};

/// Words in a block of the split-block layout.
pub const SPLIT_WORDS: u32 = 8;
/// Bits in a word of the split-block layout.
pub const SPLIT_WORD_BITS: u32 = 32;

/// Outcomes rarer than this add nothing to a rate that a filter can be asked for.
const RARE: f64 = 1e-30;

/// The mean rate of `blocks` blocks of `block_bits` bits with `n` keys and `k` probes a key: the exact mean of
/// [`bloom::fpr_exact`] over the keys of a block, i ~ Binomial(n, 1/blocks).
///
/// Good for filters of any size. The usual form, [`fpr_usual`], is 1 to 3 % lower at blocks of 512 bits. 0 for n = 0, 1
/// without blocks. Costs k³ · (keys in the fullest blocks) multiplications, some 10^4 for k = 8 and cache-line blocks; meant for
/// blocks of up to a few pages.
pub fn fpr(n: u64, blocks: u64, block_bits: u64, k: u32) -> f64 {
    Blocks::new(block_bits).fpr(&Keys::new(n, blocks), k)
}

/// [`fpr`] for very many blocks: i ~ Poisson(`keys_per_block`), where keys per block = block bits / bits a key.
///
/// ```
/// let rate = amq::theory::blocked::fpr_many_blocks(51.2, 512, 6);
/// assert!((rate - 0.0096647).abs() < 5e-8);
/// ```
pub fn fpr_many_blocks(keys_per_block: f64, block_bits: u64, k: u32) -> f64 {
    ByKeys::of_block(block_bits, k).mean(Window::poisson(keys_per_block, RARE).as_ref())
}

/// Σ Poisson(i) (1-(1-1/B)^(ki))^k: the usual form, with the share of set bits in place of its law.
///
/// Good for comparison with the literature.
pub fn fpr_usual(keys_per_block: f64, block_bits: u64, k: u32) -> f64 {
    let Some(law) = Window::poisson(keys_per_block, RARE) else { return 1.0 };
    law.iter().map(|(keys, probability)| probability * bloom::fpr_classic(block_bits, keys, k)).sum()
}

/// The k in 1..=64 with the lowest [`fpr`]: below the Bloom filter's best, because blocks vary.
pub fn best_k(n: u64, blocks: u64, block_bits: u64) -> u32 {
    let start = bloom::best_k_at(block_bits as f64 * blocks as f64 / n.max(1) as f64);
    Blocks::new(block_bits).downhill(n, blocks, start, 0.0).0
}

/// The fewest blocks at which some k brings [`fpr`] to at most `target` for `n` keys, and the least such k there.
///
/// So a small filter, whose one block is more than enough, makes few probes. Exact to the block up to about a million blocks, to a part in
/// a million beyond. Costs a few evaluations of [`fpr`], one for each k that is tried. `n` = 0 is sized as 1. `None`: see the module
/// [`theory`](super), or `block_bits` is 0.
pub fn smallest_blocks(n: u64, target: f64, block_bits: u64) -> Option<(u64, u32)> {
    if block_bits == 0 {
        return None;
    }
    let n = n.max(1);
    let start = bloom::bits_for_fpr(n, target)?.div_ceil(block_bits);
    let mut hint = bloom::best_k_at(bloom::bits_per_key(target));
    let mut rates = Blocks::new(block_bits);
    let (blocks, mut k) = fewest_blocks(start, |blocks| {
        let (k, rate) = rates.downhill(n, blocks, hint, target);
        hint = k;
        (rate <= target).then_some(k)
    })?;
    let keys = Keys::new(n, blocks);
    while k > 1 && rates.fpr(&keys, k - 1) <= target {
        k -= 1;
    }
    Some((blocks, k))
}

/// Σ Binomial(i) (1-(31/32)^i)^8: the mean rate of `blocks` split blocks, 8 words of 32 bits with one probe in each.
///
/// For words that choose their bits independently; the published layout derives all eight from 32 bits of hash, which
/// adds a little at low rates. 0 for n = 0.
pub fn split_fpr(n: u64, blocks: u64) -> f64 {
    ByKeys::of_split_block().mean(block_law(n, blocks).as_ref())
}

/// [`split_fpr`] for very many blocks: i ~ Poisson(`keys_per_block`), where keys per block = 256 / bits a key.
pub fn split_fpr_many_blocks(keys_per_block: f64) -> f64 {
    ByKeys::of_split_block().mean(Window::poisson(keys_per_block, RARE).as_ref())
}

/// The fewest split blocks at which [`split_fpr`] is at most `target` for `n` keys, exact as in [`smallest_blocks`].
///
/// `n` = 0 is sized as 1. `None`: see the module [`theory`](super).
pub fn smallest_split_blocks(n: u64, target: f64) -> Option<u64> {
    if !is_rate(target) {
        return None;
    }
    let n = n.max(1);
    let start = bloom::bits_for_fpr(n, target)?.div_ceil(256);
    let mut rates = ByKeys::of_split_block();
    let mut meets = |blocks| rates.mean(block_law(n, blocks).as_ref()) <= target;
    fewest_blocks(start, |blocks| meets(blocks).then_some(())).map(|(blocks, ())| blocks)
}

/// The keys of one block: all of them if there is one block, nothing to say (`None`) if the mean is beyond any use.
fn block_law(n: u64, blocks: u64) -> Option<Window> {
    match (n, blocks) {
        (0, _) => Window::poisson(0.0, RARE),
        (_, 0) => None,
        (_, 1) => Some(Window::certain(n)),
        _ => Window::binomial(n as f64, 1.0 / blocks as f64, RARE),
    }
}

/// The mean rate of one block by its keys: what costs most in a mean over blocks, and does not depend on their number. So it is
/// tabulated once for all numbers that a search tries, as far as they need it.
struct ByKeys<F> {
    /// The first rates, `most + 1` of them, or all that are not 1.
    tabulate: F,
    table: Vec<f64>,
}

impl<F: Fn(u64) -> Vec<f64>> ByKeys<F> {
    /// The mean over `law`. Behind the end of the table a block is full, and the rate is 1.
    fn mean(&mut self, law: Option<&Window>) -> f64 {
        let Some(law) = law else { return 1.0 };
        let most = law.iter().last().map_or(0, |(keys, _)| keys);
        if self.table.len() as u64 <= most {
            // Fewer blocks than the first that are tried have more keys each.
            self.table = (self.tabulate)(most.saturating_add(most / 8));
        }
        let rate =
            |keys| usize::try_from(keys).ok().and_then(|keys| self.table.get(keys)).copied().unwrap_or(1.0);
        let sum: f64 = law.iter().map(|(keys, probability)| probability * rate(keys)).sum();
        sum.min(1.0)
    }
}

impl ByKeys<()> {
    /// A block of `block_bits` bits and `k` free probes a key.
    fn of_block(block_bits: u64, k: u32) -> ByKeys<impl Fn(u64) -> Vec<f64>> {
        let probes = f64::from(k.max(1));
        // As in the exact mean of one filter: from this load on, a double cannot tell the rate from 1.
        let full = (40.0 + libm::log(probes)) * block_bits as f64 / probes;
        let tabulate = move |most: u64| {
            let mut table = mean_power_by_round(block_bits, k, rounds(most, full));
            table[0] = 0.0;
            table
        };
        ByKeys { tabulate, table: Vec::new() }
    }

    /// A split block.
    fn of_split_block() -> ByKeys<impl Fn(u64) -> Vec<f64>> {
        let word_bits = f64::from(SPLIT_WORD_BITS);
        let log_stays = libm::log1p(-1.0 / word_bits);
        let rate = move |keys| power(-libm::expm1(keys as f64 * log_stays), SPLIT_WORDS);
        ByKeys {
            tabulate: move |most| (0..=rounds(most, 40.0 * word_bits)).map(rate).collect(),
            table: Vec::new(),
        }
    }
}

/// Keys up to `most`, or until a block is full.
fn rounds(most: u64, full: f64) -> usize {
    super::ceil_to_size(full.min(most as f64)).and_then(|rounds| usize::try_from(rounds).ok()).unwrap_or(0)
}

/// The keys of a block: all of them in a single one, or a law.
enum Keys {
    OneBlock(u64),
    Blocks(Option<Window>),
}

impl Keys {
    fn new(n: u64, blocks: u64) -> Self {
        if blocks == 1 { Self::OneBlock(n) } else { Self::Blocks(block_law(n, blocks)) }
    }
}

/// The rates of blocks of one size, for each k that was asked for.
struct Blocks<F> {
    tabulate: fn(u64, u32) -> ByKeys<F>,
    block_bits: u64,
    by_k: Vec<(u32, ByKeys<F>)>,
}

impl Blocks<()> {
    fn new(block_bits: u64) -> Blocks<impl Fn(u64) -> Vec<f64>> {
        Blocks { tabulate: ByKeys::of_block, block_bits, by_k: Vec::new() }
    }
}

impl<F: Fn(u64) -> Vec<f64>> Blocks<F> {
    fn fpr(&mut self, keys: &Keys, k: u32) -> f64 {
        let law = match keys {
            // One rate is cheaper than a table of them.
            Keys::OneBlock(n) => return bloom::fpr_exact(self.block_bits, *n, k),
            Keys::Blocks(law) => law.as_ref(),
        };
        let at = self.by_k.iter().position(|&(tabulated, _)| tabulated == k).unwrap_or_else(|| {
            self.by_k.push((k, (self.tabulate)(self.block_bits, k)));
            self.by_k.len() - 1
        });
        self.by_k[at].1.mean(law)
    }

    /// The first k on the way from `start` to the lowest rate whose rate is at most `target`, or the one with the lowest rate; and its rate.
    fn downhill(&mut self, n: u64, blocks: u64, start: u32, target: f64) -> (u32, f64) {
        let keys = Keys::new(n, blocks);
        let mut best = (start, self.fpr(&keys, start));
        for towards in [-1, 1] {
            while best.1 > target
                && let Some(k) = best.0.checked_add_signed(towards).filter(|k| (1..=MOST_PROBES).contains(k))
            {
                let rate = self.fpr(&keys, k);
                if rate >= best.1 {
                    break;
                }
                best = (k, rate);
            }
        }
        best
    }
}

/// The fewest blocks that meet a wish which more blocks meet more easily, and what `meets` found there.
fn fewest_blocks<T>(start: u64, mut meets: impl FnMut(u64) -> Option<T>) -> Option<(u64, T)> {
    let mut below = 0_u64;
    let mut above = start.max(1);
    let mut step = (above / 8).max(1);
    let mut found = loop {
        if let Some(found) = meets(above) {
            break found;
        }
        below = above;
        above = above.checked_add(step)?;
        step = step.checked_mul(2)?;
    };
    while above - below > (above >> 20).max(1) {
        let middle = below + (above - below) / 2;
        match meets(middle) {
            Some(better) => (above, found) = (middle, better),
            None => below = middle,
        }
    }
    Some((above, found))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn rates_at_published_points() {
        for (bits, k, exact, usual) in [
            (10.0, 6, "0.96647", "0.95757"),
            (10.0, 7, "0.96860", "0.95712"),
            (16.0, 9, "0.08439", "0.08256"),
            (16.0, 11, "0.08855", "0.08596"),
        ] {
            let keys = 512.0 / bits;
            assert_printed(100.0 * fpr_many_blocks(keys, 512, k), exact);
            assert_printed(100.0 * fpr_usual(keys, 512, k), usual);
        }
        assert_eq!(best_k(5_120_000, 100_000, 512), 6);
        assert_eq!(best_k(3_200_000, 100_000, 512), 9);
    }

    #[test]
    fn split_rates_at_published_points() {
        for (keys, printed) in [(20.0, "0.397"), (24.0, "0.94204"), (25.6, "1.2648"), (32.0, "3.32")] {
            assert_printed(100.0 * split_fpr_many_blocks(keys), printed);
        }
    }

    #[test]
    fn few_blocks_approach_many() {
        for k in [1, 6, 9] {
            let many = fpr_many_blocks(51.2, 512, k);
            let actual = fpr(51_200_000, 1_000_000, 512, k);
            assert!((actual / many - 1.0).abs() < 1e-5, "{k} {actual} {many}");
        }
        let actual = split_fpr(24_000_000, 1_000_000);
        assert!((actual / split_fpr_many_blocks(24.0) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn one_block_is_a_bloom_filter() {
        for (n, k) in [(1, 1), (10, 8), (51, 6), (500, 3), (100_000, 2)] {
            let actual = fpr(n, 1, 512, k);
            assert!((actual / bloom::fpr_exact(512, n, k) - 1.0).abs() < 1e-11, "{n} {k}");
        }
    }

    #[test]
    fn two_blocks_by_hand() {
        let (n, k) = (5_u64, 3);
        let binomial = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0];
        let expected: f64 =
            (0..=n).zip(binomial).map(|(i, ways)| ways / 32.0 * bloom::fpr_exact(64, i, k)).sum();
        assert!((fpr(n, 2, 64, k) / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn edges() {
        assert_eq!(fpr(0, 10, 512, 8), 0.0);
        assert_eq!(fpr(10, 0, 512, 8), 1.0);
        assert_eq!(split_fpr(0, 10), 0.0);
        assert!((fpr(u64::MAX, 2, 512, 8) - 1.0).abs() < 1e-12);
        assert!((fpr(1_000_000, 2, 512, 8) - 1.0).abs() < 1e-12);
        assert!(fpr(1, u64::MAX, 512, 1) > 0.0);
        assert_eq!((split_fpr(u64::MAX, 1), split_fpr(u64::MAX, u64::MAX) > 0.0), (1.0, true));
        for target in [0.0, 1.0, f64::NAN] {
            assert_eq!(smallest_blocks(10, target, 512), None);
            assert_eq!(smallest_split_blocks(10, target), None);
        }
        assert_eq!(smallest_blocks(10, 0.1, 0), None);
        assert_eq!(smallest_blocks(u64::MAX, 0.1, 512), None);
    }

    #[test]
    fn sizes_are_the_smallest() {
        for n in [1, 40, 1_000, 50_000] {
            for target in [0.3, 0.01, 1e-4] {
                let (blocks, k) = smallest_blocks(n, target, 512).unwrap();
                assert!(fpr(n, blocks, 512, k) <= target, "{n} {target} {blocks} {k}");
                assert!(k == 1 || fpr(n, blocks, 512, k - 1) > target, "{n} {target} {blocks} {k}");
                let fewer = blocks - 1;
                assert!(fewer == 0 || fpr(n, fewer, 512, best_k(n, fewer, 512)) > target, "{n} {target}");
                let blocks = smallest_split_blocks(n, target).unwrap();
                assert!(split_fpr(n, blocks) <= target && (blocks == 1 || split_fpr(n, blocks - 1) > target));
            }
        }
        let (blocks, _) = smallest_blocks(1_000_000_000, 0.01, 512).unwrap();
        assert!(blocks > 1_000_000_000 * 958 / 51_200 && blocks < 1_000_000_000 * 11 / 512);
    }

    #[test]
    fn more_keys_more_false_positives() {
        let mut last = (0.0, 0.0);
        for n in (10..3_000).step_by(97) {
            let now = (fpr(n, 16, 512, 6), split_fpr(n, 16));
            assert!(now.0 > last.0 && now.1 > last.1, "{n}");
            last = now;
        }
    }
}
