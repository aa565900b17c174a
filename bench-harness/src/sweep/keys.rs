//! The keys of a run: generated ones, or those of a file; and of each group its members and absent keys, as digests.

use std::collections::HashSet;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use amq::{Digest, Key, attempt_seed};
use amq_testkit::keys::{Pattern, permute};
use anyhow::{Context as _, Result, bail, ensure};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::store::folder::SCRATCH_PREFIX;
use crate::store::run::KeyInfo;

/// Generated keys are the images of counters under a permutation of the 64-bit integers: members from 0, absent keys from
/// here.
const FIRST_ABSENT: u64 = 1 << 63;

/// Key bytes that are handed to a worker at most, for the lookups that start at the key.
const KEY_BYTES: usize = 64 << 20;

/// Bytes of a key that an absent one begins with at most.
const ABSENT_BYTES: usize = 256;

/// Digests that are made or checked at a time.
const CHUNK: u64 = 1 << 20;

/// Seeds that are tried for a group until no two of its keys share a digest. With 10^8 keys one in some 4,000 seeds fails.
const SEEDS: u32 = 16;

/// Where keys come from.
#[derive(Debug)]
pub enum Keys {
    /// Pseudo-random 64-bit integers: as many as wanted, all distinct, others under another seed.
    Generated,
    /// The lines of a file.
    File(KeyFile),
}

/// The distinct lines of a file, as bytes.
#[derive(Debug)]
pub struct KeyFile {
    name: String,
    bytes: Vec<u8>,
    /// Where the distinct keys lie in `bytes`, in the order of their first appearance.
    keys: Vec<Range<usize>>,
    read: u64,
}

impl KeyFile {
    /// Reads newline-separated keys. They are bytes, not text; a carriage return before the newline is not part of the key;
    /// the last line may lack its newline; an empty line is the empty key; repetitions are dropped and counted.
    ///
    /// # Errors
    /// If the file cannot be read or has no line.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let kind = fs::metadata(path).with_context(|| format!("cannot read the key file {shown}"))?;
        ensure!(!kind.is_dir(), "--keys {shown} is a directory: give a file of newline-separated keys");
        // A pipe or a device may never end, and a run that goes on has to read its keys again.
        ensure!(
            kind.is_file(),
            "--keys {shown} is a pipe or a device: write its keys to a file, and give that"
        );
        let bytes = fs::read(path).with_context(|| format!("cannot read the key file {shown}"))?;
        let name =
            path.file_name().map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
        Self::from_bytes(name, bytes).with_context(|| format!("in the key file {shown}"))
    }

    fn from_bytes(name: String, bytes: Vec<u8>) -> Result<Self> {
        ensure!(!bytes.is_empty(), "it is empty: give at least one key, one a line");
        let mut keys = Vec::new();
        let mut seen = HashSet::new();
        let mut read = 0;
        let mut start = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let key = line.strip_suffix(b"\n").unwrap_or(line);
            let key = key.strip_suffix(b"\r").unwrap_or(key);
            read += 1;
            if seen.insert(key) {
                keys.push(start..start + key.len());
            }
            start += line.len();
        }
        drop(seen);
        Ok(Self { name, bytes, keys, read })
    }

    fn key(&self, index: usize) -> &[u8] {
        &self.bytes[self.keys[index].clone()]
    }

    /// An absent key: one of the keys (of a long one its beginning, since there are millions of absent ones), a newline, and a
    /// number. No key of the file has a newline in it, and no two absent ones the same number.
    fn absent(&self, index: u64, buffer: &mut Vec<u8>) {
        buffer.clear();
        // Below the number of keys, which is a usize.
        let key = self.key(usize::try_from(index % self.keys.len() as u64).unwrap_or(0));
        buffer.extend_from_slice(&key[..key.len().min(ABSENT_BYTES)]);
        buffer.push(b'\n');
        buffer.extend_from_slice(&index.to_le_bytes());
    }
}

impl Keys {
    /// The number of distinct keys there are.
    pub fn distinct(&self) -> Option<u64> {
        match self {
            Self::Generated => None,
            Self::File(file) => Some(file.keys.len() as u64),
        }
    }

    /// A hash of all keys in order.
    pub fn hash(&self) -> u64 {
        match self {
            Self::Generated => 0,
            Self::File(file) => {
                file.keys.iter().fold(0, |hash, key| file.bytes[key.clone()].digest(hash).get())
            }
        }
    }

