//! Rows of the linear system, as elimination and back substitution want them: the first slot is the highest bit.
//!
//! Elimination goes slot by slot from where a window starts, and adds the row of the slot or does not, as the first coefficient
//! says. On the way from the start to a place of its own a key meets some forty slots, at every other of which something is
//! added. Going from coefficient to coefficient is fewer steps, but each waits for the load of the row before
//! the next coefficient is known, some ten cycles. Here all loads are at addresses known beforehand, and a step waits for a
//! shift of the sign, an AND and an XOR only, three cycles. With all else that changed beside it, a build took a
//! fifth less time than going from coefficient to coefficient.

use core::fmt::Debug;

use crate::width::halves;

/// Columns that are substituted at a time: as many as a vector of a large machine has words.
pub(crate) const LANES: usize = 8;

/// A row: a window of coefficients, the first slot highest.
pub trait Reduced: Copy + Default + PartialEq + Debug + Send + Sync {
    /// Of [`LANES`] columns, a window of slots, the first slot highest.
    type Windows: Copy + Default;

    /// All ones if the first coefficient is one, else 0.
    fn leading_mask(self) -> u32;

    /// Whether the first coefficient is one, and that of `other` is not.
    fn leads_without(self, other: Self) -> bool;

    /// The row without its first slot, after `present` was added if the first coefficient is one.
    #[must_use]
    fn step(self, present: Self) -> Self;

    /// The row without its first `count` slots, at most the width.
    #[must_use]
    fn skip(self, count: u32) -> Self;

    /// The row without the coefficients behind its first `count` slots, at most the width.
    #[must_use]
    fn first(self, count: u32) -> Self;

    /// Moves the windows by one place for a slot before them, with this row, and the values in the lowest bits of `values`.
    fn substitute(self, values: [u64; LANES], windows: &mut Self::Windows);

    /// The first 64 slots of each window, the first slot lowest.
    fn words(windows: &Self::Windows) -> [u64; LANES];
}

impl Reduced for u64 {
    type Windows = [u64; LANES];

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn leading_mask(self) -> u32 {
        (((self >> 32) as u32).cast_signed() >> 31).cast_unsigned()
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn leads_without(self, other: Self) -> bool {
        (self & !other).cast_signed() < 0
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn step(self, present: Self) -> Self {
        let all = (self.cast_signed() >> 63).cast_unsigned();
        (self << 1) ^ (present << 1 & all)
    }

    #[inline]
    fn skip(self, count: u32) -> Self {
        self.checked_shl(count).unwrap_or(0)
    }

    #[inline]
    fn first(self, count: u32) -> Self {
        self & !Self::MAX.checked_shr(count).unwrap_or(0)
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn substitute(self, values: [u64; LANES], windows: &mut Self::Windows) {
        for (window, value) in windows.iter_mut().zip(values) {
            // The slot itself is 0 so far: what is left is the parity of the others. A shift to the top drops all but it.
            let others = *window >> 1;
            let ones = u64::from((others & self).count_ones());
            *window = others | (ones ^ value) << 63;
        }
    }

    #[inline]
    fn words(windows: &Self::Windows) -> [u64; LANES] {
        windows.map(Self::reverse_bits)
    }
}

impl Reduced for u128 {
    /// The first half of each window, and the second.
    type Windows = [[u64; LANES]; 2];

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn leading_mask(self) -> u32 {
        halves(self)[1].leading_mask()
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn leads_without(self, other: Self) -> bool {
        halves(self)[1].leads_without(halves(other)[1])
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn step(self, present: Self) -> Self {
        let all = (self.cast_signed() >> 127).cast_unsigned();
        (self << 1) ^ (present << 1 & all)
    }

    #[inline]
    fn skip(self, count: u32) -> Self {
        self.checked_shl(count).unwrap_or(0)
    }

    #[inline]
    fn first(self, count: u32) -> Self {
        self & !Self::MAX.checked_shr(count).unwrap_or(0)
    }

    #[expect(clippy::inline_always, reason = "into the code compiled for the features")]
    #[inline(always)]
    fn substitute(self, values: [u64; LANES], windows: &mut Self::Windows) {
        let [second, first] = halves(self);
        let [first_words, second_words] = windows;
        for ((begin, end), value) in first_words.iter_mut().zip(second_words).zip(values) {
            let (others, rest) = (*begin >> 1, *end >> 1 | *begin << 63);
            let ones = u64::from(((others & first) ^ (rest & second)).count_ones());
            *begin = others | (ones ^ value) << 63;
            *end = rest;
        }
    }

    #[inline]
    fn words([first, _]: &Self::Windows) -> [u64; LANES] {
        first.map(u64::reverse_bits)
    }
}
