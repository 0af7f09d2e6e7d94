//! A server in this process, and a client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use belljar_server::{Scope, Server, ServerOptions, Token, TokenLimits, TokenStore};
use belljar_testing::{build, config, in_time};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::contract::Asked;

pub(crate) struct World {
    pub(crate) url: String,
    /// A token that may do everything.
    pub(crate) admin: String,
    pub(crate) tokens: TokenStore,
    pub(crate) http: reqwest::Client,
    pub(crate) state: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl World {
    /// `None` where no cells can be made.
    pub(crate) async fn new() -> Option<Self> {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServerOptions)) -> Option<Self> {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), change).await
    }

    /// A server on a state directory that is there already.
    pub(crate) async fn on(state: Arc<TempDir>, change: impl FnOnce(&mut ServerOptions)) -> Option<Self> {
        let runtime = build(belljar_testing_builder())?;
        let tokens = TokenStore::in_directory(state.path());
        let (token, admin) = Token::make("test", Scope::Admin, TokenLimits::default(), None);
        tokens.add(token).unwrap();
        let mut options = ServerOptions::new(state.path());
        options.address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        options.sandboxes.insert("default".to_owned(), config().into());
        options.limits.drain = Duration::from_secs(1);
        change(&mut options);
        let server = Server::bind(runtime, options, None).await.unwrap();
        let url = format!("http://{}", server.address());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            server
                .run(async {
                    let _ = stopped.await;
                })
                .await;
        });
        // Every client of this library wants to know how TLS is done, though none does it here.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Some(Self { url, admin, tokens, http, state, stop: Some(stop), serving })
    }

    pub(crate) fn token(&self, scope: Scope, limits: TokenLimits) -> String {
        let (token, text) = Token::make("test", scope, limits, None);
        self.tokens.add(token).unwrap();
        text
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.admin)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        self.post_as(&self.admin, path, body)
    }

    pub(crate) fn post_as(&self, token: &str, path: &str, body: &Value) -> reqwest::RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).bearer_auth(token).json(body)
    }

    /// Any request, with a token.
    pub(crate) fn ask(&self, method: &str, token: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(token)
    }

    /// Makes a workspace, and gives its path.
    pub(crate) async fn workspace(&self, name: &str) -> String {
        let (status, made) = told(self.post("/v1/workspaces", &serde_json::json!({"name": name}))).await;
        assert_eq!(status, 201, "{made}");
        format!("/v1/workspaces/{}", made["id"].as_str().unwrap())
    }

    /// Writes a file, as whoever may do everything.
    pub(crate) async fn put(&self, path: &str, content: impl Into<reqwest::Body>) -> (u16, Value) {
        told(self.ask("PUT", &self.admin, path).body(content)).await
    }

    /// Begins to stop it, and waits until it has.
    pub(crate) async fn stop(mut self) -> Arc<TempDir> {
        self.begin_to_stop();
        in_time(self.serving).await.unwrap();
        self.state
    }

    pub(crate) fn begin_to_stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    pub(crate) async fn stopped(self) {
        in_time(self.serving).await.unwrap();
    }
}

fn belljar_testing_builder() -> belljar::RuntimeBuilder {
    belljar::Runtime::builder().max_overflow(64)
}

/// An answer: its status, and its body as JSON. It is what the OpenAPI document says it is.
pub(crate) async fn told(request: reqwest::RequestBuilder) -> (u16, Value) {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let asked = Asked::of(&request);
    let response = in_time(client.execute(request)).await.unwrap();
    let status = response.status().as_u16();
    let text = in_time(response.text()).await.unwrap();
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect(&text) };
    asked.is_answered_as_described(status, &body);
    (status, body)
}

/// The events of a stream of lines.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Ids and events of a stream of SSE.
pub(crate) fn sse(text: &str) -> Vec<(u64, String, Value)> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().to_owned()
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("data:"));
    let read = |block: &str| {
        let data = serde_json::from_str(&field(block, "data:")).unwrap();
        (field(block, "id:").parse().unwrap(), field(block, "event:"), data)
    };
    blocks.map(read).collect()
}
