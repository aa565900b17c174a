//! No key is lost: the one thing that a filter must never do.

use amq::{BuildError, Capability, Descriptor, Digest, Erased, InsertError, Key, Kind, Spec};

use super::case::{Case, Outcome, ensure};
use crate::keys::{Hostile, Pattern, check_distinct, digests, permute};

/// Sizes at which filters have been seen to break: powers of two and what fills tables of them, and where the published
/// sizes of binary fuse filters leave no slack.
pub(crate) fn sizes() -> Vec<u64> {
    let mut sizes = vec![0, 1, 2, 3, 7, 8, 63, 64, 65, 999, 1_000];
    for k in 1..=14 {
        let full = (1_u64 << k) * 95 / 100;
        sizes.extend([full.saturating_sub(1), full, full + 1]);
    }
    sizes.extend(TIGHT);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

const TIGHT: [u64; 7] = [11_400, 11_480, 11_504, 11_511, 11_515, 11_521, 11_550];

/// Whether a family may answer a spec with a typed error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Never,
    /// A corner of a table's shape: r so wide that there are more fingerprints than digests, or so narrow that equal ones fill
    /// their buckets, a load that small tables do not reach.
    Typed,
}

/// The specs of a size: rates that each family has to reach, and the corners of its shapes.
fn specs(descriptor: &Descriptor, n: u64) -> Vec<(Spec, Refusal)> {
    let mut specs: Vec<_> = [0.5, 0.01, 1e-4].map(|fpr| (Spec::fpr(fpr, n), Refusal::Never)).into();
    let (lowest, highest) = descriptor.r;
    let loads: &[f64] = match descriptor.kind {
        Kind::Table => &[0.5, 0.95],
        Kind::Bloom => &[1.0],
        Kind::Static => &[0.5],
    };
    let middle = 8.clamp(lowest, highest);
    for &alpha in loads {
        for r in [lowest, middle, highest] {
            let ordinary = descriptor.kind != Kind::Table || (alpha <= 0.5 && r == middle);
            specs.push((Spec::shape(alpha, r, n), if ordinary { Refusal::Never } else { Refusal::Typed }));
        }
    }
    specs
}

/// Every size of the grid at every spec: all members are found in a filter built from them, and in one that they were inserted
/// into, one by one and as a batch.
///
/// # Errors
/// The first failure.
pub fn members_of_every_size_are_kept(descriptor: &Descriptor) -> Outcome {
    for n in sizes() {
        for (spec, refusal) in specs(descriptor, n) {
            let seed = 1 + n % 3;
            let case = Case::new(descriptor, "members of every size are kept", n, spec.with_seed(seed));
            let members = digests(n, seed);
            let filter = match case.try_build(&members) {
                Err(_) if refusal == Refusal::Typed => continue,
                result => result.map_err(|error| case.fail(format!("the build failed: {error}")))?,
            };
            case.check_members(&*filter, &members, "after the build")?;
            ensure!(case, filter.len().is_none_or(|len| len == n), "len is {:?}", filter.len());
            if refusal == Refusal::Never && descriptor.can(Capability::Insert) {
                let filter = insert_all(&case, &members)?;
                case.check_members(&*filter, &members, "after single inserts")?;
                let mut filter = case.build(&[])?;
                let insert = filter.as_insert().ok_or_else(|| case.fail("no inserts"))?;
                insert.insert_batch(&members).map_err(|error| case.fail(error.to_string()))?;
                case.check_members(&*filter, &members, "after a batch of inserts")?;
            }
        }
    }
    Ok(())
}

fn insert_all(case: &Case<'_>, members: &[Digest]) -> Result<Box<dyn Erased>, super::Failure> {
    let mut filter = case.build(&[])?;
    let insert = filter
        .as_insert()
        .ok_or_else(|| case.fail("the family says that it inserts, the filter does not"))?;
    for (i, &digest) in members.iter().enumerate() {
        insert.insert(digest).map_err(|error| case.fail(format!("insert {i} failed: {error}")))?;
    }
    Ok(filter)
}

