//! The decision card: for the common needs, which filter, why, what it costs, and what was ruled out. Computed from the cells.

use super::data::{Entry, Floor, Measured, Operation, Rate, Run};
use super::format::{
    Shown, bytes, count, list, number, percent, rate, rate_range, round_rate, signed_percent, unbroken,
};
use super::plots::Table;

/// A rate this much above the one asked for is not delivered.
const TOLERANCE: f64 = 1.1;

/// Sizes this close are equal: the time decides.
const EQUAL_SIZE: f64 = 0.01;

/// The card of a run.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// The (n, ε) that it speaks of.
    pub(crate) cell: String,
    /// Why not to rely on the times.
    pub(crate) caution: String,
    /// Needs, in the order of the page.
    pub(crate) needs: Vec<Need>,
    /// The same picks at every (n, ε).
    pub(crate) table: Table,
}

/// A need.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// What one wants.
    pub(crate) title: &'static str,
    /// What the filter has to be able to do.
    pub(crate) meaning: &'static str,
    /// The answers: if memory decides, if time decides.
    pub(crate) picks: Vec<Pick>,
    /// What was not taken, and why.
    pub(crate) ruled_out: Vec<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    /// When this one.
    pub(crate) when: &'static str,
    /// The filter.
    pub(crate) filter: String,
    /// Why.
    pub(crate) why: String,
    /// What it costs.
    pub(crate) cost: String,
}

struct Question {
    title: &'static str,
    meaning: &'static str,
    capabilities: &'static [&'static str],
    warning: &'static str,
}

const QUESTIONS: [Question; 4] = [
    Question {
        title: "A set that does not change",
        meaning: "All keys are known before the build.",
        capabilities: &[],
        warning: "",
    },
    Question {
        title: "Keys arrive, none leaves",
        meaning: "Inserts one at a time, up to the planned n.",
        capabilities: &["insert"],
        warning: "",
    },
    Question {
        title: "Keys arrive and leave",
        meaning: "Inserts and removals.",
        capabilities: &["insert", "remove"],
        warning: " Remove only keys that were inserted: removing another one may take a member's record.",
    },
    Question {
        title: "How often was a key inserted",
        meaning: "Inserts and counts.",
        capabilities: &["insert", "count"],
        warning: "",
    },
];

/// Whether the measured rate is the one asked for: not above it beyond a tenth and chance.
pub(crate) fn delivers(entry: &Entry<'_>, fpr: f64) -> bool {
    match entry.rate() {
        Some(Rate::Seen(seen)) => seen.ends().0 <= fpr * TOLERANCE,
        Some(Rate::Below(_)) => true,
        None => false,
    }
}

/// The card, if the run has an (n, ε) cell with a working filter.
pub(crate) fn card(run: &Run<'_>) -> Option<Card> {
    let cell = run.main_cell()?;
    let needs = QUESTIONS.iter().map(|question| need(run, question, cell)).collect();
    let table = table(run);
    let caution = match &run.info.noisy {
        Some(seen) if !seen.is_empty() => {
            "The machine was not quiet during this run: sizes and rates stand, times may not. What was seen is below.".to_owned()
        }
        _ => String::new(),
    };
    Some(Card { caution, cell: format!("n = {}, ε = {}", count(cell.0), round_rate(cell.1)), needs, table })
}

/// The filters that can do what is asked and deliver the rate.
fn candidates<'r, 'a>(run: &'r Run<'a>, question: &Question, (n, fpr): (u64, f64)) -> Vec<&'r Entry<'a>> {
    run.at((n, fpr))
        .filter(|entry| question.capabilities.iter().all(|capability| run.filter(entry).can(capability)))
        .filter(|entry| entry.ok() && !entry.exact() && delivers(entry, fpr) && entry.bits().is_some())
        .collect()
}

