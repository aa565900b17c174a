//! How steady the machine was: what two measurements of the same thing differ by, and what to do where they do.

use std::collections::{BTreeMap, BTreeSet};

use amq_testkit::statistics::median;

use super::{by_group, mode_name};
use crate::store::cell::{Mode, Workload};
use crate::store::run::{Disturbance, Drift, NoiseFloor, RunInfo};
use crate::store::sample::{Sample, Sentinel, Time};

/// Two measurements of the same filter differ in the median by at most so much on a quiet machine.
const NOISE: f64 = 0.05;
/// The chain of multiplications is a matter of the frequency alone.
const COMPUTE_DRIFT: f64 = 0.10;
/// Random reads depend on which pages and which neighbours a process has.
const MEMORY_DRIFT: f64 = 0.35;
/// The share of time that a hypervisor may take.
const STEAL: f64 = 0.02;

/// By workload and mode, how far a filter and its twin lie apart, over all groups and hit ratios.
pub fn noise(samples: &[Sample]) -> BTreeMap<String, NoiseFloor> {
    /// What is known under one name.
    #[derive(Default)]
    struct Known {
        groups: BTreeSet<usize>,
        apart: Vec<f64>,
    }
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for (&number, group) in &by_group(samples) {
        for twin in group.times.iter().filter(|time| time.twin) {
            let same = |time: &&&Time| !time.twin && time.filter == twin.filter && time.work == twin.work;
            let Some(first) = group.times.iter().find(same) else { continue };
            let (first, second) = (median(&mut first.ns.clone()), median(&mut twin.ns.clone()));
            if let Some((first, second)) =
                first.zip(second).filter(|&(first, second)| first > 0.0 && second > 0.0)
            {
                let known = known.entry(noise_key(twin.work.workload, twin.work.mode)).or_default();
                known.groups.insert(number);
                known.apart.push((second / first).ln().abs());
            }
        }
    }
    known
        .into_iter()
        .filter_map(|(key, Known { groups, mut apart })| {
            let middle = median(&mut apart)?;
            // The nearest rank; with fewer than 20 values the largest.
            let p95 = *apart.get((apart.len() * 95).div_ceil(100).saturating_sub(1))?;
            Some((key, NoiseFloor { pairs: u32::try_from(groups.len()).ok()?, median: middle, p95 }))
        })
        .collect()
}

/// The name under which [`noise`] is known.
pub fn noise_key(workload: Workload, mode: Mode) -> String {
    format!("{} {}", workload.name(), mode_name(mode))
}

/// How far the sentinel moved between the groups: the nearest ranks 95 % and 5 % of the groups' medians, so that with fewer than
/// 20 groups it is the largest over the smallest. `None` where it was never timed.
pub fn drift(samples: &[Sample]) -> Option<Drift> {
    let sentinels: Vec<_> = samples
        .iter()
        .filter_map(|sample| match sample {
            Sample::Sentinel(sentinel) => Some(sentinel),
            _ => None,
        })
        .collect();
    let spread = |of: fn(&Sentinel) -> &[f64]| {
        let mut medians: Vec<_> =
            sentinels.iter().filter_map(|sentinel| median(&mut of(sentinel).to_vec())).collect();
        medians.sort_unstable_by(f64::total_cmp);
        let outside = medians.len() / 20;
        Some(medians.get(medians.len().checked_sub(1 + outside)?)? / medians.get(outside)? - 1.0)
    };
    Some(Drift {
        groups: u32::try_from(sentinels.len()).ok()?,
        compute: spread(|sentinel| &sentinel.compute_ns)?,
        memory: spread(|sentinel| &sentinel.memory_ns)?,
    })
}

