//! Numbers as people write them on a command line or in a sweep file: `1e6` is a count, exactly 1,000,000.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counts up to here are exact as `f64`.
const EXACT: u64 = 1 << 53;

/// A whole number of things, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u64);

impl Count {
    /// The count, as a length in memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    fn from_whole(value: u64) -> Result<Self, String> {
        if (1..=EXACT).contains(&value) {
            return Ok(Self(value));
        }
        Err(format!("{value} is not a whole number from 1 to 2^53"))
    }

    fn from_float(value: f64) -> Result<Self, String> {
        if value.fract() == 0.0 && (1.0..=EXACT as f64).contains(&value) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "integral, in 1..=2^53"
            )]
            return Ok(Self(value as u64));
        }
        Err(format!("{value} is not a whole number from 1 to 2^53: write it like 10000, 10_000 or 1e4"))
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim().replace('_', "");
        match digits.parse::<u64>() {
            Ok(value) => Self::from_whole(value),
            Err(_) => match digits.parse::<f64>() {
                Ok(value) => Self::from_float(value),
                Err(_) => Err(format!("{text:?} is not a number: write it like 10000, 10_000 or 1e4")),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a whole number like 10000, 10_000 or 1e4")]
        enum Written {
            Whole(u64),
            Float(f64),
        }
        match Written::deserialize(deserializer)? {
            Written::Whole(value) => Self::from_whole(value),
            Written::Float(value) => Self::from_float(value),
        }
        .map_err(serde::de::Error::custom)
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

/// A count with its thousands set apart: `1,000,000`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_or_refused() {
        for (text, value) in
            [("1", 1), ("1e6", 1_000_000), ("10_000", 10_000), ("1.5e1", 15), ("9007199254740992", 1 << 53)]
        {
            assert_eq!(text.parse(), Ok(Count(value)), "{text}");
        }
        for text in [
            "",
            "0",
            "1.5",
            "-1",
            "nan",
            "inf",
            "1e-3",
            "1e300",
            "ten",
            "0x10",
            "9007199254740993",
            "18446744073709551615",
            "1e20",
        ] {
            let error = text.parse::<Count>().unwrap_err();
            assert!(error.contains("number"), "{text}: {error}");
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(value), text);
        }
    }
}
