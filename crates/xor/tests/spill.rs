//! Builds from digests in a file: the same bytes as from memory, errors of the file system by name, nothing left behind.
#![cfg(feature = "spill")]

use amq::{Digest, Family, Spec};
use amq_xor::{BinaryFuse3, BinaryFuse4, Build, Builder, SourceError, Spill, XorFilter};

fn digests(n: u64) -> Vec<Digest> {
    (0..n).map(|i| Digest::new(i).remix(3)).collect()
}

fn check<F: Build + Family>() {
    for n in [0, 1, 8_192, 8_193, 300_000] {
        let mut digests = digests(n);
        let spec = Spec::fpr(0.01, n);
        let expected = F::build(&digests, &spec).unwrap();
        let spill = Spill::new(digests.iter().copied()).unwrap();
        assert_eq!((spill.len(), spill.is_empty()), (n, n == 0));
        let filter: F = Builder::new().build_from(&spill, &spec).unwrap();
        assert!(filter.table() == expected.table(), "{} n = {n}", F::NAME);
        #[cfg(feature = "rayon")]
        {
            let threads = core::num::NonZeroUsize::new(3).unwrap();
            let filter: F = Builder::new().with_threads(threads).build_from(&spill, &spec).unwrap();
            assert!(filter.table() == expected.table(), "{} n = {n}, 3 threads", F::NAME);
        }
        // Each twice.
        digests.extend_from_within(..);
        let spill = Spill::new(digests).unwrap();
        let filter: F = Builder::new().build_from(&spill, &spec).unwrap();
        assert!(filter.table() == expected.table() && filter.len() == Some(n), "{} n = {n}, twice", F::NAME);
    }
}

#[test]
fn a_file_is_as_good_as_memory() {
    check::<XorFilter>();
    check::<BinaryFuse3>();
    check::<BinaryFuse4>();
}

/// Less memory than a word for each digest: range by range.
#[test]
fn a_limited_build_goes_through_the_file_more_often() {
    let n = 400_000;
    let spec = Spec::fpr(0.01, n);
    let expected = XorFilter::build(&digests(n), &spec).unwrap();
    let spill = Spill::new(digests(n)).unwrap();
    let mut builder = Builder::new().with_memory_limit(2_600_000);
    let filter: XorFilter = builder.build_from(&spill, &spec).unwrap();
    assert_eq!(filter, expected);
    assert!(builder.peak_bytes() <= 2_600_000);
}

#[test]
fn files_are_removed_and_their_errors_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::fpr(0.01, 1_000);
    let spill = Spill::new_in(directory.path(), digests(1_000)).unwrap();
    assert!(spill.path().starts_with(directory.path()));
    let path = spill.path().to_owned();
    // Cut short by somebody else.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let result = Builder::new().build_from::<XorFilter, _>(&spill, &spec);
    assert!(
        matches!(result, Err(SourceError::Source(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof)
    );
    drop(spill);
    assert!(!path.exists());
    // In a panic too, here of the stream itself.
    let broken = std::panic::catch_unwind(|| {
        let stream = (0..20_000).map(|i| if i < 10_000 { Digest::new(i) } else { panic!("a broken stream") });
        Spill::new_in(directory.path(), stream)
    });
    assert!(broken.is_err());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert!(Spill::new_in(directory.path().join("missing"), digests(1)).is_err());
}
