//! Files for a script, and files it made, by the options of the command line.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use belljar::ExecutionRequest;
use belljar::files::{CollectLimits, Collected, CollectedFile, Stdin, stdin_from_reader};
use rustix::fs::FileType;

use crate::args::RunArgs;

/// Adds to a request what the options say about files and stdin.
pub(crate) fn add(
    mut request: ExecutionRequest,
    options: &RunArgs,
    scratch_mb: u64,
) -> Result<ExecutionRequest> {
    for option in &options.files {
        request = add_file(request, option).with_context(|| format!("--file {option:?}"))?;
    }
    if let Some(directory) = &options.out {
        let everything = vec!["*".to_owned()];
        let patterns = if options.collect.is_empty() { everything } else { options.collect.clone() };
        request = request.collecting(patterns).collecting_into(directory);
        // A file may be larger than its content, so this must be limited too.
        let bytes = (scratch_mb << 20).saturating_mul(4).max(16 << 30);
        request.collect_limits = CollectLimits { files: 10_000, bytes };
    }
    Ok(request)
}

/// What the script reads: this program's own stdin, unless the script itself came from there.
pub(crate) fn stdin(options: &RunArgs) -> Stdin {
    let is_script = options.code.is_none()
        && options.module.is_none()
        && options.file.as_deref().is_none_or(|path| path == Path::new("-"));
    if is_script || options.no_stdin || is_nothing() || is_in_the_background() {
        return Stdin::Empty;
    }
    stdin_from_reader(io::stdin())
}

/// Whether stdin is the null device.
fn is_nothing() -> bool {
    let Ok(found) = rustix::fs::fstat(io::stdin()) else { return true };
    let null = rustix::fs::stat("/dev/null");
    FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
        && null.is_ok_and(|null| null.st_rdev == found.st_rdev)
}

/// Whether stdin is a terminal that somebody else reads. Reading it would stop this process.
fn is_in_the_background() -> bool {
    io::stdin().is_terminal()
        && rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group != rustix::process::getpgrp())
}

/// Reads `PATH` or `PATH:NAME`.
fn add_file(request: ExecutionRequest, option: &str) -> Result<ExecutionRequest> {
    let (path, name) = match option.rsplit_once(':') {
        Some((path, name)) if !Path::new(option).exists() => (Path::new(path), Some(name)),
        _ => (Path::new(option), None),
    };
    let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
    if name == Some(".") {
        if !metadata.is_dir() {
            bail!("`:.` is for what is in a directory, and {} is a file", path.display());
        }
        return add_children(request, path);
    }
    let name = match name {
        Some(name) => name.to_owned(),
        None => {
            let real = fs::canonicalize(path)?;
            // As it was named, if it was: a link keeps its own name.
            let name = path.file_name().or_else(|| real.file_name());
            let name = name.and_then(|name| name.to_str()).map(str::to_owned);
            name.ok_or_else(|| anyhow!("it has no name that a script could use; write PATH:NAME"))?
        }
    };
    Ok(request.with_file(name, path))
}

fn add_children(mut request: ExecutionRequest, directory: &Path) -> Result<ExecutionRequest> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", entry.path().display()))?;
        request = request.with_file(name, entry.path());
    }
    Ok(request)
}

/// A line about a file that was saved.
pub(crate) fn saved(file: &CollectedFile) -> Option<String> {
    match &file.content {
        Collected::Path(path) => Some(format!("saved {} ({})", path.display(), size(file.size))),
        _ => None,
    }
}

/// A size for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
