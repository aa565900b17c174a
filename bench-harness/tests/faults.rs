//! Filters with a fault built in: the verification sees each.

use std::sync::atomic::{AtomicU32, Ordering};

use amq::{
    Amq, BuildError, Digest, Family, Insert, InsertError, InvariantError, Kind, Plan, Remove, Space, Spec,
    SpecError, capabilities,
};
use amq_bits::counting::CountingAllocator;
use bench_harness::measure::clock::Clock;
use bench_harness::measure::fpr::{self, Absent};
use bench_harness::measure::time::{Lookups, Queries, Subject};
use bench_harness::measure::verify::{Phase, Trial, Verdict, verify};
use bench_harness::store::cell::{Status, Workload};
use bench_harness::store::sample::Work;
use bench_harness::sweep::config::Sweep;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What is wrong with a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    ForgetsAKey,
    ForgetsInABatch,
    ForgetsWhatIsInserted,
    ForgetsAfterRemovals,
    LiesAboutItsHeap,
    LiesAboutItsPayload,
    LiesAboutItsRate,
    PanicsInPlan,
    PanicsInBuild,
    PanicsInLookups,
    GivesUp,
    HasNoMemory,
    CannotBePlanned,
    GivesUpTheSecondTime,
}

const RATE_BITS: u32 = 7;
/// False positives: digests whose low bits are 0.
const RATE: f64 = 1.0 / 128.0;

/// Builds of the filter that gives up the second time.
static BUILDS: AtomicU32 = AtomicU32::new(0);

/// An exact set that lets through every 128th absent key, with a fault of the given number.
#[derive(Debug)]
struct Toy<const WRONG: usize> {
    sorted: Vec<u64>,
    removals: u64,
}

impl<const WRONG: usize> Toy<WRONG> {
    const FAULT: Wrong = ALL[WRONG];
}

const ALL: [Wrong; 15] = [
    Wrong::Nothing,
    Wrong::ForgetsAKey,
    Wrong::ForgetsInABatch,
    Wrong::ForgetsWhatIsInserted,
    Wrong::ForgetsAfterRemovals,
    Wrong::LiesAboutItsHeap,
    Wrong::LiesAboutItsPayload,
    Wrong::LiesAboutItsRate,
    Wrong::PanicsInPlan,
    Wrong::PanicsInBuild,
    Wrong::PanicsInLookups,
    Wrong::GivesUp,
    Wrong::HasNoMemory,
    Wrong::CannotBePlanned,
    Wrong::GivesUpTheSecondTime,
];

impl<const WRONG: usize> Amq for Toy<WRONG> {
    fn contains(&self, digest: Digest) -> bool {
        assert_ne!(Self::FAULT, Wrong::PanicsInLookups, "an index is out of range");
        let let_through = digest.get() & ((1 << RATE_BITS) - 1) == 0;
        let forgotten = match Self::FAULT {
            Wrong::ForgetsAKey => self.sorted.get(self.sorted.len() / 3) == Some(&digest.get()),
            Wrong::ForgetsAfterRemovals => self.removals > 0 && self.sorted.last() == Some(&digest.get()),
            _ => false,
        };
        !forgotten && (let_through || self.sorted.binary_search(&digest.get()).is_ok())
    }

    fn contains_batch(&self, digests: &[Digest], answers: &mut [bool]) {
        for (i, (answer, &digest)) in answers.iter_mut().zip(digests).enumerate() {
            *answer = self.contains(digest) && !(Self::FAULT == Wrong::ForgetsInABatch && i == 500);
        }
    }