    /// What is told about the keys; `largest` is the n of the largest cell.
    pub fn info(&self, largest: u64) -> KeyInfo {
        match self {
            Self::Generated => KeyInfo {
                source: Pattern::Uniform.name().into(),
                read: largest,
                distinct: largest,
                duplicates: 0,
                bytes: 0,
            },
            Self::File(file) => {
                let distinct = file.keys.len() as u64;
                KeyInfo {
                    source: format!("file:{}", file.name),
                    read: file.read,
                    distinct,
                    duplicates: file.read - distinct,
                    bytes: file.keys.iter().map(|key| key.len() as u64).sum(),
                }
            }
        }
    }

    /// The values of n that can be swept: of a file those that it has keys for.
    pub fn possible_n(&self, wanted: &[u64]) -> Vec<u64> {
        wanted.iter().copied().filter(|&n| self.distinct().is_none_or(|distinct| n <= distinct)).collect()
    }

    /// `n` members and `absent` absent keys for a group, and of both together `sample` for lookups that start at the key.
    ///
    /// Digests of a file's keys are handed over in a temporary folder in `scratch`, which goes with the returned value.
    ///
    /// The seed is `base`, or one derived from it, such that all digests of members differ and none is an absent key's.
    ///
    /// # Errors
    /// If there is no such seed, or the digests cannot be written for the measuring processes.
    pub fn prepare(&self, base: u64, n: u64, absent: u64, sample: u64, scratch: &Path) -> Result<Prepared> {
        match self {
            Self::Generated => {
                let seed = collision_free_seed(
                    base,
                    |seed| generated_range(0, n, seed),
                    |seed, from, count| generated_range(FIRST_ABSENT + from, count, seed),
                    absent,
                )?;
                Ok(Prepared { material: Material { seed, n, absent, sample, folder: None }, _folder: None })
            }
            Self::File(file) => file.prepare(base, n, absent, sample, scratch),
        }
    }
}

impl KeyFile {
    fn prepare(&self, base: u64, n: u64, absent: u64, sample: u64, scratch: &Path) -> Result<Prepared> {
        let chosen = self.choose(base, n)?;
        let digest_absent = |seed, from: u64, count: u64| {
            let mut buffer = Vec::new();
            (from..from + count)
                .map(|index| {
                    self.absent(index, &mut buffer);
                    buffer.digest(seed)
                })
                .collect()
        };
        let members = |seed| chosen.iter().map(|&index| self.key(index).digest(seed)).collect();
        let seed = collision_free_seed(base, members, digest_absent, absent)?;

        let folder = tempfile::Builder::new()
            .prefix(SCRATCH_PREFIX)
            .tempdir_in(scratch)
            .with_context(|| format!("cannot make a folder in {}", scratch.display()))?;
        let write = || -> std::io::Result<()> {
            let mut digests = BufWriter::new(fs::File::create(folder.path().join("members"))?);
            for digest in members(seed) {
                digests.write_all(&digest.get().to_le_bytes())?;
            }
            digests.flush()?;
            let mut digests = BufWriter::new(fs::File::create(folder.path().join("absent"))?);
            for from in (0..absent).step_by(usize::try_from(CHUNK).unwrap_or(usize::MAX)) {
                for digest in digest_absent(seed, from, CHUNK.min(absent - from)) {
                    digests.write_all(&digest.get().to_le_bytes())?;
                }
            }
            digests.flush()?;
            fs::write(
                folder.path().join("sample"),
                serde_json::to_vec(&self.sample(&chosen, (seed, absent), sample))?,
            )
        };
        write().with_context(|| format!("cannot write the digests to {}", folder.path().display()))?;
        let material = Material { seed, n, absent, sample, folder: Some(folder.path().to_path_buf()) };
        Ok(Prepared { material, _folder: Some(folder) })
    }

    /// The indices of `n` keys: a random choice in random order, all if `n` is their number.
    fn choose(&self, seed: u64, n: u64) -> Result<Vec<usize>> {
        let mut indices: Vec<_> = (0..self.keys.len()).collect();
        let wanted = usize::try_from(n).ok().filter(|&wanted| wanted <= indices.len());
        let wanted = wanted.with_context(|| format!("{n} keys wanted of {}", indices.len()))?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for place in 0..wanted {
            let from = rng.random_range(place..indices.len());
            indices.swap(place, from);
        }
        indices.truncate(wanted);
        Ok(indices)
    }

