//! Files out of a workspace within limits, and into artifacts.

use std::io::{self, Read};

use belljar_artifacts::{ArtifactContext, ArtifactService, SessionInfo};
use belljar_core::GuestPath;
use belljar_engine::kept::KeptWorkspace;
use futures_util::stream;

use super::collect::{each_match, globs};
use super::{Inner, of_file, record};
use crate::{
    Context, FileRef, OutputManifest, OutputRecord, OutputSpec, Timestamp, Workspace, WorkspaceError,
    mime_type,
};

/// How much of a file is looked at to tell its type.
const SNIFFED: u64 = 512;

impl Inner {
    pub(super) async fn outputs(
        &self,
        ctx: &Context,
        ws: &Workspace,
        spec: OutputSpec,
    ) -> Result<OutputManifest, WorkspaceError> {
        let spec = spec.with_defaults();
        let Some(patterns) = globs(&spec.globs)? else { return Ok(OutputManifest::default()) };
        let service = match spec.save {
            true => Some(artifacts(ctx)?),
            false => None,
        };
        let kept = self.kept(ws)?;
        let limits = spec.clone();
        let mut manifest = kept
            .with(move |tree| {
                let mut manifest = OutputManifest::default();
                let mut left = limits.max_total_bytes;
                each_match(tree, &patterns, &mut |name, size, file| {
                    if manifest.files.len() == limits.max_files || (left == 0 && size > 0) {
                        manifest.limits_hit = true;
                        return Ok(false);
                    }
                    let whole = size.min(limits.max_file_bytes).min(left);
                    let mut content = Vec::new();
                    file.take(if limits.inline { whole } else { whole.min(SNIFFED) })
                        .read_to_end(&mut content)?;
                    let name = name.to_string_lossy().into_owned();
                    let mime_type = mime_type(&name, &content);
                    let truncated = size > whole;
                    left -= whole;
                    manifest.limits_hit |= truncated;
                    if !limits.inline {
                        content.clear();
                    }
                    manifest.files.push(FileRef {
                        name,
                        mime_type,
                        content,
                        size_bytes: size,
                        truncated,
                        ..FileRef::default()
                    });
                    Ok(true)
                })?;
                Ok(manifest)
            })
            .await
            .map_err(WorkspaceError::io("collect from", &ws.path))?;
        if let Some((service, session)) = service {
            save(&kept, &spec, &mut manifest, &*service, &session).await?;
        }
        let entry = OutputRecord {
            globs: spec.globs,
            saved_as: saved(&manifest).map(|file| file.saved_as.clone()).collect(),
            versions: saved(&manifest).map(|file| file.version).collect(),
            limits_hit: manifest.limits_hit,
            timestamp: Timestamp::now(),
        };
        match record::change(&kept, move |record| record.outputs.push(entry)).await {
            Ok(()) => Ok(manifest),
            Err(error) if spec.save => Err(WorkspaceError::PartialOutputCommit {
                manifest: Box::new(manifest),
                source: Box::new(error),
            }),
            // Nothing was saved, so nothing is lost but the record.
            Err(error) => {
                tracing::warn!(%error, "that outputs were collected could not be recorded");
                Ok(manifest)
            }
        }
    }
}

fn saved(manifest: &OutputManifest) -> impl Iterator<Item = &FileRef> {
    manifest.files.iter().filter(|file| !file.saved_as.is_empty())
}

type Keeper = (std::sync::Arc<dyn ArtifactService>, SessionInfo);

/// Who keeps artifacts for a call.
pub(super) fn artifacts(ctx: &Context) -> Result<Keeper, WorkspaceError> {
    let given = ctx.get::<ArtifactContext>();
    let service = given.as_ref().and_then(|given| given.service.clone());
    let service = service.ok_or(WorkspaceError::NoArtifacts)?;
    Ok((service, given.map(|given| given.session.clone()).unwrap_or_default()))
}

/// Saves every file of a manifest, without holding any in memory. One that is gone by now, or whose
/// name is no text, is not saved; the manifest says that something is missing.
async fn save(
    kept: &KeptWorkspace,
    spec: &OutputSpec,
    manifest: &mut OutputManifest,
    service: &dyn ArtifactService,
    session: &SessionInfo,
) -> Result<(), WorkspaceError> {
    // Before anything is saved: half a file never is.
    if let Some(cut) = manifest.files.iter().find(|file| file.truncated) {
        return Err(WorkspaceError::Truncated { name: cut.name.clone() });
    }
    for file in &mut manifest.files {
        let mut files = kept.files().map_err(of_file("open", &file.name))?;
        let opened = match GuestPath::new(&file.name) {
            Ok(path) => files.open(&path).await.is_ok(),
            Err(_) => false,
        };
        if !opened {
            manifest.limits_hit = true;
            continue;
        }
        let name = format!("{}{}", spec.name_template, file.name);
        // It may have grown since, and may grow for ever.
        let content =
            Box::pin(stream::unfold((files, spec.max_file_bytes), |(mut files, left)| async move {
                let piece = match files.read().await {
                    Ok(piece) if piece.is_empty() => return None,
                    Ok(piece) => piece,
                    Err(error) => return Some((Err(error), (files, 0))),
                };
                let grown = || Err(io::Error::new(io::ErrorKind::FileTooLarge, "it grows while it is saved"));
                match left.checked_sub(piece.len() as u64) {
                    Some(left) => Some((Ok(piece), (files, left))),
                    None => Some((grown(), (files, 0))),
                }
            }));
        let info = service.save_stream(session, &name, &file.mime_type, content).await;
        let info = info.map_err(WorkspaceError::engine("artifact", "save an output"))?;
        (file.saved_as, file.version) = (name, info.version);
    }
    Ok(())
}
