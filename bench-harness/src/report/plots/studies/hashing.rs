//! What hashing a key costs before any filter is asked.

use anyhow::Result;

use super::{
    Axis, Coordinate, Dot, Figure, Quantity, Run, Scale, Shown, StudyPoint, Style, Table, Ticks, Words, dots,
    middle, number, records, shown,
};

const SIZES: [(Quantity, &str); 3] =
    [(Quantity::HashU64, "u64"), (Quantity::HashBytes16, "16 bytes"), (Quantity::HashBytes64, "64 bytes")];

/// The hash that keys have by default.
const DEFAULT: &str = "xxh3-64";

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let all = records(run, |point| *point == StudyPoint::Hashing);
    let mut dots = Vec::new();
    let mut table = Table::new(&["hash"]);
    table.headers.extend(SIZES.map(|(_, size)| format!("{size}, ns")));
    for (i, record) in all.iter().enumerate() {
        for (quantity, size) in SIZES {
            let Some((mid, interval)) = record.single(quantity) else { continue };
            let (lo, hi) = interval.unwrap_or((mid, mid));
            dots.push(Dot {
                label: format!("{}, {size}", record.filter.split('-').next().unwrap_or_default()),
                style: Style::of(run, i),
                value: Coordinate::interval(mid, lo, hi),
                from: None,
            });
        }
        let mut row = vec![Shown::text(&record.filter)];
        row.extend(SIZES.map(|(quantity, _)| shown(record, quantity, number)));
        table.rows.push(row);
    }
    if dots.is_empty() {
        return Ok(None);
    }
    let title = "Hashing a key".to_owned();
    let of = |name: &str, quantity| {
        all.iter().find(|record| record.filter == name).and_then(|record| middle(record, quantity))
    };
    let sentences: Vec<String> = all
        .iter()
        .filter(|record| record.filter != DEFAULT)
        .flat_map(|record| SIZES.map(|(quantity, size)| (record.filter.as_str(), quantity, size)))
        .filter_map(|(name, quantity, size)| {
            let (own, other) = of(DEFAULT, quantity).zip(of(name, quantity))?;
            Some(format!(
                "{size}: {DEFAULT} {} ns, {name} {} ns ({}×)",
                number(own),
                number(other),
                number(other / own)
            ))
        })
        .collect();
    let axis = Axis::new("ns / key", Scale::Linear, Ticks::Number).including(0.0);
    Ok(Some(Words {
        question: "What does hashing add to a lookup?",
        title,
        caption: format!(
            "This comes on top of every lookup that starts at the key. {}. The slower hash is for keys from an adversary.",
            sentences.join("; ")
        ),
        reading: "256 keys in the first-level cache, one after the other, each hash consumed. xxh3-64 is the default, with a seed and in one call; \
                  siphash-1-3 is the standard library's under a secret key, through the adaptor for any hasher.",
    }.figure(vec![dots::draw("Nanoseconds to hash", &axis, &dots)?], table)))
}
