//! Listens, speaks HTTP, and ends in order.
//!
//! ```text
//!  SIGTERM ──► nobody new is let in (503) ──► what runs may end, for a while ──► the rest is
//!              cancelled, and says so ──► sessions, history and cells end
//! ```

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use belljar::Runtime;
use belljar::workspace::WorkspaceError;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tower_service::Service;
use utoipa_axum::router::OpenApiRouter;

use crate::admission::Admission;
use crate::artifacts::Artifacts;
use crate::graders::{self, Graders};
use crate::history::{HistoryError, HistoryReader, Writer};
use crate::options::ServerOptions;
use crate::patience::Patient;
use crate::problem::{Code, Problem};
use crate::programs::Programs;
use crate::runs::{Run, Runs};
use crate::sessions::Sessions;
use crate::shares::Shares;
use crate::state::{App, Sandboxes};
use crate::tls::{Tls, TlsError};
use crate::tokens::{TokenError, TokenStore};
use crate::workspaces::WorkspaceStore;
use crate::{
    artifacts, console, guard, mcp, openapi, overview, programs, revoked, runs, sessions, tools, trace,
    workspaces,
};

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// Others could use it without a token.
    #[error(
        "{address} can be reached from other machines, so clients need a token there: leave out --no-token, or listen on 127.0.0.1"
    )]
    Open {
        /// Which address.
        address: SocketAddr,
    },
    /// The history cannot be used.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// A client of MCP does not speak it.
    #[error("the client at the other end of stdin does not speak MCP: {reason}")]
    Client {
        /// What is wrong.
        reason: String,
    },
    /// The workspaces cannot be used.
    #[error(transparent)]
    Workspaces(#[from] WorkspaceError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    tls: Option<Tls>,
    address: SocketAddr,
}

impl Server {
    /// Opens everything that it needs, and listens. Nobody is served yet.
    pub async fn bind(
        runtime: Runtime,
        options: ServerOptions,
        metrics: Option<PrometheusHandle>,
    ) -> Result<Self, ServeError> {
        let (address, needs_token) = (options.address, options.needs_token);
        if !needs_token && !address.ip().is_loopback() {
            return Err(ServeError::Open { address });
        }
        let tls = options.tls.clone().map(Tls::load).transpose()?;
        let app = open(runtime, options, metrics)?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| ServeError::Listen { address, source })?;
        let address = listener.local_addr().map_err(|source| ServeError::Listen { address, source })?;
        Ok(Self { app, listener, tls, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes the default sandbox ready, so that the first request does not wait for it.
    pub async fn warm(&self) -> Result<(), belljar::RuntimeError> {
        let equipped = self.app.sandboxes.all().find(|(name, _)| *name == runs::DEFAULT);
        let Some((_, offered)) = equipped else { return Ok(()) };
        offered.make_ready(&self.app.runtime).await
    }

    /// Has its certificate read again, if it has one. Returns whether it has.
    pub fn reload_tls(&self) -> Result<bool, TlsError> {
        self.tls.as_ref().map_or(Ok(false), |tls| tls.reload().map(|()| true))
    }

    /// Serves until `stop` is ready, and then ends in order. While what runs comes to its end,
    /// clients are told so.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        /// For answers that are on their way.
        const LAST_WORDS: Duration = Duration::from_secs(5);
        let is_closing = watch::Sender::new(false);
        let most = self.app.limits.connections;
        let connections = Arc::new(Semaphore::new(most));
        tokio::select! {
            () = self.serve(&connections, &is_closing) => {}
            () = async { stop.await; drain(&self.app).await } => {}
        }
        is_closing.send_replace(true);
        self.app.mcp.close();
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        let _ = timeout(LAST_WORDS, connections.acquire_many(all)).await;
        self.app.writer.flush().await;
        self.app.graders.close().await;
        self.app.runtime.shutdown().await;
    }

    async fn serve(&self, connections: &Arc<Semaphore>, is_closing: &watch::Sender<bool>) {
        let router = router(self.app.clone());
        let mut sweeps = interval(Duration::from_secs(5));
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                accepted = self.accept(connections) => accepted,
                _ = sweeps.tick() => {
                    self.app.sessions.sweep();
                    self.app.programs.sweep();
                    revoked::end_what_they_hold(&self.app);
                    continue;
                }
            };
            let Some((stream, place)) = accepted else { continue };
            let (router, closing, tls) = (router.clone(), is_closing.subscribe(), self.tls.clone());
            let times = Times { head: self.app.limits.head_time, read: self.app.limits.read_time };
            tokio::spawn(async move {
                let _place = place;
                match tls {
                    None => speak(stream, router, times, closing).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(times.head, tls.accept(stream)).await {
                            speak(stream, router, times, closing).await;
                        }
                    }
                }
            });
        }
    }

    async fn accept(
        &self,
        places: &Arc<Semaphore>,
    ) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
        let place = places.clone().acquire_owned().await.ok()?;
        match self.listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                Some((stream, place))
            }
            Err(error) => {
                // Out of descriptors, for example. Those that are served go on, and free some.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(50)).await;
                None
            }
        }
    }
}

