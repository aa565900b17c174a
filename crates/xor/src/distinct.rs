//! Duplicates: words that are there more than once.

use crate::memory::{Raw, index};

/// Entries of a table in which so many words are looked for fast.
pub(crate) fn room(words: u64) -> u64 {
    words.saturating_add(words / 2).saturating_add(2).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Moves distinct words to the front, and returns how many they are.
///
/// By open addressing in `table`, whose length is a power of two and which is all 0 before and after: linear, and in the
/// cache if the table is; by sorting, if that is too small.
pub(crate) fn keep_distinct(words: &mut [Raw], table: &mut [Raw]) -> usize {
    let mut len = 0;
    if table.len() < 2 || table.len() - table.len() / 8 < words.len() {
        words.sort_unstable();
        for i in 0..words.len() {
            if len == 0 || words[len - 1] != words[i] {
                words[len] = words[i];
                len += 1;
            }
        }
    } else {
        let shift = 64 - table.len().trailing_zeros();
        for i in 0..words.len() {
            words[len] = words[i];
            len += usize::from(is_new(words[i], table, shift));
        }
        table.fill([0; 8]);
    }
    len
}

/// Whether the table has room for a word that it does not have yet, and has it now.
#[inline]
fn is_new(raw: Raw, table: &mut [Raw], shift: u32) -> bool {
    /// The first 64 fractional bits of the golden ratio, made odd.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    // The tag is 0, so the mark tells a word from an empty entry.
    let marked = u64::from_le_bytes(raw) | 1;
    let mut at = index(marked.wrapping_mul(GOLDEN) >> shift);
    loop {
        match u64::from_le_bytes(table[at]) {
            0 => {
                table[at] = marked.to_le_bytes();
                return true;
            }
            present if present == marked => return false,
            _ => at = (at + 1) & (table.len() - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    use amq::Digest;

    use super::{keep_distinct, room};
    use crate::graph::TAG;
    use crate::memory::{Raw, index};

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
