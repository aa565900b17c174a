//! Multiplicities.

use amq::{Capability, Descriptor, Digest, Spec};

use super::case::{Case, Failure, Outcome, ensure};
use crate::keys::{Zipf, digests, permute};
use crate::model::FingerprintModel;

/// A count is at least the number of inserts, up to the largest that the family holds; for a key inserted once it is exact in
/// most cases, and never 0.
///
/// # Errors
/// The first failure.
pub fn counts_reach_multiplicities(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Count) {
        return Ok(());
    }
    // The largest multiplicity stays below what four-bit counters hold.
    let members: Vec<Digest> = (0..1_000)
        .flat_map(|i| vec![Digest::new(permute(i, 5)); usize::from(i % 100 == 0) * 6 + 1])
        .collect();
    let n = members.len() as u64;
    let case = Case::new(descriptor, "counts reach multiplicities", n, Spec::fpr(0.01, n).with_seed(5));
    let mut filter = case.build(&members)?;
    for pass in ["after the build", "after inserting all again"] {
        let times = if pass == "after the build" { 1 } else { 2 };
        let Some(counter) = filter.as_count() else { return Err(case.fail("no counts")) };
        let mut exact = 0;
        for i in 0..1_000 {
            let truth = times * (u64::from(i % 100 == 0) * 6 + 1);
            let count = counter.count(Digest::new(permute(i, 5)));
            ensure!(case, count >= truth, "{pass}: a digest inserted {truth} times counts {count}");
            exact += u64::from(count == truth);
        }
        // Ten percent of colliding counts would be ten times the rate asked for.
        ensure!(case, exact >= 900 || times == 2, "{pass}: only {exact} of 1,000 counts are exact");
        for digest in digests(200, 77) {
            let (found, count) = (filter.contains(digest), counter.count(digest));
            ensure!(case, found == (count > 0), "{pass}: contains says {found}, count {count}");
        }
        if filter.as_insert().is_none_or(|insert| insert.insert_batch(&members).is_err()) {
            break;
        }
    }
    Ok(())
}

/// The fingerprint of one digest: what a filter lists that holds nothing else.
fn fingerprint(case: &Case<'_>, digest: Digest) -> Result<u64, Failure> {
    let filter = case.build(&[digest])?;
    let mut listed = Vec::new();
    if let Some(view) = filter.as_fingerprints() {
        view.for_each_fingerprint(&mut |fingerprint, count| listed.push((fingerprint, count)));
    }
    match listed[..] {
        [(fingerprint, 1)] => Ok(fingerprint),
        _ => Err(case.fail(format!("a filter of one digest lists {listed:?}"))),
    }
}

/// The fingerprints are listed in ascending order, lie below M, sum up to the number of records, and are those of the model,
/// which learns each digest's fingerprint from a filter of this digest alone.
///
/// # Errors
/// The first failure.
pub fn fingerprints_are_the_models(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::Fingerprints) {
        return Ok(());
    }
    for n in [0, 1, 2, 63, 500] {
        for fpr in [0.5, 0.05, 1e-4] {
            let case =
                Case::new(descriptor, "fingerprints are the model's", n, Spec::fpr(fpr, n).with_seed(n));
            // A third of the draws repeat an earlier key.
            let ranks = Zipf::new(usize::try_from(n).unwrap_or(0).max(1), 0.6, n);
            let members: Vec<Digest> = ranks
                .map(|rank| Digest::new(permute(rank, 6)))
                .take(usize::try_from(n).unwrap_or(0))
                .collect();
            let mut model = FingerprintModel::new(Digest::get);
            for &digest in &members {
                model.insert(Digest::new(fingerprint(&case, digest)?));
            }
            let filter = case.build(&members)?;
            let Some(view) = filter.as_fingerprints() else { return Err(case.fail("no fingerprints")) };
            let mut listed = Vec::new();
            view.for_each_fingerprint(&mut |fingerprint, count| listed.push((fingerprint, count)));
            let space = view.fingerprint_space();
            ensure!(case, listed.is_sorted_by(|a, b| a.0 < b.0), "fingerprints are not in ascending order");
            ensure!(
                case,
                listed.iter().all(|f| u128::from(f.0) < space && f.1 > 0),
                "not all are below {space}"
            );
            let sum: u64 = listed.iter().map(|f| f.1).sum();
            ensure!(case, filter.len() == Some(sum), "{sum} fingerprints, but len is {:?}", filter.len());
            ensure!(case, listed == model.records.iter().collect::<Vec<_>>(), "not the model's fingerprints");
        }
    }
    Ok(())
}
