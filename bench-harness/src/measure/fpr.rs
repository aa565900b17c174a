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
    /// Their digests: `get(from, count)`.
    pub get: Source<'a>,
    /// As many others, for a filter that the first ones contradict. Members among them are left out.
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

/// Looks up `count` absent keys in batches and counts those that are answered "present".
///
/// # Errors
/// Outer: if the keys cannot be had. Inner: if single lookups of the first of them answer otherwise.
pub fn count_hits(filter: &dyn Erased, count: u64, source: Source<'_>) -> Result<Result<Count, String>> {
    let mut answers = Vec::new();
    let mut counted = Count { queries: 0, hits: 0 };
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
        counted.hits += in_batch;
        counted.queries += digests.len() as u64;
        from += wanted;
    }
    Ok(Ok(counted))
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
