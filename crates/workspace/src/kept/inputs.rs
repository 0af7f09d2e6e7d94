//! Inputs into a workspace: artifacts, files of the host, of the workspace itself, and of skills.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use belljar_artifacts::parse_artifact_ref;
use belljar_core::GuestPath;
use belljar_engine::EntryKind;
use belljar_engine::kept::KeptWorkspace;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::outputs::artifacts;
use super::put::asked;
use super::{Inner, of_file, record};
use crate::layout::{INPUTS, SCRIPT_MODE, SKILLS};
use crate::{Context, InputRecord, InputSpec, Timestamp, Workspace, WorkspaceError, WorkspaceMetadata};

/// Where inputs go, and for whom.
#[derive(Clone, Copy)]
struct Place<'a> {
    ctx: &'a Context,
    ws: &'a Workspace,
    kept: &'a KeptWorkspace,
}

impl Inner {
    /// Stages inputs, in order. Those that were staged are recorded, also if a later one fails.
    pub(super) async fn stage_all(
        &self,
        ctx: &Context,
        ws: &Workspace,
        specs: Vec<InputSpec>,
    ) -> Result<(), WorkspaceError> {
        let kept = self.kept(ws)?;
        let place = Place { ctx, ws, kept: &kept };
        let mut records: Vec<InputRecord> = Vec::new();
        let mut failure = None;
        for spec in &specs {
            match self.stage_one(place, spec, &records).await {
                Ok(record) => records.push(record),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        record::change(&kept, move |record| record.inputs.extend(records)).await?;
        failure.map_or(Ok(()), Err)
    }

    async fn stage_one(
        &self,
        place: Place<'_>,
        spec: &InputSpec,
        earlier: &[InputRecord],
    ) -> Result<InputRecord, WorkspaceError> {
        let Place { ws, kept, .. } = place;
        let invalid = |reason: &str| WorkspaceError::InvalidInput {
            from: spec.from.clone(),
            reason: reason.to_owned(),
        };
        let (scheme, source) = spec
            .from
            .split_once("://")
            .ok_or_else(|| WorkspaceError::UnsupportedScheme { from: spec.from.clone() })?;
        let to = match spec.to.trim() {
            "" => asked(&format!(
                "{INPUTS}/{}",
                base_name(scheme, source).ok_or_else(|| invalid("it has no name"))?
            ))?,
            given => asked(given)?,
        };
        let mut staged = InputRecord {
            from: spec.from.clone(),
            to: to.as_str().to_owned(),
            resolved: source.to_owned(),
            version: None,
            mode: "copy".to_owned(),
            timestamp: Timestamp::now(),
        };
        match scheme {
            "artifact" => {
                let asked = parse_artifact_ref(source).map_err(|error| invalid(&error.to_string()))?;
                let pinned = match (asked.version, spec.pin) {
                    (None, true) => pinned_version(kept, &asked.name, &staged.to, earlier).await?,
                    (version, _) => version,
                };
                staged.version = Some(self.stage_artifact(place, &asked.name, pinned, &to).await?);
                staged.resolved = asked.name;
            }
            "host" => {
                let path = self.granted(source)?;
                staged.resolved = path.display().to_string();
                // A link out of a cell leads nowhere.
                if spec.wants_link() && self.capabilities.isolation == "none" {
                    staged.mode = "link".to_owned();
                    link(kept, &to, path.into_os_string()).await?;
                } else {
                    self.copy_host(ws, kept, &path, &to).await?;
                }
            }
            "workspace" | "skill" => {
                let from = match scheme {
                    "skill" => asked(&format!("{SKILLS}/{source}")),
                    _ => asked(source),
                }?;
                staged.resolved = from.as_str().to_owned();
                if spec.wants_link() {
                    staged.mode = "link".to_owned();
                    exists(kept, &from).await?;
                    link(kept, &to, relative(&to, &from).into_os_string()).await?;
                } else {
                    copy_within(kept, from, to).await?;
                }
            }
            _ => return Err(WorkspaceError::UnsupportedScheme { from: spec.from.clone() }),
        }
        Ok(staged)
    }

    async fn stage_artifact(
        &self,
        Place { ctx, ws, kept }: Place<'_>,
        name: &str,
        version: Option<u64>,
        to: &GuestPath,
    ) -> Result<u64, WorkspaceError> {
        let (service, session) = artifacts(ctx)?;
        let failed = || WorkspaceError::engine("artifact", "load an input");
        let opened = service.open(&session, name, version).await.map_err(failed())?;
        let opened =
            opened.ok_or_else(|| WorkspaceError::NotFound { what: "artifact", name: name.to_owned() })?;
        self.check_room(ws, kept, opened.info.size_bytes).await?;
        write_stream(kept, to, opened.stream).await.map_err(of_file("write", to.as_str()))?;
        Ok(opened.info.version)
    }

    /// The real path of something of the host's, if it is below a root that was granted.
    fn granted(&self, source: &str) -> Result<PathBuf, WorkspaceError> {
        let given = Path::new("/").join(source.trim_start_matches('/'));
        let not_granted =
            || WorkspaceError::NotGranted { what: "host path", name: given.display().to_string() };
        // Not even whether it is there is said of anything else.
        let path = belljar_engine::real_path(&given).map_err(|_| not_granted())?;
        let roots = self.options.host_roots.iter().filter_map(|root| belljar_engine::real_path(root).ok());
        match roots.into_iter().any(|root| path.starts_with(root)) {
            true => Ok(path),
            false => Err(not_granted()),
        }
    }

    async fn copy_host(
        &self,
        ws: &Workspace,
        kept: &KeptWorkspace,
        path: &Path,
        to: &GuestPath,
    ) -> Result<(), WorkspaceError> {
        let found = std::fs::symlink_metadata(path).map_err(WorkspaceError::io("read", path))?;
        if found.is_dir() {
            let to = to.as_str().to_owned();
            let spec = crate::DirectorySpec { source: path.to_owned(), to, ..Default::default() };
            return self.stage(ws, spec).await;
        }
        use std::os::unix::fs::MetadataExt;
        self.check_room(ws, kept, found.len()).await?;
        let file = belljar_engine::open_file(path).map_err(WorkspaceError::io("read", path))?;
        let (to, mode) = (to.clone(), found.mode() & 0o777);
        let copied = kept.with(move |tree| tree.copy_file_from(&file, &to, mode | 0o600));
        copied.await.map_err(WorkspaceError::io("copy", path))
    }
}

/// Writes what comes piece by piece. Nobody sees the file before it is whole, and if the caller
/// gives up nothing of it stays.
async fn write_stream(
    kept: &KeptWorkspace,
    to: &GuestPath,
    mut content: belljar_artifacts::ByteStream<'static>,
) -> io::Result<()> {
    /// Pieces on their way.
    const WAITING: usize = 4;
    let (sender, mut receiver) = mpsc::channel::<Option<Bytes>>(WAITING);
    let place = to.clone();
    let writing = kept.with(move |tree| {
        tree.replace(&place, SCRIPT_MODE, &mut |file| {
            loop {
                match receiver.blocking_recv() {
                    Some(Some(piece)) => file.write_all(&piece)?,
                    Some(None) => return Ok(()),
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
        })
    });
    let reading = async move {
        while let Some(piece) = content.next().await {
            // If nobody writes any more, that says why.
            if sender.send(Some(piece?)).await.is_err() {
                return Ok(());
            }
        }
        let _ = sender.send(None).await;
        Ok(())
    };
    let (written, read) = tokio::join!(writing, reading);
    read.and(written)
}

/// The version that was staged first at that place.
async fn pinned_version(
    kept: &KeptWorkspace,
    name: &str,
    to: &str,
    earlier: &[InputRecord],
) -> Result<Option<u64>, WorkspaceError> {
    let record: WorkspaceMetadata =
        kept.with(record::read).await.map_err(WorkspaceError::io("read", crate::layout::METADATA))?;
    let of_same = |record: &&InputRecord| {
        let is_named = record.resolved == name
            || record
                .from
                .strip_prefix("artifact://")
                .and_then(|from| parse_artifact_ref(from).ok())
                .is_some_and(|from| from.name == name);
        record.to == to && record.version.is_some() && is_named
    };
    let latest = earlier.iter().rev().chain(record.inputs.iter().rev()).find(of_same);
    Ok(latest.and_then(|record| record.version))
}

async fn exists(kept: &KeptWorkspace, path: &GuestPath) -> Result<(), WorkspaceError> {
    let looked = path.clone();
    let found = kept.with(move |tree| tree.look(&looked).map(drop)).await;
    found.map_err(|error| absent(path, error))
}

fn absent(path: &GuestPath, error: io::Error) -> WorkspaceError {
    match error.kind() {
        io::ErrorKind::NotFound => WorkspaceError::NotFound { what: "file", name: path.to_string() },
        _ => of_file("open", path.as_str())(error),
    }
}

async fn link(
    kept: &KeptWorkspace,
    to: &GuestPath,
    target: std::ffi::OsString,
) -> Result<(), WorkspaceError> {
    let place = to.clone();
    let linked = kept.with(move |tree| tree.link(&place, &target));
    linked.await.map_err(of_file("link", to.as_str()))
}

/// Copies a file or a directory of the workspace to another place of it.
async fn copy_within(kept: &KeptWorkspace, from: GuestPath, to: GuestPath) -> Result<(), WorkspaceError> {
    let named = from.clone();
    let copied = kept.with(move |tree| {
        let (kind, mode) = tree.look(&from)?;
        if kind == EntryKind::Directory {
            if Path::new(to.as_str()).starts_with(from.as_str()) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it would be copied into itself"));
            }
            return tree.copy_from(&tree.below(&from)?, Some(&to)).map(drop);
        }
        let (file, _) = tree.open(&from)?;
        tree.copy_file_from(&file, &to, mode)
    });
    copied.await.map_err(|error| absent(&named, error))
}

/// The way from the place of a link to what it stands for.
fn relative(link: &GuestPath, target: &GuestPath) -> PathBuf {
    let depth = link.as_str().split('/').count() - 1;
    let mut way: PathBuf = std::iter::repeat_n("..", depth).collect();
    way.push(target.as_str());
    way
}

/// The last name of a source. An artifact loses its version and its directories.
fn base_name(scheme: &str, source: &str) -> Option<String> {
    let source = match scheme {
        "artifact" => parse_artifact_ref(source).map_or_else(|_| source.to_owned(), |found| found.name),
        _ => source.to_owned(),
    };
    let name = Path::new(source.trim_end_matches('/')).file_name().map(OsStr::to_os_string)?;
    name.into_string().ok().filter(|name| !name.is_empty())
}
