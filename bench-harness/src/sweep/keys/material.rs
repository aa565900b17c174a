//! The keys of a group, as a measuring process gets them: made anew from their seed, or read from files.

use std::fs;
use std::path::{Path, PathBuf};

use amq::{Digest, Key as _};
use anyhow::{Context as _, Result};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::source::KeySource;

/// Absent keys that one filter may be asked in a count.
pub const MOST_QUERIES: u64 = 1 << 31;
/// Each filter is asked keys of its own, so that what one meets by chance says nothing about another: one stretch for a first
/// count, one for a second.
const STRETCH: u64 = 2 * MOST_QUERIES;
/// Stretches there are. With the members before them, they stay below 2^48, up to where patterns have distinct keys.
const STRETCHES: u64 = 1 << 15;

/// The keys of a group, as a measuring process gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// The seed that the keys are digested under.
    pub seed: u64,
    /// Distinct members.
    pub n: u64,
    /// Members with their repetitions.
    pub records: u64,
    /// Absent keys of which none has the digest of a member.
    pub absent: u64,
    /// Keys for lookups that start at the key.
    pub sample: u64,
    /// How keys are generated.
    pub source: KeySource,
    /// The folder with the digests, for keys that are not generated.
    pub folder: Option<PathBuf>,
}

/// The digests of `count` generated keys from the given one on. Different indices give different keys.
pub(super) fn generated(source: &KeySource, first: u64, count: u64, seed: u64) -> Vec<Digest> {
    let pattern = source.pattern();
    (first..first + count).map(|index| pattern.key(index, seed).digest(seed)).collect()
}

impl Material {
    /// The digests of the members, each as often as it is there, in no order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn members(&self) -> Result<Vec<Digest>> {
        if let Some(folder) = &self.folder {
            return read_digests(&folder.join("members"), 0, self.n);
        }
        let distinct = generated(&self.source, 0, self.n, self.seed);
        let Some(multiplicities) = self.source.multiplicities(self.n, self.seed) else { return Ok(distinct) };
        let repeat = |(digest, times): (Digest, u32)| (0..times).map(move |_| digest);
        let mut all: Vec<_> = distinct.into_iter().zip(multiplicities).flat_map(repeat).collect();
        // Not each beside its like.
        all.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(self.seed));
        Ok(all)
    }

    /// The digests of `count` absent keys from the given one on, none of them a member's.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn absent(&self, from: u64, count: u64) -> Result<Vec<Digest>> {
        let count = count.min(self.absent.saturating_sub(from));
        match &self.folder {
            None => Ok(generated(&self.source, self.n + from, count, self.seed)),
            Some(folder) => read_digests(&folder.join("absent"), from, count),
        }
    }

    /// The digests of `count` absent keys from the given one on, of those that only this filter is asked. The keys are
    /// different from all members; that no digest is a member's is not known. The keys of a file are the same for every filter.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn queries(&self, filter: &str, from: u64, count: u64) -> Result<Vec<Digest>> {
        match &self.folder {
            None => Ok(generated(&self.source, self.first_query(filter) + from, count, self.seed)),
            Some(_) => self.absent(from, count),
        }
    }

    /// As many further ones, for a second count: different keys from all others.
    pub fn fresh_queries(&self, filter: &str, from: u64, count: u64) -> Vec<Digest> {
        match &self.folder {
            None => generated(&self.source, self.first_query(filter) + MOST_QUERIES + from, count, self.seed),
            // No key of a file has a newline in it, and what its absent keys have after the first one is a number of eight
            // bytes.
            Some(_) => (from..from + count)
                .map(|index| [&b"\n\n"[..], &index.to_le_bytes()].concat().digest(self.seed))
                .collect(),
        }
    }

    fn first_query(&self, filter: &str) -> u64 {
        self.n + self.absent + stretch(filter) * STRETCH
    }

    /// Keys for lookups that start at the key: half of them members, in random order. Fewer than were asked for where keys are
    /// so long that all would not fit.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sample(&self) -> Result<KeySample> {
        let Some(folder) = &self.folder else {
            let mut keys = KeySample::default();
            let pattern = self.source.pattern();
            for pick in picks(self.seed, self.sample, self.n, self.absent) {
                let index = match pick {
                    Pick::Member(index) => {
                        keys.members += 1;
                        index
                    }
                    Pick::Absent(index) => self.n + index,
                };
                keys.push(&pattern.key(index, self.seed).to_le_bytes());
            }
            return Ok(keys);
        };
        let path = folder.join("sample");
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

/// The stretch of a filter: by its name, so that other filters leave its queries as they are.
pub(super) fn stretch(filter: &str) -> u64 {
    filter.digest(0).get() % STRETCHES
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

/// Which keys are looked up from the key on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pick {
    /// The member of this index.
    Member(u64),
    /// The absent key of this index.
    Absent(u64),
}

/// `count` lookups, half of them of random members and half of absent keys, in random order.
pub(super) fn picks(seed: u64, count: u64, n: u64, absent: u64) -> Vec<Pick> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let members = count.div_ceil(2);
    let mut picks: Vec<_> = (0..members).map(|_| Pick::Member(rng.random_range(0..n))).collect();
    picks.extend((0..count - members).map(|i| Pick::Absent(i % absent)));
    picks.shuffle(&mut rng);
    picks
}

/// Keys as bytes, one after the other, in the order in which they are looked up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeySample {
    pub(super) members: u64,
    pub(super) bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeySample {
    pub(super) fn push(&mut self, key: &[u8]) {
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
