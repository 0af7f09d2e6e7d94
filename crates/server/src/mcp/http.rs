//! `/mcp`: the protocol over HTTP, behind the guard.
//!
//! Clients of 2026-07-28 and later send requests that stand alone. Older ones open a session of the
//! protocol first, which is none of ours: it holds no cell. Such a session is its token's. For
//! every other token it is not there.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use hyper::StatusCode;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::handler::Handler;
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::state::App;

/// Sessions of the protocol at the same time.
const MOST_SESSIONS: usize = 1024;
/// How long such a session stays without a message. It must be longer than a run that says nothing.
const IDLE: Duration = Duration::from_secs(60 * 60);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// What `/mcp` keeps.
#[derive(Default)]
pub(crate) struct Door {
    open: OnceLock<Open>,
}

struct Open {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    /// Which token has opened a session.
    owners: Mutex<HashMap<String, String>>,
}

impl Door {
    fn open(&self, app: &Arc<App>) -> &Open {
        self.open.get_or_init(|| {
            let mut sessions = LocalSessionManager::default();
            sessions.session_config.keep_alive = Some(IDLE);
            let sessions = Arc::new(sessions);
            // The guard has looked at host and origin.
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .with_max_request_body_bytes(app.limits.request_bytes);
            // The server has this door: it would never be dropped.
            let app: Weak<App> = Arc::downgrade(app);
            let handler = move || match app.upgrade() {
                Some(app) => Ok(Handler::of_http(app)),
                None => Err(std::io::Error::other("the server has ended")),
            };
            let service = StreamableHttpService::new(handler, sessions.clone(), config);
            Open { service, sessions, owners: Mutex::default() }
        })
    }

    /// Ends every connection.
    pub(super) fn close(&self) {
        if let Some(open) = self.open.get() {
            open.service.config.cancellation_token.cancel();
        }
    }
}

impl Open {
    fn owners(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody into the session of another token.
    fn check_owner(&self, id: &str, client: &Client) -> Result<(), Problem> {
        let owner = self.owners().get(id).cloned();
        match owner {
            Some(owner) if owner == client.id => Ok(()),
            _ => Err(Problem::no_such("session of MCP", id)),
        }
    }

    async fn check_room(&self, headers: &HeaderMap, client: &Client) -> Result<(), Problem> {
        let opens_none =
            text(headers, VERSION).is_some_and(|it| it >= ProtocolVersion::NO_INITIALIZE.as_str());
        if opens_none {
            return Ok(());
        }
        let live: HashSet<String> =
            self.sessions.sessions.read().await.keys().map(|id| id.to_string()).collect();
        let is_own = |(id, owner): &(&String, &String)| **owner == client.id && live.contains(*id);
        if live.len() < MOST_SESSIONS && self.owners().iter().filter(is_own).count() < MOST_SESSIONS / 4 {
            return Ok(());
        }
        let detail =
            format!("there are {MOST_SESSIONS} sessions of MCP, as many as may be: come again later");
        Err(Problem::new(Code::QueueFull, detail).after(Duration::from_secs(60)))
    }

    async fn remember(&self, id: &str, client: &Client) {
        let live: Vec<String> = self.sessions.sessions.read().await.keys().map(|id| id.to_string()).collect();
        let mut owners = self.owners();
        owners.insert(id.to_owned(), client.id.clone());
        // Those that have ended meanwhile.
        if owners.len() > 2 * live.len() {
            owners.retain(|known, _| known == id || live.contains(known));
        }
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/mcp", any(serve))
}

async fn serve(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Result<Response, Problem> {
    let open = app.mcp.door.open(&app);
    let session = text(request.headers(), SESSION).map(str::to_owned);
    match &session {
        Some(id) => open.check_owner(id, &client)?,
        None => open.check_room(request.headers(), &client).await?,
    }
    let is_end = request.method() == Method::DELETE;
    let mut response = open.service.handle(request).await;
    if is_end && response.status() == StatusCode::ACCEPTED {
        // It has been done. Clients take another answer for a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
        session.inspect(|id| drop(open.owners().remove(id)));
    }
    if let Some(id) = text(response.headers(), SESSION) {
        open.remember(id, &client).await;
    }
    Ok(told(response.map(Body::new)).await)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What is refused before it is a message of the protocol is told as everything else is.
async fn told(response: Response) -> Response {
    let status = response.status();
    let is_message =
        text(response.headers(), CONTENT_TYPE.as_str()).is_some_and(|kind| !kind.starts_with("text/plain"));
    if status.is_success() || is_message {
        return response;
    }
    let code = match status {
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::Method,
        StatusCode::NOT_ACCEPTABLE => Code::NotAcceptable,
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::MediaType,
        status if status.is_client_error() => Code::Invalid,
        _ => Code::Internal,
    };
    let body = crate::body::read(response.into_body(), 1 << 16).await.unwrap_or_default();
    Problem::new(code, String::from_utf8_lossy(&body)).into_response()
}