/// Builds that may have to be tried several times succeed for every seed: all sizes up to 64 under 100 seeds, and the sizes
/// with the least slack under 50.
///
/// # Errors
/// The first failure.
pub fn small_and_tight_sets_always_build(descriptor: &Descriptor) -> Outcome {
    let small = (0..=64).map(|n| (n, 100));
    let tight = TIGHT.into_iter().filter(|_| descriptor.kind == Kind::Static).map(|n| (n, 50));
    for (n, seeds) in small.chain(tight) {
        for seed in 0..seeds {
            let spec = Spec::fpr(0.01, n).with_seed(seed);
            let case = Case::new(descriptor, "small and tight sets always build", n, spec);
            let members = digests(n, seed ^ 0xABCD);
            case.check_members(&*case.build(&members)?, &members, "after the build")?;
        }
    }
    Ok(())
}

/// Duplicates are kept or ignored, but build, and none gets lost. A table with a limit on equal records may refuse a hundred
/// of them.
///
/// # Errors
/// The first failure.
pub fn duplicates_are_kept(descriptor: &Descriptor) -> Outcome {
    let draws = (0..40_000).map(|i| Digest::new(permute(i % 39_000, 3)));
    let sets: [(Vec<u64>, Refusal); 4] = [
        (vec![1, 1, 2], Refusal::Never),
        (vec![u64::MAX / 3; 2], Refusal::Never),
        (
            vec![u64::MAX / 3; 100],
            if descriptor.kind == Kind::Table { Refusal::Typed } else { Refusal::Never },
        ),
        (draws.map(Digest::get).collect(), Refusal::Never),
    ];
    for (set, refusal) in sets {
        let members: Vec<Digest> = set.into_iter().map(Digest::new).collect();
        let n = members.len() as u64;
        for fpr in [0.5, 0.01, 1e-4] {
            let case = Case::new(descriptor, "duplicates are kept", n, Spec::fpr(fpr, n).with_seed(5));
            match case.try_build(&members) {
                Err(BuildError::Full { .. }) if refusal == Refusal::Typed => {}
                Err(error) => return Err(case.fail(format!("the build failed: {error}"))),
                Ok(filter) => {
                    case.check_members(&*filter, &members, "after the build")?;
                    check_len_of_multiset(&case, &*filter, &members)?;
                }
            }
            insert_until_full(&case, &members, refusal)?;
        }
    }
    Ok(())
}

/// Families that remove count every record; static ones count distinct digests; the others may do either.
fn check_len_of_multiset(case: &Case<'_>, filter: &dyn Erased, members: &[Digest]) -> Outcome {
    let Some(len) = filter.len() else { return Ok(()) };
    let all = members.len() as u64;
    let distinct = members.iter().copied().collect::<std::collections::BTreeSet<_>>().len() as u64;
    let right = if case.descriptor.can(Capability::Remove) {
        len == all
    } else if case.descriptor.kind == Kind::Static {
        len == distinct
    } else {
        (distinct..=all).contains(&len)
    };
    ensure!(case, right, "len is {len} of {all} digests, {distinct} of them distinct");
    Ok(())
}

/// Inserts one by one; whatever was accepted has to be found, also when the table is full.
fn insert_until_full(case: &Case<'_>, members: &[Digest], refusal: Refusal) -> Outcome {
    if !case.descriptor.can(Capability::Insert) {
        return Ok(());
    }
    let mut filter = case.build(&[])?;
    let mut accepted = Vec::new();
    for &digest in members {
        match filter.as_insert().map(|insert| insert.insert(digest)) {
            None => return Err(case.fail("the family says that it inserts, the filter does not")),
            Some(Ok(())) => accepted.push(digest),
            Some(Err(InsertError::Full { .. })) if refusal == Refusal::Typed => break,
            Some(Err(error)) => return Err(case.fail(format!("insert {} failed: {error}", accepted.len()))),
        }
    }
    case.check_members(&*filter, &accepted, "after single inserts")
}

