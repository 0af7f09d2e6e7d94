//! Files for a script, and files it made, by the options of the command line.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use belljar::config::GuestPath;
use belljar::engine::{Bytes, make_directory, real_path};
use belljar::files::{
    CollectLimits, Collected, CollectedFile, FileContent, InputFile, Stdin, stdin_from_reader,
};
use belljar::{Display, ExecutionRequest};
use rustix::fs::FileType;

use crate::args::{FileArgs, RunArgs};
use crate::units;

/// Adds to a request what the options say about files.
pub(crate) fn add(
    mut request: ExecutionRequest,
    options: &FileArgs,
    scratch_mb: u64,
) -> Result<ExecutionRequest> {
    for option in &options.given {
        request = add_file(request, option).with_context(|| format!("--file {option:?}"))?;
    }
    if let Some(directory) = &options.out {
        let everything = vec!["*".to_owned()];
        let patterns = if options.collect.is_empty() { everything } else { options.collect.clone() };
        request = request.collecting(patterns).collecting_into(directory);
        // A file may claim to be larger than the disk it is on, or have many names.
        let bytes = (scratch_mb << 20).saturating_mul(2);
        request.collect_limits = CollectLimits { files: 10_000, bytes };
        request.keep_existing = is_where_one_works(directory);
    }
    Ok(request)
}

/// Refuses a file that would have the script's own name, and is not the script.
pub(crate) fn refuse_another_script(request: &ExecutionRequest, script: Option<&Path>) -> Result<()> {
    let (Some(name), Some(script)) = (&request.name, script) else { return Ok(()) };
    let is_other = |file: &&InputFile| match &file.content {
        FileContent::Host(path) if file.path == *name => {
            fs::canonicalize(path).ok() != fs::canonicalize(script).ok()
        }
        _ => false,
    };
    match request.files.iter().find(is_other) {
        Some(_) => {
            bail!("--file: {name:?} is the script's own name; give the file another one, by PATH:NAME")
        }
        None => Ok(()),
    }
}

/// Whether a directory is the current one or above it. What is there has a meaning of its own: the
/// script itself, a `Makefile`. So nothing of it is replaced.
fn is_where_one_works(directory: &Path) -> bool {
    let real = fs::canonicalize(directory);
    let here = std::env::current_dir().and_then(fs::canonicalize);
    matches!((real, here), (Ok(real), Ok(here)) if here.starts_with(&real))
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
pub(crate) fn is_nothing() -> bool {
    let Ok(found) = rustix::fs::fstat(io::stdin()) else { return true };
    let null = rustix::fs::stat("/dev/null");
    FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
        && null.is_ok_and(|null| null.st_rdev == found.st_rdev)
}

/// Whether stdin is a terminal that somebody else reads. Reading it would stop this process.
pub(crate) fn is_in_the_background() -> bool {
    io::stdin().is_terminal()
        && rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group != rustix::process::getpgrp())
}

/// Reads `PATH` or `PATH:NAME`, for a program that is no script. `.` is what is in a directory.
pub(crate) fn given_file(option: &str) -> Result<(PathBuf, String)> {
    let request = add_file(ExecutionRequest::new(""), option)?;
    match request.files.into_iter().next() {
        Some(InputFile { path, content: FileContent::Host(host), .. }) => Ok((host, path)),
        _ => bail!("it is no file"),
    }
}

/// Reads `PATH` or `PATH:NAME`.
fn add_file(request: ExecutionRequest, option: &str) -> Result<ExecutionRequest> {
    let (path, name) = match option.rsplit_once(':') {
        Some((path, name)) if !Path::new(option).exists() => (Path::new(path), Some(name)),
        _ => (Path::new(option), None),
    };
    // Here, so that nobody has to wait for it.
    let real = real_path(path).with_context(|| path.display().to_string())?;
    let metadata = fs::metadata(&real).with_context(|| path.display().to_string())?;
    if name == Some(".") {
        if !metadata.is_dir() {
            bail!("`:.` is for what is in a directory, and {} is a file", path.display());
        }
        return Ok(request.with_file(".", path));
    }
    let name = match name {
        Some(name) => name.to_owned(),
        None => {
            let name = real.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            name.ok_or_else(|| anyhow!("it has no name that a script could use; write PATH:NAME"))?
        }
    };
    Ok(request.with_file(name, path))
}

/// Writes what a script displayed to files of a directory, beside those it made. Returns a line
/// about each, and a warning about each that could not be written.
pub(crate) async fn save_displays(
    directory: &Path,
    displays: &[Display],
    collected: &[CollectedFile],
) -> (Vec<String>, Vec<String>) {
    let existing = Existing::in_directory(directory);
    let (mut lines, mut warnings) = (Vec::new(), Vec::new());
    // A file of the script's, or a directory that one is in.
    let is_taken = |name: &str| collected.iter().any(|file| file.name.split('/').next() == Some(name));
    for (display, number) in displays.iter().zip(1..) {
        for (name, bytes) in display.files(number) {
            let free = (1..).map(|turn| if turn == 1 { name.clone() } else { format!("{turn}-{name}") });
            let name = free.into_iter().find(|name| !is_taken(name)).unwrap_or(name);
            let shown = directory.join(&name).display().to_string();
            match save(directory, &name, bytes, existing).await {
                Ok(()) => lines.push(format!("saved {shown} ({})", units::shown(bytes.len() as u64))),
                Err(error) => warnings.push(format!("{shown} is not saved: {error}")),
            }
        }
    }
    (lines, warnings)
}

/// Writes files that a result holds to a directory. Returns a line about each, and a warning about
/// each that could not be written.
pub(crate) async fn save_collected(
    directory: &Path,
    collected: &[CollectedFile],
) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut warnings) = (Vec::new(), Vec::new());
    let existing = Existing::in_directory(directory);
    for file in collected {
        let (shown, Some(bytes)) = (directory.join(&file.name), file.bytes()) else { continue };
        match save_as(directory, &file.name, (bytes, file.is_executable), existing).await {
            Ok(()) => lines.push(format!("saved {} ({})", shown.display(), units::shown(file.size))),
            Err(error) => warnings.push(format!("{} is not saved: {error}", shown.display())),
        }
    }
    (lines, warnings)
}

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Stays,
    IsReplaced,
}

impl Existing {
    fn in_directory(directory: &Path) -> Self {
        if is_where_one_works(directory) { Self::Stays } else { Self::IsReplaced }
    }
}

/// Writes a file into a directory. A link of that name is replaced, and never written through.
pub(crate) async fn save(directory: &Path, name: &str, bytes: &[u8], existing: Existing) -> io::Result<()> {
    save_as(directory, name, (bytes, false), existing).await
}

async fn save_as(
    directory: &Path,
    name: &str,
    (bytes, is_executable): (&[u8], bool),
    existing: Existing,
) -> io::Result<()> {
    let mut place = make_directory(directory)?;
    let path = GuestPath::new(name).map_err(io::Error::other)?;
    let found = fs::symlink_metadata(directory.join(name));
    let is_there = !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound);
    if existing == Existing::Stays && is_there {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is one where it should go"));
    }
    place.create(&path, is_executable).await?;
    place.write(Bytes::copy_from_slice(bytes)).await?;
    place.finish().await
}

/// A line about a file that was saved.
pub(crate) fn saved(file: &CollectedFile) -> Option<String> {
    match &file.content {
        Collected::Path(path) => Some(format!("saved {} ({})", path.display(), units::shown(file.size))),
        _ => None,
    }
}
