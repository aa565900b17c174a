//! A comparison for a terminal: the conclusions first, every cell below.

use comfy_table::{ContentArrangement, Table as TextTable, presets::UTF8_FULL_CONDENSED};

use super::Comparison;
use super::words::{self, Table};

/// The comparison as text.
pub(super) fn show(comparison: &Comparison) -> String {
    let mut out = words::conclusions(comparison).join("\n");
    out.push('\n');
    let mut add = |table: Table| out.extend(["\n", &table.title, "\n", &draw(&table), "\n"]);
    add(words::provenance(comparison));
    words::highlights(comparison).into_iter().for_each(&mut add);
    add(words::times("Times: all cells", comparison.timed.iter()));
    add(words::sizes("Sizes and rates: all filters", comparison.built.iter()));
    out
}

pub(super) fn draw(table: &Table) -> String {
    let mut drawn = TextTable::new();
    drawn.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(&table.headers);
    for row in &table.rows {
        // Names and reasons come from elsewhere: nothing in them may steer the terminal.
        let row = row
            .iter()
            .map(|text| text.chars().map(|c| if c.is_control() { '·' } else { c }).collect::<String>());
        drawn.add_row(row);
    }
    drawn.to_string()
}
