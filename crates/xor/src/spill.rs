//! Digests that do not fit in memory beside the construction: written to a file once, read from it as often as needed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::vec;
use std::vec::Vec;

use amq::Digest;
use tempfile::NamedTempFile;

use crate::source::Source;

/// Digests that are read or written at a time.
const BLOCK: usize = 1 << 13;

/// Bytes of a digest in the file.
const SIZE: usize = 8;

/// A [`Source`] of digests in a temporary file of 8 bytes for each, which is removed when this is dropped, in a panic too.
///
/// With a [memory limit](crate::Builder::with_memory_limit), a xor filter is built from it range by range: shards
/// for which there is room are loaded in one pass over the file, the others in later ones. So 10^9 digests take 8 GB on disk
/// and, r being 8, between 1.3 and 9.5 GB of memory. The filter is the same, byte for byte, as from digests in memory.
///
/// ```
/// use amq::{Amq, Digest, Spec};
/// use amq_xor::{Builder, Spill, XorFilter};
///
/// let stream = (0..10_000).map(|key| Digest::new(key).remix(1));
/// let spill = Spill::new(stream)?;
/// let filter: XorFilter = Builder::new().build_from(&spill, &Spec::fpr(0.01, spill.len()))?;
/// assert!(filter.contains(Digest::new(7).remix(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Spill {
    file: NamedTempFile,
    len: u64,
}

impl Spill {
    /// Writes a stream of digests to a file in the system's directory for temporary files.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn new(digests: impl IntoIterator<Item = Digest>) -> io::Result<Self> {
        Self::write(NamedTempFile::new()?, digests)
    }

    /// Writes a stream of digests to a file in a directory.
    ///
    /// # Errors
    /// If the file cannot be made or written.
    pub fn new_in(
        directory: impl AsRef<Path>,
        digests: impl IntoIterator<Item = Digest>,
    ) -> io::Result<Self> {
        Self::write(NamedTempFile::new_in(directory)?, digests)
    }

    fn write(mut file: NamedTempFile, digests: impl IntoIterator<Item = Digest>) -> io::Result<Self> {
        let mut block: Vec<[u8; SIZE]> = Vec::with_capacity(BLOCK);
        let mut len = 0;
        for digest in digests {
            block.push(digest.get().to_le_bytes());
            len += 1;
            if block.len() == BLOCK {
                file.write_all(block.as_flattened())?;
                block.clear();
            }
        }
        file.write_all(block.as_flattened())?;
        Ok(Self { file, len })
    }

    /// Digests, repeated ones as often as they are there.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file, while this lives.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reads so many digests from `first` on, with a cursor of its own.
    fn read(&self, first: u64, mut len: u64, visit: &mut dyn FnMut(&[Digest])) -> io::Result<()> {
        let mut file: File = self.file.reopen()?;
        file.seek(SeekFrom::Start(first * SIZE as u64))?;
        let mut block = vec![[0; SIZE]; BLOCK];
        let mut digests = Vec::with_capacity(BLOCK);
        while len > 0 {
            let take = usize::try_from(len).unwrap_or(BLOCK).min(BLOCK);
            let block = &mut block[..take];
            file.read_exact(block.as_flattened_mut())?;
            digests.clear();
            digests.extend(block.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes))));
            visit(&digests);
            len -= take as u64;
        }
        Ok(())
    }
}

impl Source for Spill {
    type Error = io::Error;

    fn digests(&self) -> Option<u64> {
        Some(self.len)
    }

    fn replay(&self, visit: &mut dyn FnMut(&[Digest])) -> io::Result<()> {
        self.read(0, self.len, visit)
    }

    fn replay_part(&self, part: usize, parts: usize, visit: &mut dyn FnMut(&[Digest])) -> io::Result<()> {
        let size = self.len.div_ceil(parts as u64);
        let first = size.saturating_mul(part as u64).min(self.len);
        self.read(first, size.min(self.len - first), visit)
    }
}
