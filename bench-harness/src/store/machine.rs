//! What is told about the machine, the compiler and the sources: read from the system, `None` or empty where it does not say.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::run::{Cache, Compiler, Machine};
use super::sample::Surroundings;
use crate::measure::clock::Clock;

/// The machine as it is now.
pub fn machine() -> Machine {
    let clock = Clock::measure();
    Machine {
        cpu: cpu().unwrap_or_default(),
        cores: std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        caches: caches(),
        memory_bytes: memory(),
        os: os(),
        arch: std::env::consts::ARCH.into(),
        governor: governor(),
        huge_pages: huge_pages(),
        load_average: load_average(),
        steal: None,
        clock_resolution_ns: clock.resolution_ns,
        clock_cost_ns: clock.cost_ns,
    }
}

/// What else goes on in it now.
pub fn surroundings() -> Surroundings {
    let ticks = Ticks::now();
    Surroundings {
        load_average: load_average(),
        ticks: ticks.map(|ticks| ticks.all),
        stolen_ticks: ticks.map(|ticks| ticks.stolen),
        governor: governor(),
        huge_pages: huge_pages(),
        huge_bytes: memory_line("AnonHugePages:"),
    }
}

fn governor() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

fn huge_pages() -> Option<String> {
    line("/sys/kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text))
}

fn load_average() -> Option<f64> {
    line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok())
}

fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}

/// Of `always [madvise] never` what is in brackets.
fn chosen(text: &str) -> String {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(chosen, _)| chosen).into()
}

fn cpu() -> Option<String> {
    let info = line("/proc/cpuinfo")?;
    let value = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    value.map(|(_, name)| name.trim().into())
}

fn caches() -> Vec<Cache> {
    let mut caches = Vec::new();
    for index in 0..8 {
        let read = |what: &str| line(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}"));
        if read("type").is_none_or(|kind| kind == "Instruction") {
            continue;
        }
        if let Some((level, bytes)) =
            read("level").and_then(|text| text.parse().ok()).zip(read("size").and_then(|text| size(&text)))
        {
            caches.push(Cache { level, bytes });
        }
    }
    caches
}

/// Sizes like `48K` and `2M`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Bytes of memory; `None` where the system does not tell.
pub fn memory() -> Option<u64> {
    memory_line("MemTotal:")
}

/// Bytes of what `/proc/meminfo` says under this name.
fn memory_line(name: &str) -> Option<u64> {
    let info = line("/proc/meminfo")?;
    let kib = info.lines().find_map(|line| line.strip_prefix(name))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn os() -> String {
    let release = line("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    match line("/proc/sys/kernel/osrelease") {
        Some(kernel) => format!("{name}, kernel {kernel}"),
        None => name.into(),
    }
}

/// Ticks of all processors, and those of them that a hypervisor took.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// Until now.
    pub fn now() -> Option<Self> {
        let stat = line("/proc/stat")?;
        let ticks: Vec<u64> =
            stat.lines().next()?.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; what follows is contained in them.
        Some(Self { all: ticks.iter().take(8).sum(), stolen: *ticks.get(7)? })
    }

    /// The share that was stolen since.
    pub fn stolen_since(self) -> Option<f64> {
        let now = Self::now()?;
        let all = now.all.checked_sub(self.all).filter(|&all| all > 0)?;
        Some(now.stolen.saturating_sub(self.stolen) as f64 / all as f64)
    }
}

/// The compiler that built this program: told by the build script.
pub fn compiler() -> Compiler {
    let flags = env!("BUILD_RUSTFLAGS");
    let profile = env!("BUILD_PROFILE");
    Compiler {
        rustc: env!("BUILD_RUSTC").into(),
        target: env!("BUILD_TARGET").into(),
        flags: if flags.is_empty() { profile.into() } else { format!("{profile}, RUSTFLAGS {flags}") },
    }
}

/// The revision of the sources, and whether they had changes that were not committed: asked of git when the program runs, in
/// the folder that it was built from. `None` where there is no git or the folder is gone.
pub fn revision() -> Option<(String, bool)> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some((revision, dirty))
}

/// Versions of the dependencies that decide numbers, from the lock file that this program was built with.
pub fn dependencies() -> BTreeMap<String, String> {
    // What the filters compute with, and what computes about them.
    const DECIDING: &[&str] = &["libm", "rand", "rand_xoshiro", "raw-cpuid", "statrs", "xxhash-rust"];
    #[derive(serde::Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        version: String,
        source: Option<String>,
    }
    let Ok(lock) = toml::from_str::<Lock>(include_str!("../../../Cargo.lock")) else {
        return BTreeMap::new();
    };
    let peers: Vec<_> = crate::registry::filters().iter().filter_map(|filter| filter.peer).collect();
    lock.package
        .into_iter()
        .filter(|package| package.source.is_some())
        .filter(|package| {
            DECIDING.contains(&package.name.as_str())
                || peers.iter().any(|peer| peer.krate == package.name && peer.version == package.version)
        })
        .map(|package| (package.name, package.version))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_understood() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("never"), "never");
        for (text, bytes) in [("48K", Some(48 << 10)), ("2M", Some(2 << 20)), ("77", Some(77)), ("x", None)] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn the_compiler_and_the_dependencies_are_known() {
        assert!(compiler().rustc.starts_with("rustc 1."), "{:?}", compiler());
        let dependencies = dependencies();
        assert!(
            dependencies.contains_key("xxhash-rust") && dependencies.contains_key("libm"),
            "{dependencies:?}"
        );
    }
}
