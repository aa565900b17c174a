//! Duplicates: words that are there more than once.

use crate::memory::{Raw, index};

/// Entries of a table in which so many words are looked for fast.
pub(crate) fn room(words: u64) -> u64 {
    words.saturating_add(words / 2).saturating_add(2).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Moves distinct words to the front, and returns how many they are. `table`, whose length is a power of two, is all 0 before
/// and after.
///
/// Most words are told from all others by a bit that they share with none. Only the few that are left are compared.
pub(crate) fn keep_distinct(words: &mut [Raw], table: &mut [Raw]) -> usize {
    let lone = move_lone(words, table);
    lone + keep_distinct_by_table(&mut words[lone..], table)
}

/// Bits for each word, or up to twice as many: of every 16 words that are there once, one or two share theirs.
const BITS_PER_WORD: usize = 16;

/// Moves words to the front that are there once for sure, and returns how many they are. Without a branch on any of them.
fn move_lone(words: &mut [Raw], table: &mut [Raw]) -> usize {
    // Next to the bits that some word has, those that several have.
    let (pairs, _) = table.as_chunks_mut::<2>();
    let len = pairs.len().min((words.len() * BITS_PER_WORD / 64).next_power_of_two());
    if !len.is_power_of_two() || len < words.len() / 16 {
        return 0;
    }
    let pairs = &mut pairs[..len];
    // The product's highest bits choose one of `64 * len` bits, at most as many as a slice has elements.
    let shift = 64 - 6 - len.trailing_zeros();
    let place = |raw: Raw| {
        let bit = product(u64::from_le_bytes(raw)) >> shift;
        (index(bit >> 6), bit & 63)
    };
    for &raw in &*words {
        let (at, bit) = place(raw);
        let [some, several] = pairs[at].map(u64::from_le_bytes);
        pairs[at] = [some | 1 << bit, several | some & 1 << bit].map(u64::to_le_bytes);
    }
    let mut lone = 0;
    for i in 0..words.len() {
        let (at, bit) = place(words[i]);
        words.swap(i, lone);
        lone += usize::from(u64::from_le_bytes(pairs[at][1]) >> bit & 1 == 0);
    }
    pairs.fill([[0; 8]; 2]);
    lone
}

/// [`keep_distinct`] by open addressing, linear and in the cache if the table is; by sorting, if that is too small, or if the words
/// meet in it far more often than by chance.
fn keep_distinct_by_table(words: &mut [Raw], table: &mut [Raw]) -> usize {
    if table.len() < 2 || table.len() - table.len() / 8 < words.len() {
        return keep_distinct_by_sorting(words);
    }
    let used = table.len().min(index(room(words.len() as u64)));
    let table = &mut table[..used.max(2)];
    let shift = 64 - table.len().trailing_zeros();
    let mut steps = words.len().saturating_mul(STEPS).saturating_add(1 << 10);
    let mut len = 0;
    for i in 0..words.len() {
        words[len] = words[i];
        let Some(is_new) = is_new(words[i], table, shift, &mut steps) else {
            // What is kept so far, and what is left.
            words.copy_within(i.., len);
            let left = len + (words.len() - i);
            len = keep_distinct_by_sorting(&mut words[..left]);
            break;
        };
        len += usize::from(is_new);
    }
    table.fill([0; 8]);
    len
}

/// Entries that may be passed for each word before the words are sorted instead. A full table takes 4 in the mean; words that
/// are chosen for it could take as many as there are.
const STEPS: usize = 16;

fn keep_distinct_by_sorting(words: &mut [Raw]) -> usize {
    words.sort_unstable();
    let mut len = 0;
    for i in 0..words.len() {
        if len == 0 || words[len - 1] != words[i] {
            words[len] = words[i];
            len += 1;
        }
    }
    len
}

/// The first 64 fractional bits of the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
const fn product(word: u64) -> u64 {
    word.wrapping_mul(GOLDEN)
}

/// Whether the table did not have a word, which it has now; `None` if no steps are left to find out.
#[inline]
fn is_new(raw: Raw, table: &mut [Raw], shift: u32, steps: &mut usize) -> Option<bool> {
    // The tag is 0, so the mark tells a word from an empty entry.
    let marked = u64::from_le_bytes(raw) | 1;
    let mut at = index(product(marked) >> shift);
    loop {
        match u64::from_le_bytes(table[at]) {
            0 => {
                table[at] = marked.to_le_bytes();
                return Some(true);
            }
            present if present == marked => return Some(false),
            _ => at = (at + 1) & (table.len() - 1),
        }
        *steps = steps.checked_sub(1)?;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    use amq::Digest;

    use super::{GOLDEN, is_new, keep_distinct, room};
    use crate::graph::TAG;
    use crate::memory::{Raw, index};

    /// Words that all begin in the same entry of a table, which would take 10^11 steps.
    #[test]
    fn words_that_meet_are_sorted_instead() {
        let inverse = (0..6).fold(GOLDEN, |x, _| x.wrapping_mul(2_u64.wrapping_sub(GOLDEN.wrapping_mul(x))));
        assert_eq!(inverse.wrapping_mul(GOLDEN), 1);
        let n = 400_000;
        // Small products with the multiplier, of words that end as marked ones do.
        let distinct: Vec<Raw> = (0..n)
            .map(|i| ((TAG + 1) * i + (GOLDEN & TAG)).wrapping_mul(inverse))
            .inspect(|marked| assert_eq!(marked & TAG, 1))
            .map(|marked| (marked & !TAG).to_le_bytes())
            .collect();
        let mut table = vec![[0; 8]; index(room(2 * n))];
        let mut steps = 10;
        let shift = 64 - table.len().trailing_zeros();
        assert!(distinct[..100].iter().any(|&raw| is_new(raw, &mut table, shift, &mut steps).is_none()));
        table.fill([0; 8]);
        let mut words = [&distinct[..], &distinct[..]].concat();
        let expected: BTreeSet<Raw> = distinct.iter().copied().collect();
        let len = keep_distinct(&mut words, &mut table);
        assert_eq!(len, expected.len());
        assert!(words[..len].iter().copied().collect::<BTreeSet<_>>() == expected);
        assert!(table.iter().all(|&raw| raw == [0; 8]));
    }

    #[test]
    fn each_word_is_kept_once_with_a_table_and_without() {
        for n in [0, 1, 2, 100, 5_000] {
            for copies in [1, 2, n.max(1)] {
                let words: Vec<Raw> =
                    (0..n).map(|i| (Digest::new(i / copies).remix(5).get() & !TAG).to_le_bytes()).collect();
                let expected: BTreeSet<Raw> = words.iter().copied().collect();
                for size in [0, 1, 64, room(n)] {
                    let (mut words, mut table) = (words.clone(), vec![[0; 8]; index(size)]);
                    let len = keep_distinct(&mut words, &mut table);
                    assert_eq!(len, expected.len());
                    assert_eq!(words[..len].iter().copied().collect::<BTreeSet<_>>(), expected);
                    assert!(table.iter().all(|&raw| raw == [0; 8]));
                }
            }
        }
        // The word 0 is a word.
        assert_eq!(keep_distinct(&mut [[0; 8]; 3], &mut [[0; 8]; 8]), 1);
    }
}
