//! `/v1/artifacts`: named, versioned files. Each token has its own.
//!
//! Each owner has a directory below `artifacts/` of the state directory, so the names of one never
//! meet those of another. Content is streamed both ways.

use std::collections::HashMap;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use belljar::artifacts::{ArtifactError, ArtifactInfo, ArtifactService, ArtifactStore, SessionInfo};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::guard::Client;
use crate::problem::{Code, Problem, with_causes};
use crate::runs::invalid;
use crate::state::App;
use crate::tokens::{Scope, make_private};
use crate::workspaces::received;

/// What a guest said it is. Browsers are told that it is nothing that they could show.
const MEDIA_TYPE: HeaderName = HeaderName::from_static("belljar-media-type");
const VERSION: HeaderName = HeaderName::from_static("belljar-version");
/// Names of one token, and versions of one name.
const MOST: usize = 1000;

/// The artifacts of a server.
pub(crate) struct Artifacts {
    directory: PathBuf,
    stores: Mutex<HashMap<String, ArtifactStore>>,
}

impl Artifacts {
    /// Those below a state directory.
    pub(crate) fn in_directory(state: &FilePath) -> Self {
        Self { directory: state.join("artifacts"), stores: Mutex::default() }
    }

    /// Those of one owner.
    pub(crate) fn of(&self, owner: &str) -> ArtifactStore {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || ArtifactStore::local(self.directory.join(owner));
        stores.entry(owner.to_owned()).or_insert_with(make).clone()
    }

    /// Everybody who has some.
    fn owners(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let stores = entries.filter(|entry| entry.path().join("records").is_dir());
        let mut owners: Vec<_> = stores.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        owners.sort();
        owners
    }

    /// How many bytes those of an owner take.
    async fn used(&self, owner: &str) -> Result<u64, Problem> {
        let (directory, (done, counted)) = (self.directory.join(owner), oneshot::channel());
        let count = move || drop(done.send(size_of(&directory)));
        let failed = |error: io::Error| {
            tracing::error!(%error, "artifacts cannot be counted");
            Problem::new(Code::Internal, "the artifacts cannot be counted: see the server's log")
        };
        std::thread::Builder::new().name("belljar-artifacts".to_owned()).spawn(count).map_err(failed)?;
        counted.await.unwrap_or_else(|_| Err(io::Error::other("the thread has panicked"))).map_err(failed)
    }
}

/// Everything below a directory. Nothing in it was made by a guest.
fn size_of(directory: &FilePath) -> io::Result<u64> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut total = 0;
    for entry in entries {
        let entry = entry?;
        total += match entry.metadata() {
            Ok(found) if found.is_dir() => size_of(&entry.path())?,
            Ok(found) => found.len(),
            // It was on its way, and has another name now.
            Err(_) => 0,
        };
    }
    Ok(total)
}

/// What the library calls them: the directory says whose they are.
pub(crate) fn session() -> SessionInfo {
    SessionInfo::new("server", "", "")
}

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(load, save, remove)).routes(routes!(versions))
}

/// Artifacts, by name.
#[derive(Serialize, ToSchema)]
struct ArtifactList {
    artifacts: Vec<ListedArtifact>,
}

#[derive(Serialize, ToSchema)]
struct ListedArtifact {
    name: String,
    /// The id of the token that saved it.
    owner: String,
}

/// The versions of an artifact, from the first on.
#[derive(Serialize, ToSchema)]
struct ArtifactVersions {
    name: String,
    versions: Vec<u64>,
}

/// A version of an artifact that was saved.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what the library writes")]
struct SavedArtifact {
    name: String,
    /// Versions count from 0.
    version: u64,
    mime_type: String,
    size_bytes: u64,
    sha256: String,
    created_at: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// Without it, the last.
    version: Option<u64>,
    /// Whose it is, for those who may see more than their own.
    owner: Option<String>,
}

impl Asked {
    /// The artifacts that are meant, if they may be seen.
    fn store(&self, app: &App, client: &Client) -> Result<ArtifactStore, Problem> {
        let owner = self.owner.as_deref().unwrap_or(&client.id);
        let is_owner = !owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_owner || !client.may_see(owner) {
            return Err(Problem::no_such("owner", owner).at("owner"));
        }
        Ok(app.artifacts.of(owner))
    }
}

/// Lists artifacts.
#[utoipa::path(
    get, path = "/v1/artifacts", tag = "artifacts", operation_id = "list_artifacts",
    responses((status = OK, body = ArtifactList, description = "those that this token may see")),
)]
async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
) -> Result<Response, Problem> {
    let mut told = Vec::new();
    for owner in app.artifacts.owners().into_iter().filter(|owner| client.may_see(owner)) {
        let names = app.artifacts.of(&owner).list_keys(&session()).await.map_err(refused)?;
        told.extend(names.into_iter().map(|name| ListedArtifact { name, owner: owner.clone() }));
    }
    Ok(Json(ArtifactList { artifacts: told }).into_response())
}

/// Lists the versions of an artifact.
#[utoipa::path(
    get, path = "/v1/artifacts/{name}/versions", tag = "artifacts", operation_id = "list_versions",
    params(Asked), responses((status = OK, body = ArtifactVersions, description = "its versions")),
)]
async fn versions(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let versions = asked.store(&app, &client)?.versions(&session(), &name).await.map_err(refused)?;
    if versions.is_empty() {
        return Err(Problem::no_such("artifact", &name));
    }
    Ok(Json(ArtifactVersions { name, versions }).into_response())
}

