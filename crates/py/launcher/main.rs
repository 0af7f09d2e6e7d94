//! The `belljar` command of the Python package. The native module beside the package is the command
//! (`src/command.rs`), so this only finds it and becomes it.
//!
//! ```text
//!  PREFIX/bin/belljar ──► PREFIX/lib/python3.X/site-packages/belljar/_belljar.abi3.so
//! ```

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const MODULE: &str = "belljar/_belljar.abi3.so";

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_else(|| OsString::from("belljar"));
    let own = std::env::current_exe().unwrap_or_default();
    let reason = match module(&own) {
        Some(module) => {
            let error = Command::new(&module).arg0(name).args(words).exec();
            format!("{} cannot be run: {error}", module.display())
        }
        None => {
            format!("the Python package belljar is not beside {}: install it again, with pip", own.display())
        }
    };
    let _ = writeln!(io::stderr(), "belljar: {reason}");
    ExitCode::from(3)
}

/// The module that was installed with this program.
fn module(own: &Path) -> Option<PathBuf> {
    let prefix = own.parent()?.parent()?;
    // `pip install --target DIR` has `DIR/bin` and `DIR/belljar`.
    let mut places = vec![prefix.to_owned()];
    for library in ["lib", "lib64", "local/lib"] {
        let Ok(entries) = prefix.join(library).read_dir() else { continue };
        let names = entries.flatten().map(|entry| entry.path());
        let mut pythons: Vec<PathBuf> = names.filter(|path| is_python(path)).collect();
        pythons.sort();
        for packages in ["site-packages", "dist-packages"] {
            places.extend(pythons.iter().rev().map(|python| python.join(packages)));
        }
    }
    places.into_iter().map(|place| place.join(MODULE)).find(|module| module.is_file())
}

fn is_python(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python3"))
}
