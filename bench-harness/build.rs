//! Tells the program what built it.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../Cargo.lock");
    let rustc = env::var("RUSTC").unwrap_or_default();
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string())
        .unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    let profile = env::var("PROFILE").unwrap_or_default();
    let level = env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=BUILD_RUSTC={version}");
    println!("cargo::rustc-env=BUILD_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=BUILD_PROFILE={profile}, opt-level {level}");
    println!("cargo::rustc-env=BUILD_RUSTFLAGS={flags}");
}
