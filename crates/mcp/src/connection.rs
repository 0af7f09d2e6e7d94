//! A server that stays reachable: if it dies, the next call starts it again.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_core::Json;
use belljar_core::tool::Tool;
use belljar_engine::{Background, BoxFuture};
use belljar_runtime::{HostTool, RegistryError, ToolContext, ToolFailure, ToolRegistry};
use tokio::sync::Mutex;

use crate::keys::Keys;
use crate::link::{CallError, Link};
use crate::server::{McpServer, Place};
use crate::{McpError, content};

/// How long to wait before a server that died is started again. Doubled each time it dies young.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a call waits for that. One that would wait longer fails at once, and says so.
const MOST_PATIENCE: Duration = Duration::from_secs(2);
/// A server that lived for so long did not die of its start.
const GROWN_UP: Duration = Duration::from_secs(60);

/// A server and its tools. Cheap to clone. The server ends with the last clone, and with the last
/// sandbox that has its tools.
#[derive(Clone)]
pub struct McpConnection {
    shared: Arc<Shared>,
}

struct Shared {
    server: McpServer,
    /// The library wants tokio, and a connection outlives the call that opened it.
    background: Background,
    state: Mutex<State>,
    /// What the server said of its tools when it was first connected to.
    offered: Vec<rmcp::model::Tool>,
}

enum State {
    Up { link: Arc<Link>, pause: Duration },
    Down { reason: String, not_before: Instant, pause: Duration },
    Closed,
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { server, offered, .. } = &*self.shared;
        f.debug_struct("McpConnection").field("server", server).field("tools", &offered.len()).finish()
    }
}

impl McpConnection {
    pub(crate) async fn new(server: McpServer) -> Result<Self, McpError> {
        let background = Background::of_this_process()?;
        let opening = async move {
            let link = Link::open(&server).await?;
            let listed = tokio::time::timeout(server.ready_within, link.tools()).await;
            let offered = listed.map_err(|_| McpError::Silent {
                server: server.name.clone(),
                within: server.ready_within,
                said: link.last_words(),
            })??;
            Ok::<_, McpError>((server, link, offered))
        };
        let (server, link, offered) = background.run(opening).await??;
        let state = Mutex::new(State::Up { link: Arc::new(link), pause: FIRST_PAUSE });
        Ok(Self { shared: Arc::new(Shared { server, background, state, offered }) })
    }

    /// What the server is called.
    pub fn name(&self) -> &str {
        &self.shared.server.name
    }

    /// Adds the server's tools to others. Each is called by the name of the server and its own:
    /// `github_list_issues`. A name that is taken gets a number.
    pub fn add_to(&self, mut registry: ToolRegistry) -> Result<ToolRegistry, RegistryError> {
        // Without a word before it, a tool could be called `print`.
        let is_word = self.name().contains(|c: char| c.is_ascii_alphanumeric());
        let server = if is_word { self.name() } else { "mcp" };
        for offered in &self.shared.offered {
            let name = registry.free_name(server, &offered.name);
            registry = registry.with(self.tool(name, offered))?;
        }
        Ok(registry)
    }

    /// Ends the server, if it is a process, and waits for that. Calls fail from then on. Without
    /// this, it ends with the last that holds it, but a program may end before.
    pub async fn close(&self) {
        let shared = Arc::clone(&self.shared);
        let closing = async move {
            let state = std::mem::replace(&mut *shared.state.lock().await, State::Closed);
            if let State::Up { link, .. } = state {
                link.close().await;
            }
        };
        // In a fork, it is not ours to end.
        let _ = self.shared.background.run(closing).await;
    }

    fn tool(&self, name: String, offered: &rmcp::model::Tool) -> HostTool {
        let description = offered.description.as_deref().or(offered.title.as_deref()).unwrap_or_default();
        let keys = Keys::of(&self.shared.server);
        let mut schema = serde_json::Value::Object((*offered.input_schema).clone());
        keys.hide_in_schema(&mut schema);
        let tool = Tool::from_json_schema(name, &keys.hidden(description), &schema)
            .on_mcp_server(self.name(), offered.name.clone());
        let (shared, own_name) = (Arc::clone(&self.shared), offered.name.to_string());
        let call =
            move |caller: ToolContext, arguments: Json| -> BoxFuture<'static, Result<Json, ToolFailure>> {
                let (shared, tool) = (Arc::clone(&shared), own_name.clone());
                Box::pin(async move {
                    let background = shared.background.clone();
                    background.run(async move { shared.call(tool, &arguments, caller).await }).await?
                })
            };
        let tool = HostTool::described(tool, call).timeout(self.shared.server.call_within);
        if self.shared.server.raises { tool.raising() } else { tool }
    }
}

impl Shared {
    async fn call(&self, tool: String, arguments: &Json, caller: ToolContext) -> Result<Json, ToolFailure> {
        let arguments = arguments.to().map_err(ToolFailure::from)?;
        let link = self.link().await.map_err(ToolFailure::new)?;
        match link.call(tool, arguments, caller).await {
            Ok(result) => content::of_result(result, &link.keys),
            Err(CallError::Refused(reason)) => Err(ToolFailure::new(reason)),
            // Whether it did what it was asked for, nobody knows. So it is not asked again.
            Err(CallError::Gone) => Err(ToolFailure::new(format!(
                "{}. {}",
                self.is_gone(&link.end().await),
                match self.server.place {
                    Place::Process { .. } => "The next call starts it again",
                    Place::Address { .. } => "The next call connects to it again",
                }
            ))),
        }
    }

    /// What happened to it. One at an address may well be there.
    fn is_gone(&self, reason: &str) -> String {
        let what = match self.server.place {
            Place::Process { .. } => "is gone",
            Place::Address { .. } => "gave no answer",
        };
        format!("the MCP server `{}` {what}: {reason}", self.server.name)
    }

    /// A connection that works. Whoever finds the server dead starts it again, while others wait.
    async fn link(&self) -> Result<Arc<Link>, String> {
        let mut state = self.state.lock().await;
        if let State::Up { link, pause } = &*state {
            if !link.is_closed() {
                return Ok(Arc::clone(link));
            }
            let reason = link.end().await;
            tracing::warn!(server = self.server.name, reason, "an MCP server is gone");
            let pause = if link.since.elapsed() > GROWN_UP { FIRST_PAUSE } else { *pause };
            *state = State::Down { reason, not_before: Instant::now() + pause, pause };
        }
        let State::Down { reason, not_before, pause } = &mut *state else {
            return Err(format!("the MCP server `{}` was closed", self.server.name));
        };
        let wait = not_before.saturating_duration_since(Instant::now());
        if wait > MOST_PATIENCE {
            let again = match self.server.place {
                Place::Process { .. } => "started",
                Place::Address { .. } => "connected to",
            };
            let (gone, seconds) = (self.is_gone(reason), wait.as_secs() + 1);
            return Err(format!("{gone}. It is {again} again in {seconds} s at the earliest"));
        }
        tokio::time::sleep(wait).await;
        let longer = (*pause * 2).min(LONGEST_PAUSE);
        match Link::open(&self.server).await {
            Ok(link) => {
                let link = Arc::new(link);
                *state = State::Up { link: Arc::clone(&link), pause: longer };
                Ok(link)
            }
            Err(error) => {
                let told = format!("{error}. Before that, {reason}");
                *reason = error.to_string();
                (*not_before, *pause) = (Instant::now() + *pause, longer);
                Err(told)
            }
        }
    }
}