/// Loads a version of an artifact.
#[utoipa::path(
    get, path = "/v1/artifacts/{name}", tag = "artifacts", operation_id = "load_artifact", params(Asked),
    responses((status = OK, content_type = "application/octet-stream", body = Vec<u8>, description = "its bytes")),
)]
async fn load(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let opened = asked.store(&app, &client)?.open(&session(), &name, asked.version).await;
    let opened = opened.map_err(refused)?.ok_or_else(|| Problem::no_such("artifact", &name))?;
    let place = app.workspaces.transfer(&client)?;
    let info = opened.info;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_LENGTH, info.size_bytes.to_string()),
        (ETAG, format!("\"{}\"", info.sha256)),
        (VERSION, info.version.to_string()),
        (
            MEDIA_TYPE,
            HeaderValue::try_from(&info.mime_type).map_or_else(|_| String::new(), |_| info.mime_type),
        ),
    ];
    let pieces = opened.stream.map(move |piece| {
        let _until_then = &place;
        piece
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Saves a version of an artifact. `Content-Type` is what it is.
#[utoipa::path(
    post, path = "/v1/artifacts/{name}", tag = "artifacts", operation_id = "save_artifact",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = CREATED, body = SavedArtifact, description = "the version")),
)]
async fn save(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let media_type = headers.get(CONTENT_TYPE).map_or(Ok(""), |value| value.to_str());
    let media_type = media_type.map_err(|_| invalid("must be text").at("content-type"))?;
    let _place = app.workspaces.transfer(&client)?;
    let info = app.save_artifact(&client, &name, media_type, received(content)).await?;
    // A name may have anything in it, and what follows a slash would be another path.
    let place = (info.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)))
        .then(|| (LOCATION, format!("/v1/artifacts/{}?version={}", info.name, info.version)));
    Ok((StatusCode::CREATED, AppendHeaders(place), Json(info)).into_response())
}

impl App {
    /// Saves a version of an artifact of a client's, however it comes.
    pub(crate) async fn save_artifact(
        &self,
        client: &Client,
        name: &str,
        media_type: &str,
        content: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<ArtifactInfo, Problem> {
        const LONGEST_NAME: usize = 255;
        client.needs(Scope::Run)?;
        if self.is_draining() {
            return Err(crate::admission::draining());
        }
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
            let detail = format!("must have 1 to {LONGEST_NAME} bytes, and no control characters");
            return Err(invalid(detail).at("name"));
        }
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
        if media_type.len() > LONGEST_NAME || !media_type.bytes().all(is_plain) {
            let detail = format!("must have at most {LONGEST_NAME} bytes of plain ASCII");
            return Err(invalid(detail).at("content-type"));
        }
        let (store, session) = (self.artifacts.of(&client.id), session());
        let names = store.list_keys(&session).await.map_err(refused)?;
        let versions = store.versions(&session, name).await.map_err(refused)?;
        if versions.len() >= MOST || (versions.is_empty() && names.len() >= MOST) {
            let detail = format!("a token may have {MOST} artifacts, with {MOST} versions each");
            return Err(Problem::new(Code::NoRoom, detail));
        }
        let room = self.limits.artifact_bytes.saturating_sub(self.artifacts.used(&client.id).await?);
        make_private(&self.artifacts.directory).map_err(|error| {
            tracing::error!(%error, "no directory for artifacts");
            Problem::new(Code::Internal, "artifacts cannot be kept: see the server's log")
        })?;
        let content = Box::pin(within(content, room));
        store.save_stream(&session, name, media_type, content).await.map_err(refused)
    }
}

/// Content that fails when it is longer than there is room.
fn within(
    content: impl Stream<Item = io::Result<Bytes>> + Send,
    room: u64,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let mut left = room;
    content.map(move |piece| {
        let piece = piece?;
        match left.checked_sub(piece.len() as u64) {
            Some(rest) => {
                left = rest;
                Ok(piece)
            }
            None => Err(io::Error::new(io::ErrorKind::StorageFull, "there is no room for more")),
        }
    })
}

/// Removes all versions of an artifact.
#[utoipa::path(
    delete, path = "/v1/artifacts/{name}", tag = "artifacts", operation_id = "remove_artifact", params(Asked),
    responses((status = NO_CONTENT, description = "it is gone")),
)]
async fn remove(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<StatusCode, Problem> {
    let owner = asked.owner.as_deref().unwrap_or(&client.id);
    if !client.may_change(owner) {
        client.needs(Scope::Run)?;
        return Err(Problem::no_such("owner", owner).at("owner"));
    }
    let store = asked.store(&app, &client)?;
    if store.versions(&session(), &name).await.map_err(refused)?.is_empty() {
        return Err(Problem::no_such("artifact", &name));
    }
    store.delete(&session(), &name).await.map_err(refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the library refuses, as clients are told. No path of this machine is in it.
fn refused(error: ArtifactError) -> Problem {
    match &error {
        ArtifactError::NotFound { .. } | ArtifactError::UnknownVersion { .. } => {
            Problem::new(Code::NotFound, error.to_string())
        }
        ArtifactError::Content { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
            Problem::new(Code::NoRoom, "the artifacts of this token have no room for that: delete some")
        }
        ArtifactError::Content { .. } | ArtifactError::TookTooLong { .. } => invalid(error.to_string()),
        _ => {
            tracing::error!(error = with_causes(&error), "an artifact failed");
            Problem::new(Code::Internal, "the artifact cannot be used: see the server's log")
        }
    }
}
