//! Keys from a file: newline-separated bytes.

use std::collections::HashSet;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::Path;

use amq::Key as _;
use anyhow::{Context as _, Result, ensure};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::material::{KeySample, Material, Pick, picks};
use super::source::KeySource;
use super::{CHUNK, Prepared, Wanted, collision_free_seed};
use crate::store::folder::SCRATCH_PREFIX;
use crate::store::run::KeyInfo;

/// Key bytes that are handed to a worker at most, for the lookups that start at the key.
const KEY_BYTES: usize = 64 << 20;

/// Bytes of a key that an absent one begins with at most.
const ABSENT_BYTES: usize = 256;

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

    /// The number of distinct keys.
    pub fn distinct(&self) -> u64 {
        self.keys.len() as u64
    }

    /// A hash of all keys in order.
    pub fn hash(&self) -> u64 {
        self.keys.iter().fold(0, |hash, key| self.bytes[key.clone()].digest(hash).get())
    }

    /// What is told about the keys.
    pub fn info(&self) -> KeyInfo {
        KeyInfo {
            source: format!("file:{}", self.name),
            read: self.read,
            distinct: self.distinct(),
            duplicates: self.read - self.distinct(),
            bytes: self.keys.iter().map(|key| key.len() as u64).sum(),
        }
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

impl KeyFile {
    pub(super) fn prepare(&self, wanted: Wanted, scratch: &Path) -> Result<Prepared> {
        let Wanted { base, n, queries, lookups: sample } = wanted;
        let absent = queries.max(sample);
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
        let material = Material {
            seed,
            n,
            records: n,
            absent,
            sample,
            source: KeySource::File { path: self.name.clone() },
            folder: Some(folder.path().to_path_buf()),
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::keys::Keys;

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
        let info = file(b"a\nb\na\na\n").info();
        assert_eq!((info.read, info.distinct, info.duplicates, info.bytes), (4, 2, 2, 2));
    }

    #[test]
    fn n_is_limited_by_the_file() {
        let three = Keys::File(file(b"a\nb\nc\n"));
        assert_eq!(three.possible_n(&[1, 2, 3, 10]), [1, 2, 3]);
        assert!(three.possible_n(&[10]).is_empty());
        assert_eq!(Keys::Generated(KeySource::Uniform).possible_n(&[10]), [10]);
    }

    #[test]
    fn a_file_gives_its_keys_and_others() {
        let names = (0..500).map(|i| format!("key {i}")).collect::<Vec<_>>().join("\n");
        let scratch = tempfile::tempdir().unwrap();
        let wanted = Wanted { base: 7, n: 400, queries: 1234, lookups: 64 };
        let prepared = file(names.as_bytes()).prepare(wanted, scratch.path()).unwrap();
        let material = &prepared.material;
        let mut members = material.members().unwrap();
        assert_eq!(members.len(), 400);
        let absent = material.absent(0, 5000).unwrap();
        assert_eq!(absent.len(), 1234);
        assert_eq!(material.absent(1000, 100).unwrap(), absent[1000..1100]);
        assert_eq!(material.queries("any", 1000, 100).unwrap(), absent[1000..1100]);
        let all: HashSet<_> = (0..500).map(|i| format!("key {i}").digest(material.seed)).collect();
        assert!(members.iter().all(|digest| all.contains(digest)));
        assert!(absent.iter().all(|digest| !all.contains(digest)));
        let fresh = material.fresh_queries("any", 0, 1234);
        assert!(fresh.iter().all(|digest| !all.contains(digest) && !absent.contains(digest)));
        let sample = material.sample().unwrap();
        let hits = sample.iter().filter(|key| members.contains(&key.digest(material.seed))).count();
        assert_eq!((sample.len(), hits, sample.members()), (64, 32, 32));
        members.sort_unstable();
        members.dedup();
        assert_eq!(members.len(), 400);
    }
}
