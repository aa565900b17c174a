//! How a comparison is asked for and handed out.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result};

use super::{Comparison, markdown, text};
use crate::store::folder;

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for a terminal.
    #[default]
    Text,
    /// For a review: the conclusions, and everything else in foldable details.
    Markdown,
    /// Everything, for programs.
    Json,
}

/// A share, written `5%` or `0.05`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a share: write it like 5% or 0.05");
        let (number, unit) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().map_err(|_| wrong())? / unit;
        // A bare 5 would be five times as slow, which nobody means.
        let sensible = (0.0..=10.0).contains(&share) && (unit > 1.0 || share <= 1.0);
        sensible.then_some(Self(share)).ok_or_else(wrong)
    }
}

/// Where and how a result goes.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it is shown.
    pub format: Format,
    /// The file that it goes to; the standard output if `None`.
    pub file: Option<PathBuf>,
}

impl Output {
    /// Writes a comparison.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, comparison: &Comparison) -> Result<()> {
        let text = match self.format {
            Format::Text => text::show(comparison),
            Format::Markdown => markdown::show(comparison)?,
            Format::Json => serde_json::to_string_pretty(comparison)? + "\n",
        };
        if let Some(file) = &self.file {
            return folder::replace(file, text.as_bytes());
        }
        match std::io::stdout().write_all(text.as_bytes()) {
            // Whoever reads only the first lines has what it wants.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to the standard output"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percent_or_fractions() {
        for (text, share) in [("5%", 0.05), ("5 %", 0.05), ("0.05", 0.05), ("0", 0.0), ("150%", 1.5)] {
            assert_eq!(text.parse(), Ok(Share(share)), "{text}");
        }
        for text in ["5", "", "%", "-1%", "nan", "inf", "five"] {
            assert!(text.parse::<Share>().unwrap_err().contains("5%"), "{text}");
        }
    }
}
