//! Files of sessions and workspaces.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar::RuntimeError;
use belljar::config::GuestPath;
use belljar::engine::{EntryKind, Files};
use belljar::workspace::{OpenWorkspace, mime_type};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::{Answer, Call, decoded};
use super::content::{image_of, said};
use super::room::refused;
use super::uri;
use crate::problem::Problem;
use crate::runs::{DEFAULT, invalid};
use crate::sessions::Held;

/// Files that are listed.
const MOST_ENTRIES: usize = 1000;
/// Bytes of a file in an answer.
pub(super) const MOST_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    path: String,
    session: Option<String>,
    workspace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    path: String,
    text: Option<String>,
    base64: Option<String>,
    session: Option<String>,
    workspace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    session: Option<String>,
    workspace: Option<String>,
}

/// Where files are.
enum Spot {
    Session(Arc<Held>),
    Workspace(OpenWorkspace),
}

impl Call {
    async fn spot(&self, session: Option<&str>, workspace: Option<&str>) -> Result<Spot, Problem> {
        match (session, workspace) {
            (Some(_), Some(_)) => Err(invalid("name a session or a workspace, not both").at("workspace")),
            (Some(id), None) => Ok(Spot::Session(self.app.sessions.find(id, &self.client)?)),
            (None, name) => {
                let name = name.unwrap_or(DEFAULT);
                Ok(Spot::Workspace(self.app.mcp.workspace(&self.app, &self.client, name).await?))
            }
        }
    }

    /// The content of a file.
    pub(super) async fn bytes(
        &self,
        path: &str,
        session: Option<&str>,
        workspace: Option<&str>,
    ) -> Result<Vec<u8>, Problem> {
        match self.spot(session, workspace).await? {
            Spot::Session(held) => {
                let session = held.take()?;
                Ok(session.files().read(path, MOST_BYTES).await.map_err(named(path))?.to_vec())
            }
            Spot::Workspace(workspace) => {
                let path = GuestPath::new(path).map_err(|error| invalid(error.to_string()).at("path"))?;
                let mut files = workspace.files().map_err(refused)?;
                let read = read_all(&mut *files, &path).await;
                let _ = files.close().await;
                read
            }
        }
    }

    pub(super) async fn read_file(&self, wanted: ReadFile) -> Answer {
        let ReadFile { path, session, workspace } = wanted;
        let bytes = self.bytes(&path, session.as_deref(), workspace.as_deref()).await?;
        let mime = mime_type(&path, &bytes);
        let told = json!({"path": path, "size": bytes.len(), "mime_type": mime});
        if let Some(image) = image_of(&mime, &bytes) {
            let mut answer = CallToolResult::success(vec![
                ContentBlock::text(format!("{path}: {mime}, {} bytes", bytes.len())),
                image,
            ]);
            answer.structured_content = Some(told);
            return Ok(answer);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(said(text, told)),
            Err(error) => {
                let blob = BASE64_STANDARD.encode(error.as_bytes());
                let uri = uri::of_file(&path);
                let mut answer = said(format!("{path}: {mime}, {} bytes", error.as_bytes().len()), told);
                let blob = ResourceContents::blob(blob, uri).with_mime_type(mime);
                answer.content.push(ContentBlock::resource(blob));
                Ok(answer)
            }
        }
    }

    pub(super) async fn write_file(&self, wanted: WriteFile) -> Answer {
        let WriteFile { path, text, base64, session, workspace } = wanted;
        let bytes = given(text, base64)?.ok_or_else(|| invalid("give `text`, or `base64`").at("text"))?;
        let size = bytes.len();
        match self.spot(session.as_deref(), workspace.as_deref()).await? {
            Spot::Session(held) => held.take()?.files().put(&path, bytes).await.map_err(named(&path))?,
            Spot::Workspace(workspace) => workspace.put(&path, bytes).await.map_err(refused)?,
        }
        Ok(said(format!("wrote {path} ({size} bytes)"), json!({"path": path, "size": size})))
    }

    pub(super) async fn list_files(&self, wanted: ListFiles) -> Answer {
        let spot = self.spot(wanted.session.as_deref(), wanted.workspace.as_deref()).await?;
        let mut entries: Vec<(String, Option<u64>)> = match spot {
            Spot::Session(held) => {
                let entries = held.take()?.files().list().await.map_err(Problem::from)?;
                entries.into_iter().map(|it| (it.path, (!it.is_directory).then_some(it.size))).collect()
            }
            Spot::Workspace(workspace) => {
                let mut files = workspace.files().map_err(refused)?;
                let listing = files.list(MOST_ENTRIES + 1).await;
                let _ = files.close().await;
                let listing = listing.map_err(|error| invalid(format!("it cannot be listed: {error}")))?;
                let is_directory = |kind| matches!(kind, EntryKind::Directory | EntryKind::ClosedDirectory);
                let told = listing.entries.iter().map(|entry| {
                    let size = (!is_directory(entry.kind)).then_some(entry.size);
                    (entry.path.to_string_lossy().into_owned(), size)
                });
                told.collect()
            }
        };
        entries.sort();
        let is_whole = entries.len() <= MOST_ENTRIES;
        entries.truncate(MOST_ENTRIES);
        let mut lines: Vec<String> = entries.iter().map(line).collect();
        if !is_whole {
            lines.push(format!("these are the first {MOST_ENTRIES}; there are more"));
        }
        let text = if lines.is_empty() { "there are no files".to_owned() } else { lines.join("\n") };
        let told: Vec<Value> = entries
            .iter()
            .map(|(path, size)| json!({"path": path, "size": size, "is_directory": size.is_none()}))
            .collect();
        Ok(said(text, json!({"files": told, "is_whole": is_whole})))
    }
}

fn line((path, size): &(String, Option<u64>)) -> String {
    match size {
        Some(size) => format!("{path} ({size} bytes)"),
        None => format!("{path}/"),
    }
}

/// What is wrong with a file, said of its path.
fn named(path: &str) -> impl FnOnce(RuntimeError) -> Problem {
    let path = path.to_owned();
    move |error| Problem::from(error).at(path)
}

/// Bytes that a call gives: as text, or in base64.
pub(super) fn given(text: Option<String>, base64: Option<String>) -> Result<Option<Vec<u8>>, Problem> {
    match (text, base64) {
        (Some(_), Some(_)) => Err(invalid("give `text` or `base64`, not both").at("base64")),
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(base64)) => Ok(Some(decoded(&base64).map_err(|problem| problem.at("base64"))?)),
        (None, None) => Ok(None),
    }
}

async fn read_all(files: &mut dyn Files, path: &GuestPath) -> Result<Vec<u8>, Problem> {
    let failed = |error: std::io::Error| invalid(format!("it cannot be read: {error}")).at(path.as_str());
    let long = || invalid(format!("it is longer than {MOST_BYTES} bytes")).at(path.as_str());
    if files.open(path).await.map_err(failed)? > MOST_BYTES {
        return Err(long());
    }
    let mut bytes = Vec::new();
    loop {
        let piece = files.read().await.map_err(failed)?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > MOST_BYTES {
            return Err(long());
        }
    }
}