/// The smallest; among equals the fastest, and among those that are not told apart in that either, the first of the run.
fn smallest<'e, 'a>(run: &Run<'_>, candidates: &[&'e Entry<'a>]) -> Option<&'e Entry<'a>> {
    let bits = |entry: &Entry<'_>| entry.bits().unwrap_or(f64::INFINITY);
    let least = candidates.iter().map(|entry| bits(entry)).min_by(f64::total_cmp)?;
    let equals = || candidates.iter().filter(|entry| bits(entry) <= least * (1.0 + EQUAL_SIZE)).copied();
    let fastest = equals().min_by(|a, b| miss(a).total_cmp(&miss(b)))?;
    equals().find(|entry| !slower(run, entry, fastest))
}

/// Whether a filter's miss is known to take longer than another's, or is not known at all.
fn slower(run: &Run<'_>, entry: &Entry<'_>, than: &Entry<'_>) -> bool {
    match than.time(Operation::Miss).zip(entry.time(Operation::Miss)) {
        Some((than, own)) => own.mid > than.mid && run.differ(Operation::Miss, own, than) == Some(true),
        None => than.time(Operation::Miss).is_some(),
    }
}

/// The fastest at misses; among those that the noise does not tell apart, the smallest.
fn fastest<'e, 'a>(
    run: &Run<'_>,
    candidates: &[&'e Entry<'a>],
) -> Option<(&'e Entry<'a>, Vec<&'e Entry<'a>>)> {
    let timed: Vec<(Measured, &Entry)> =
        candidates.iter().filter_map(|&entry| Some((entry.time(Operation::Miss)?, entry))).collect();
    let (best, first) = *timed.iter().min_by(|a, b| a.0.mid.total_cmp(&b.0.mid))?;
    let mut tied: Vec<&Entry> = timed
        .iter()
        .filter(|(time, entry)| {
            std::ptr::eq(*entry, first) || run.differ(Operation::Miss, best, *time) == Some(false)
        })
        .map(|(_, entry)| *entry)
        .collect();
    tied.sort_by(|a, b| a.bits().unwrap_or(f64::INFINITY).total_cmp(&b.bits().unwrap_or(f64::INFINITY)));
    let pick = *tied.first()?;
    Some((pick, tied.into_iter().skip(1).collect()))
}

fn miss(entry: &Entry<'_>) -> f64 {
    entry.time(Operation::Miss).map_or(f64::INFINITY, |time| time.mid)
}

fn need(run: &Run<'_>, question: &Question, cell: (u64, f64)) -> Need {
    let candidates = candidates(run, question, cell);
    let mut picks = Vec::new();
    let small = smallest(run, &candidates);
    let fast = fastest(run, &candidates);
    let same = small.zip(fast.as_ref()).is_some_and(|(small, (fast, _))| std::ptr::eq(small, *fast));
    if let Some(entry) = small {
        picks.push(Pick {
            when: if same { "In memory and in time" } else { "If memory decides" },
            filter: run.filter(entry).label(),
            why: unbroken(&why_small(run, &candidates, entry)),
            cost: unbroken(&cost(entry, question)),
        });
    }
    if let Some((entry, tied)) = fast {
        let why = why_fast(run, &candidates, entry, &tied);
        match picks.first_mut().filter(|_| same) {
            Some(pick) => pick.why = format!("{} {}", pick.why, unbroken(&why)),
            None => picks.push(Pick {
                when: "If time decides",
                filter: run.filter(entry).label(),
                why: unbroken(&why),
                cost: unbroken(&cost(entry, question)),
            }),
        }
    }
    Need {
        title: question.title,
        meaning: question.meaning,
        ruled_out: ruled_out(run, question, cell, &candidates),
        picks,
    }
}

fn why_small(run: &Run<'_>, candidates: &[&Entry], pick: &Entry) -> String {
    let mut others: Vec<(f64, &Entry)> = candidates
        .iter()
        .filter(|entry| !std::ptr::eq(**entry, pick))
        .filter_map(|&entry| Some((entry.bits()?, entry)))
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let own = pick.bits().unwrap_or(f64::NAN);
    let next = others.first().map_or_else(
        || " It is the only one that qualifies.".to_owned(),
        |(bits, entry)| {
            let name = run.filter(entry).label();
            if (bits / own - 1.0).abs() <= EQUAL_SIZE {
                let time = if slower(run, entry, pick) { "is slower" } else { "is not known to be faster" };
                format!(" {name} takes the same within 1 % and {time}.")
            } else {
                format!(" Next is {name} with {} ({}).", number(*bits), signed_percent(bits / own - 1.0))
            }
        },
    );
    let over = pick.over_bound().map_or_else(String::new, |over| format!(", {over}"));
    format!("Smallest: {} bits/key{over}.{next}", number(own))
}

