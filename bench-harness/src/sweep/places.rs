//! Where runs lie.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;

use crate::store::machine;

/// The `reports` folder of the workspace that the current folder is in; of the current folder if it is in none.
pub(super) fn reports_folder() -> Result<PathBuf> {
    let current = std::env::current_dir().context("cannot tell the current folder")?;
    let is_workspace = |folder: &&Path| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let root = current.ancestors().find(is_workspace).unwrap_or(&current);
    Ok(root.join("reports"))
}

/// The folder of a new run, and the `reports` folder where it is to become the latest.
pub(super) fn new_folder(out: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>)> {
    if let Some(out) = out {
        return Ok((out.into(), None));
    }
    let reports = reports_folder()?;
    let runs = reports.join("runs");
    std::fs::create_dir_all(&runs).with_context(|| format!("cannot make the folder {}", runs.display()))?;
    let time = Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let revision = machine::revision().map_or_else(|| "unknown".into(), |(revision, _)| revision);
    for number in 1..1000 {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = runs.join(format!("{time}-{revision}{suffix}"));
        // Whoever makes it has it.
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok((path, Some(reports))),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the folder {}", path.display()));
            }
        }
    }
    bail!("a thousand runs began in {} this second", runs.display())
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Where the report is, as a path and as an address.
pub(super) fn results(file: &Path) -> String {
    let file = absolute(file);
    let mut address = String::from("file://");
    for byte in file.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            _ => address.extend(format!("%{byte:02X}").chars()),
        }
    }
    format!("Report: {}\n        {address}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_percent_encoded() {
        assert!(results(Path::new("/a b/ü#.html")).ends_with("file:///a%20b/%C3%BC%23.html"));
    }
}
