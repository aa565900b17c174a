//! What is told of a table for people to look at: from the sorted sequence of its fingerprints, hence once for all layouts.

use alloc::vec::Vec;

use amq::{Fingerprints, Histogram, Stats};
use amq_bits::Store;

use crate::{Filter, Geometry, Layout};

/// How a filter is filled. [`Filter::stats`](crate::Filter::stats) makes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableStats {
    /// Records over slots.
    pub load_factor: f64,
    /// `run_lengths[k]` runs have k records.
    pub run_lengths: Vec<u64>,
    /// `cluster_lengths[k]` clusters have k records. A cluster starts with a record that is at home and ends before the next one or an
    /// empty slot.
    pub cluster_lengths: Vec<u64>,
    /// The longest cluster, in records; 0 in an empty table.
    pub longest_cluster: u64,
    /// How many records the last insertion moved to another slot; 0 before the first.
    pub moved_by_last_insert: u64,
}

impl<L: Layout, S: Store> Filter<L, S> {
    /// How the table is filled, and what the last insertion cost. Linear in the table.
    pub fn stats(&self) -> TableStats {
        let Lengths { runs, clusters } = Lengths::of(&self.header.layout, self.table.bytes());
        TableStats {
            load_factor: self.load_factor(),
            longest_cluster: (clusters.len() as u64).saturating_sub(1),
            run_lengths: runs,
            cluster_lengths: clusters,
            moved_by_last_insert: self.moved,
        }
    }
}

impl<L: Layout, S: Store> Fingerprints for Filter<L, S> {
    fn fingerprint_space(&self) -> u128 {
        self.geometry().fingerprints()
    }

    fn for_each_fingerprint(&self, visit: &mut dyn FnMut(u64, u64)) {
        for (fingerprint, multiplicity) in self.fingerprints() {
            visit(fingerprint, multiplicity);
        }
    }
}

impl<L: Layout, S: Store> Stats for Filter<L, S> {
    /// Run lengths, then cluster lengths. A cluster starts with a record that is at home and ends before the next one or an
    /// empty slot.
    fn histograms(&self) -> Vec<Histogram> {
        Lengths::of(&self.header.layout, self.table.bytes()).into_histograms()
    }

    fn moved_by_last_insert(&self) -> Option<u64> {
        Some(self.moved)
    }
}

/// Run lengths and cluster lengths.
struct Lengths {
    runs: Vec<u64>,
    clusters: Vec<u64>,
}

impl Lengths {
    /// One pass to see how many records wrap around, one to count.
    fn of<L: Layout>(layout: &L, bytes: &[u8]) -> Self {
        let geometry = layout.geometry();
        let end = walk(geometry, layout.sorted(bytes), 0, |_| ());
        // Those that wrap take the first slots; what they push to the right stops short of the empty slot.
        let wrapped = end.saturating_sub(geometry.slots());
        let (mut runs, mut clusters) = (Vec::new(), Vec::new());
        // Records before the first cluster continue the last one.
        let (mut open, mut first) = (0, None);
        walk(geometry, layout.sorted(bytes), wrapped, |run| {
            if run.is_at_home {
                match first {
                    None => first = Some(open),
                    Some(_) => count(&mut clusters, open),
                }
                open = 0;
            }
            open += run.len;
            count(&mut runs, run.len);
        });
        if let Some(first) = first {
            count(&mut clusters, open + first);
        }
        Self { runs, clusters }
    }

    fn into_histograms(self) -> Vec<Histogram> {
        Vec::from([
            Histogram { name: "run length in slots", counts: self.runs },
            Histogram { name: "cluster length in slots", counts: self.clusters },
        ])
    }
}

struct Run {
    len: u64,
    is_at_home: bool,
}

/// Calls `visit` for each run, in the order of their homes, and returns where the last one ends. The first slots are taken.
fn walk(
    geometry: Geometry,
    sorted: impl Iterator<Item = (u64, u64)>,
    taken: u64,
    mut visit: impl FnMut(Run),
) -> u64 {
    let mut next = taken;
    let mut open: Option<(u64, Run)> = None;
    for (fingerprint, multiplicity) in sorted {
        let (home, _) = geometry.parts(fingerprint);
        match &mut open {
            Some((last, run)) if *last == home => run.len += multiplicity,
            _ => {
                if let Some((_, run)) = open.take() {
                    visit(run);
                }
                let is_at_home = next <= home;
                next = next.max(home);
                open = Some((home, Run { len: multiplicity, is_at_home }));
            }
        }
        next += multiplicity;
    }
    if let Some((_, run)) = open {
        visit(run);
    }
    next
}

fn count(counts: &mut Vec<u64>, length: u64) {
    // A length is at most the number of slots of a table in memory.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if counts.len() <= length {
        counts.resize(length + 1, 0);
    }
    counts[length] += 1;
}