/// Digests that no good hash makes: a family may refuse them with a typed error, but keeps what it accepted.
///
/// # Errors
/// The first failure.
pub fn hostile_digests_are_kept(descriptor: &Descriptor) -> Outcome {
    for kind in Hostile::ALL {
        for n in [1, 2, 63, 300, 2_000] {
            for fpr in [0.5, 1e-4] {
                let spec = Spec::fpr(fpr, n).with_seed(7);
                let case = Case::new(descriptor, "hostile digests are kept", n, spec);
                let members = kind.digests(n, 7);
                if let Ok(filter) = case.try_build(&members) {
                    case.check_members(&*filter, &members, &format!("{kind:?}, after the build"))?;
                }
                insert_until_full(&case, &members, Refusal::Typed)?;
            }
        }
    }
    Ok(())
}

/// Keys as bytes, through [`Key`]: empty, with zero bytes, no text, a megabyte long, equal in their first eight bytes; and the
/// integer patterns.
///
/// # Errors
/// The first failure.
pub fn awkward_keys_are_kept(descriptor: &Descriptor) -> Outcome {
    let long = vec![b'x'; 1 << 20];
    let mut longer = long.clone();
    longer[(1 << 20) - 1] = b'y';
    let mut bytes: Vec<Vec<u8>> =
        [&b""[..], b"\0", b"a\0", b"a", b"\xff\xfe\xc0", b"a\nb"].map(<[u8]>::to_vec).into();
    bytes.extend([long, longer]);
    bytes.extend((0..200_u16).map(|i| [b"equal---", &i.to_be_bytes()[..]].concat()));
    let seed = 11;
    let mut sets = vec![bytes.iter().map(|key| key.digest(seed)).collect::<Vec<_>>()];
    sets.extend(Pattern::ALL.map(|pattern| pattern.member_digests(3_000, 0, seed)));
    sets.push((0..3_000_u64).map(|key| key.to_be_bytes().digest(seed)).collect());
    for members in sets {
        let n = members.len() as u64;
        for fpr in [0.5, 0.01, 1e-4] {
            let case = Case::new(descriptor, "awkward keys are kept", n, Spec::fpr(fpr, n).with_seed(seed));
            check_distinct(&members).map_err(|duplicate| case.fail(duplicate.to_string()))?;
            case.check_members(&*case.build(&members)?, &members, "after the build")?;
        }
    }
    Ok(())
}

/// What several threads insert through a shared reference at once is found by all lookups after they have ended; during that
/// no lookup of what was in before fails.
///
/// # Errors
/// The first failure.
pub fn shared_inserts_are_kept(descriptor: &Descriptor) -> Outcome {
    if !descriptor.can(Capability::SharedInsert) {
        return Ok(());
    }
    for (n, threads) in [(1_000, 2), (40_000, 4)] {
        let case = Case::new(descriptor, "shared inserts are kept", n, Spec::fpr(0.01, n).with_seed(6));
        let members = digests(n, 6);
        let (before, rest) = members.split_at(members.len() / 8);
        let filter = case.build(before)?;
        let Some(shared) = filter.as_shared_insert() else { return Err(case.fail("no shared inserts")) };
        std::thread::scope(|scope| {
            let part = rest.len().div_ceil(threads);
            // Neighbours overlap by half: two threads insert the same keys.
            let writers: Vec<_> = (0..threads)
                .map(|i| &rest[i * part..rest.len().min(i * part + part * 3 / 2)])
                .map(|part| {
                    scope.spawn(move || part.iter().try_for_each(|&digest| shared.insert_shared(digest)))
                })
                .collect();
            let found = filter.count_hits(before);
            ensure!(case, found == before.len() as u64, "{found} of {} found meanwhile", before.len());
            for writer in writers {
                let result = writer.join().map_err(|_| case.fail("a thread panicked"))?;
                result.map_err(|error| case.fail(format!("a shared insert failed: {error}")))?;
            }
            Ok(())
        })?;
        case.check_members(&*filter, &members, "after shared inserts")?;
    }
    Ok(())
}
