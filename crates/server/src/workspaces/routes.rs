//! `/v1/workspaces`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belljar::engine::random_hex;
use belljar::workspace::{OpenWorkspace, WorkspacePolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Name, files};
use crate::body::Object;
use crate::guard::Client;
use crate::problem::Problem;
use crate::runs::from_json;
use crate::state::App;
use crate::tokens::Scope;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(show, remove))
        .routes(routes!(fork))
        .routes(routes!(files::list))
        .routes(routes!(files::read, files::write, files::remove))
}

/// A workspace that is wanted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkspaceRequest)]
struct Wanted {
    /// Its name. Without one, the server makes one up.
    name: Option<String>,
    /// What it may hold. 0 is as much as the server gives.
    #[serde(default)]
    max_disk_bytes: u64,
}

/// Makes a workspace: a directory that stays.
#[utoipa::path(
    post, path = "/v1/workspaces", tag = "workspaces", operation_id = "make_workspace",
    request_body = Option<Wanted>,
    responses((status = CREATED, body = ListedWorkspace, description = "the workspace")),
)]
async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Object(fields, _): Object,
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

fn told(app: &App, name: &Name, workspace: &OpenWorkspace, policy: &WorkspacePolicy) -> ListedWorkspace {
    let created = std::fs::metadata(&workspace.workspace().path).and_then(|found| found.created());
    let most = match (policy.max_disk_bytes, app.limits.workspace_bytes) {
        (0, usual) => usual,
        (own, 0) => own,
        (own, usual) => own.min(usual),
    };
    ListedWorkspace {
        id: name.to_string(),
        name: name.name.to_string(),
        owner: name.owner.clone(),
        created_at: created.ok().map(|time| humantime::format_rfc3339_millis(time).to_string()),
        max_disk_bytes: most,
    }
}

/// A workspace as it is listed.
#[derive(Serialize, ToSchema)]
struct ListedWorkspace {
    /// `OWNER.NAME`.
    id: String,
    name: String,
    /// The id of the token that made it.
    owner: String,
    created_at: Option<String>,
    /// What it may hold. 0 is as much as the disk has.
    max_disk_bytes: u64,
}

/// Workspaces.
#[derive(Serialize, ToSchema)]
struct WorkspaceList {
    workspaces: Vec<ListedWorkspace>,
}

/// A workspace, with how large it is if that was asked for.
#[derive(Serialize, ToSchema)]
struct ShownWorkspace {
    #[serde(flatten)]
    workspace: ListedWorkspace,
    /// How many entries it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Whether all of it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_whole: Option<bool>,
}

/// Lists workspaces.
#[utoipa::path(
    get, path = "/v1/workspaces", tag = "workspaces", operation_id = "list_workspaces",
    responses((status = OK, body = WorkspaceList, description = "those that this token may see")),
)]
async fn list(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
) -> Result<Response, Problem> {
    let all = app.workspaces.all().await?;
    let own = all.iter().filter(|(name, _)| client.may_see(&name.owner));
    let workspaces = own
        .filter_map(|(name, policy)| {
            // It may have been removed meanwhile.
            let (_, found) = app.workspaces.seen(&client, &name.to_string()).ok()?;
            Some(told(&app, name, &found, policy))
        })
        .collect();
    Ok(Json(WorkspaceList { workspaces }).into_response())
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Showing {
    /// Whether to count how large it is.
    #[serde(default)]
    size: bool,
}

/// Shows a workspace.
#[utoipa::path(
    get, path = "/v1/workspaces/{id}", tag = "workspaces", operation_id = "show_workspace", params(Showing),
    responses((status = OK, body = ShownWorkspace, description = "the workspace")),
)]
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
    let workspace = told(&app, &name, &found, &policy);
    let mut shown = ShownWorkspace { workspace, files: None, size_bytes: None, is_whole: None };
    if size {
        let listing = found.list(None, files::MOST_COUNTED).await?;
        shown.files = Some(listing.entries.len());
        shown.size_bytes = Some(listing.entries.iter().map(|entry| entry.size).sum());
        shown.is_whole = Some(listing.is_whole);
    }
    Ok(Json(shown).into_response())
}

/// Kills the programs of a workspace, and removes it.
#[utoipa::path(
    delete, path = "/v1/workspaces/{id}", tag = "workspaces", operation_id = "remove_workspace",
    responses((status = NO_CONTENT, description = "it is gone")),
)]
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

/// The second of two workspaces.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ForkRequest)]
struct Twin {
    /// Its name. Without one, the server makes one up.
    name: Option<String>,
}

/// Makes a second workspace of the same content.
#[utoipa::path(
    post, path = "/v1/workspaces/{id}/fork", tag = "workspaces", operation_id = "fork_workspace",
    request_body = Option<Twin>,
    responses((status = CREATED, body = ListedWorkspace, description = "the second one")),
)]
async fn fork(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Object(fields, _): Object,
) -> Result<Response, Problem> {
    // The twin is the client's own, so whoever may not have one may not fork.
    client.needs(Scope::Run)?;
    let (name, found) = app.workspaces.seen(&client, &id)?;
    let wanted: Twin = from_json(Value::Object(fields))?;
    let twin = named(&client, wanted.name.as_deref())?;
    refuse_if_draining(&app)?;
    // It may be a lot to copy.
    let _place = app.workspaces.transfer(&client)?;
    let made = app.workspaces.fork(&found, &twin).await?;
    let all = app.workspaces.all().await?;
    let policy = all.into_iter().find(|(other, _)| *other == name).map(|(_, policy)| policy);
    Ok((StatusCode::CREATED, Json(told(&app, &twin, &made, &policy.unwrap_or_default()))).into_response())
}
