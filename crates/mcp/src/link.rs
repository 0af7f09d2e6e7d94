//! One connection to a server, from the handshake to its end.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Instant;

use belljar_runtime::ToolContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    InitializeResult, JsonObject, PaginatedRequestParams, RequestId, ServerResult, Tool,
};
use rmcp::service::{ClientInitializeError, Peer, PeerRequestOptions, RunningService, ServiceError};
use rmcp::{RoleClient, serve_client};
use tokio::runtime::Handle;

use crate::child::{Process, printable};
use crate::keys::Keys;
use crate::measured::TooLong;
use crate::paced::Paced;
use crate::progress::Listener;
use crate::server::McpServer;
use crate::told::{not_an_answer, told};
use crate::{McpError, remote};

/// How many tools of one server are taken. Nobody reads more.
const MOST_TOOLS: usize = 512;
/// How many pages they may come in.
const MOST_PAGES: usize = 64;

/// A connection that works, or has worked.
pub(crate) struct Link {
    server: McpServer,
    /// What it was given, which no script is to read.
    pub(crate) keys: Keys,
    /// Dropping it closes the connection.
    service: RunningService<RoleClient, Listener>,
    listener: Listener,
    process: Option<Process>,
    pub(crate) since: Instant,
    /// Over HTTP nothing is closed when a server goes. A request that cannot be sent says so.
    broken: OnceLock<String>,
}

/// Why a call has no result.
pub(crate) enum CallError {
    /// The server says no.
    Refused(String),
    /// The server is gone. Why, [`Link::end`] knows.
    Gone,
}

impl Link {
    /// Starts the server, or connects to it, and shakes hands.
    pub(crate) async fn open(server: &McpServer) -> Result<Self, McpError> {
        let keys = Keys::of(server);
        let listener = Listener::new(keys.clone());
        let within = server.ready_within;
        let (process, opened) = match Process::start(server)? {
            Some((process, transport)) => {
                let opening = serve_client(listener.clone(), Paced::new(transport));
                let opening = process.lengths.during_handshake(opening);
                let opened = tokio::time::timeout(within, opening).await;
                (Some(process), opened)
            }
            None => {
                let transport = remote::transport(server)?.expect("it is a process or an address");
                let opening = serve_client(listener.clone(), Paced::new(transport));
                (None, tokio::time::timeout(within, opening).await.map(Ok))
            }
        };
        let name = server.name.clone();
        match opened {
            Ok(Ok(Ok(service))) => {
                process.iter().for_each(Process::is_ready);
                let (since, broken) = (Instant::now(), OnceLock::new());
                Ok(Self { server: server.clone(), keys, service, listener, process, since, broken })
            }
            Ok(Ok(Err(error))) => {
                let (reason, said) = no_handshake(&error, server, process.as_ref()).await;
                Err(McpError::Connect { server: name, reason, said })
            }
            Ok(Err(error)) => {
                Err(McpError::Connect { server: name, reason: format!("it {error}"), said: String::new() })
            }
            Err(_) => Err(McpError::Silent { server: name, within, said: last_words(process.as_ref()) }),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.broken.get().is_some() || self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Closes the connection, and ends the server if it is a process.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            process.stop().await;
        }
    }

    /// Its last words as the end of a sentence, or nothing.
    pub(crate) fn last_words(&self) -> String {
        last_words(self.process.as_ref())
    }

    /// How it ended, as the end of a sentence.
    pub(crate) async fn end(&self) -> String {
        let ended = match &self.process {
            // We have hung up. What it says and does after that is not why.
            Some(process) if process.lengths.is_given_up() => return format!("it {TooLong}"),
            Some(process) => process.how_it_ended().await,
            None => None,
        };
        let broken = || self.broken.get().map_or("it closed the connection", String::as_str).to_owned();
        let ended = ended.unwrap_or_else(broken);
        format!("{ended}{}", self.last_words())
    }

    /// Waits for an answer, but not beyond a message that is too long: it may have been that.
    async fn bounded<T>(&self, answer: impl Future<Output = T>) -> Result<T, TooLong> {
        match &self.process {
            Some(process) => process.lengths.during(answer).await,
            None => Ok(answer.await),
        }
    }

