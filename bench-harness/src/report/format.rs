//! Numbers and names as the report prints them: everywhere the same, so that a figure and its table agree.

/// `x` with three significant digits; very large and very small numbers in scientific notation; `–` if it is no number.
pub(crate) fn number(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        "–".to_owned()
    } else if x == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e7).contains(&size) {
        scientific(x)
    } else if size >= 999.5 {
        grouped(&format!("{x:.0}"))
    } else if size >= 99.95 {
        format!("{x:.0}")
    } else if size >= 9.995 {
        format!("{x:.1}")
    } else if size >= 0.9995 {
        format!("{x:.2}")
    } else {
        // Leading zeros carry no precision: 0.0123 has as many digits as 1.23.
        let zeros = (-size.log10()).ceil();
        let digits = (2_u8..=5).find(|&d| f64::from(d) >= zeros + 2.0).map_or(5, usize::from);
        format!("{x:.digits$}")
    }
}

fn scientific(x: f64) -> String {
    format!("{x:.2e}")
}

/// Rates from here on are printed in percent.
const SMALL_RATE: f64 = 9.995e-5;

/// A rate: in percent down to 0.01 %, below that as a power of ten.
pub(crate) fn rate(x: f64) -> String {
    if !x.is_finite() {
        "–".to_owned()
    } else if x == 0.0 {
        "0".to_owned()
    } else if x >= SMALL_RATE {
        format!("{} %", number(x * 100.0))
    } else {
        scientific(x)
    }
}

/// An interval of rates, in the notation that [`rate`] takes for `mid`.
pub(crate) fn rate_range(mid: f64, lo: f64, hi: f64) -> String {
    if mid >= SMALL_RATE {
        format!("{} %", range(lo * 100.0, hi * 100.0, number))
    } else {
        range(lo, hi, |x| if x == 0.0 { "0".to_owned() } else { scientific(x) })
    }
}

/// A rate that labels an axis or names a target: `1 %`, `0.1 %`, `10⁻⁵`.
pub(crate) fn round_rate(x: f64) -> String {
    if x.is_finite() && x >= SMALL_RATE { format!("{} %", trimmed(x * 100.0)) } else { power_of_ten(x) }
}

/// `x` without the zeros that only show precision: a tick or a target, not a measurement.
pub(crate) fn trimmed(x: f64) -> String {
    let text = number(x);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A share as a signed percentage: `+23 %`.
pub(crate) fn signed_percent(x: f64) -> String {
    if x.is_finite() {
        format!("{}{} %", if x < 0.0 { "−" } else { "+" }, percent_digits(x))
    } else {
        "–".to_owned()
    }
}

/// A share as a percentage: `23 %`.
pub(crate) fn percent(x: f64) -> String {
    if x.is_finite() {
        format!("{}{} %", if x < 0.0 { "−" } else { "" }, percent_digits(x))
    } else {
        "–".to_owned()
    }
}

fn percent_digits(x: f64) -> String {
    let size = x.abs() * 100.0;
    if size >= 9.95 { format!("{size:.0}") } else { format!("{size:.1}").trim_end_matches(".0").to_owned() }
}

/// A count: `10⁶` for powers of ten from a thousand on, otherwise with separators.
pub(crate) fn count(n: u64) -> String {
    let exponent = n.checked_ilog10().unwrap_or(0);
    if exponent >= 3 && 10_u64.pow(exponent) == n {
        format!("10{}", superscript(i64::from(exponent)))
    } else {
        grouped(&n.to_string())
    }
}

/// A power of ten, or what is nearest to it in scientific notation.
pub(crate) fn power_of_ten(x: f64) -> String {
    let exponent = x.log10();
    if x > 0.0 && exponent.is_finite() && (exponent - exponent.round()).abs() < 1e-6 {
        #[expect(clippy::cast_possible_truncation, reason = "the exponent of a finite double is below 400")]
        let whole = exponent.round() as i64;
        format!("10{}", superscript(whole))
    } else if x.is_finite() {
        scientific(x)
    } else {
        "–".to_owned()
    }
}

fn superscript(exponent: i64) -> String {
    let digit = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    exponent.to_string().chars().map(digit).collect()
}

/// Bytes in the largest binary unit that leaves a number of at least one.
pub(crate) fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", trimmed(value))
}

/// Groups the digits of a whole number by thousands.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The one function that turns a name into an identifier for anchors and file names: lower-case letters, digits and single
/// hyphens, never empty. Different names may give the same one, so callers add a number.
pub(crate) fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "x".to_owned() } else { out.chars().take(60).collect() }
}

/// What marks the name of a foreign filter in texts and tables.
pub(crate) const PEER: &str = " (peer)";

/// A label of at most `limit` characters: the middle goes, since names often differ only at their end.
pub(crate) fn shorten(label: &str, limit: usize) -> String {
    let length = label.chars().count();
    if length <= limit {
        return label.to_owned();
    }
    let tail = limit.saturating_sub(1) / 2;
    let head = limit.saturating_sub(1) - tail;
    label.chars().take(head).chain(['…']).chain(label.chars().skip(length - tail)).collect()
}

