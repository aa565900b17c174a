//! The folder of a run: its lock, its samples, and what is derived from them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::cell::{Cell, SCHEMA};
use super::run::RunInfo;
use super::sample::{Header, Sample};
use super::study::{self, Record};

const SAMPLES: &str = "samples.jsonl";
const RUN: &str = "run.json";
const CELLS: &str = "cells.csv";
const STUDIES: &str = "studies.csv";
const REPORT: &str = "report.html";
const LOCK: &str = ".lock";

/// How the folders begin that hold the digests of a group while it runs.
pub const SCRATCH_PREFIX: &str = ".keys-";
/// How a file begins that is being written.
const WRITING_PREFIX: &str = ".writing-";

/// How often a lock is tried, and how long is waited in between.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A folder that this process may write to, alone.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    samples: File,
    /// Held until the folder is closed.
    _lock: File,
}

/// What a folder had when it was opened again.
#[derive(Debug)]
pub struct Stored {
    /// The first line.
    pub header: Header,
    /// The lines of finished groups.
    pub samples: Vec<Sample>,
    /// Lines after the last finished group that were dropped, the cut one included.
    pub dropped_lines: usize,
    /// Whether the last of them was cut.
    pub cut: bool,
}

impl Folder {
    /// Makes a new run in `path`, which does not exist or is empty.
    ///
    /// # Errors
    /// If it has something in it, another sweep uses it, or it cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        let shown = path.display();
        ensure!(!path.exists() || path.is_dir(), "--out {shown} is not a folder");
        // Measuring processes are told where their keys are, as text.
        ensure!(path.to_str().is_some(), "--out {shown} is not UTF-8: give another name");
        fs::create_dir_all(path).with_context(|| format!("cannot make the folder {shown}"))?;
        let lock = lock(path)?;
        let mut entries = fs::read_dir(path).with_context(|| format!("cannot read the folder {shown}"))?;
        // Results are never overwritten.
        let occupied = entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != LOCK));
        ensure!(
            !occupied,
            "--out {shown} is not empty: give a new folder, or --resume to continue the run in it"
        );
        let samples = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path.join(SAMPLES))
            .with_context(|| format!("cannot write to {shown}"))?;
        let mut folder = Self { path: path.into(), samples, _lock: lock };
        folder.append(&[Sample::Run(header.clone())])?;
        sync_folder(path).with_context(|| format!("cannot write to {shown}"))?;
        Ok(folder)
    }

    /// Opens an interrupted run to continue it. What is after its last finished group is dropped from the file, and what a
    /// killed sweep left lying about is removed.
    ///
    /// # Errors
    /// If there is no run, another sweep uses it, or a line in the middle is damaged.
    pub fn open(path: &Path) -> Result<(Self, Stored)> {
        let shown = path.display();
        ensure!(path.join(SAMPLES).is_file(), "there is no run to continue in {shown}: it has no {SAMPLES}");
        let lock = lock(path)?;
        let file = path.join(SAMPLES);
        let mut samples = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&file)
            .with_context(|| format!("cannot open {}", file.display()))?;
        let (stored, end) = scan(&samples, &file)?;
        samples.set_len(end).and_then(|()| samples.sync_data())?;
        samples.seek(SeekFrom::End(0))?;
        remove_leftovers(path);
        Ok((Self { path: path.into(), samples, _lock: lock }, stored))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds lines, and returns when they are on the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, samples: &[Sample]) -> Result<()> {
        let mut lines = Vec::new();
        for sample in samples {
            serde_json::to_writer(&mut lines, sample)?;
            lines.push(b'\n');
        }
        self.samples
            .write_all(&lines)
            .and_then(|()| self.samples.sync_data())
            .with_context(|| format!("cannot write {}", self.path.join(SAMPLES).display()))
    }
}

/// Removes what a sweep keeps in its folder only while it runs. Of no consequence where it fails: nothing reads it.
pub fn remove_leftovers(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(SCRATCH_PREFIX) {
            let _ = fs::remove_dir_all(entry.path());
        } else if name.starts_with(WRITING_PREFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Keeps sweeps out of the folder of a run for as long as the returned file is open: for who writes into it without adding
/// samples.
///
/// # Errors
/// If there is no run, a sweep uses it, or it cannot be written.
pub fn lock_run(path: &Path) -> Result<File> {
    ensure!(path.join(SAMPLES).is_file(), "{} is no folder of a run: it has no {SAMPLES}", path.display());
    lock(path)
}

/// Two sweeps into one folder would mix their samples.
fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file)
        .with_context(|| format!("cannot write to {}", path.display()))?;
    // A sweep that was killed, or a process that it was just starting, may take a moment to let go.
    for _ in 0..LOCK_ATTEMPTS {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", file.display()));
            }
        }
    }
    bail!("another sweep is running in {}: wait for it, or give another folder", path.display())
}