    fn sample(&self, chosen: &[usize], material: (u64, u64), sample: u64) -> KeySample {
        let (seed, absent) = material;
        let mut keys = KeySample::default();
        let mut buffer = Vec::new();
        for pick in picks(seed, sample, chosen.len() as u64, absent) {
            match pick {
                // Below the number of members, which is a usize.
                Pick::Member(index) => {
                    keys.push(self.key(chosen[usize::try_from(index).unwrap_or(0)]));
                    keys.members += 1;
                }
                Pick::Absent(index) => {
                    self.absent(index, &mut buffer);
                    keys.push(&buffer);
                }
            }
            if keys.bytes.len() > KEY_BYTES {
                break;
            }
        }
        keys
    }
}

/// The first of the seeds derived from `base` under which no digest occurs twice among the members, and none of theirs among
/// the absent keys.
fn collision_free_seed(
    base: u64,
    members: impl Fn(u64) -> Vec<Digest>,
    absent: impl Fn(u64, u64, u64) -> Vec<Digest>,
    absent_count: u64,
) -> Result<u64> {
    'seeds: for attempt in 0..SEEDS {
        // Short enough to be exact in a spreadsheet or in JavaScript.
        let seed = if attempt == 0 { base } else { attempt_seed(base, attempt) } >> 11;
        let mut members = members(seed);
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0] == pair[1]) {
            continue;
        }
        let mut from = 0;
        while from < absent_count {
            let count = CHUNK.min(absent_count - from);
            let mut chunk = absent(seed, from, count);
            chunk.sort_unstable();
            if have_common(&members, &chunk) {
                continue 'seeds;
            }
            from += count;
        }
        return Ok(seed);
    }
    bail!(
        "under each of {SEEDS} seeds two different keys have the same 64-bit digest: somebody made them so, and filters over \
         this digest cannot tell them apart; remove one of them"
    );
}

/// Whether two sorted slices share a value. Gallops through the first: linear in the second.
fn have_common(sorted: &[Digest], other: &[Digest]) -> bool {
    let mut rest = sorted;
    for &wanted in other {
        let mut step = 1;
        while step < rest.len() && rest[step] < wanted {
            step *= 2;
        }
        let window = &rest[..rest.len().min(step + 1)];
        let below = window.partition_point(|&digest| digest < wanted);
        rest = &rest[below..];
        match rest.first() {
            None => return false,
            Some(&found) if found == wanted => return true,
            Some(_) => {}
        }
    }
    false
}

/// A generated key. Different indices give different keys.
const fn generated(index: u64, seed: u64) -> u64 {
    permute(index, seed)
}

fn generated_range(first: u64, count: u64, seed: u64) -> Vec<Digest> {
    (first..first + count).map(|index| generated(index, seed).digest(seed)).collect()
}

/// Which keys are looked up from the key on.
#[derive(Clone, Copy, Debug)]
enum Pick {
    /// The member of this index.
    Member(u64),
    /// The absent key of this index.
    Absent(u64),
}

/// `count` lookups, half of them of random members and half of absent keys, in random order.
fn picks(seed: u64, count: u64, n: u64, absent: u64) -> Vec<Pick> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let members = count.div_ceil(2);
    let mut picks: Vec<_> = (0..members).map(|_| Pick::Member(rng.random_range(0..n))).collect();
    picks.extend((0..count - members).map(|i| Pick::Absent(i % absent)));
    picks.shuffle(&mut rng);
    picks
}

/// The keys of a group, and the files they are in while it lives.
#[derive(Debug)]
pub struct Prepared {
    /// How measuring processes get them.
    pub material: Material,
    _folder: Option<TempDir>,
}

/// The keys of a group, as a measuring process gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// The seed that the keys are digested under.
    pub seed: u64,
    /// Members.
    pub n: u64,
    /// Absent keys.
    pub absent: u64,
    /// Keys for lookups that start at the key.
    pub sample: u64,
    /// The folder with the digests; `None` for generated keys, which are made anew.
    pub folder: Option<PathBuf>,
}

