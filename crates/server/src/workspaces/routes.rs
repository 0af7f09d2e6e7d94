//! `/v1/workspaces`.

use std::sync::Arc;

use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use belljar::engine::random_hex;
use belljar::workspace::{OpenWorkspace, WorkspacePolicy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Name, files};
use crate::body::Object;
use crate::guard::Client;
use crate::problem::Problem;
use crate::runs::from_json;
use crate::state::App;
use crate::tokens::Scope;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/workspaces", post(create).get(list))
        .route("/v1/workspaces/{id}", get(show).delete(remove))
        .route("/v1/workspaces/{id}/fork", post(fork))
        .route("/v1/workspaces/{id}/files", get(files::list))
        .route("/v1/workspaces/{id}/files/{*path}", get(files::read).put(files::write).delete(files::remove))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: Option<String>,
    /// What it may hold. 0 is as much as the server gives.
    #[serde(default)]
    max_disk_bytes: u64,
}

async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Object(fields): Object,
) -> Result<Response, Problem> {
    client.needs(Scope::Run)?;
    let wanted: Wanted = from_json(Value::Object(fields))?;
    let name = named(&client, wanted.name.as_deref())?;
    refuse_if_draining(&app)?;
    let policy = WorkspacePolicy { max_disk_bytes: wanted.max_disk_bytes, ..WorkspacePolicy::default() };
    let made = app.workspaces.make(&name, policy).await?;
    Ok((StatusCode::CREATED, Json(told(&app, &name, &made, &policy))).into_response())
}

/// The name that a client wants, or one that nobody has.
fn named(client: &Client, wanted: Option<&str>) -> Result<Name, Problem> {
    match wanted {
        Some(name) => Name::new(client, name),
        None => Name::new(client, &format!("ws-{}", &random_hex()[..12])),
    }
}

fn refuse_if_draining(app: &App) -> Result<(), Problem> {
    if app.is_draining() { Err(crate::admission::draining()) } else { Ok(()) }
}

/// A workspace as it is listed.
fn told(app: &App, name: &Name, workspace: &OpenWorkspace, policy: &WorkspacePolicy) -> Value {
    let created = std::fs::metadata(&workspace.workspace().path).and_then(|found| found.created());
    let most = match (policy.max_disk_bytes, app.limits.workspace_bytes) {
        (0, usual) => usual,
        (own, 0) => own,
        (own, usual) => own.min(usual),
    };
    json!({
        "id": name.to_string(),
        "name": name.name,
        "owner": name.owner,
        "created_at": created.ok().map(|time| humantime::format_rfc3339_millis(time).to_string()),
        // 0 is as much as the disk has.
        "max_disk_bytes": most,
    })
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
) -> Result<Response, Problem> {
    let all = app.workspaces.all().await?;
    let own = all.iter().filter(|(name, _)| client.may_see(&name.owner));
    let told: Vec<_> = own
        .filter_map(|(name, policy)| {
            // It may have been removed meanwhile.
            let (_, found) = app.workspaces.seen(&client, &name.to_string()).ok()?;
            Some(told(&app, name, &found, policy))
        })
        .collect();
    Ok(Json(json!({"workspaces": told})).into_response())
}

#[derive(Deserialize)]
struct Showing {
    #[serde(default)]
    size: bool,
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Query(Showing { size }): Query<Showing>,
) -> Result<Response, Problem> {
    let (name, found) = app.workspaces.seen(&client, &id)?;
    let all = app.workspaces.all().await?;
    let policy = all.into_iter().find(|(other, _)| *other == name).map(|(_, policy)| policy);
    let policy = policy.ok_or_else(|| Problem::no_such("workspace", &id))?;
    let mut told = told(&app, &name, &found, &policy);
    if size {
        let listing = found.list(None, files::MOST_COUNTED).await?;
        told["files"] = listing.entries.len().into();
        told["size_bytes"] = listing.entries.iter().map(|entry| entry.size).sum::<u64>().into();
        told["is_whole"] = listing.is_whole.into();
    }
    Ok(Json(told).into_response())
}

/// Kills the programs of a workspace, and removes it.
async fn remove(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let (name, found) = app.workspaces.changed(&client, &id)?;
    app.programs.end_all_in(&name).await;
    found.remove().await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Twin {
    name: Option<String>,
}

async fn fork(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Object(fields): Object,
) -> Result<Response, Problem> {
    // The twin is the client's own, so whoever may not have one may not fork.
    client.needs(Scope::Run)?;
    let (name, found) = app.workspaces.seen(&client, &id)?;
    let wanted: Twin = from_json(Value::Object(fields))?;
    let twin = named(&client, wanted.name.as_deref())?;
    refuse_if_draining(&app)?;
    // It may be a lot to copy.
    let _place = app.workspaces.transfer()?;
    let made = app.workspaces.fork(&found, &twin).await?;
    let all = app.workspaces.all().await?;
    let policy = all.into_iter().find(|(other, _)| *other == name).map(|(_, policy)| policy);
    Ok((StatusCode::CREATED, Json(told(&app, &twin, &made, &policy.unwrap_or_default()))).into_response())
}