fn why_fast(run: &Run<'_>, candidates: &[&Entry], pick: &Entry, tied: &[&Entry]) -> String {
    let Some(time) = pick.time(Operation::Miss) else { return String::new() };
    let multiple = pick
        .multiple(Operation::Miss, Floor::Read)
        .map_or_else(String::new, |multiple| format!(", {}× one random read", number(multiple)));
    let names: Vec<String> = tied.iter().map(|entry| run.filter(entry).label()).collect();
    let ties = if names.is_empty() {
        let next = candidates
            .iter()
            .filter(|entry| !std::ptr::eq(**entry, pick))
            .filter_map(|&entry| Some((entry.time(Operation::Miss)?, entry)));
        next.min_by(|a, b| a.0.mid.total_cmp(&b.0.mid)).map_or_else(String::new, |(other, entry)| {
            let known = if run.noise(Operation::Miss).is_none() {
                "; the noise floor of this run is unknown"
            } else if run.differ(Operation::Miss, time, other).is_none() {
                "; too few repetitions to tell them apart"
            } else {
                ""
            };
            format!(" Next is {} with {} ns{known}.", run.filter(entry).label(), number(other.mid))
        })
    } else {
        format!(" Within noise of it, but not smaller: {}.", list(&names))
    };
    // The smallest of those within noise need not have the lowest median.
    let lowest =
        tied.iter().filter_map(|entry| entry.time(Operation::Miss)).all(|other| time.mid <= other.mid);
    let first = if lowest { "Fastest miss" } else { "Among the fastest misses within noise the smallest" };
    format!("{first}: {} ns{}{multiple}.{ties}", number(time.mid), time.bracketed())
}

fn cost(entry: &Entry<'_>, question: &Question) -> String {
    let mut parts = Vec::new();
    if let Some(bits) = entry.bits() {
        parts.push(format!(
            "{} bits/key, {} in all",
            number(bits),
            bytes(whole(bits * entry.row.n as f64 / 8.0))
        ));
    }
    match entry.rate() {
        Some(Rate::Seen(seen)) => {
            let range = seen
                .interval
                .map_or_else(String::new, |(lo, hi)| format!(" ({})", rate_range(seen.mid, lo, hi)));
            parts.push(format!("rate {}{range}", rate(seen.mid)));
        }
        Some(Rate::Below(bound)) => parts.push(format!("rate < {}", rate(bound))),
        None => {}
    }
    let timed: &[Operation] = if question.capabilities.contains(&"remove") {
        &[Operation::Hit, Operation::Miss, Operation::Insert, Operation::Remove]
    } else if question.capabilities.contains(&"insert") {
        &[Operation::Hit, Operation::Miss, Operation::Insert]
    } else {
        &[Operation::Hit, Operation::Miss, Operation::Build]
    };
    let times: Vec<String> = timed
        .iter()
        .filter_map(|&operation| {
            let time = entry.time(operation)?;
            Some(format!("{} {} ns{}", operation.name(), number(time.mid), time.bracketed()))
        })
        .collect();
    if !times.is_empty() {
        parts.push(times.join(", "));
    }
    if let Some(peak) = entry.peak_bits() {
        parts.push(format!("{} bits/key at the peak of the build", number(peak)));
    }
    format!("{}.{}", parts.join("; "), question.warning)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast saturates; a size is not negative"
)]
fn whole(x: f64) -> u64 {
    x.round() as u64
}