    fn len(&self) -> Option<u64> {
        Some(self.sorted.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = self.sorted.capacity() as u64 * 8;
        Space {
            payload_bits: bytes * 8 - u64::from(Self::FAULT == Wrong::LiesAboutItsPayload),
            heap_bytes: if Self::FAULT == Wrong::LiesAboutItsHeap { bytes / 100 * 99 } else { bytes },
        }
    }

    fn expected_fpr(&self) -> Option<f64> {
        Some(if Self::FAULT == Wrong::LiesAboutItsRate { RATE / 1.1 } else { RATE })
    }
}

impl<const WRONG: usize> Toy<WRONG> {
    fn plan_for(spec: &Spec) -> Result<Plan, SpecError> {
        assert_ne!(Self::FAULT, Wrong::PanicsInPlan, "the plan overflows");
        let capacity = spec.capacity();
        if Self::FAULT == Wrong::CannotBePlanned {
            return Err(SpecError::TooLarge { capacity });
        }
        Ok(Plan {
            capacity,
            slots: capacity,
            alpha: 1.0,
            r: RATE_BITS,
            k: None,
            table_bytes: capacity * 8,
            fpr: RATE,
        })
    }

    fn build_for(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
        match Self::FAULT {
            Wrong::PanicsInBuild => panic!("the build is broken"),
            Wrong::GivesUp => Err(BuildError::Exhausted { alpha: 1.0, threshold: 0.8, attempts: 9 }),
            Wrong::HasNoMemory => Err(BuildError::OutOfMemory { bytes: 77 }),
            Wrong::GivesUpTheSecondTime if BUILDS.fetch_add(1, Ordering::Relaxed) == 1 => {
                Err(BuildError::Exhausted { alpha: 1.0, threshold: 0.8, attempts: 9 })
            }
            _ => {
                let mut sorted = Vec::with_capacity(usize::try_from(spec.capacity()).unwrap());
                sorted.extend(digests.iter().map(|digest| digest.get()));
                sorted.sort_unstable();
                Ok(Self { sorted, removals: 0 })
            }
        }
    }
}

impl<const WRONG: usize> Insert for Toy<WRONG> {
    fn insert(&mut self, digest: Digest) -> Result<(), InsertError> {
        if Self::FAULT == Wrong::ForgetsWhatIsInserted && self.sorted.len() == 100 {
            return Ok(());
        }
        let place = self.sorted.partition_point(|&other| other < digest.get());
        self.sorted.insert(place, digest.get());
        Ok(())
    }

    fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), InsertError> {
        digests.iter().try_for_each(|&digest| self.insert(digest))
    }

    fn remaining(&self) -> Option<u64> {
        None
    }
}

impl<const WRONG: usize> Remove for Toy<WRONG> {
    fn remove(&mut self, digest: Digest) -> bool {
        self.removals += 1;
        self.sorted.binary_search(&digest.get()).map(|place| self.sorted.remove(place)).is_ok()
    }
}

macro_rules! toys {
    ($($number:literal)*) => {
        $(
            capabilities!(Toy<$number>: Insert, Remove);

            impl Family for Toy<$number> {
                const NAME: &'static str = "toy";
                const TITLE: &'static str = "Toy";
                const KIND: Kind = Kind::Static;
                const R: (u32, u32) = (RATE_BITS, RATE_BITS);

                fn plan(spec: &Spec) -> Result<Plan, SpecError> {
                    Self::plan_for(spec)
                }

                fn build(digests: &[Digest], spec: &Spec) -> Result<Self, BuildError> {
                    Self::build_for(digests, spec)
                }

                fn check_invariants(&self) -> Result<(), InvariantError> {
                    Ok(())
                }
            }
        )*

        fn descriptor(wrong: Wrong) -> &'static amq::Descriptor {
            static DESCRIPTORS: [amq::Descriptor; 15] = [$(amq::Descriptor::of::<Toy<$number>>()),*];
            &DESCRIPTORS[ALL.iter().position(|&other| other == wrong).unwrap()]
        }
    };
}

toys!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14);

const N: u64 = 2000;

fn digests(from: u64, count: u64) -> Vec<Digest> {
    (from..from + count).map(|i| Digest::new(i).remix(1)).collect()
}