/// The samples of finished groups, and where in the file the last of them ends.
fn scan(file: &File, path: &Path) -> Result<(Stored, u64)> {
    let shown = path.display();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut header = None;
    let mut samples = Vec::new();
    let mut pending = Vec::new();
    let (mut position, mut end, mut number) = (0, 0, 0);
    let mut cut = false;
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {shown}"))?;
        if read == 0 {
            break;
        }
        position += read as u64;
        number += 1;
        if line.last() != Some(&b'\n') {
            cut = true;
            break;
        }
        let sample: Sample = serde_json::from_slice(&line).with_context(|| {
            format!("{shown}, line {number} is damaged: the results cannot be continued or shown")
        })?;
        match sample {
            Sample::Run(found) => {
                ensure!(header.is_none(), "{shown}, line {number}: a second run in the same file");
                header = Some(found);
                end = position;
            }
            done @ (Sample::GroupDone(_) | Sample::Study(_)) => {
                pending.push(done);
                samples.append(&mut pending);
                end = position;
            }
            other => pending.push(other),
        }
    }
    let header: Header = header.with_context(|| {
        format!(
            "{shown} does not begin with a run: nothing of it is finished, remove the folder and start anew"
        )
    })?;
    ensure!(
        header.schema == SCHEMA,
        "{shown} has schema {}, this program reads and writes {SCHEMA}: use the version that began the run",
        header.schema
    );
    let dropped_lines = pending.len() + usize::from(cut);
    Ok((Stored { header, samples, dropped_lines, cut }, end))
}

/// The run of a folder, without changing it: its provenance, header and samples of finished groups.
///
/// # Errors
/// If there is none, or it is damaged.
pub fn read(path: &Path) -> Result<(RunInfo, Stored)> {
    let file = path.join(SAMPLES);
    let shown = path.display();
    ensure!(file.is_file(), "{shown} is no folder of a run: it has no {SAMPLES}");
    let samples = File::open(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let (stored, _) = scan(&samples, &file)?;
    let info = read_run(path, &stored.header)?.with_context(|| {
        format!("{shown} has no {RUN}: let `amq-bench sweep --resume --out {shown}` write it")
    })?;
    Ok((info, stored))
}

/// `run.json`; `None` where there is none.
///
/// # Errors
/// If it cannot be read, is damaged, or is of another run than the samples that `header` begins.
pub fn read_run(path: &Path, header: &Header) -> Result<Option<RunInfo>> {
    let run = path.join(RUN);
    let shown = run.display();
    let bytes = match fs::read(&run) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
    };
    let remedy = "restore it, or remove it and let `amq-bench sweep --resume --out` its folder write it anew";
    let info: RunInfo =
        serde_json::from_slice(&bytes).with_context(|| format!("{shown} is damaged: {remedy}"))?;
    ensure!(
        (info.schema, &info.run, info.seed, &info.sweep_toml)
            == (header.schema, &header.run, header.seed, &header.sweep_toml),
        "{shown} is not of the run in {SAMPLES} beside it: {remedy}"
    );
    Ok(Some(info))
}

/// Writes `run.json`.
///
/// # Errors
/// If it cannot be written.
pub fn write_run(path: &Path, info: &RunInfo) -> Result<()> {
    let mut json = serde_json::to_vec_pretty(info)?;
    json.push(b'\n');
    replace(&path.join(RUN), &json)
}

/// Writes `cells.csv`.
///
/// # Errors
/// If it cannot be written.
pub fn write_cells(path: &Path, cells: &[Cell]) -> Result<()> {
    write_rows(&path.join(CELLS), cells)
}

/// Writes `studies.csv`, if there is anything to write.
///
/// # Errors
/// If it cannot be written.
pub fn write_studies(path: &Path, run: &str, records: &[Record]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    write_rows(&path.join(STUDIES), &study::rows(run, records))
}

fn write_rows(file: &Path, rows: &[impl serde::Serialize]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().with_context(|| file.display().to_string())?;
    replace(file, &bytes)
}

/// Writes `report.html` and returns where it is.
///
/// # Errors
/// If it cannot be written.
pub fn write_report(path: &Path, html: &str) -> Result<PathBuf> {
    let file = path.join(REPORT);
    replace(&file, html.as_bytes())?;
    Ok(file)
}

/// Writes a file so that a reader sees the old one or the new one, whole.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // As any new file; the default of a temporary one is for its owner only.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = builder.prefix(WRITING_PREFIX).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        sync_folder(folder)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Returns when the names in a folder are on the disk as well: a file's own sync does not say so.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    match File::open(path)?.sync_all() {
        // Some file systems cannot: they have no other way to do it either.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        other => other?,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Points `reports/latest` to a run: a symbolic link, or where there are none a file with its path.
