//! Lookups in filters that are not in the cache, against lookups in one that is.

use anyhow::Result;

use super::{
    Axis, Coordinate, Dot, Figure, Quantity, Record, Run, Scale, Shown, StudyPoint, Style, Table, Ticks,
    Words, count, dots, label, middle, number, place, records, shown, whole,
};
use crate::report::data::status_text;
use crate::report::format::bytes;
use crate::store::cell::Status;

/// The columns of times.
const TIMES: [(Quantity, &str); 12] = [
    (Quantity::HotMissNs, "miss, hot"),
    (Quantity::ColdMissNs, "miss, round robin"),
    (Quantity::EvictedMissNs, "miss, evicted"),
    (Quantity::HotMissBatchNs, "miss in batches, hot"),
    (Quantity::ColdMissBatchNs, "miss in batches, round robin"),
    (Quantity::EvictedMissBatchNs, "miss in batches, evicted"),
    (Quantity::HotHitNs, "hit, hot"),
    (Quantity::ColdHitNs, "hit, round robin"),
    (Quantity::EvictedHitNs, "hit, evicted"),
    (Quantity::HotHitBatchNs, "hit in batches, hot"),
    (Quantity::ColdHitBatchNs, "hit in batches, round robin"),
    (Quantity::EvictedHitBatchNs, "hit in batches, evicted"),
];

pub(super) fn figure(run: &Run<'_>) -> Result<Option<Figure>> {
    let all = records(run, |point| matches!(point, StudyPoint::Cold { .. }));
    let axis = Axis::new("ns / single miss (log)", Scale::Log, Ticks::Number);
    let mut panels = Vec::new();
    let mut sentences = Vec::new();
    for records in all.chunk_by(|a, b| a.point == b.point) {
        let Some(n) = records[0].point.n() else { continue };
        let Some(filters) = records.iter().find_map(|record| middle(record, Quantity::Filters)) else {
            continue;
        };
        let many = format!("{} filters of {} keys", whole(filters), count(n));
        let mut who = format!("{many}{}", size(run, records));
        for (quantity, how) in
            [(Quantity::ColdMissNs, "round robin"), (Quantity::EvictedMissNs, "caches overwritten")]
        {
            let mut dots: Vec<Dot> = records.iter().filter_map(|record| dot(run, record, quantity)).collect();
            if dots.is_empty() {
                continue;
            }
            dots.sort_by(|a, b| a.value.mid.total_cmp(&b.value.mid));
            panels.push(dots::draw(&format!("{many}: {how}"), &axis, &dots)?);
            sentences.push(sentence(&who, how, &dots));
            "The same".clone_into(&mut who);
        }
    }
    if panels.is_empty() {
        return Ok(None);
    }
    let title = "Lookups in a cold filter".to_owned();
    Ok(Some(Words {
        question: "What does a lookup take in a filter that is not in the cache?",
        title,
        caption: sentences.join(" "),
        reading: "From the time of a single miss in one filter that stays in the cache (tick) to that in another filter each time (mark). Round \
                  robin finds in the caches what fits there, and loads each filter's own header as well as its table. “Caches overwritten”: \
                  2,048 lookups after twice the last-level cache was written over, so that they read memory. The same loop and keys for all; \
                  in the table also hits, and batches of 16 to one filter.",
    }.figure(panels, table(run, &all))))
}

fn dot(run: &Run<'_>, record: &Record, quantity: Quantity) -> Option<Dot> {
    let (mid, interval) = record.single(quantity)?;
    let (lo, hi) = interval.unwrap_or((mid, mid));
    Some(Dot {
        label: label(run, &record.filter),
        style: Style::of(run, place(run, &record.filter)?),
        value: Coordinate::interval(mid, lo, hi),
        from: middle(record, Quantity::HotMissNs),
    })
}

/// How large they are together, and the cache that they may be in.
fn size(run: &Run<'_>, records: &[&Record]) -> String {
    let mut sizes: Vec<f64> =
        records.iter().filter_map(|record| middle(record, Quantity::FleetBytes)).collect();
    sizes.sort_by(f64::total_cmp);
    let Some(&size) = sizes.get(sizes.len() / 2) else { return String::new() };
    let cache = run.info.machine.caches.iter().max_by_key(|cache| cache.level);
    let cache =
        cache.map_or_else(String::new, |cache| format!(" (last-level cache: {})", bytes(cache.bytes)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
    let size = bytes(size as u64);
    format!(", {size} in the median{cache}")
}

fn sentence(who: &str, how: &str, dots: &[Dot]) -> String {
    let mut ratios: Vec<(f64, &Dot)> =
        dots.iter().filter_map(|dot| Some((dot.value.mid / dot.from?, dot))).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ([least, ..], [.., most], [first, ..]) = (&ratios[..], &ratios[..], dots) else {
        return format!("{who}, {how}: there is no time in a hot filter to compare with.");
    };
    if ratios.len() == 1 {
        return format!(
            "{who}, {how}: a miss takes {}× as long as in a hot one ({}).",
            number(least.0),
            least.1.label
        );
    }
    let (middle_ratio, _) = ratios[ratios.len() / 2];
    format!(
        "{who}, {how}: a miss takes {}× as long as in a hot one in the median of the filters, least {}× ({}), most {}× ({}); the \
         fastest is {} ({} ns).",
        number(middle_ratio),
        number(least.0),
        least.1.label,
        number(most.0),
        most.1.label,
        first.label,
        number(first.value.mid)
    )
}

fn table(run: &Run<'_>, all: &[&Record]) -> Table {
    let mut table = Table::new(&["filter", "outcome", "keys in each", "filters", "bytes of all"]);
    // A column that no record has is left out.
    let columns: Vec<_> = TIMES
        .iter()
        .filter(|(quantity, _)| all.iter().any(|record| record.of(*quantity).next().is_some()))
        .collect();
    table.headers.extend(columns.iter().map(|(_, header)| format!("{header}, ns")));
    for record in all {
        let mut row = vec![
            Shown::text(label(run, &record.filter)),
            Shown::text(if record.status == Status::Ok {
                "ok".to_owned()
            } else {
                status_text(record.status, &record.reason)
            }),
            Shown::exact(record.point.n().map(|n| n as f64), whole),
            shown(record, Quantity::Filters, whole),
            shown(record, Quantity::FleetBytes, whole),
        ];
        row.extend(columns.iter().map(|(quantity, _)| shown(record, *quantity, number)));
        table.rows.push(row);
    }
    table
}