/// Opens what all clients share, however they are served.
pub(crate) fn open(
    runtime: Runtime,
    options: ServerOptions,
    metrics: Option<PrometheusHandle>,
) -> Result<Arc<App>, ServeError> {
    let ServerOptions { state, sandboxes, needs_token, host_names, limits, retention, .. } = options;
    let writer = Writer::start(&state, retention)?;
    let history = HistoryReader::open(&state)?;
    let workspaces = WorkspaceStore::open(&runtime, &state, &limits)?;
    let tokens = needs_token.then(|| TokenStore::in_directory(&state));
    if let Some(tokens) = &tokens {
        tokens.all()?;
    }
    let sandboxes = Sandboxes::new(sandboxes);
    let graders = Graders::new(&runtime, &state, sandboxes.config_of(graders::SANDBOX));
    let app = App {
        runtime,
        sandboxes,
        tokens,
        host_names,
        admission: Admission::new(limits.concurrency, limits.queue),
        held: Shares::new("bytes in memory", limits.held_bytes),
        sessions: Sessions::new(limits.sessions),
        limits,
        writer,
        history,
        runs: Runs::default(),
        workspaces,
        programs: Programs::default(),
        artifacts: Artifacts::in_directory(&state),
        mcp: mcp::Room::default(),
        graders: Arc::new(graders),
        metrics,
        is_draining: watch::Sender::new(false),
    };
    Ok(Arc::new(app))
}

/// Ends what was opened, in order.
pub(crate) async fn end(app: &App) {
    drain(app).await;
    app.writer.flush().await;
    app.runtime.shutdown().await;
}

async fn drain(app: &App) {
    /// How long a cancelled run may take to say so.
    const CANCELLED: Duration = Duration::from_secs(5);
    app.is_draining.send_replace(true);
    app.admission.close();
    let is_over = async |runs: Vec<Arc<Run>>| {
        for run in runs {
            run.over().await;
        }
    };
    app.programs.end_those_talked_to();
    let all_over =
        async { tokio::join!(is_over(app.runs.all()), app.graders.at_rest(), app.programs.over()) };
    if timeout(app.limits.drain, all_over).await.is_err() {
        tracing::warn!("runs are cancelled, because the server ends");
    }
    let left = app.runs.all();
    left.iter().for_each(|run| run.cancel());
    app.sessions.clear();
    app.programs.clear();
    let _ = timeout(CANCELLED, async { tokio::join!(is_over(left), app.programs.over()) }).await;
}

/// How long a client may take: to send the head of a request, and to read some of an answer.
#[derive(Clone, Copy)]
struct Times {
    head: Duration,
    read: Duration,
}

/// Speaks HTTP over one connection.
async fn speak<S>(stream: S, router: Router, times: Times, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Times { head, read } = times;
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        async move { router.call(request).await }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .serve_connection(TokioIo::new(Patient::new(stream, read)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let is_closing = async { drop(closing.wait_for(|is_closing| *is_closing).await) };
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = is_closing => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Everything that is in the OpenAPI document.
pub(crate) fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(runs::routes::routes())
        .merge(sessions::routes())
        .merge(workspaces::routes())
        .merge(programs::routes())
        .merge(artifacts::routes())
        .merge(tools::routes())
        .merge(overview::routes())
        .merge(graders::routes())
}

fn router(app: Arc<App>) -> Router {
    let (described, document) = described().split_for_parts();
    let missing = async |request: Request| {
        Problem::new(Code::NotFound, format!("there is nothing at {:?}", request.uri().path()))
    };
    let wrong_method = async |request: Request| {
        let detail = format!("{:?} has no {}", request.uri().path(), request.method());
        Problem::new(Code::Method, detail)
    };
    described
        .merge(openapi::routes(&document))
        .merge(mcp::http::routes())
        .merge(console::routes())
        .fallback(missing)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(as_problem))
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(axum::middleware::map_response(overview::count))
        .layer(axum::middleware::from_fn(trace::follow))
        .with_state(app)
}

/// What axum refuses by itself is told as everything else is.
async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_ours = response.headers().contains_key(hyper::header::CONTENT_TYPE)
        && !response.headers()[hyper::header::CONTENT_TYPE].as_bytes().starts_with(b"text/plain");
    let is_refused = status.is_client_error() || status.is_server_error();
    if !is_refused || is_ours {
        return response;
    }
    let code = if status.is_client_error() { Code::Invalid } else { Code::Internal };
    let body = crate::body::read(response.into_body(), 1 << 16).await.unwrap_or_default();
    Problem::new(code, String::from_utf8_lossy(&body)).into_response()
}
