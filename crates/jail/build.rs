//! Builds the cell library (`src/sys/cell`) into bytes that the crate carries.
//!
//! It is one `rustc` call without dependencies, because a library cannot have a shared object as an artifact dependency
//! and embedders should not have to install one.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/sys/cell");
    println!("cargo::rerun-if-changed=src/sys/kernel.rs");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(belljar_cell_library)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("libbelljar_cell.so");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        std::fs::write(&out, b"").expect("OUT_DIR is writable");
        return;
    }
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc
        .args(["--crate-name", "belljar_cell", "--crate-type", "cdylib", "--edition", "2024"])
        .args(["--cfg", "belljar_cell_library"])
        .args([
            "-C",
            "opt-level=2",
            "-C",
            "panic=abort",
            "-C",
            "strip=symbols",
            "-C",
            "lto=fat",
            "-C",
            "codegen-units=1",
        ])
        .args(["--target", &env::var("TARGET").expect("cargo sets TARGET")])
        .arg("-o")
        .arg(&out)
        .arg("src/sys/cell/lib.rs");
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let status = rustc.status().expect("rustc runs, as it has built this script");
    assert!(status.success(), "building the cell library failed: {rustc:?}");
}
