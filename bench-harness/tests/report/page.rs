//! The page as text: complete, escaped, small, and true to its data.

use bench_harness::store::cell::{Cell, Status};
use bench_harness::summary::{Choice, Summary, text};

use crate::synthetic::{self, page as render};

fn count(page: &str, pattern: &str) -> usize {
    page.matches(pattern).count()
}

#[test]
fn the_page_is_complete_small_and_fetches_nothing() {
    let run = synthetic::run();
    let page = render(std::slice::from_ref(&run));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    for id in [
        "decision",
        "provenance",
        "summary",
        "capabilities",
        "figures",
        "checked",
        "method",
        "cells",
        "reproduce",
        "downloads",
    ] {
        assert_eq!(count(&page, &format!("<section id=\"{id}\"")), 1, "{id}");
    }
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let figures = count(&page, "<figure ");
    assert_eq!(figures, 11);
    assert_eq!(count(&page, "<figcaption>"), figures);
    assert!(!page.contains("<figcaption></figcaption>"));
    assert!(!page.contains("NaN") && !page.contains(">inf<"));
}

#[test]
fn two_runs_are_shown_apart() {
    let run = synthetic::run();
    let page = render(&[run.clone(), run]);
    assert_eq!(count(&page, "<figure "), 22);
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "an id twice");
}

#[test]
fn hostile_names_stay_text() {
    let run = synthetic::hostile();
    let page = render(std::slice::from_ref(&run));
    assert_eq!(count(&page, "<script"), 2, "the data and the program");
    assert_eq!(count(&page, "</script"), 2);
    for raw in ["<b>bold", "<family>", "reason of <", "<script>x"] {
        assert!(!page.contains(raw), "{raw}");
    }
    // Every status is there with its reason.
    for status in
        ["unsupported", "infeasible", "build failed", "verification failed", "timeout", "out of memory"]
    {
        assert!(page.contains(&format!("{status}: reason of")), "{status}");
    }
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let names = data["rows"].as_array().unwrap().iter().map(|row| row[1].as_str().unwrap().to_owned());
    assert!(names.into_iter().any(|name| name == "</script><script>document.title='owned'</script>"));
}

#[test]
fn no_false_positive_is_a_bound_and_a_failure_is_no_zero() {
    let (info, mut cells) = synthetic::run();
    for cell in &mut cells {
        cell.fpr_hits = cell.fpr_hits.map(|_| 0);
        cell.fpr = cell.fpr.map(|_| 0.0);
        cell.fpr_lo95 = cell.fpr_lo95.map(|_| 0.0);
    }
    let page = render(&[(info, cells)]);
    assert!(page.contains("&#60; ") || page.contains("&lt; "));
    assert!(!page.contains("<td data-v=\"0\">0<small>"));
}

#[test]
fn verified_filters_keep_their_sizes_without_times() {
    let (info, mut cells) = synthetic::run();
    for cell in cells.iter_mut().filter(|cell| cell.status == Status::Ok) {
        cell.status = Status::Unsupported;
        cell.reason = "not timed".into();
        cell.ns_per_op = None;
    }
    let summary = Summary::of(&[(info, cells)], Choice::At { n: 1_000_000, fpr: 1e-2 });
    let bloom = summary.groups[0].rows.iter().find(|row| row.filter == "bloom").unwrap();
    assert_eq!(bloom.values[0].main, "9.59");
    assert_eq!(bloom.values[5].detail, "unsupported: not timed");
}

#[test]
fn any_part_of_the_rows_gives_a_page() {
    let (info, cells) = synthetic::run();
    for step in [1, 2, 3, 7, 50, 997] {
        for start in 0..3 {
            let some: Vec<Cell> = cells.iter().skip(start).step_by(step * 5 + start).cloned().collect();
            render(&[(info.clone(), some)]);
        }
    }
    for strip in 0..8 {
        let mut cells = cells.clone();
        for cell in &mut cells {
            match strip {
                0 => cell.ns_per_op = None,
                1 => cell.payload_bits_per_key = None,
                2 => cell.fpr = None,
                3 => cell.fpr_expected = None,
                4 => (cell.ns_per_op_lo95, cell.ns_per_op_hi95) = (None, None),
                5 => cell.fpr_target = Some(f64::NAN),
                6 => cell.n = 5,
                _ => cell.ns_per_op = Some(3e10),
            }
        }
        render(&[(info.clone(), cells)]);
    }
}

#[test]
fn the_summary_holds_the_chosen_cell_only() {
    let run = [synthetic::run()];
    let one = Summary::of(&run, Choice::At { n: 1_000_000, fpr: 1e-2 });
    assert_eq!(one.groups.len(), 1);
    assert_eq!(one.groups[0].rows.len(), 17);
    let by_rate = synthetic::COUNTS.len() * synthetic::RATES.len();
    assert!(Summary::of(&run, Choice::All).groups.len() > by_rate);
    assert!(Summary::of(&run, Choice::At { n: 3, fpr: 1e-2 }).groups.is_empty());
}

#[test]
fn the_terminal_summary_names_what_failed_and_steers_no_terminal() {
    let summary = text(&[synthetic::run()]);
    assert!(summary.contains("cuckoofilter (peer): build failed: not enough space"));
    assert!(summary.contains("n = 10⁶, ε = 1 %"));
    let hostile = text(&[synthetic::hostile()]);
    assert!(hostile.lines().all(|line| !line.chars().any(char::is_control)));
    assert_eq!(text(&[]), "no cells\n");
}

#[test]
fn the_fixture_obeys_the_bound() {
    for cell in synthetic::run().1.iter().filter(|cell| cell.fpr_expected.is_some_and(|rate| rate > 0.0)) {
        let bits = cell.payload_bits_per_key.unwrap();
        assert!(bits > synthetic::bound(cell.fpr_expected.unwrap()), "{cell:?}");
    }
}
