//! Binary fuse filters: the published sizes (Graf, Lemire 2022).
//!
//! The hashes of a key fall into neighbouring segments, which peels at a higher load than a xor filter's thirds.
//!
//! A trap with 3 hashes: just above n = 11,190 and from 11,480 to 11,521 these sizes leave so little slack that 20 to 40 %
//! of the key sets fail with 100 seeds in a row. A build halves the segments on some of its retries.

use super::ceil_to_size;

/// The longest segment, so that the segments of one key stay near each other.
pub const LONGEST_SEGMENT: u64 = 1 << 18;

/// The sizes of one binary fuse filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Cells in a segment, a power of two.
    pub segment_length: u64,
    /// Segments where the first hash of a key may fall; there are `hashes - 1` more behind them.
    pub segment_count: u64,
    /// All cells: (`segment_count` + `hashes` - 1) · `segment_length`.
    pub cells: u64,
}

/// The sizes with 3 hashes for `n` distinct keys: segments of 2^⌊ln n/ln 3.33 + 2.25⌋ cells, and
/// max(1.125, .875 + .25 ln 10^6/ln n) cells a key, rounded up to whole segments. `None` if there are 2^63 cells or more.
///
/// ```
/// let layout = amq::theory::fuse::layout_3(1_000).unwrap();
/// assert_eq!((layout.segment_length, layout.cells), (128, 1_408));
/// ```
pub fn layout_3(n: u64) -> Option<Layout> {
    let ln = libm::log(n.max(2) as f64);
    let exponent = ln / libm::log(3.33) + 2.25;
    let factor = (0.875 + 0.25 * libm::log(1e6) / ln).max(1.125);
    layout(n, 3, exponent, factor)
}

/// The sizes with 4 hashes: segments of 2^⌊ln n/ln 2.91 - .5⌋ cells, max(1.075, .77 + .305 ln(6·10^5)/ln n) cells a key.
pub fn layout_4(n: u64) -> Option<Layout> {
    let ln = libm::log(n.max(2) as f64);
    let exponent = ln / libm::log(2.91) - 0.5;
    let factor = (0.77 + 0.305 * libm::log(6e5) / ln).max(1.075);
    layout(n, 4, exponent, factor)
}

/// `n` below 2 takes the exponent of 2 keys and the smallest number of segments.
fn layout(n: u64, hashes: u64, exponent: f64, factor: f64) -> Option<Layout> {
    let segment_length = ceil_to_size(libm::exp2(libm::floor(exponent)))?.clamp(1, LONGEST_SEGMENT);
    let capacity = if n < 2 { 0 } else { ceil_to_size(libm::round(n as f64 * factor))? };
    let segment_count = capacity.div_ceil(segment_length).saturating_sub(hashes - 1).max(1);
    let cells = (segment_count + hashes - 1).checked_mul(segment_length)?;
    Some(Layout { segment_length, segment_count, cells })
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    fn per_key(layout: Option<Layout>, n: u64) -> f64 {
        layout.unwrap().cells as f64 / n as f64
    }

    #[test]
    fn three_hashes_at_published_sizes() {
        for (n, printed) in [
            (100, "1.92"),
            (1_000, "1.408"),
            (10_000, "1.280"),
            (100_000, "1.188"),
            (1_000_000, "1.1305"),
            (10_000_000, "1.1272"),
            (1_383_864, "1.1366"),
        ] {
            assert_printed(per_key(layout_3(n), n), printed);
        }
    }

    #[test]
    fn four_hashes_at_published_sizes() {
        for (n, printed) in [
            (1_000, "1.376"),
            (10_000, "1.229"),
            (100_000, "1.126"),
            (1_000_000, "1.0772"),
            (10_000_000, "1.0764"),
        ] {
            assert_printed(per_key(layout_4(n), n), printed);
        }
    }

    #[test]
    fn layouts_are_consistent() {
        let mut n = 0;
        while n < 1 << 50 {
            for (layout, hashes) in [(layout_3(n), 3), (layout_4(n), 4)] {
                let Layout { segment_length, segment_count, cells } = layout.unwrap();
                assert!(segment_length.is_power_of_two() && segment_length <= LONGEST_SEGMENT);
                assert!(segment_count >= 1 && cells == (segment_count + hashes - 1) * segment_length);
                assert!(cells > n, "{n}");
            }
            n += n / 3 + 1;
        }
        assert_eq!(layout_3(u64::MAX), None);
        assert_eq!(layout_4(u64::MAX), None);
    }
}