/// Every filter of the cell that is not a candidate, by reason; then those that lost.
fn ruled_out(run: &Run<'_>, question: &Question, (n, fpr): (u64, f64), candidates: &[&Entry]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut add =
        |reason: String, filter: String| match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, filters)) => filters.push(filter),
            None => reasons.push((reason, vec![filter])),
        };
    for entry in run.at((n, fpr)) {
        let filter = run.filter(entry);
        let missing: Vec<&str> =
            question.capabilities.iter().copied().filter(|capability| !filter.can(capability)).collect();
        if !entry.ok() {
            add(entry.status_text(), filter.label());
        } else if !missing.is_empty() {
            add(format!("cannot {}", missing.join(" or ")), filter.label());
        } else if entry.exact() {
            let bits = entry.bits().map_or_else(String::new, |bits| format!(" at {} bits/key", number(bits)));
            let time = entry
                .time(Operation::Miss)
                .map_or_else(String::new, |time| format!(" and {} ns a miss", number(time.mid)));
            add(format!("exact, for comparison{bits}{time}"), filter.label());
        } else if !delivers(entry, fpr) {
            let seen = entry.shown_rate();
            add(format!("misses the rate: {} ({})", seen.main, seen.detail), filter.label());
        } else if entry.bits().is_none() {
            add("size not known".to_owned(), filter.label());
        }
    }
    let least = candidates.iter().filter_map(|entry| entry.bits()).min_by(f64::total_cmp);
    let quickest =
        candidates.iter().map(|entry| miss(entry)).min_by(f64::total_cmp).filter(|time| time.is_finite());
    if let (Some(least), Some(quickest)) = (least, quickest) {
        let small = smallest(run, candidates);
        let fast = fastest(run, candidates).map(|(entry, _)| entry);
        for &entry in candidates {
            let picked = [small, fast].into_iter().flatten().any(|pick| std::ptr::eq(pick, entry));
            if !picked {
                let bits = entry.bits().unwrap_or(f64::NAN);
                let time = entry.time(Operation::Miss).map_or_else(
                    || "not timed".to_owned(),
                    |time| format!("{}× the fastest miss", number(time.mid / quickest)),
                );
                add(
                    format!("{} the smallest size, {time}", signed_percent(bits / least - 1.0)),
                    run.filter(entry).label(),
                );
            }
        }
    }
    reasons.into_iter().map(|(reason, filters)| unbroken(&format!("{}: {reason}", list(&filters)))).collect()
}

/// The picks at every (n, ε).
fn table(run: &Run<'_>) -> Table {
    let mut table = Table { headers: vec!["n".to_owned(), "ε".to_owned()], rows: Vec::new() };
    for question in &QUESTIONS {
        table.headers.push(format!("{}: smallest", question.title));
        table.headers.push("fastest miss".to_owned());
    }
    for cell in run.rate_cells() {
        let mut row = vec![
            Shown { main: count(cell.0), detail: String::new(), key: Some(cell.0 as f64) },
            Shown { main: round_rate(cell.1), detail: String::new(), key: Some(cell.1) },
        ];
        for question in &QUESTIONS {
            let candidates = candidates(run, question, cell);
            row.push(smallest(run, &candidates).map_or_else(
                || Shown::missing("none qualifies"),
                |entry| Shown {
                    main: run.filter(entry).label(),
                    detail: format!("{} bits/key", number(entry.bits().unwrap_or(f64::NAN))),
                    key: None,
                },
            ));
            row.push(fastest(run, &candidates).map_or_else(
                || Shown::missing("none timed"),
                |(entry, tied)| {
                    let ties = if tied.is_empty() {
                        String::new()
                    } else {
                        format!(", {} within noise", tied.len())
                    };
                    Shown {
                        main: run.filter(entry).label(),
                        detail: format!("{} ns{ties}", number(miss(entry))),
                        key: None,
                    }
                },
            ));
        }
        table.rows.push(row);
    }
    table
}

/// How the card decides, in one sentence with its constants.
pub(crate) fn rule() -> String {
    let rule = format!(
        "A filter qualifies if it can do what is asked, passed verification, and its measured rate is not more than {} above the one asked for \
         (lower end of its interval). Sizes within {} count as equal, and times that differ by less than the noise floor, or whose intervals \
         overlap, as “within noise”.",
        percent(TOLERANCE - 1.0),
        percent(EQUAL_SIZE)
    );
    unbroken(&rule)
}
