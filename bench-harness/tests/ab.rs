//! `ab` from outside: it sees a filter that is a tenth slower, and nothing where a build is compared with itself.
//!
//! This program is the builds, too. Under whatever name it is started, it knows one filter more than the registry; under the
//! name `slow`, that filter's lookups do a tenth more work.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use amq::{
    Amq, BuildError, Descriptor, Digest, Family, InvariantError, Kind, Plan, Space, Spec, SpecError,
    capabilities,
};
use amq_bits::counting::CountingAllocator;
use bench_harness::{cli, registry};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// An exact set whose lookups do so many rounds of work that leads nowhere.
#[derive(Debug)]
struct Busy<const ROUNDS: u32>(Vec<u64>);

const USUAL: u32 = 400;
/// The search in the set is the same, so that the rounds are a little more than a tenth.
const SLOWER: u32 = USUAL * 111 / 100;

impl<const ROUNDS: u32> Amq for Busy<ROUNDS> {
    fn contains(&self, digest: Digest) -> bool {
        let spin = |x: u64, _| x.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        black_box((0..ROUNDS).fold(black_box(digest.get()), spin));
        self.0.binary_search(&digest.get()).is_ok()
    }

    fn len(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn space(&self) -> Space {
        let bytes = self.0.len() as u64 * 8;
        Space { payload_bits: bytes * 8, heap_bytes: bytes }
    }

    fn expected_fpr(&self) -> Option<f64> {
        Some(0.0)
    }
}

macro_rules! family {
    ($rounds:ident) => {
        capabilities!(Busy<$rounds>:);

        impl Family for Busy<$rounds> {
            const NAME: &'static str = "busy";
            const TITLE: &'static str = "Busy";
            const KIND: Kind = Kind::Static;
            const R: (u32, u32) = (1, 64);

            fn plan(spec: &Spec) -> Result<Plan, SpecError> {
                let (capacity, slots) = (spec.capacity(), spec.capacity());
                Ok(Plan { capacity, slots, alpha: 1.0, r: 64, k: None, table_bytes: slots * 8, fpr: 0.0 })
            }

            fn build(digests: &[Digest], _: &Spec) -> Result<Self, BuildError> {
                let mut sorted: Vec<_> = digests.iter().map(|digest| digest.get()).collect();
                sorted.sort_unstable();
                Ok(Self(sorted))
            }

            fn check_invariants(&self) -> Result<(), InvariantError> {
                Ok(())
            }
        }
    };
}

family!(USUAL);
family!(SLOWER);

static AS_USUAL: [Descriptor; 1] = [Descriptor::of::<Busy<USUAL>>()];
static AS_SLOW: [Descriptor; 1] = [Descriptor::of::<Busy<SLOWER>>()];

const SWEEP: &str = r#"
name = "busy"
repetitions = 15
workloads = ["build", "lookup"]
hit_ratios = [0.0, 1.0]
# A pass of a quarter of a millisecond: on a machine that others use, most passes are through before it is their turn.
lookups_per_pass = 512
deadline_seconds = 60
memory_limit_mib = 1024

[queries]
per_rate = 50
least = 1000
budget = 5000

[rates]
n = [200]
fpr = [1e-2]
"#;

/// Pairs of repetitions: where so many do not show it on a machine that is busy with something else, more do.
const ATTEMPTS: [u32; 3] = [15, 31, 63];

fn main() -> ExitCode {
    let program = std::env::current_exe().expect("this program is somewhere");
    let slow = program.file_stem().is_some_and(|name| name == "slow");
    registry::add(if slow { &AS_SLOW } else { &AS_USUAL });
    if std::env::args().nth(1).is_some_and(|command| command == "ab" || command == "measure") {
        return cli::main();
    }

    let folder = tempfile::tempdir().expect("a folder for the builds");
    let build = |name| {
        let path = folder.path().join(name);
        fs::copy(&program, &path).expect("a copy of this program");
        path
    };
    let builds = Builds { usual: build("usual"), slow: build("slow"), folder: folder.path() };
    fs::write(folder.path().join("sweep.toml"), SWEEP).expect("a sweep");
    builds.a_slower_filter_is_called_slower();
    builds.a_build_is_as_fast_as_itself();
    builds.what_cannot_be_compared_is_refused();
    println!("ab: 3 tests passed");
    ExitCode::SUCCESS
}

struct Builds<'a> {
    usual: PathBuf,
    slow: PathBuf,
    folder: &'a Path,
}

