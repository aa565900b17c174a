//! Duplicates: words that are there more than once.

use crate::memory::{Raw, index};

/// Entries of a table in which so many words are looked for fast.
pub(crate) fn room(words: u64) -> u64 {
    words.saturating_add(words / 2).saturating_add(2).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Moves distinct words to the front, and returns how many they are.
///
/// By open addressing in `table`, whose length is a power of two and which is all 0 before and after: linear, and in the
/// cache if the table is; by sorting, if that is too small, or if the words meet in it far more often than by chance.
pub(crate) fn keep_distinct(words: &mut [Raw], table: &mut [Raw]) -> usize {
    if table.len() < 2 || table.len() - table.len() / 8 < words.len() {
        return keep_distinct_by_sorting(words);
    }
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

/// Whether the table did not have a word, which it has now; `None` if no steps are left to find out.
#[inline]
fn is_new(raw: Raw, table: &mut [Raw], shift: u32, steps: &mut usize) -> Option<bool> {
    // The tag is 0, so the mark tells a word from an empty entry.
    let marked = u64::from_le_bytes(raw) | 1;
    let mut at = index(marked.wrapping_mul(GOLDEN) >> shift);
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
