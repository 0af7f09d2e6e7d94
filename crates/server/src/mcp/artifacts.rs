//! Artifacts: what `save_artifact` keeps, and clients read as resources.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar::artifacts::{Artifact, ArtifactError, ArtifactRef, ArtifactService};
use belljar::workspace::mime_type;
use futures_util::stream;
use rmcp::model::{ContentBlock, ListResourcesResult, ReadResourceResult, Resource, ResourceContents};
use serde::Deserialize;
use serde_json::json;

use super::calls::{Answer, Call};
use super::content::said;
use super::files::given;
use super::uri;
use crate::artifacts::session as kept_in;
use crate::guard::Client;
use crate::problem::{Code, Problem, with_causes};
use crate::runs::invalid;
use crate::state::App;

/// Artifacts on one page of a list.
const PAGE: usize = 100;
/// Bytes of an artifact that is read at once.
const MOST_BYTES: u64 = 32 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveArtifact {
    name: String,
    path: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    mime_type: Option<String>,
    session: Option<String>,
    workspace: Option<String>,
}

impl Call {
    pub(super) async fn save_artifact(&self, wanted: SaveArtifact) -> Answer {
        let SaveArtifact { name, path, text, base64, mime_type: mime, session, workspace } = wanted;
        let bytes = match (path, given(text, base64)?) {
            (Some(path), None) => self.bytes(&path, session.as_deref(), workspace.as_deref()).await?,
            (None, Some(bytes)) => bytes,
            (None, None) => return Err(invalid("give `path`, `text` or `base64`").at("path")),
            (Some(_), Some(_)) => {
                return Err(invalid("give one of `path`, `text` and `base64`").at("path"));
            }
        };
        let mime = mime.unwrap_or_else(|| mime_type(&name, &bytes));
        let size = bytes.len() as u64;
        let content = stream::iter([Ok(bytes.into())]);
        let saved =
            self.app.save_artifact(&self.client, &name, &mime, content).await.map_err(
                |problem| match problem.field() {
                    Some("content-type") => problem.at("mime_type"),
                    _ => problem,
                },
            );
        let version = saved?.version;
        let uri = uri::of(&ArtifactRef { name: name.clone(), version: Some(version) });
        let told = json!({"name": name, "version": version, "uri": uri, "size": size, "mime_type": mime});
        let mut answer = said(format!("saved {name}, version {version}: {uri}"), told);
        let link = Resource::new(uri, name).with_mime_type(mime).with_size(size);
        answer.content.push(ContentBlock::resource_link(link));
        Ok(answer)
    }
}

/// The artifacts of a client, in the order of their names.
pub(super) async fn list(
    app: &App,
    client: &Client,
    after: Option<String>,
) -> Result<ListResourcesResult, Problem> {
    let (store, session) = (app.artifacts.of(&client.id), kept_in());
    let names = store.list_keys(&session).await.map_err(failed)?;
    let is_later = |name: &String| after.as_ref().is_none_or(|after| name > after);
    let mut rest = names.into_iter().filter(is_later);
    let mut resources = Vec::new();
    let mut last = None;
    for name in rest.by_ref().take(PAGE) {
        // It may have been deleted meanwhile.
        if let Some(opened) = store.open(&session, &name, None).await.map_err(failed)? {
            let uri = uri::of(&ArtifactRef { name: name.clone(), version: None });
            let resource = Resource::new(uri, name.as_str())
                .with_description(format!("version {}", opened.info.version))
                .with_mime_type(opened.info.mime_type)
                .with_size(opened.info.size_bytes);
            resources.push(resource);
        }
        last = Some(name);
    }
    let mut page = ListResourcesResult::with_all_items(resources);
    page.next_cursor = rest.next().and(last);
    Ok(page)
}

/// What is in an artifact.
pub(super) async fn read(app: &App, client: &Client, address: &str) -> Result<ReadResourceResult, Problem> {
    let missing = || Problem::no_such("resource", address);
    let ArtifactRef { name, version } = uri::read(address).ok_or_else(missing)?;
    let (store, session) = (app.artifacts.of(&client.id), kept_in());
    let opened = store.open(&session, &name, version).await.map_err(failed)?.ok_or_else(missing)?;
    if opened.info.size_bytes > MOST_BYTES {
        let detail = format!("it has {} bytes, and {MOST_BYTES} can be read", opened.info.size_bytes);
        return Err(invalid(detail));
    }
    let version = Some(opened.info.version);
    drop(opened);
    let loaded = store.load(&session, &name, version).await.map_err(failed)?.ok_or_else(missing)?;
    let Artifact { data, mime_type, .. } = loaded.artifact;
    let is_text = mime_type.starts_with("text/") || mime_type == "application/json";
    let content = match std::str::from_utf8(&data) {
        Ok(text) if is_text => ResourceContents::text(text, address),
        _ => ResourceContents::blob(BASE64_STANDARD.encode(&data), address),
    };
    Ok(ReadResourceResult::new(vec![content.with_mime_type(mime_type)]))
}

fn failed(error: ArtifactError) -> Problem {
    let code = match &error {
        ArtifactError::NotFound { .. } | ArtifactError::UnknownVersion { .. } => Code::NotFound,
        ArtifactError::InvalidRef { .. } | ArtifactError::RefVersionTooLarge { .. } => Code::Invalid,
        _ => Code::Internal,
    };
    Problem::new(code, with_causes(&error))
}
