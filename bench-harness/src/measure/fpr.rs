//! The measured false-positive rate.

use amq::{Digest, Erased};
use amq_testkit::statistics::{agrees, binomial_p_value, z_score};
use anyhow::Result;

/// Queries asked at a time.
const CHUNK: u64 = 1 << 16;

/// Absent keys: how many, and the digests of some of them from a place on.
pub struct Absent<'a> {
    /// How many are asked: fixed before the first.
    pub count: u64,
    /// Their digests: `get(from, count)`. Those that are a member's digest all the same are found out and left out.
    pub get: Source<'a>,
    /// As many others, for a filter that the first ones contradict.
    pub fresh: Source<'a>,
}

/// Digests of absent keys: so many from a place on.
pub type Source<'a> = &'a dyn Fn(u64, u64) -> Result<Vec<Digest>>;

/// How many absent keys were asked, and how many of them were answered "present".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Asked.
    pub queries: u64,
    /// Answered "present".
    pub hits: u64,
}

impl std::fmt::Debug for Absent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Absent").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Looks up `count` absent keys in batches and counts those that are answered "present". A key whose digest is one of
/// `members` counts for nothing: it is found, so that only those that are found have to be searched among the members.
///
/// # Errors
/// Outer: if the keys cannot be had. Inner: if single lookups of the first of them answer otherwise.
pub fn count_hits(
    filter: &dyn Erased,
    members: &[Digest],
    count: u64,
    source: Source<'_>,
) -> Result<Result<Count, String>> {
    let mut answers = Vec::new();
    let mut found = Vec::new();
    let mut queries = 0;
    let mut from = 0;
    while from < count {
        let wanted = CHUNK.min(count - from);
        let digests = source(from, wanted)?;
        answers.resize(digests.len(), false);
        filter.contains_batch(&digests, &mut answers);
        let in_batch = answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
        if from == 0 {
            let single = filter.count_hits(&digests);
            if single != in_batch {
                let asked = digests.len();
                return Ok(Err(format!(
                    "of the same {asked} absent keys, {single} are present one by one and {in_batch} in a batch"
                )));
            }
        }
        found.extend(digests.iter().zip(&answers).filter_map(|(&digest, &answer)| answer.then_some(digest)));
        queries += digests.len() as u64;
        from += wanted;
    }
    let present = common(&mut found, members);
    Ok(Ok(Count { queries: queries - present, hits: found.len() as u64 - present }))
}

/// How many of `found`, which gets sorted, are members.
fn common(found: &mut [Digest], members: &[Digest]) -> u64 {
    found.sort_unstable();
    let mut present: Vec<_> =
        members.iter().filter(|member| found.binary_search(member).is_ok()).copied().collect();
    present.sort_unstable();
    found.iter().filter(|digest| present.binary_search(digest).is_ok()).count() as u64
}

/// What contradicts the rate that the filter expects of itself; `None` if the hits may come from it. A filter in order is
/// contradicted once in some 16,000 times: see [`agrees`].
pub fn contradiction(counted: Count, expected: f64) -> Option<String> {
    let Count { queries, hits } = counted;
    if !(0.0..=1.0).contains(&expected) {
        return Some(format!("it expects a false-positive rate of {expected}, which is none"));
    }
    (!agrees(hits, queries, expected)).then(|| {
        format!(
            "{hits} false positives in {queries} queries contradict the rate {expected:.4e} that it expects of itself \
             (z = {:.1}, p = {:.1e})",
            z_score(hits, queries, expected),
            binomial_p_value(hits, queries, expected)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contradiction(hits: u64, queries: u64, expected: f64) -> Option<String> {
        super::contradiction(Count { queries, hits }, expected)
    }

    #[test]
    fn absent_keys_with_the_digest_of_a_member_are_told_apart() {
        let digests = |values: &[u64]| values.iter().copied().map(Digest::new).collect::<Vec<_>>();
        // Members may repeat, and so may what is found.
        assert_eq!(common(&mut digests(&[9, 1, 7, 1]), &digests(&[3, 1, 1, 8])), 2);
        assert_eq!(common(&mut digests(&[]), &digests(&[3])), 0);
        assert_eq!(common(&mut digests(&[9, 1]), &digests(&[])), 0);
    }

    #[test]
    fn a_rate_ten_percent_too_high_is_seen_at_the_verification_budget() {
        let expected = 0.01;
        let queries = 360_000;
        assert_eq!(contradiction(3600, queries, expected), None);
        assert_eq!(contradiction(3750, queries, expected), None);
        assert!(contradiction(3960, queries, expected).unwrap().contains("3960 false positives"));
        assert!(contradiction(3240, queries, expected).is_some());
        // 4.1 and 3.99 standard deviations.
        assert!(contradiction(3845, queries, expected).is_some());
        assert_eq!(contradiction(3838, queries, expected), None);
    }

    #[test]
    fn few_expected_hits_are_judged_exactly() {
        // One expected: 6 are rare (z = 5) but happen once in 1,700 times; 12 do not.
        assert_eq!(contradiction(6, 1000, 1e-3), None);
        assert!(contradiction(12, 1000, 1e-3).is_some());
        assert_eq!(contradiction(0, 1000, 1e-3), None);
    }

    #[test]
    fn a_rate_that_is_none_is_a_contradiction() {
        for expected in [f64::NAN, -0.1, 1.1] {
            assert!(contradiction(0, 10, expected).is_some(), "{expected}");
        }
        assert_eq!(contradiction(0, 10, 0.0), None);
        assert_eq!(contradiction(10, 10, 1.0), None);
        assert!(contradiction(1, 10, 0.0).is_some());
    }
}
