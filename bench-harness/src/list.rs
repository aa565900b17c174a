//! `amq-bench list`: the filters, what they can do, and in which range.

use amq::{Capability, Descriptor};
use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

use crate::store::run::{FilterInfo, kind_name};

/// A table for people: one row a filter.
pub(crate) fn table(descriptors: &[&Descriptor]) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["filter", "family", "kind", "r", "can, beyond lookups", "from"]);
    for descriptor in descriptors {
        let capabilities: Vec<_> = Capability::ALL
            .iter()
            .filter(|capability| descriptor.can(**capability))
            .map(|capability| capability.name())
            .collect();
        table.add_row([
            descriptor.name.to_string(),
            descriptor.title.to_string(),
            kind_name(descriptor.kind).to_string(),
            format!("{} to {}", descriptor.r.0, descriptor.r.1),
            capabilities.join(", "),
            descriptor.peer.map_or_else(|| "here".into(), |peer| format!("{} {}", peer.krate, peer.version)),
        ]);
    }
    format!(
        "{table}\nr is what a load sweep sets: remainder bits (table), hash functions at the design point (bloom), bits per cell (static)."
    )
}

/// The same as JSON: an array of objects.
pub(crate) fn json(descriptors: &[&Descriptor]) -> serde_json::Result<String> {
    let infos: Vec<_> = descriptors.iter().map(|descriptor| FilterInfo::of(descriptor)).collect();
    serde_json::to_string_pretty(&infos)
}
