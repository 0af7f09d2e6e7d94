//! Tells the linker where the module begins when it is run as a program (`src/command.rs`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "x86_64") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-e,belljar_start");
    }
}
