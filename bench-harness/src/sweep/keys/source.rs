//! Where the keys of a run come from, as data of the sweep.

use std::str::FromStr;

use amq_testkit::keys::{Pattern, Zipf};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// The largest multiplicity that a sweep may ask for: what a counter of four bits, the smallest in use, can hold.
const MOST: u32 = 15;

/// How keys are made, or where they are read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum KeySource {
    /// Pseudo-random 64-bit integers, others under another seed.
    #[default]
    Uniform,
    /// Consecutive integers, from a start that the seed chooses.
    Sequential,
    /// Multiples of a stride, as pointers and page numbers are.
    Strided {
        /// The stride.
        #[serde(default = "stride")]
        stride: u16,
    },
    /// Consecutive integers with the order of their bits reversed.
    BitReversed,
    /// Pseudo-random 64-bit integers that repeat: the share of keys that are there `c` times is proportional to
    /// `1 / c^exponent` (Zipf's law of frequencies), and no key is there more than `most` times. For filters that count.
    Zipf {
        /// See above.
        #[serde(default = "exponent")]
        exponent: f64,
        /// The largest multiplicity.
        #[serde(default = "most")]
        most: u32,
    },
    /// The lines of a file.
    File {
        /// Its path.
        path: String,
    },
}

fn stride() -> u16 {
    4096
}

fn exponent() -> f64 {
    2.0
}

fn most() -> u32 {
    MOST
}

impl KeySource {
    /// Whether it is the one of sweeps that do not say.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name in the column `keys`.
    pub fn name(&self) -> String {
        match self {
            Self::Uniform | Self::Sequential | Self::Strided { .. } | Self::BitReversed => {
                self.pattern().name().into()
            }
            Self::Zipf { .. } => "zipf".into(),
            Self::File { path } => {
                let name = std::path::Path::new(path).file_name();
                format!("file:{}", name.map_or_else(|| path.into(), |name| name.to_string_lossy()))
            }
        }
    }

    /// How distinct keys follow each other.
    pub fn pattern(&self) -> Pattern {
        match *self {
            Self::Uniform | Self::Zipf { .. } | Self::File { .. } => Pattern::Uniform,
            Self::Sequential => Pattern::Sequential,
            Self::Strided { stride } => Pattern::Strided(stride),
            Self::BitReversed => Pattern::BitReversed,
        }
    }

    /// How often each of the first `n` keys is there, if not all are there once.
    pub fn multiplicities(&self, n: u64, seed: u64) -> Option<Vec<u32>> {
        let Self::Zipf { exponent, most } = *self else { return None };
        let ranks = usize::try_from(most).unwrap_or(1);
        let draws = Zipf::new(ranks, exponent, seed).take(usize::try_from(n).unwrap_or(usize::MAX));
        // A rank is below `most`.
        Some(draws.map(|rank| u32::try_from(rank).map_or(most, |rank| rank + 1)).collect())
    }

    /// # Errors
    /// If a value is out of range.
    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Self::Strided { stride } => {
                ensure!(stride > 0, "keys.stride = 0: a stride of 0 makes all keys equal");
            }
            Self::Zipf { exponent, most } => {
                ensure!(
                    (0.0..=10.0).contains(&exponent),
                    "keys.exponent = {exponent}: 0 to 10, both included"
                );
                ensure!(
                    (1..=MOST).contains(&most),
                    "keys.most = {most}: 1 to {MOST}, which a counter of four bits holds"
                );
            }
            Self::Uniform | Self::Sequential | Self::BitReversed | Self::File { .. } => {}
        }
        Ok(())
    }
}

impl FromStr for KeySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "uniform" => Self::Uniform,
            "sequential" => Self::Sequential,
            "strided" => Self::Strided { stride: stride() },
            "bit-reversed" => Self::BitReversed,
            "zipf" => Self::Zipf { exponent: exponent(), most: most() },
            _ => {
                return Err(format!(
                    "there are no keys {text:?}: take uniform, sequential, strided, bit-reversed or zipf, or --keys FILE"
                ));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for name in ["uniform", "sequential", "strided", "bit-reversed", "zipf"] {
            let source: KeySource = name.parse().unwrap();
            assert_eq!(source.name(), name);
            source.check().unwrap();
            let written = toml::to_string(&source).unwrap();
            assert_eq!(toml::from_str::<KeySource>(&written).unwrap(), source, "{written}");
        }
        assert!("random".parse::<KeySource>().unwrap_err().contains("bit-reversed"));
        assert_eq!(KeySource::File { path: "a/b.txt".into() }.name(), "file:b.txt");
        assert!(toml::from_str::<KeySource>("kind = \"zipf\"\nmots = 3").is_err());
    }

    #[test]
    fn multiplicities_follow_the_law_of_frequencies() {
        let zipf = KeySource::Zipf { exponent: 2.0, most: 4 };
        let multiplicities = zipf.multiplicities(100_000, 3).unwrap();
        assert_eq!(zipf.multiplicities(100_000, 3).unwrap(), multiplicities);
        let weights = [1.0, 1.0 / 4.0, 1.0 / 9.0, 1.0 / 16.0];
        let total: f64 = weights.iter().sum();
        for (times, weight) in (1..).zip(weights) {
            let there = multiplicities.iter().filter(|&&found| found == times).count() as u64;
            assert!(amq_testkit::statistics::agrees(there, 100_000, weight / total), "{times}: {there}");
        }
        assert!(multiplicities.iter().all(|times| (1..=4).contains(times)));
        assert_eq!(KeySource::Uniform.multiplicities(9, 3), None);
        for wrong in
            [KeySource::Zipf { exponent: f64::NAN, most: 4 }, KeySource::Zipf { exponent: 1.0, most: 16 }]
        {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