impl Builds<'_> {
    /// The exit status, the result and what was said.
    fn ab(&self, base: &Path, new: &Path, more: &[&str]) -> (Option<i32>, Value, String) {
        let out = self.folder.join("result.json");
        let _ = fs::remove_file(&out);
        let mut command = Command::new(&self.usual);
        command.arg("ab").arg("--base").arg(base).arg("--new").arg(new);
        command.arg("--sweep").arg(self.folder.join("sweep.toml")).args(["--families", "busy"]);
        command.args(["--format", "json", "--out"]).arg(&out).args(more);
        let output = command.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let result = fs::read(&out)
            .ok()
            .map_or(Value::Null, |json| serde_json::from_slice(&json).expect("the result is JSON"));
        (output.status.code(), result, said)
    }

    fn a_slower_filter_is_called_slower(&self) {
        for repetitions in ATTEMPTS {
            let (status, result, said) =
                self.ab(&self.usual, &self.slow, &["--repetitions", &repetitions.to_string()]);
            assert!(matches!(status, Some(0 | 1)), "{status:?}: {said}");
            let cells = result["timed"].as_array().expect("cells");
            let lookups: Vec<_> = cells.iter().filter(|cell| cell["work"]["workload"] == "lookup").collect();
            assert_eq!(lookups.len(), 7, "single, in batches, chained, at two hit ratios, and with hashing");
            // The same keys and the same table: nothing but the time may differ.
            assert_eq!(result["summary"]["findings"], 0);
            let called =
                |verdict: &str| lookups.iter().filter(|cell| cell["verdict"] == verdict).collect::<Vec<_>>();
            let slower = called("slower");
            if status == Some(1) && slower.len() >= 3 && called("faster").is_empty() {
                for cell in slower {
                    let ratio = cell["change"]["ratio"].as_f64().expect("a ratio");
                    assert!((1.05..1.3).contains(&ratio), "{cell}");
                }
                return;
            }
            eprintln!("not seen in {repetitions} repetitions: {lookups:#?}");
        }
        panic!("a filter that is a tenth slower was not called slower");
    }

    fn a_build_is_as_fast_as_itself(&self) {
        for repetitions in ATTEMPTS {
            let (status, result, said) =
                self.ab(&self.slow, &self.slow, &["--repetitions", &repetitions.to_string()]);
            assert!(matches!(status, Some(0 | 1)), "{status:?}: {said}");
            let base = &result["sides"][0]["facts"]["program"];
            assert_eq!(*base, result["sides"][1]["facts"]["program"]);
            if status == Some(0) {
                return;
            }
            eprintln!("a regression against itself in {repetitions} repetitions: {}", result["summary"]);
        }
        panic!("a build was called slower than itself by more than 5 %");
    }

    fn what_cannot_be_compared_is_refused(&self) {
        let missing = self.folder.join("missing");
        for (base, more, reason) in [
            (missing.as_path(), &[][..], "cannot read the program"),
            (Path::new("/bin/true"), &[], "does not say which jobs it takes"),
            (&self.usual, &["--families", "none"], "there is no filter"),
            (&self.usual, &["--repetitions", "2"], "2 is not in 3..=1000"),
        ] {
            let (status, result, said) = self.ab(base, &self.usual, more);
            assert_eq!((status, result), (Some(2), Value::Null), "{said}");
            assert!(said.contains(reason), "{said}");
        }
    }
}
