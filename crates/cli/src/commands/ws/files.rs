//! Files into a workspace and out of it.

use std::fs::{self, OpenOptions};
use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use belljar::OutputStream;
use belljar::config::GuestPath;
use belljar::engine::{EntryKind, random_hex};
use belljar::program::ProgramSink;
use belljar::workspace::OpenWorkspace;
use rustix::io::Errno;

use super::saving::{Saved, below, list, save};
use super::scene::Scene;
use crate::args::{GetArgs, PutArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::program::input::on_a_thread;
use crate::program::{Shown, output};
use crate::terminal_text::quoted;

pub(super) async fn put(scene: &Scene<'_>, options: &PutArgs) -> Result<End, CliError> {
    let workspace = scene.find(&options.name)?;
    let to = options.to.as_deref().unwrap_or_default();
    if options.sources.iter().any(|source| source == Path::new("-")) {
        if options.sources.len() > 1 || to.is_empty() || to.ends_with('/') {
            return Err(anyhow!("stdin has no name: put it alone, and say its name with --to PATH").into());
        }
        if io::stdin().is_terminal() {
            scene.printer.note("Type the file; Ctrl-D on a line of its own ends it.")?;
        }
        let spool = Spool::of_stdin().await.map_err(CliError::system("keep what stdin has in a file"))?;
        workspace.put_from(&spool.0, to).await?;
        return Ok(End::Done);
    }
    let into = options.sources.len() > 1 || is_directory(&workspace, to).await?;
    let below = to.trim_matches('/');
    for source in &options.sources {
        let is_content = source.as_os_str().as_encoded_bytes().ends_with(b"/.") || source == Path::new(".");
        let target = match is_content || !into {
            true => to.to_owned(),
            false => join(below, &name_of(source)?),
        };
        if is_content {
            let directory = fs::metadata(source).with_context(|| source.display().to_string())?;
            if !directory.is_dir() {
                return Err(anyhow!("{} is no directory", source.display()).into());
            }
        }
        workspace.put_from(source, &target).await?;
    }
    Ok(End::Done)
}

fn join(directory: &str, name: &str) -> String {
    if matches!(directory, "" | ".") { name.to_owned() } else { format!("{directory}/{name}") }
}

/// What a file is called. `..` has no name of its own.
fn name_of(path: &Path) -> anyhow::Result<String> {
    let named = match path.file_name() {
        Some(name) => name.to_owned(),
        None => match fs::canonicalize(path).ok().and_then(|real| Some(real.file_name()?.to_owned())) {
            Some(name) => name,
            None => bail!("{} has no name; say one with --to PATH", path.display()),
        },
    };
    named.into_string().map_err(|name| anyhow!("the name {name:?} is not text; say another with --to PATH"))
}

/// Whether something is put into a path, and not in its place.
async fn is_directory(workspace: &OpenWorkspace, path: &str) -> Result<bool, CliError> {
    let name = path.trim_matches('/');
    if matches!(name, "" | ".") || path.ends_with('/') {
        return Ok(true);
    }
    let Ok(name) = GuestPath::new(name) else { return Ok(false) };
    let found = workspace.look(&name).await?;
    Ok(found.is_some_and(|(kind, _)| kind == EntryKind::Directory))
}

/// What stdin had, in a file that is gone with this.
struct Spool(PathBuf);

impl Spool {
    async fn of_stdin() -> io::Result<Self> {
        let name = format!("belljar-stdin-{}", random_hex());
        let spool = Self(std::env::temp_dir().join(name));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&spool.0)?;
        on_a_thread(move || io::copy(&mut io::stdin().lock(), &mut file)).await?;
        Ok(spool)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) async fn get(scene: &Scene<'_>, options: &GetArgs) -> Result<End, CliError> {
    let workspace = scene.find(&options.name)?;
    let asked = options.path.trim_matches('/');
    let path = match asked {
        "" | "." => None,
        text => Some(GuestPath::new(text).with_context(|| format!("{text:?}"))?),
    };
    if options.to.as_deref() == Some(Path::new("-")) {
        let path = path.ok_or_else(|| anyhow!("only a file can be written to stdout"))?;
        return show(scene, &workspace, &path).await;
    }
    let found = match &path {
        None => None,
        Some(path) => {
            let found = workspace.look(path).await?;
            Some(found.ok_or_else(|| anyhow!("{} has no {asked:?}", options.name))?)
        }
    };
    let own_name = path.as_ref().and_then(|path| path.components().next_back()).map(str::to_owned);
    let here = PathBuf::from(".");
    // A directory that is there gets it under its own name; otherwise the last name is its new one.
    let (directory, name) = match options.to.as_ref().unwrap_or(&here) {
        to if to.is_dir() => (to.clone(), own_name),
        to if found.is_none() => (to.clone(), None),
        to => {
            let name = to.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| anyhow!("{} is no name for it", to.display()))?;
            let above = to.parent().filter(|above| !above.as_os_str().is_empty());
            (above.unwrap_or(&here).to_owned(), Some(name.to_owned()))
        }
    };
    let (all, left) = match found {
        Some((EntryKind::Link, _)) => {
            return Err(is_a_link(asked).into());
        }
        Some((EntryKind::File, is_executable)) => {
            let to = GuestPath::new(name.as_deref().unwrap_or_default()).map_err(anyhow::Error::from)?;
            let from = path.clone().unwrap_or_else(|| to.clone());
            (vec![Saved { from, to, is_directory: false, is_executable }], Vec::new())
        }
        Some((EntryKind::Other, _)) => return Err(anyhow!("{asked:?} is no file and no directory").into()),
        _ => {
            let entries = list(&mut *workspace.files()?).await?;
            below(&entries, path.as_ref(), name.as_deref())
        }
    };
    save(&workspace, &directory, &all, options.force).await?;
    for line in left {
        scene.printer.warning(&quoted(&line))?;
    }
    Ok(End::Done)
}

fn is_a_link(path: &str) -> anyhow::Error {
    anyhow!("{path:?} is or leads through a link, and links are not followed; name what it leads to")
}

/// Writes a file to stdout.
async fn show(scene: &Scene<'_>, workspace: &OpenWorkspace, path: &GuestPath) -> Result<End, CliError> {
    let mut files = workspace.files()?;
    files.open(path).await.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => is_a_link(path.as_str()),
        _ => anyhow::Error::from(error).context(format!("cannot read {}", path.as_str())),
    })?;
    let (mut sink, mut printed) = output(Some(Shown::new(scene.printer.clone())))?;
    loop {
        tokio::select! {
            () = poll_fn(|cx| sink.poll_room(cx)) => {}
            Err(error) = printed.failed() => return Err(CliError::Output(error)),
        }
        let piece = files.read().await.with_context(|| format!("cannot read {}", path.as_str()))?;
        if piece.is_empty() {
            break;
        }
        sink.take(OutputStream::Stdout, &piece);
    }
    drop(sink);
    printed.done().await.map_err(CliError::Output)?;
    Ok(End::Done)
}