/// What makes the machine noisy, from the noise floor, the drift of the sentinel, the stolen time and the load at the start of
/// `info`; each with what to do about it.
pub fn disturbances(info: &RunInfo) -> Vec<Disturbance> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut found = Vec::new();
    let mut add = |seen: String, remedy: &str| found.push(Disturbance { seen, remedy: remedy.into() });
    let loud: Vec<_> = info
        .noise
        .iter()
        .filter(|(_, noise)| noise.median > NOISE)
        .map(|(work, noise)| format!("{work} {}", percent(noise.median)))
        .collect();
    if !loud.is_empty() {
        add(
            format!(
                "two measurements of the same filter differ in the median by more than {}: {}",
                percent(NOISE),
                loud.join(", ")
            ),
            "end other programs and repeat the run, or give more repetitions; until then smaller differences mean nothing",
        );
    }
    if let Some(drift) = info.drift.filter(|drift| drift.compute > COMPUTE_DRIFT) {
        add(
            format!(
                "the same multiplications took {} longer in some groups than in others (limit {})",
                percent(drift.compute),
                percent(COMPUTE_DRIFT)
            ),
            "keep the processor at one frequency (governor `performance`, no turbo) and cool; compare times within a group only",
        );
    }
    if let Some(drift) = info.drift.filter(|drift| drift.memory > MEMORY_DRIFT) {
        add(
            format!(
                "the same random reads took {} longer in some groups than in others (limit {})",
                percent(drift.memory),
                percent(MEMORY_DRIFT)
            ),
            "end what else uses caches and memory, on a shared host also the neighbours; judge by the multiples of the floors",
        );
    }
    if let Some(steal) = info.machine.steal.filter(|&steal| steal > STEAL) {
        add(
            format!(
                "{} of the time was taken by other virtual machines (limit {})",
                percent(steal),
                percent(STEAL)
            ),
            "take a machine, or an hour, that is not shared",
        );
    }
    if let Some(load) = info.machine.load_average.filter(|&load| load > f64::from(info.machine.cores) / 2.0) {
        add(
            format!("the load average was {load} on {} cores when the run began", info.machine.cores),
            "wait until other programs have ended, and repeat the run",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::info;
    use crate::store::cell::Hashing;
    use crate::store::sample::Work;

    const LOOKUP: Work = Work {
        workload: Workload::Lookup,
        mode: Mode::Single,
        hit_ratio: Some(0.5),
        hashing: Hashing::Digest,
    };

    #[test]
    fn the_noise_is_the_nearest_rank() {
        let mut samples = Vec::new();
        for group in 0..20_u32 {
            let ratio = (f64::from(group) / 100.0).exp();
            // Whichever of the two is the faster.
            let (first, second) = if group % 2 == 0 { (1.0, ratio) } else { (ratio, 1.0) };
            for (twin, ns) in [(false, first), (true, second)] {
                let group = group as usize;
                for hit_ratio in [Some(0.0), Some(1.0)] {
                    samples.push(Sample::Time(Time {
                        group,
                        filter: "solid".into(),
                        twin,
                        work: Work { hit_ratio, ..LOOKUP },
                        ns: vec![ns],
                    }));
                }
            }
        }
        let noise = noise(&samples)["lookup single"];
        assert_eq!(noise.pairs, 20, "groups, not hit ratios");
        assert!((noise.median - 0.095).abs() < 1e-9, "{noise:?}");
        assert!((noise.p95 - 0.18).abs() < 1e-9, "{noise:?}");
    }

    #[test]
    fn the_drift_is_between_groups_and_leaves_out_the_outermost() {
        assert_eq!(drift(&[]), None);
        let sentinel = |group: u32, compute: f64| {
            // One slow repetition is no drift.
            let compute_ns = vec![compute, compute, 90.0];
            Sample::Sentinel(Sentinel { group: group as usize, compute_ns, memory_ns: vec![2.0] })
        };
        let mut samples = vec![sentinel(0, 4.0), sentinel(1, 5.0)];
        let two = drift(&samples).unwrap();
        assert_eq!((two.groups, two.memory), (2, 0.0));
        assert!((two.compute - 0.25).abs() < 1e-12, "{two:?}");
        samples.extend((2..38).map(|group| sentinel(group, 4.0)));
        assert_eq!(drift(&samples).unwrap().compute, 0.0);
    }

    #[test]
    fn every_disturbance_is_named_with_a_remedy() {
        let quiet = info();
        assert_eq!(disturbances(&quiet), []);
        let mut noisy = quiet;
        noisy.noise.insert("lookup single".into(), NoiseFloor { pairs: 9, median: 0.08, p95: 0.3 });
        noisy.noise.insert("build batch".into(), NoiseFloor { pairs: 9, median: 0.01, p95: 0.3 });
        noisy.drift = Some(Drift { groups: 9, compute: 0.2, memory: 0.5 });
        noisy.machine.steal = Some(0.1);
        (noisy.machine.cores, noisy.machine.load_average) = (2, Some(1.5));
        let found = disturbances(&noisy);
        let seen: Vec<_> = found.iter().map(|disturbance| disturbance.seen.as_str()).collect();
        assert_eq!(seen.len(), 5, "{seen:?}");
        for (seen, said) in seen.iter().zip([
            "lookup single 8 %",
            "20 % longer",
            "50 % longer",
            "10 % of the time",
            "1.5 on 2",
        ]) {
            assert!(seen.contains(said), "{seen}");
        }
        assert!(!seen[0].contains("build") && found.iter().all(|found| !found.remedy.is_empty()));
    }
}