/// Keys as bytes, one after the other, in the order in which they are looked up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeySample {
    members: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeySample {
    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Members and absent keys, in random order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let key = &self.bytes[start..end];
            start = end;
            key
        })
    }

    /// How many of them are members.
    pub const fn members(&self) -> u64 {
        self.members
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl Material {
    /// The digests of the members, in no order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn members(&self) -> Result<Vec<Digest>> {
        match &self.folder {
            None => Ok(generated_range(0, self.n, self.seed)),
            Some(folder) => read_digests(&folder.join("members"), 0, self.n),
        }
    }

    /// The digests of `count` absent keys from the given one on.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn absent(&self, from: u64, count: u64) -> Result<Vec<Digest>> {
        let count = count.min(self.absent.saturating_sub(from));
        match &self.folder {
            None => Ok(generated_range(FIRST_ABSENT + from, count, self.seed)),
            Some(folder) => read_digests(&folder.join("absent"), from, count),
        }
    }

    /// As many further absent keys from the given one on, for a second count. They are different keys from all others; that
    /// none has the digest of a member is not known.
    pub fn fresh_absent(&self, from: u64, count: u64) -> Vec<Digest> {
        match &self.folder {
            None => generated_range(FIRST_ABSENT + self.absent + from, count, self.seed),
            // No key of a file has a newline in it, and what its absent keys have after the first one is a number of eight
            // bytes.
            Some(_) => (from..from + count)
                .map(|index| [&b"\n\n"[..], &index.to_le_bytes()].concat().digest(self.seed))
                .collect(),
        }
    }

    /// Keys for lookups that start at the key: half of them members, in random order. Fewer than were asked for where keys are
    /// so long that all would not fit.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sample(&self) -> Result<KeySample> {
        let Some(folder) = &self.folder else {
            let mut keys = KeySample::default();
            for pick in picks(self.seed, self.sample, self.n, self.absent) {
                let index = match pick {
                    Pick::Member(index) => {
                        keys.members += 1;
                        index
                    }
                    Pick::Absent(index) => FIRST_ABSENT + index,
                };
                keys.push(&generated(index, self.seed).to_le_bytes());
            }
            return Ok(keys);
        };
        let path = folder.join("sample");
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

