//! Linear probing at a load `alpha` in [0, 1): the cost that clustering brings (Knuth 1963).

/// (1 + 1/(1-alpha))/2: mean probes of a successful lookup.
pub fn hit_probes(alpha: f64) -> f64 {
    f64::midpoint(1.0, 1.0 / (1.0 - alpha))
}

/// (1 + 1/(1-alpha)²)/2: mean probes of an unsuccessful lookup, or of an insert.
pub fn miss_probes(alpha: f64) -> f64 {
    let free = 1.0 - alpha;
    f64::midpoint(1.0, 1.0 / (free * free))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_printed;
    use super::*;

    #[test]
    fn probes_at_published_loads() {
        assert_printed(hit_probes(0.9), "5.5");
        assert_printed(miss_probes(0.9), "50.5");
        assert_eq!((hit_probes(0.0), miss_probes(0.0)), (1.0, 1.0));
    }
}
