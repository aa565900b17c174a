#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

amq::families! {
    amq_bloom::Bloom,
    amq_bloom::BlockedBloom,
    amq_bloom::SplitBlockBloom,
    amq_bloom::AtomicBloom,
    amq_bloom::AtomicBlockedBloom,
    amq_bloom::CountingBloom,
    amq_bloom::BlockedCountingBloom,
    amq_quotient::QuotientFilter,
    amq_quotient::RankSelectQuotientFilter,
    amq_xor::XorFilter,
    amq_xor::BinaryFuse3,
    amq_xor::BinaryFuse4,
    amq_ribbon::RibbonFilter,
    amq_ribbon::WideRibbonFilter,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use amq::{Capability, Digest, Erased, Family, Spec, Visitor};

    use super::{FAMILIES, family, visit};

    #[test]
    fn names_are_unique_and_of_lower_case_letters_digits_and_inner_dashes() {
        let names: BTreeSet<_> = FAMILIES.iter().map(|descriptor| descriptor.name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for name in names {
            let parts_are_words = name.split('-').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            });
            assert!(parts_are_words && name.as_bytes()[0].is_ascii_lowercase(), "{name:?}");
        }
        let titles: BTreeSet<_> = FAMILIES.iter().map(|descriptor| descriptor.title).collect();
        assert_eq!(titles.len(), FAMILIES.len());
    }

    #[test]
    fn families_are_found_by_name() {
        for descriptor in FAMILIES {
            assert_eq!(family(descriptor.name).map(|found| found.title), Some(descriptor.title));
            assert!(descriptor.peer.is_none() && descriptor.r.0 <= descriptor.r.1);
        }
        assert!(family("").is_none() && family("Bloom").is_none());
    }

    #[test]
    fn the_visitor_meets_the_same_families_in_the_same_order() {
        struct Names(Vec<&'static str>);
        impl Visitor for Names {
            fn visit<F: Family>(&mut self) {
                self.0.push(F::NAME);
            }
        }
        let mut names = Names(Vec::new());
        visit(&mut names);
        assert_eq!(names.0, FAMILIES.iter().map(|descriptor| descriptor.name).collect::<Vec<_>>());
    }

    /// Whether the filter offers what the capability promises.
    fn offers(filter: &mut dyn Erased, other: &dyn Erased, capability: Capability) -> bool {
        match capability {
            Capability::Insert => filter.as_insert().is_some(),
            Capability::SharedInsert => filter.as_shared_insert().is_some(),
            Capability::Remove => filter.as_remove().is_some(),
            Capability::Count => filter.as_count().is_some(),
            Capability::Fingerprints => filter.as_fingerprints().is_some(),
            Capability::Stats => filter.as_stats().is_some(),
            Capability::Grow => filter.as_grow().is_some(),
            Capability::Shrink => filter.as_shrink().is_some(),
            Capability::Union => filter.union(other).is_some(),
            Capability::Intersect => filter.intersect(other).is_some(),
            Capability::MultisetAlgebra => {
                filter.merge(other).is_some() && filter.difference(other).is_some()
            }
            other => panic!("{} is not checked here", other.name()),
        }
    }

    #[test]
    fn filters_offer_exactly_what_their_family_says() {
        let digests: Vec<Digest> = (1..=100).map(|i| Digest::new(i << 56)).collect();
        for descriptor in FAMILIES {
            let build = || (descriptor.build)(&digests, &Spec::fpr(0.01, 100)).expect(descriptor.name);
            let (mut filter, other) = (build(), build());
            assert_eq!(filter.name(), descriptor.name);
            assert_eq!(filter.capabilities(), descriptor.capabilities);
            for &capability in Capability::ALL {
                assert_eq!(
                    offers(&mut *filter, &*other, capability),
                    descriptor.can(capability),
                    "{}: {}",
                    descriptor.name,
                    capability.name()
                );
            }
        }
    }
}