fn read_digests(path: &Path, from: u64, count: u64) -> Result<Vec<Digest>> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        file.seek(SeekFrom::Start(from * 8))?;
        let mut bytes = vec![0; usize::try_from(count * 8).unwrap_or(usize::MAX)];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().with_context(|| format!("cannot read {}", path.display()))?;
    let (digests, _) = bytes.as_chunks();
    Ok(digests.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> KeyFile {
        KeyFile::from_bytes("test".into(), bytes.to_vec()).unwrap()
    }

    fn keys(file: &KeyFile) -> Vec<&[u8]> {
        (0..file.keys.len()).map(|index| file.key(index)).collect()
    }

    #[test]
    fn lines_are_keys_whatever_ends_them() {
        for text in [&b"a\nb\n"[..], b"a\nb", b"a\r\nb\r\n", b"a\r\nb", b"a\nb\na\nb\r\n"] {
            assert_eq!(keys(&file(text)), [b"a", b"b"], "{text:?}");
        }
        assert_eq!(keys(&file(b"\n")), [b""], "an empty line is the empty key");
        assert_eq!(keys(&file(b"\r\r\n")), [b"\r"], "one carriage return belongs to the line's end");
        assert_eq!(keys(&file(b"a\n\nb\0\xff\xfe\n")), [&b"a"[..], b"", b"b\0\xff\xfe"]);
        assert!(KeyFile::from_bytes("test".into(), Vec::new()).unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn repetitions_are_counted() {
        let info = Keys::File(file(b"a\nb\na\na\n")).info(0);
        assert_eq!((info.read, info.distinct, info.duplicates, info.bytes), (4, 2, 2, 2));
    }

    #[test]
    fn n_is_limited_by_the_file() {
        let three = Keys::File(file(b"a\nb\nc\n"));
        assert_eq!(three.possible_n(&[1, 2, 3, 10]), [1, 2, 3]);
        assert!(three.possible_n(&[10]).is_empty());
        assert_eq!(Keys::Generated.possible_n(&[10]), [10]);
    }

    #[test]
    fn a_file_gives_its_keys_and_others() {
        let names = (0..500).map(|i| format!("key {i}")).collect::<Vec<_>>().join("\n");
        let file = Keys::File(file(names.as_bytes()));
        let scratch = tempfile::tempdir().unwrap();
        let prepared = file.prepare(7, 400, 1234, 64, scratch.path()).unwrap();
        let material = &prepared.material;
        let mut members = material.members().unwrap();
        assert_eq!(members.len(), 400);
        let absent = material.absent(0, 5000).unwrap();
        assert_eq!(absent.len(), 1234);
        assert_eq!(material.absent(1000, 100).unwrap(), absent[1000..1100]);
        let all: HashSet<_> = (0..500).map(|i| format!("key {i}").digest(material.seed)).collect();
        assert!(members.iter().all(|digest| all.contains(digest)));
        assert!(absent.iter().all(|digest| !all.contains(digest)));
        let fresh = material.fresh_absent(0, 1234);
        assert!(fresh.iter().all(|digest| !all.contains(digest) && !absent.contains(digest)));
        let sample = material.sample().unwrap();
        let hits = sample.iter().filter(|key| members.contains(&key.digest(material.seed))).count();
        assert_eq!((sample.len(), hits, sample.members()), (64, 32, 32));
        members.sort_unstable();
        members.dedup();
        assert_eq!(members.len(), 400);
    }

    #[test]
    fn generated_keys_are_distinct_and_their_sample_is_half_members() {
        let prepared = Keys::Generated.prepare(7, 1000, 5000, 100, Path::new("unused")).unwrap();
        let members: HashSet<_> = prepared.material.members().unwrap().into_iter().collect();
        assert_eq!(members.len(), 1000);
        let absent = prepared.material.absent(0, u64::MAX).unwrap();
        assert_eq!(absent.len(), 5000);
        assert!(absent.iter().all(|digest| !members.contains(digest)));
        let fresh = prepared.material.fresh_absent(0, 5000);
        assert!(fresh.iter().all(|digest| !members.contains(digest) && !absent.contains(digest)));
        assert_eq!(fresh[1000..1100], prepared.material.fresh_absent(1000, 100));
        // Uniform keys, not counters.
        let sample = prepared.material.sample().unwrap();
        let keys = sample.iter().map(|key| u64::from_le_bytes(key.try_into().unwrap()));
        assert!(keys.filter(|key| key.leading_zeros() > 12).count() < 5);
        let sample = prepared.material.sample().unwrap();
        let members =
            sample.iter().filter(|key| members.contains(&key.digest(prepared.material.seed))).count();
        assert_eq!((sample.len(), members, sample.members()), (100, 50, 50));
        // In no pattern that a branch predictor learns.
        let known: HashSet<_> = prepared.material.members().unwrap().into_iter().collect();
        let of_members: Vec<_> =
            sample.iter().map(|key| known.contains(&key.digest(prepared.material.seed))).collect();
        let turns = of_members.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((25..75).contains(&turns), "{turns} turns");
    }

    #[test]
    fn a_seed_with_colliding_digests_is_passed_over() {
        // Under the first seed two members collide, under the second a member and an absent key do.
        let seeds = [7 >> 11, attempt_seed(7, 1) >> 11, attempt_seed(7, 2) >> 11];
        let members = |seed| vec![Digest::new(5), Digest::new(if seed == seeds[0] { 5 } else { 6 })];
        let absent = |seed, _, _| vec![Digest::new(if seed == seeds[1] { 6 } else { 9 })];
        assert_eq!(collision_free_seed(7, members, absent, 1).unwrap(), seeds[2]);
        let error = collision_free_seed(7, |_| vec![Digest::new(5); 2], absent, 1).unwrap_err();
        assert!(error.to_string().contains("same 64-bit digest"), "{error}");
    }

    #[test]
    fn common_values_are_found_by_galloping() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for round in 0..2000 {
            let mut draw = |most: usize| -> Vec<Digest> {
                let mut values: Vec<_> =
                    (0..rng.random_range(0..most)).map(|_| Digest::new(rng.random_range(0..300))).collect();
                values.sort_unstable();
                values
            };
            let (left, right) = (draw(60), draw(5));
            let expected = left.iter().any(|digest| right.contains(digest));
            assert_eq!(have_common(&left, &right), expected, "seed 3, round {round}: {left:?} {right:?}");
        }
    }
}
