//! `belljar artifact`: files in versions.

use std::fs::OpenOptions;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::{Context as _, anyhow};
use belljar::artifacts::{ArtifactError, ArtifactInfo, ArtifactService, ArtifactStore, parse_artifact_ref};
use belljar::engine::{Bytes, open_file};
use belljar::workspace::mime_type;
use futures_core::Stream;
use serde::Serialize;

use super::ws::saving::{in_the_way, may_be_replaced};
use crate::args::{ArtifactCommand, ArtifactStoreArgs, LoadArgs, SaveArgs};
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::printer::{Output, Printer};
use crate::terminal_text::quoted;

pub(super) async fn artifact(command: ArtifactCommand) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    // Only a half loaded file has to be removed. A signal ends anything else at once: a save that
    // is interrupted is not seen.
    let is_load =
        matches!(&command, ArtifactCommand::Load(options) if options.to.as_deref() != Some(Path::new("-")));
    if !is_load {
        return obey(command, &printer).await;
    }
    let mut interrupts = Interrupts::listen()?;
    tokio::select! {
        outcome = obey(command, &printer) => outcome,
        interrupt = interrupts.next() => Ok(End::Interrupted(interrupt)),
    }
}

async fn obey(command: ArtifactCommand, printer: &Printer) -> Result<End, CliError> {
    match command {
        ArtifactCommand::Save(options) => save(&options, printer).await?,
        ArtifactCommand::Load(options) => load(&options).await?,
        ArtifactCommand::Ls(options) => {
            let names = open(&options.store)?.list_keys(&options.store.session.session).await?;
            if options.json {
                printer.json(&Names { names })?;
            } else {
                names.iter().try_for_each(|name| printer.text(&format!("{}\n", quoted(name))))?;
            }
        }
        ArtifactCommand::Versions(options) => {
            let session = &options.store.session.session;
            let versions = open(&options.store)?.versions(session, &options.name).await?;
            match options.json {
                _ if versions.is_empty() => return Err(ArtifactError::NotFound { name: options.name }.into()),
                true => printer.json(&Versions { name: options.name, versions })?,
                false => versions.iter().try_for_each(|version| printer.text(&format!("{version}\n")))?,
            }
        }
        ArtifactCommand::Rm(options) => {
            let (store, session) = (open(&options.store)?, &options.store.session.session);
            if store.versions(session, &options.name).await?.is_empty() {
                return Err(ArtifactError::NotFound { name: options.name }.into());
            }
            store.delete(session, &options.name).await?;
        }
    }
    Ok(End::Done)
}

#[derive(Serialize)]
struct Names {
    names: Vec<String>,
}

#[derive(Serialize)]
struct Versions {
    name: String,
    versions: Vec<u64>,
}

fn open(options: &ArtifactStoreArgs) -> Result<ArtifactStore, CliError> {
    data::artifacts(options.store.as_deref())
}

async fn save(options: &SaveArgs, printer: &Printer) -> Result<(), CliError> {
    const SNIFFED: u64 = 512;
    let is_stdin = options.file == Path::new("-");
    let own_name = options.file.file_name().and_then(|name| name.to_str()).filter(|_| !is_stdin);
    let name = options.name.as_deref().or(own_name);
    let name = name.ok_or_else(|| anyhow!("it has no name to keep it under; say one after the file"))?;
    let mut content: Box<dyn Read + Send> = match is_stdin {
        true => Box::new(io::stdin()),
        false => {
            let place = || options.file.display().to_string();
            Box::new(open_file(&options.file).with_context(place)?)
        }
    };
    let mut first = Vec::new();
    content.by_ref().take(SNIFFED).read_to_end(&mut first).context("cannot read it")?;
    let kind = options.mime_type.clone().unwrap_or_else(|| mime_type(name, &first));
    let stream = Box::pin(Pieces { first: Some(Bytes::from(first)), rest: content });
    let session = &options.store.session.session;
    let info: ArtifactInfo = open(&options.store)?.save_stream(session, name, &kind, stream).await?;
    match options.json {
        true => printer.json(&info)?,
        false => printer.text(&format!("{}@{}\n", quoted(&info.name), info.version))?,
    }
    Ok(())
}

/// A reader as a stream. The command has nothing else to do while it reads.
struct Pieces {
    first: Option<Bytes>,
    rest: Box<dyn Read + Send>,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        const PIECE: usize = 256 << 10;
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Poll::Ready(Some(Ok(first)));
        }
        let mut piece = vec![0; PIECE];
        Poll::Ready(match self.rest.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some(Ok(piece.into()))
            }
            Err(error) => Some(Err(error)),
        })
    }
}

async fn load(options: &LoadArgs) -> Result<(), CliError> {
    let wanted = parse_artifact_ref(&options.reference)?;
    let session = &options.store.session.session;
    let opened = open(&options.store)?.open(session, &wanted.name, wanted.version).await?;
    let mut opened = opened.ok_or_else(|| ArtifactError::NotFound { name: wanted.name.clone() })?;
    let own_name = || {
        let last = wanted.name.rsplit(['/', ':']).next().filter(|last| !matches!(*last, "" | "." | ".."));
        last.map(PathBuf::from).ok_or_else(|| anyhow!("its name is none for a file; say one after it"))
    };
    let place = match &options.to {
        Some(to) if to == Path::new("-") => None,
        Some(to) if to.is_dir() => Some(to.join(own_name()?)),
        Some(to) => Some(to.clone()),
        None => Some(own_name()?),
    };
    let Some(place) = place else {
        return hand_on(&mut opened.stream, &mut io::stdout()).await;
    };
    if place.symlink_metadata().is_ok_and(|found| !options.force || !may_be_replaced(&found)) {
        return Err(in_the_way(&place));
    }
    // Beside its place, so that a load that fails changes nothing.
    let half = place.with_file_name(format!(".belljar-{}.tmp", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&half);
    let mut file = made.with_context(|| place.display().to_string())?;
    let half = Half(half);
    hand_on(&mut opened.stream, &mut file).await?;
    std::fs::rename(&half.0, &place).with_context(|| place.display().to_string())?;
    Ok(())
}

/// A file that is not whole yet. One that has its name by then is not found here any more.
struct Half(PathBuf);

impl Drop for Half {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn hand_on(
    stream: &mut belljar::artifacts::ByteStream<'static>,
    to: &mut (impl Write + ?Sized),
) -> Result<(), CliError> {
    while let Some(piece) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        let piece = piece.map_err(CliError::system("read the artifact"))?;
        to.write_all(&piece)?;
    }
    Ok(to.flush()?)
}
