//! Every filter that the harness knows: ours, then the peers.

use std::sync::OnceLock;

use amq::Descriptor;

/// Filters of the program that this library is used by.
static FURTHER: OnceLock<&'static [Descriptor]> = OnceLock::new();

/// All filters, in the order of reports. Without the feature `peers`, only ours; with those of [`add`] at the end.
pub fn filters() -> Vec<&'static Descriptor> {
    let ours = amq_families::FAMILIES.iter();
    #[cfg(feature = "peers")]
    let all = ours.chain(crate::peers::PEERS);
    #[cfg(not(feature = "peers"))]
    let all = ours;
    all.chain(FURTHER.get().copied().into_iter().flatten()).collect()
}

/// Adds filters to the registry, before anything asks for it: for a program that measures filters of its own beside these.
/// Its measuring processes are further processes of the same program, so that they have them too.
///
/// # Panics
/// If it is called twice, or a name is taken.
pub fn add(filters: &'static [Descriptor]) {
    for added in filters {
        assert!(filter(added.name).is_none(), "there is a filter {:?} already", added.name);
    }
    assert!(FURTHER.set(filters).is_ok(), "filters were added before");
}

/// The filter of this short name.
pub fn filter(name: &str) -> Option<&'static Descriptor> {
    filters().into_iter().find(|descriptor| descriptor.name == name)
}

/// The version of a filter's code: that of a peer's crate, or that of this workspace.
pub fn version(descriptor: &Descriptor) -> &'static str {
    descriptor.peer.map_or(env!("CARGO_PKG_VERSION"), |peer| peer.version)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_over_ours_and_peers() {
        let filters = filters();
        let names: BTreeSet<_> = filters.iter().map(|descriptor| descriptor.name).collect();
        let titles: BTreeSet<_> = filters.iter().map(|descriptor| descriptor.title).collect();
        assert_eq!((names.len(), titles.len()), (filters.len(), filters.len()));
        assert!(filters.len() >= amq_families::FAMILIES.len());
    }

    #[test]
    fn filters_are_found_by_name_with_their_version() {
        for descriptor in filters() {
            let found = filter(descriptor.name).expect("it is in the list");
            assert_eq!(found.title, descriptor.title);
            let ours = env!("CARGO_PKG_VERSION");
            assert_eq!(version(found), found.peer.map_or(ours, |peer| peer.version));
        }
        assert!(filter("no-such-filter").is_none());
    }
}
