//! Builds the three small programs that the crate carries as bytes: the helper (`src/helper`), the
//! cell library (`src/sys/cell`) and the cells' PID 1 (`src/sys/init`).
//!
//! Each one is a single `rustc` call without dependencies. A library crate cannot depend on another
//! crate's artifact, and embedders should not have to install anything.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/helper");
    println!("cargo::rerun-if-changed=src/spec.rs");
    println!("cargo::rerun-if-changed=src/sys/encoding.rs");
    println!("cargo::rerun-if-changed=src/sys/kept_name.rs");
    println!("cargo::rerun-if-changed=src/sys/cell");
    println!("cargo::rerun-if-changed=src/sys/init");
    println!("cargo::rerun-if-changed=src/sys/kernel");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(belljar_cell_library)");
    println!("cargo::rustc-check-cfg=cfg(belljar_helper)");
    println!("cargo::rustc-check-cfg=cfg(confine)");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    if env::var_os("CARGO_FEATURE_CONFINE").is_none() || !is_linux {
        return;
    }
    println!("cargo::rustc-cfg=confine");
    let helper = ["--crate-type", "bin", "--cfg", "belljar_helper", "-C", "opt-level=s"];
    compile("belljar_helper", &helper, "src/helper/main.rs");
    let library = ["--crate-type", "cdylib", "--cfg", "belljar_cell_library", "-C", "opt-level=2"];
    compile("belljar_cell", &library, "src/sys/cell/lib.rs");
    let init = [
        "--crate-type=bin",
        "-Copt-level=s",
        "-Crelocation-model=static",
        "-Clink-arg=-nostdlib",
        "-Clink-arg=-nostartfiles",
        "-Clink-arg=-static",
        "-Clink-arg=-Wl,--build-id=none",
    ];
    compile("belljar_init", &init, "src/sys/init/main.rs");
}

fn compile(name: &str, options: &[&str], root: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc
        .args(["--crate-name", name, "--edition", "2024"])
        .args(["-C", "panic=abort", "-C", "strip=symbols", "-C", "lto=fat", "-C", "codegen-units=1"])
        .args(["--target", &env::var("TARGET").expect("cargo sets TARGET")])
        .args(options)
        .arg("-o")
        .arg(&out)
        .arg(root);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let status = rustc.status().expect("rustc runs, as it has built this script");
    assert!(status.success(), "building {name} failed: {rustc:?}");
}