    /// The server's tools, as it describes them.
    pub(crate) async fn tools(&self) -> Result<Vec<Tool>, McpError> {
        let (mut found, mut cursor, mut seen) = (Vec::new(), None, BTreeSet::new());
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match self.bounded(self.service.peer().list_tools(Some(page))).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return Err(self.no_tools(error).await),
                Err(error) => {
                    let (server, reason) = (self.server.name.clone(), format!("it {error}"));
                    return Err(McpError::Connect { server, reason, said: String::new() });
                }
            };
            found.extend(page.tools.into_iter().take(MOST_TOOLS - found.len()));
            cursor = page.next_cursor;
            // A page that was there before would lead to the same ones again.
            let goes_on = cursor.as_ref().is_some_and(|next| seen.insert(next.clone()));
            if !goes_on || found.len() == MOST_TOOLS {
                break;
            }
        }
        Ok(found)
    }

    async fn no_tools(&self, error: ServiceError) -> McpError {
        let (reason, said) = match error {
            ServiceError::TransportClosed => (self.end().await, String::new()),
            other => {
                (format!("it does not list its tools: {}", told(&other, &self.server)), self.last_words())
            }
        };
        McpError::Connect { server: self.server.name.clone(), reason, said }
    }

    /// Calls a tool. If this is dropped, the server hears that nobody waits any more.
    pub(crate) async fn call(
        &self,
        tool: String,
        arguments: JsonObject,
        caller: ToolContext,
    ) -> Result<CallToolResult, CallError> {
        let call = CallToolRequest::new(CallToolRequestParams::new(tool).with_arguments(arguments));
        let peer = self.service.peer();
        let call = ClientRequest::CallToolRequest(call);
        let asked = peer.send_cancellable_request(call, PeerRequestOptions::no_options()).await;
        let asked = asked.map_err(|error| self.refusal(&error))?;
        let _followed = self.listener.follow(asked.progress_token.clone(), caller);
        let mut withdrawal = Withdrawal { peer: peer.clone(), id: Some(asked.id.clone()) };
        let answer = self
            .bounded(asked.rx)
            .await
            .map_err(|error| CallError::Refused(format!("the MCP server `{}` {error}", self.server.name)))?;
        withdrawal.id = None;
        match answer {
            Err(_) => Err(CallError::Gone),
            Ok(Err(error)) => Err(self.refusal(&error)),
            Ok(Ok(ServerResult::CallToolResult(result))) => Ok(result),
            Ok(Ok(ServerResult::InputRequiredResult(_))) => Err(CallError::Refused(
                "the server wants something of a user before it answers, which a script cannot give".into(),
            )),
            Ok(Ok(other)) => Err(CallError::Refused(format!(
                "the answer of the MCP server `{}` {}",
                self.server.name,
                not_an_answer::<CallToolResult>(&other, &self.server)
            ))),
        }
    }

    fn refusal(&self, error: &ServiceError) -> CallError {
        match error {
            ServiceError::TransportClosed => CallError::Gone,
            ServiceError::TransportSend(error) => {
                let _ = self.broken.set(told(error, &self.server));
                CallError::Gone
            }
            ServiceError::McpError(error) => {
                CallError::Refused(printable(&self.keys.hidden(&error.message), 1000))
            }
            other => CallError::Refused(told(other, &self.server)),
        }
    }
}

/// Tells the server that nobody waits for a call any more, unless there was an answer.
struct Withdrawal {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let (Some(id), Ok(here)) = (self.id.take(), Handle::try_current()) else { return };
        let peer = self.peer.clone();
        here.spawn(async move {
            let reason = Some("the script no longer waits for it".to_owned());
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await;
        });
    }
}

/// Why there is no connection, and the last words of a process if they may say more.
async fn no_handshake(
    error: &ClientInitializeError,
    server: &McpServer,
    process: Option<&Process>,
) -> (String, String) {
    let ended = match (error, process) {
        // It is us who hang up. How it ends after that, and what it says of it, is not why.
        (ClientInitializeError::ExpectedInitResult(Some(answer)), _) => {
            let reason = not_an_answer::<InitializeResult>(answer, server);
            return (format!("its answer to `initialize` {reason}"), String::new());
        }
        (ClientInitializeError::JsonRpcError(_), _) | (_, None) => None,
        // If its process has ended, that is why.
        (_, Some(process)) => process.how_it_ended().await,
    };
    (ended.unwrap_or_else(|| told(error, server)), last_words(process))
}

fn last_words(process: Option<&Process>) -> String {
    process.map(Process::last_words).unwrap_or_default()
}
