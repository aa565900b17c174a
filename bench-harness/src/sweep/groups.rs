//! From a sweep to groups: one point of an axis with all filters that are compared there.

use amq::{Descriptor, Key as _, Kind, Spec, Target};

use super::config::Sweep;
use super::keys::Keys;
use crate::store::sample::Point;

/// One point and its filters.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its number, from 0.
    pub index: usize,
    /// Where it lies.
    pub point: Point,
    /// The seed of its keys, queries and filters, before collisions of digests are avoided.
    pub seed: u64,
    /// Absent keys that are asked.
    pub queries: u64,
    /// Seeds that the rate is measured under.
    pub seeds: u32,
    /// Absent keys that are asked under each after the first.
    pub queries_again: u64,
    /// The filters that take part.
    pub filters: Vec<&'static Descriptor>,
}

impl Group {
    /// What is planned to be done, in key operations: for the estimate of the time left.
    pub fn cost(&self, sweep: &Sweep) -> f64 {
        let repetitions = f64::from(sweep.repetitions);
        let lookups = sweep.lookups_per_pass.0 as f64 * sweep.works().len() as f64;
        let again = f64::from(self.seeds - 1) * (self.point.n() as f64 + self.queries_again as f64);
        let verification = 8.0 * self.point.n() as f64 + self.queries as f64 + again;
        // A constant for starting processes; the twin is one filter more.
        let timing = repetitions * (4.0 * self.point.n() as f64 + lookups);
        (self.filters.len() as f64 + 1.0) * (verification + timing + 2e5)
    }
}

/// The name of a point for people.
pub fn describe(point: &Point) -> String {
    use crate::numbers::grouped;
    match *point {
        Point::Rate { n, fpr } => format!("n = {}, FPR {fpr:e}", grouped(n)),
        Point::Load { n, alpha, r } => format!("n = {}, load {alpha}, r = {r}", grouped(n)),
    }
}

/// What a point asks of a family: tables take load and width literally, the others the rate that the width stands for.
pub fn target(point: &Point, kind: Kind) -> Target {
    match (*point, kind) {
        (Point::Rate { fpr, .. }, _) => Target::Fpr(fpr),
        (Point::Load { alpha, r, .. }, Kind::Table) => Target::Shape { alpha, r },
        (Point::Load { r, .. }, Kind::Bloom | Kind::Static) => Target::Fpr(rate_of_width(r)),
    }
}

/// See [`target`]. `records` are the keys with their repetitions.
pub fn spec(point: &Point, kind: Kind, records: u64, seed: u64) -> Spec {
    Spec::new(target(point, kind), records).with_seed(seed)
}

/// The rate that a width stands for: 2^-r.
fn rate_of_width(r: u32) -> f64 {
    f64::from(r).exp2().recip()
}

/// Whether a filter takes part at a width: peers often have one width or two, and would be "infeasible" at all others. Ours
/// always do, so that what a family cannot do is a row with its reason.
fn has_width(filter: &Descriptor, r: u32) -> bool {
    let (least, most) = filter.r;
    filter.peer.is_none() || (least..=most).contains(&r)
}

/// The groups of a sweep, in the order in which they run: deterministic.
pub fn plan(sweep: &Sweep, keys: &Keys, filters: &[&'static Descriptor], seed: u64) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut add = |point: Point, rate: f64, filters: Vec<&'static Descriptor>| {
        if filters.is_empty() {
            return;
        }
        groups.push(Group {
            index: groups.len(),
            point,
            // By what the group is, not by its number: adding a value to an axis leaves the other cells as they were.
            seed: describe(&point).digest(seed).get(),
            queries: sweep.queries.count(point.n(), rate),
            seeds: sweep.queries.seeds(point.n()),
            queries_again: sweep.queries.count_again(rate),
            filters,
        });
    };
    let possible = |wanted: &[crate::numbers::Count]| {
        keys.possible_n(&wanted.iter().map(|count| count.0).collect::<Vec<_>>())
    };
    if let Some(rates) = &sweep.rates {
        for n in possible(&rates.n) {
            for &fpr in &rates.fpr {
                add(Point::Rate { n, fpr }, fpr, filters.to_vec());
            }
        }
    }
    if let Some(loads) = &sweep.loads {
        for n in possible(&loads.n) {
            for &r in &loads.r {
                for (i, &alpha) in loads.alpha.iter().enumerate() {
                    // The load means nothing to the others: they take part at the first.
                    let taking_part = filters
                        .iter()
                        .copied()
                        .filter(|filter| i == 0 || filter.kind == Kind::Table)
                        .filter(|filter| has_width(filter, r))
                        .collect();
                    add(Point::Load { n, alpha, r }, rate_of_width(r), taking_part);
                }
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Count;
    use crate::registry;
    use crate::sweep::keys::KeySource;

    #[test]
    fn axes_are_crossed_and_only_tables_take_part_in_every_load() {
        let sweep = Sweep::profile("quick").unwrap();
        let groups = plan(&sweep, &Keys::Generated(KeySource::Uniform), &registry::filters(), 1);
        let rates = groups.iter().filter(|group| matches!(group.point, Point::Rate { .. })).count();
        assert_eq!(rates, 9);
        assert!(groups.iter().enumerate().all(|(i, group)| group.index == i));
        for group in &groups {
            if let Point::Load { alpha, .. } = group.point {
                let others = group.filters.iter().filter(|filter| filter.kind != Kind::Table).count();
                assert_eq!(others > 0, alpha == 0.5, "{:?}", group.point);
            }
        }
    }

    #[test]
    fn peers_of_another_width_stay_away() {
        let sweep = Sweep::profile("quick").unwrap();
        let filters = registry::filters();
        for group in plan(&sweep, &Keys::Generated(KeySource::Uniform), &filters, 1) {
            for filter in &filters {
                let there = group.filters.iter().any(|other| other.name == filter.name);
                match group.point {
                    Point::Rate { .. } => assert!(there),
                    Point::Load { r, .. } if filter.peer.is_some() && (r < filter.r.0 || r > filter.r.1) => {
                        assert!(!there, "{} at r = {r}", filter.name);
                    }
                    Point::Load { alpha, .. } => {
                        assert_eq!(there, alpha == 0.5 || filter.kind == Kind::Table, "{}", filter.name);
                    }
                }
            }
        }
    }

    #[test]
    fn seeds_differ_between_groups_and_do_not_depend_on_their_neighbours() {
        let mut sweep = Sweep::profile("quick").unwrap();
        let seeds = |sweep: &Sweep| -> Vec<_> {
            plan(sweep, &Keys::Generated(KeySource::Uniform), &registry::filters(), 1)
                .iter()
                .map(|group| group.seed)
                .collect()
        };
        let before = seeds(&sweep);
        let mut distinct = before.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), before.len());
        sweep.rates.as_mut().unwrap().n.insert(0, Count(77));
        assert_eq!(seeds(&sweep)[3..], before[..]);
    }

    #[test]
    fn tables_get_shapes_and_the_others_rates() {
        let point = Point::Load { n: 10, alpha: 0.75, r: 8 };
        assert_eq!(target(&point, Kind::Table), Target::Shape { alpha: 0.75, r: 8 });
        assert_eq!(target(&point, Kind::Static), Target::Fpr(1.0 / 256.0));
        assert_eq!(target(&Point::Rate { n: 10, fpr: 0.1 }, Kind::Table), Target::Fpr(0.1));
    }
}
