//! What must not be in a set, and what must not be in it twice.

use std::{error::Error, fmt};

use amq::Digest;

use super::pattern::permute;

/// A digest that occurs more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The digest.
    pub digest: Digest,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "digest {:#018x} occurs more than once", self.digest.get())
    }
}

impl Error for Duplicate {}

/// Checks that no digest occurs twice. Sorts a copy.
///
/// # Errors
/// The smallest digest that does.
pub fn check_distinct(digests: &[Digest]) -> Result<(), Duplicate> {
    let mut sorted = digests.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Duplicate { digest: pair[0] }),
        None => Ok(()),
    }
}

/// `count` distinct, random-looking digests that are provably not in `members`, whatever these are: each is looked up.
/// Sorts a copy of the members.
///
/// # Panics
/// If `members` holds nearly every digest, which no memory does.
pub fn absent_from(members: &[Digest], count: usize, seed: u64) -> Vec<Digest> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let absent: Vec<Digest> = (0..1 << 63)
        .map(|index| Digest::new(permute(index, seed)))
        .filter(|digest| sorted.binary_search(digest).is_err())
        .take(count)
        .collect();
    assert_eq!(absent.len(), count, "too few digests are absent");
    absent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::digests;

    #[test]
    fn duplicates_are_found() {
        let mut all = digests(1_000, 4);
        assert_eq!(check_distinct(&all), Ok(()));
        all.push(all[500]);
        assert_eq!(check_distinct(&all), Err(Duplicate { digest: all[500] }));
    }

    #[test]
    fn absent_digests_are_absent_even_from_their_own_sequence() {
        // The members are the very numbers that the generator would give first.
        let members = digests(1_000, 4);
        let absent = absent_from(&members, 1_000, 4);
        assert_eq!(absent.len(), 1_000);
        let all: Vec<Digest> = members.into_iter().chain(absent).collect();
        assert_eq!(check_distinct(&all), Ok(()));
    }
}
