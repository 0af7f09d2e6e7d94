//! `/v1/workspaces/{id}/files`: what is in a workspace. Nothing is ever whole in memory.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use belljar::config::GuestPath;
use belljar::engine::{EntryKind, Files};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::refusal::of_io;
use crate::guard::Client;
use crate::problem::Problem;
use crate::runs::invalid;
use crate::shares::Share;
use crate::state::App;

/// Entries that are looked at to say how large a workspace is.
pub(super) const MOST_COUNTED: usize = 200_000;

/// A path as a client names it. One that begins with a slash is below the workspace, too.
fn asked(path: &str) -> Result<GuestPath, Problem> {
    GuestPath::new(path.trim_start_matches('/')).map_err(|error| invalid(error.to_string()).at("path"))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// The directory to look into. Without one: all of it.
    path: Option<String>,
    /// How many entries at the most.
    #[param(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
}

/// What is in a workspace.
#[derive(Serialize, ToSchema)]
pub(super) struct WorkspaceFiles {
    files: Vec<WorkspaceEntry>,
    /// Whether these are all.
    is_whole: bool,
}

/// A file or directory of a workspace.
#[derive(Serialize, ToSchema)]
struct WorkspaceEntry {
    path: String,
    /// `file`, `directory`, `link` or `other`.
    kind: &'static str,
    size: u64,
    is_executable: bool,
}

/// Lists what is in a workspace.
#[utoipa::path(
    get, path = "/v1/workspaces/{id}/files", tag = "workspaces", operation_id = "list_files", params(Listing),
    responses((status = OK, body = WorkspaceFiles, description = "files and directories")),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Query(Listing { path, limit }): Query<Listing>,
) -> Result<Response, Problem> {
    const MOST: usize = 10_000;
    let (_, workspace) = app.workspaces.seen(&client, &id)?;
    let limit = limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&limit) {
        return Err(invalid(format!("must be from 1 to {MOST}")).at("limit"));
    }
    let below = path.filter(|path| !matches!(path.trim_matches('/'), "" | ".")).map(|path| asked(&path));
    let below = below.transpose()?;
    let listing = workspace.list(below.as_ref(), limit).await?;
    let files = listing
        .entries
        .iter()
        .map(|entry| {
            let path = entry.path.to_string_lossy();
            let path = below.as_ref().map_or_else(|| path.to_string(), |above| format!("{above}/{path}"));
            WorkspaceEntry {
                path,
                kind: kind(entry.kind),
                size: entry.size,
                is_executable: entry.is_executable,
            }
        })
        .collect();
    Ok(Json(WorkspaceFiles { files, is_whole: listing.is_whole }).into_response())
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Directory | EntryKind::ClosedDirectory => "directory",
        EntryKind::Link => "link",
        EntryKind::Other => "other",
    }
}

/// Reads a file.
#[utoipa::path(
    get, path = "/v1/workspaces/{id}/files/{*path}", tag = "workspaces", operation_id = "read_file",
    responses((status = OK, content_type = "application/octet-stream", body = Vec<u8>, description = "its bytes")),
)]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (_, workspace) = app.workspaces.seen(&client, &id)?;
    let path = asked(&path)?;
    let place = app.workspaces.transfer(&client)?;
    let mut files = workspace.files()?;
    let opened = files.open(&path).await;
    let size = opened.map_err(|error| of_io("read", path.as_ref(), &error))?;
    let sending = Sending { files, left: size, _place: place };
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        // A guest made it. A browser saves it, and shows nothing of it.
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_LENGTH, size.to_string()),
    ];
    Ok((headers, Body::from_stream(sending.pieces())).into_response())
}

/// A file on its way to a client. It is read when the client has room for more.
struct Sending {
    files: Box<dyn Files>,
    /// What was promised. A program may make the file longer or shorter meanwhile.
    left: u64,
    _place: Share,
}

impl Sending {
    fn pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut sending| async move {
            if sending.left == 0 {
                return Ok(None);
            }
            let mut piece = sending.files.read().await?;
            if piece.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
            }
            piece.truncate(usize::try_from(sending.left).unwrap_or(usize::MAX));
            sending.left -= piece.len() as u64;
            Ok(Some((piece, sending)))
        })
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Writing {
    /// Whether it can be run.
    #[serde(default)]
    executable: bool,
}

/// Writes a file. It takes the place of an older one when all of it has come.
#[utoipa::path(
    put, path = "/v1/workspaces/{id}/files/{*path}", tag = "workspaces", operation_id = "write_file",
    params(Writing), request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = NO_CONTENT, description = "it is written")),
)]
pub(super) async fn write(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
    Query(Writing { executable }): Query<Writing>,
    content: Body,
) -> Result<StatusCode, Problem> {
    let (_, workspace) = app.workspaces.changed(&client, &id)?;
    let path = asked(&path)?;
    let _place = app.workspaces.transfer(&client)?;
    let mode = if executable { 0o755 } else { 0o644 };
    workspace.put_stream(path.as_str(), mode, received(content)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A body as it comes. One that stops coming is given up.
pub(crate) fn received(content: Body) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    const PATIENCE: Duration = Duration::from_secs(60);
    stream::try_unfold(content.into_data_stream(), |mut content| async move {
        match tokio::time::timeout(PATIENCE, content.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => Ok(Some((piece, content))),
            Ok(Some(Err(error))) => {
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, format!("it broke off: {error}")))
            }
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came for a minute")),
        }
    })
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Removing {
    /// Whether a directory goes with what is in it.
    #[serde(default)]
    recursive: bool,
}

/// Removes a file or a directory.
#[utoipa::path(
    delete, path = "/v1/workspaces/{id}/files/{*path}", tag = "workspaces", operation_id = "remove_file",
    params(Removing), responses((status = NO_CONTENT, description = "it is gone")),
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path((id, path)): Path<(String, String)>,
    Query(Removing { recursive }): Query<Removing>,
) -> Result<StatusCode, Problem> {
    let (_, workspace) = app.workspaces.changed(&client, &id)?;
    workspace.remove_path(asked(&path)?.as_str(), recursive).await?;
    Ok(StatusCode::NO_CONTENT)
}
