//! `:files`, `:get` and `:put`: the files of the session between two steps.

use std::io;
use std::path::Path;

use anyhow::Context;
use belljar::{RuntimeError, Session};

use crate::error::CliError;
use crate::files::{Existing, save};
use crate::printer::Printer;
use crate::terminal_text::quoted;
use crate::units;

/// How long a file may be that is copied to this machine in one piece.
const LONGEST: u64 = 1 << 30;

/// Lists the files.
pub(crate) async fn list(session: &Session, printer: &Printer) -> Result<(), CliError> {
    let entries = session.files().list().await.map_err(explained)?;
    if entries.is_empty() {
        return Ok(printer.note("There are no files yet.")?);
    }
    let lines = entries.iter().map(|entry| {
        let size = if entry.is_directory { "directory".to_owned() } else { units::shown(entry.size) };
        // The session chose these names.
        format!("  {size:>12}  {}\n", quoted(&entry.path))
    });
    Ok(printer.text(&lines.collect::<String>())?)
}

/// Copies a file to this machine. An existing file is not replaced unless it is named.
pub(crate) async fn get(session: &Session, printer: &Printer, argument: &str) -> Result<(), CliError> {
    let (name, here) = two(argument);
    if name.is_empty() {
        return Err(CliError::Input(anyhow::anyhow!("name the file: `:get NAME` or `:get NAME HERE`")));
    }
    let (place, existing) = match here {
        Some(here) => (Path::new(here), Existing::IsReplaced),
        None => {
            let own = Path::new(name).file_name().map(Path::new);
            (own.with_context(|| format!("{name:?} names no file"))?, Existing::Stays)
        }
    };
    let bytes = session.files().read(name, LONGEST).await.map_err(explained)?;
    let own = place.file_name().and_then(|own| own.to_str());
    let own = own.with_context(|| format!("{} names no file", place.display()))?;
    let directory = place.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    if let Err(error) = save(directory, own, &bytes, existing).await {
        if error.kind() == io::ErrorKind::AlreadyExists {
            let said =
                format!("{} exists here; say where the copy goes: `:get {name} HERE`", place.display());
            return Err(CliError::Input(anyhow::anyhow!(said)));
        }
        return Err(CliError::Input(anyhow::Error::new(error).context(place.display().to_string())));
    }
    Ok(printer.note(&format!("saved {} ({})", place.display(), units::shown(bytes.len() as u64)))?)
}

/// Copies a file or directory of this machine into the session.
pub(crate) async fn put(session: &Session, printer: &Printer, argument: &str) -> Result<(), CliError> {
    let (here, name) = two(argument);
    let own = Path::new(here).file_name().and_then(|name| name.to_str());
    let name = match name.or(own) {
        Some(name) => name,
        None => return Err(nothing_named().into()),
    };
    session.files().put(name, Path::new(here)).await.map_err(explained)?;
    Ok(printer.note(&format!("{name} is in the session's directory"))?)
}

fn nothing_named() -> anyhow::Error {
    anyhow::anyhow!("name the file: `:put HERE` or `:put HERE NAME`")
}

/// The first word, and the rest if there is one.
fn two(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, Some(rest.trim()).filter(|rest| !rest.is_empty())),
        None => (argument, None),
    }
}

/// A mistake in a name is no reason to leave the shell.
fn explained(error: RuntimeError) -> CliError {
    match error {
        RuntimeError::Files(error) => CliError::Input(error.into()),
        error => error.into(),
    }
}