fn trial<'a>(wrong: Wrong, spec: &'a Spec, members: &'a [Digest], absent: &'a Absent<'a>) -> Trial<'a> {
    let memory_limit = 1 << 30;
    Trial { descriptor: descriptor(wrong), spec, members, absent, workloads: &Workload::ALL, memory_limit }
}

/// The verdict, and the last phase that was announced.
fn judge(wrong: Wrong, queries: u64) -> (Verdict, Phase) {
    let members = digests(0, N);
    let absent = Absent {
        count: queries,
        get: &|from, count| Ok(digests((1 << 40) + from, count)),
        fresh: &|from, count| Ok(digests((1 << 41) + from, count)),
    };
    let mut last = Phase::Plan;
    let spec = Spec::fpr(RATE, N);
    let verdict = verify(&trial(wrong, &spec, &members, &absent), &mut |phase| last = phase).unwrap();
    (verdict, last)
}

#[test]
fn a_rate_is_refused_only_if_fresh_keys_contradict_it_as_well() {
    let members = digests(0, N);
    let verdict = |get: fpr::Source<'_>, fresh: fpr::Source<'_>| {
        let absent = Absent { count: 1 << 16, get, fresh };
        verify(&trial(Wrong::Nothing, &Spec::fpr(RATE, N), &members, &absent), &mut |_| ()).unwrap()
    };
    let by_chance = |from, count| Ok(digests((1 << 40) + from, count));
    // Every one of them is let through.
    let unlucky = |from: u64, count: u64| Ok((from..from + count).map(|i| Digest::new(i << 40)).collect());

    let once = verdict(&unlucky, &by_chance);
    assert_eq!((once.status, once.facts.fpr_hits), (Status::Ok, Some(1 << 16)), "{}", once.reason);
    assert_eq!(once.facts.fpr_queries_again, Some(1 << 16));
    assert!(once.facts.fpr_hits_again.is_some_and(|hits| (400..625).contains(&hits)), "{:?}", once.facts);

    let twice = verdict(&unlucky, &unlucky);
    assert_eq!((twice.status, twice.facts.fpr_hits_again), (Status::VerifyFailed, Some(1 << 16)));
    assert!(twice.reason.contains("with as many fresh keys, 65536 false positives"), "{}", twice.reason);

    let never = verdict(&by_chance, &unlucky);
    assert_eq!((never.status, never.facts.fpr_hits_again), (Status::Ok, None));
}

/// 3,600 false positives to expect.
const THOROUGH: u64 = 3600 << RATE_BITS;

#[test]
fn a_filter_in_order_passes() {
    let (verdict, last) = judge(Wrong::Nothing, THOROUGH);
    assert_eq!((verdict.status, verdict.reason.as_str(), last), (Status::Ok, "", Phase::Churn));
    let facts = verdict.facts;
    assert_eq!((facts.false_negatives, facts.fpr_queries), (Some(0), Some(THOROUGH)));
    assert_eq!(facts.payload_bits, Some(N * 64));
    let value = size_of::<Toy<0>>() as u64;
    assert_eq!((facts.heap_bytes, facts.peak_bytes), (Some(N * 8 + value), Some(N * 8 + value)));
}

#[test]
fn every_fault_is_seen_and_named() {
    for (wrong, status, said) in [
        (
            Wrong::ForgetsAKey,
            Status::VerifyFailed,
            "after the build, of 2000 members 1 are lost to single lookups and 1",
        ),
        (Wrong::ForgetsInABatch, Status::VerifyFailed, "0 are lost to single lookups and 1 to a batch"),
        (Wrong::ForgetsWhatIsInserted, Status::VerifyFailed, "after single inserts"),
        (Wrong::ForgetsAfterRemovals, Status::VerifyFailed, "after removing a tenth, of 1800 members 1"),
        (Wrong::LiesAboutItsHeap, Status::VerifyFailed, "the allocator counted"),
        (Wrong::LiesAboutItsPayload, Status::VerifyFailed, "but the plan is 128000"),
        (Wrong::LiesAboutItsRate, Status::VerifyFailed, "contradict the rate"),
        (Wrong::PanicsInPlan, Status::BuildFailed, "planning panicked"),
        (Wrong::PanicsInBuild, Status::BuildFailed, "the build panicked: the build is broken"),
        (Wrong::PanicsInLookups, Status::VerifyFailed, "an index is out of range"),
        (Wrong::GivesUp, Status::BuildFailed, "9 attempts"),
        (Wrong::HasNoMemory, Status::OutOfMemory, "77 bytes"),
        (Wrong::CannotBePlanned, Status::Infeasible, "2000 keys"),
    ] {
        let (verdict, _) = judge(wrong, THOROUGH);
        assert_eq!(verdict.status, status, "{wrong:?}: {}", verdict.reason);
        assert!(verdict.reason.contains(said), "{wrong:?}: {}", verdict.reason);
    }
}