/// The label for a drawing, where hollow marks tell whose a filter is.
pub(crate) fn drawn_label(label: &str, limit: usize) -> String {
    shorten(label.strip_suffix(PEER).unwrap_or(label), limit)
}

/// The names of some of a `whole`, or where they are too many for a sentence, how many.
pub(crate) fn few_of(names: &[String], whole: usize) -> String {
    const MOST: usize = 6;
    match names.len() {
        n if n <= MOST => list(names),
        n if n == whole => format!("all {n}"),
        n => format!("{n} others"),
    }
}

/// The text with its numbers held to their units, and to the names before an equals sign.
pub(crate) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 6] = ["%", "ns", "bits", "KiB", "MiB", "GiB"];
    let is_unit = |word: &str| {
        let bare = word.trim_end_matches(|c: char| ",.;:)".contains(c));
        UNITS
            .iter()
            .any(|unit| bare.strip_prefix(unit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let mut words = text.split(' ');
    let mut before = words.next().unwrap_or_default();
    let mut out = before.to_owned();
    for word in words {
        let held = [before, word].contains(&"=") || before.ends_with(char::is_numeric) && is_unit(word);
        out.push(if held { '\u{a0}' } else { ' ' });
        out.push_str(word);
        before = word;
    }
    out
}

/// `a, b and c`.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A measured value for a table: text, interval and the number to sort by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// What is read first.
    pub main: String,
    /// Its interval, or why there is no number.
    pub detail: String,
    /// The number to sort by; `None` sorts last.
    pub key: Option<f64>,
}

impl Shown {
    /// Text alone.
    pub(crate) fn text(main: impl Into<String>) -> Self {
        Self { main: main.into(), detail: String::new(), key: None }
    }

    /// A number without an interval: exact, or computed.
    pub(crate) fn exact(x: Option<f64>, print: impl Fn(f64) -> String) -> Self {
        x.filter(|x| x.is_finite()).map_or_else(
            || Self::missing(""),
            |x| Self { main: print(x), detail: String::new(), key: Some(x) },
        )
    }

    /// No number, and why.
    pub(crate) fn missing(why: impl Into<String>) -> Self {
        Self { main: "–".to_owned(), detail: why.into(), key: None }
    }

    /// Its class in the style sheet: a number or its absence, long text, or other text.
    pub(crate) fn class(&self) -> &'static str {
        if self.key.is_some() || self.main == "–" {
            ""
        } else if self.main.chars().count() > 24 {
            "long"
        } else {
            "t"
        }
    }

    /// The attribute that the page's script sorts by.
    pub(crate) fn sort_key(&self) -> String {
        self.key.map_or_else(String::new, |key| rounded(key, 5).to_string())
    }
}

/// `x` with this many digits after the first: what a page of thousands of numbers can afford.
pub(crate) fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.digits$e}").parse().unwrap_or(x)
}

/// `lo–hi`.
pub(crate) fn range(lo: f64, hi: f64, print: impl Fn(f64) -> String) -> String {
    format!("{}–{}", print(lo), print(hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (x, text) in [
            (0.0, "0"),
            (9.84, "9.84"),
            (123.4, "123"),
            (1234.5, "1,234"),
            (0.0123, "0.0123"),
            (0.5, "0.500"),
            (3e10, "3.00e10"),
            (1e-9, "1.00e-9"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn rates_and_counts() {
        assert_eq!(rate(0.0039), "0.390 %");
        assert_eq!(round_rate(1e-2), "1 %");
        assert_eq!(round_rate(1e-5), "10⁻⁵");
        assert_eq!(count(1_000_000), "10⁶");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(0), "0");
        assert_eq!(bytes(1 << 20), "1 MiB");
        assert_eq!(signed_percent(0.234), "+23 %");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(
            unbroken("at ε = 1 %, 9.59 bits/key in 12 ns; 2 keys"),
            "at ε\u{a0}=\u{a0}1\u{a0}%, 9.59\u{a0}bits/key in 12\u{a0}ns; 2 keys"
        );
        assert_eq!(unbroken(""), "");
        assert_eq!(unbroken(" a  b "), " a  b ");
    }

    #[test]
    fn slugs_are_plain() {
        assert_eq!(slug("a/b \"c' <&> #%"), "a-b-c");
        assert_eq!(slug("<>"), "x");
        assert_eq!(slug("nan"), "nan");
    }

    #[test]
    fn shortened_names_stay_different() {
        let prefix = "p".repeat(70);
        let (a, b) = (shorten(&format!("{prefix}a"), 16), shorten(&format!("{prefix}b"), 16));
        assert_ne!(a, b);
        assert_eq!(a.chars().count(), 16);
        assert_eq!(shorten("xor", 16), "xor");
    }
}