///
/// # Errors
/// If neither can be written.
pub fn point_latest(reports: &Path, run: &Path) -> Result<()> {
    let latest = reports.join("latest");
    let target = run.strip_prefix(reports).unwrap_or(run);
    #[cfg(unix)]
    {
        let next = reports.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&next);
        if std::os::unix::fs::symlink(target, &next).and_then(|()| fs::rename(&next, &latest)).is_ok() {
            return Ok(());
        }
        let _ = fs::remove_file(&next);
    }
    replace(&latest, target.to_string_lossy().as_bytes())
}

/// The run that `reports/latest` points to.
///
/// # Errors
/// If there is none.
pub fn latest(reports: &Path) -> Result<PathBuf> {
    let latest = reports.join("latest");
    if latest.is_file() {
        let target =
            fs::read_to_string(&latest).with_context(|| format!("cannot read {}", latest.display()))?;
        return Ok(reports.join(target.trim()));
    }
    // The run itself, so that it keeps its name when the link moves on.
    fs::canonicalize(&latest)
        .with_context(|| format!("there is no latest run at {}: name one with --out", latest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::run::KeyInfo;
    use crate::store::sample::{Fault, GroupDone};

    fn header() -> Header {
        Header {
            schema: 1,
            run: "test".into(),
            sweep_toml: String::new(),
            seed: 1,
            keys: KeyInfo::default(),
            key_file: None,
            key_hash: 0,
            filters: Vec::new(),
        }
    }

    fn fault(group: usize) -> Sample {
        let status = crate::store::cell::Status::Timeout;
        Sample::Fault(Fault {
            group,
            filter: "f".into(),
            status,
            reason: "a \"reason\"\nof two lines".into(),
        })
    }

    fn done(group: usize) -> Sample {
        Sample::GroupDone(GroupDone { group, seconds: 0.5 })
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_finished_groups() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("run");
        let mut folder = Folder::create(&path, &header()).unwrap();
        folder.append(&[fault(0), done(0)]).unwrap();
        let one = fs::metadata(path.join(SAMPLES)).unwrap().len();
        folder.append(&[fault(1), done(1)]).unwrap();
        drop(folder);
        let whole = fs::read(path.join(SAMPLES)).unwrap();
        for length in usize::try_from(one).unwrap()..=whole.len() {
            fs::write(path.join(SAMPLES), &whole[..length]).unwrap();
            let (mut folder, stored) = Folder::open(&path).unwrap();
            let complete = length == whole.len();
            let expected =
                if complete { vec![fault(0), done(0), fault(1), done(1)] } else { vec![fault(0), done(0)] };
            assert_eq!(stored.samples, expected, "cut at {length}");
            assert_eq!(stored.cut, whole[length - 1] != b'\n', "cut at {length}");
            assert_eq!(stored.dropped_lines > 0, !complete && length as u64 != one, "cut at {length}");
            if !complete {
                folder.append(&[fault(1), done(1)]).unwrap();
            }
            drop(folder);
            assert_eq!(fs::read(path.join(SAMPLES)).unwrap(), whole, "cut at {length}");
        }
    }

    #[test]
    fn damage_in_the_middle_is_an_error_that_names_the_line() {
        let temp = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(temp.path(), &header()).unwrap();
        folder.append(&[fault(0), done(0)]).unwrap();
        drop(folder);
        let file = temp.path().join(SAMPLES);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen("\"type\":\"fault\"", "\"type\":\"fau", 1)).unwrap();
        let error = format!("{:#}", Folder::open(temp.path()).unwrap_err());
        assert!(error.contains("line 2 is damaged"), "{error}");
    }

    #[test]
    fn results_are_not_overwritten_and_not_shared() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::create(temp.path(), &header()).unwrap();
        let error = Folder::open(temp.path()).unwrap_err().to_string();
        assert!(error.contains("another sweep is running"), "{error}");
        drop(folder);
        let error = Folder::create(temp.path(), &header()).unwrap_err().to_string();
        assert!(error.contains("not empty"), "{error}");
        let error = Folder::open(&temp.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("no run to continue"), "{error}");
    }

    #[test]
    fn latest_points_to_the_last_run() {
        let temp = tempfile::tempdir().unwrap();
        let reports = temp.path().canonicalize().unwrap();
        assert!(latest(&reports).unwrap_err().to_string().contains("no latest run"));
        for name in ["one", "two"] {
            let run = reports.join("runs").join(name);
            fs::create_dir_all(&run).unwrap();
            point_latest(&reports, &run).unwrap();
            assert_eq!(latest(&reports).unwrap(), run);
        }
        fs::remove_file(reports.join("latest")).unwrap();
        fs::write(reports.join("latest"), "runs/one\n").unwrap();
        assert_eq!(latest(&reports).unwrap(), reports.join("runs/one"));
    }
}
