//! Filters that break down in a whole group: each gets its status, and the others their times. This program is its own measuring
//! process, since the one that is shipped knows no such filters.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, thread};

use amq::{
    Amq, BuildError, Descriptor, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError,
    capabilities,
};
use amq_bits::counting::CountingAllocator;
use bench_harness::store::cell::Status;
use bench_harness::store::sample::Sample;
use bench_harness::sweep::config::Sweep;
use bench_harness::sweep::keys::{KeySource, Keys};
use bench_harness::sweep::schedule::{Scheduler, Twins};
use bench_harness::sweep::{groups, jobs};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const NAMES: [&str; 9] = [
    "in-order",
    "hangs",
    "hangs-in-chains",
    "allocates-without-end",
    "panics",
    "aborts",
    "forgets-one-in-a-million",
    "sleeps-in-its-first-call",
    "in-order-too",
];

const WIDTH: u32 = 7;
/// Digests whose low bits are 0 are let through.
const RATE: f64 = 1.0 / 128.0;

/// An exact set with the fault of the given name.
#[derive(Debug)]
struct Toy<const FAULT: usize> {
    sorted: Vec<u64>,
    called: AtomicBool,
}

impl<const FAULT: usize> Toy<FAULT> {
    const NAME: &'static str = NAMES[FAULT];

    fn is(fault: &str) -> bool {
        Self::NAME == fault
    }
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

impl<const FAULT: usize> Amq for Toy<FAULT> {
    fn contains(&self, digest: Digest) -> bool {
        if Self::is("sleeps-in-its-first-call") && !self.called.swap(true, Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        // Of the members, which are all there.
        let forgotten =
            Self::is("forgets-one-in-a-million") && self.sorted.get(123_456) == Some(&digest.get());
        let let_through = digest.get() & ((1 << WIDTH) - 1) == 0;
        !forgotten && (let_through || self.sorted.binary_search(&digest.get()).is_ok())
    }

    fn count_hits_chained(&self, digests: &[Digest]) -> u64 {
        if Self::is("hangs-in-chains") {
            hang();
        }
        self.count_hits(digests)
    }

    fn len(&self) -> Option<u64> {
        Some(self.sorted.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = self.sorted.capacity() as u64 * 8;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    fn expected_fpr(&self) -> Option<f64> {
        Some(RATE)
    }
}

impl<const FAULT: usize> Toy<FAULT> {
    fn plan_for(spec: &Spec) -> Plan {
        let capacity = spec.capacity();
        let table_bytes = capacity * 8;
        Plan { capacity, slots: capacity, alpha: 1.0, r: WIDTH, k: None, table_bytes, fpr: RATE }
    }

    fn build_for(digests: &[Digest]) -> Self {
        match Self::NAME {
            "hangs" => hang(),
            "panics" => panic!("the build is broken"),
            "aborts" => std::process::abort(),
            "allocates-without-end" => {
                let mut blocks = Vec::new();
                loop {
                    blocks.push(black_box(vec![1_u8; 16 << 20]));
                }
            }
            _ => {}
        }
        let mut sorted: Vec<_> = digests.iter().map(|digest| digest.get()).collect();
        sorted.sort_unstable();
        Self { sorted, called: AtomicBool::new(false) }
    }
}

macro_rules! toys {
    ($($number:literal)*) => {
        $(
            capabilities!(Toy<$number>:);

            impl Family for Toy<$number> {
                const NAME: &'static str = NAMES[$number];
                const TITLE: &'static str = NAMES[$number];
                const KIND: Kind = Kind::Static;
                const R: (u32, u32) = (WIDTH, WIDTH);

                fn plan(spec: &Spec) -> Result<Plan, SpecError> {
                    Ok(Self::plan_for(spec))
                }

                fn build(digests: &[Digest], _: &Spec) -> Result<Self, BuildError> {
                    Ok(Self::build_for(digests))
                }

                fn check_invariants(&self) -> Result<(), InvariantError> {
                    Ok(())
                }
            }
        )*

        static TOYS: [Descriptor; NAMES.len()] = [$(Descriptor::of::<Toy<$number>>()),*];
    };
}

toys!(0 1 2 3 4 5 6 7 8);

fn find(name: &str) -> Option<&'static Descriptor> {
    TOYS.iter().find(|toy| toy.name == name)
}

const SWEEP: &str = r#"
name = "breakdowns"
repetitions = 3
workloads = ["build", "lookup"]
hit_ratios = [0.0, 1.0]
lookups_per_pass = 4096
deadline_seconds = 6
memory_limit_mib = 512

[queries]
per_rate = 384
least = 1000
budget = 100000

[rates]
n = [1e6]
fpr = [0.0078125]
"#;

/// The statuses and reasons of all filters in the end, and those that have times.
fn run_group() -> (BTreeMap<String, (Status, String)>, Vec<String>) {
    let sweep = Sweep::parse(SWEEP).expect("it is a sweep");
    let keys = Keys::Generated(KeySource::Uniform);
    let filters: Vec<_> = TOYS.iter().collect();
    let groups = groups::plan(&sweep, &keys, &filters, 1);
    let interrupted = AtomicBool::new(false);
    let program = env::current_exe().expect("this program");
    let scheduler = Scheduler {
        twins: Twins::Timed,
        sweep: &sweep,
        keys: &keys,
        scratch: Path::new("unused"),
        interrupted: &interrupted,
        program: &program,
    };
    let samples =
        scheduler.run(&groups[0], &mut |_| ()).expect("the harness works").expect("nobody interrupts");
    let mut found = BTreeMap::new();
    let mut timed = Vec::new();
    for sample in samples {
        match sample {
            Sample::Verify(verify) => {
                found.insert(verify.filter, (verify.status, verify.reason));
            }
            Sample::Fault(fault) => {
                found.insert(fault.filter, (fault.status, fault.reason));
            }
            Sample::Time(time) if !time.twin => {
                assert_eq!(time.ns.len(), 3, "{time:?}");
                timed.push(time.filter);
            }
            _ => {}
        }
    }
    timed.dedup();
    (found, timed)
}

fn every_breakdown_has_its_status_and_the_others_their_times() {
    let (found, timed) = run_group();
    for (name, status, said) in [
        ("in-order", Status::Ok, ""),
        ("in-order-too", Status::Ok, ""),
        ("hangs", Status::Timeout, "the build took longer than the deadline of 6 s"),
        ("hangs-in-chains", Status::Timeout, "one repetition of its timing took longer"),
        ("allocates-without-end", Status::OutOfMemory, "out of memory in the build"),
        ("panics", Status::BuildFailed, "the build panicked: the build is broken"),
        ("aborts", Status::BuildFailed, "died by signal 6 in the build"),
        ("forgets-one-in-a-million", Status::VerifyFailed, "of 1000000 members 1 are lost"),
        ("sleeps-in-its-first-call", Status::VerifyFailed, "its first lookup after a build takes at least"),
    ] {
        let (as_found, reason) = &found[name];
        assert_eq!(*as_found, status, "{name}: {reason}");
        assert!(reason.contains(said), "{name}: {reason}");
    }
    assert_eq!(found.len(), NAMES.len());
    assert_eq!(timed, ["in-order", "in-order-too"]);
}

fn main() {
    if env::args().nth(1).as_deref() == Some(jobs::SUBCOMMAND) {
        jobs::serve(find).expect("input and output work");
        return;
    }
    // Limits of memory, and deaths by signal, are those of Linux.
    if cfg!(target_os = "linux") {
        every_breakdown_has_its_status_and_the_others_their_times();
        println!("every breakdown has its status and the others their times ... ok");
    }
}