#[test]
fn a_table_that_cannot_fit_is_not_tried() {
    let members = digests(0, N);
    let nothing = |_, _| Ok(Vec::new());
    let absent = Absent { count: 0, get: &nothing, fresh: &nothing };
    let spec = Spec::fpr(RATE, N);
    // The digests and the table take 16,000 bytes each.
    for (memory_limit, status) in [(31_999, Status::OutOfMemory), (32_000, Status::Ok)] {
        let trial = Trial { memory_limit, ..trial(Wrong::Nothing, &spec, &members, &absent) };
        let verdict = verify(&trial, &mut |_| ()).unwrap();
        assert_eq!(verdict.status, status, "{}", verdict.reason);
        assert_eq!(verdict.facts.table_bytes, Some(16_000));
        assert_eq!(
            verdict.reason.contains("1 MiB beside"),
            status == Status::OutOfMemory,
            "{}",
            verdict.reason
        );
    }
}

#[test]
fn timing_sees_what_changes_after_the_verification() {
    let members = digests(0, N);
    let absent = digests(1 << 40, 1000);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let lookups =
        [0.0, 0.5, 1.0].map(|ratio| Lookups::new(ratio, 20_000, &members, &absent, &mut rng)).into();
    let removals = members[..200].to_vec();
    let newcomers = absent[..200].to_vec();
    let queries = Queries { members, removals, newcomers, lookups };
    let mut works = Sweep::profile("smoke").unwrap().works();
    works.retain(|work| work.hashing == bench_harness::store::cell::Hashing::Digest);
    let possible =
        |work: &Work| work.workload.lacks(|needed| descriptor(Wrong::Nothing).can(needed)).is_none();
    let (works, impossible): (Vec<_>, Vec<_>) = works.into_iter().partition(possible);
    assert!(works.iter().any(|work| work.workload == Workload::Churn));
    let clock = Clock::measure();
    let mut pass = |wrong, works: &[Work]| {
        Subject::new(descriptor(wrong), Spec::fpr(RATE, N)).pass(works, &queries, &clock, &mut rng)
    };

    let times = pass(Wrong::Nothing, &works).unwrap();
    assert!(times.iter().all(|time| time.is_some_and(|ns| ns > 0.0)), "{times:?}");
    let times = pass(Wrong::Nothing, &impossible).unwrap();
    assert!(times.len() == 3 && times.iter().all(Option::is_none), "{times:?}");

    for (wrong, status, said) in [
        (Wrong::ForgetsAKey, Status::VerifyFailed, "members looked up"),
        (Wrong::ForgetsInABatch, Status::VerifyFailed, "Batch lookups give"),
        (Wrong::PanicsInLookups, Status::VerifyFailed, "timing panicked"),
        (Wrong::GivesUp, Status::BuildFailed, "in its timing"),
        (Wrong::GivesUpTheSecondTime, Status::BuildFailed, "in its timing"),
    ] {
        let fault = pass(wrong, &works).unwrap_err();
        assert_eq!(fault.status, status, "{wrong:?}: {}", fault.reason);
        assert!(fault.reason.contains(said), "{wrong:?}: {}", fault.reason);
    }
}
