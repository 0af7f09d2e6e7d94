//! The websocket of one kernel, from its handshake to its end.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, http::Uri};

use crate::JupyterError;
use crate::error::printable;
use crate::gateway::Gateway;
use crate::message::{Message, request};
use crate::transport::Stream;

const PROTOCOL: &str = "v1.kernel.websocket.jupyter.org";
/// Bytes of the longest message that is read. All output between two moments is one message.
const LONGEST_MESSAGE: usize = 32 << 20;
/// How long a message to a kernel may take to be sent.
const SENT_WITHIN: Duration = Duration::from_secs(30);
/// How long a gateway may take to open it: it waits until the kernel answers.
const OPEN_WITHIN: Duration = Duration::from_secs(90);
/// How long a kernel may take for its first answer. A gateway may not have waited for that.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A connection to a kernel.
pub(crate) struct Channel {
    socket: WebSocketStream<Stream>,
    session: String,
    sent: u64,
}

/// Why there is no more to read.
pub(crate) enum Broken {
    /// A message is longer than is read.
    TooLong,
    /// It is closed, or speaks nonsense.
    Closed(String),
}

impl Channel {
    /// Opens a connection to a kernel that answers. The second part is the name of its process, if
    /// the kernel has names for that: some repeat ours.
    pub(crate) async fn open(
        gateway: &Gateway,
        kernel: &str,
    ) -> Result<(Self, Option<String>), JupyterError> {
        let what = format!("the websocket of kernel {kernel}");
        let silent = |within| JupyterError::Silent { what: what.clone(), within };
        let opening = Self::handshake(gateway, kernel, &what);
        let opened = tokio::time::timeout(OPEN_WITHIN, opening).await;
        let mut channel = opened.map_err(|_| silent(OPEN_WITHIN))??;
        let first = tokio::time::timeout(ANSWER_WITHIN, channel.first_answer()).await;
        let process = first.map_err(|_| silent(ANSWER_WITHIN))??;
        let process = (process != channel.session).then_some(process);
        Ok((channel, process))
    }

    async fn handshake(gateway: &Gateway, kernel: &str, what: &str) -> Result<Self, JupyterError> {
        let session = belljar_core::random_hex();
        let stream = gateway.transport().open().await?;
        let failed = |reason: String| JupyterError::Answer { what: what.to_owned(), reason };
        let uri = format!("ws://localhost/api/kernels/{kernel}/channels?session_id={session}");
        let uri: Uri = uri.parse().map_err(|error| failed(format!("{error}")))?;
        let token = gateway.authorization();
        let request = ClientRequestBuilder::new(uri)
            .with_header("Authorization", token.to_str().unwrap_or_default())
            .with_sub_protocol(PROTOCOL);
        let config = WebSocketConfig::default()
            .max_message_size(Some(LONGEST_MESSAGE))
            .max_frame_size(Some(LONGEST_MESSAGE));
        match tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(Self { socket, session, sent: 0 }),
            Err(tungstenite::Error::Http(answer)) if matches!(answer.status().as_u16(), 401 | 403) => {
                Err(JupyterError::Token)
            }
            Err(error) => Err(failed(printable(&error.to_string(), 300))),
        }
    }

    /// Asks the kernel who it is, until it has answered and said that it has nothing more to do. From
    /// then on whatever it sends arrives here. It is asked more than once, because a kernel that just
    /// starts loses what nobody listens to yet.
    async fn first_answer(&mut self) -> Result<String, JupyterError> {
        let (mut asked, mut process, mut is_idle) = (Vec::new(), None, false);
        loop {
            asked.push(self.send("kernel_info_request", &json!({})).await?);
            let until = tokio::time::Instant::now() + ASK_AGAIN_AFTER;
            while let Ok(message) = tokio::time::timeout_at(until, self.next()).await {
                let message = match message {
                    Ok(message) => message,
                    Err(Broken::TooLong) => return Err(lost("a message is too long".into())),
                    Err(Broken::Closed(reason)) => return Err(lost(reason)),
                };
                if asked.contains(&message.parent) {
                    is_idle |= message.is_idle();
                    if message.kind == "kernel_info_reply" {
                        process = Some(message.session);
                    }
                }
                if let (true, Some(process)) = (is_idle, &process) {
                    return Ok(process.clone());
                }
            }
        }
    }

    /// Sends a request. Its id, by which its answers are known.
    pub(crate) async fn send(&mut self, kind: &str, content: &Value) -> Result<String, JupyterError> {
        self.sent += 1;
        let id = format!("{}-{}", self.session, self.sent);
        let bytes = request(&self.session, &id, kind, content);
        let sending = self.socket.send(tungstenite::Message::Binary(bytes.into()));
        match tokio::time::timeout(SENT_WITHIN, sending).await {
            Ok(Ok(())) => Ok(id),
            Ok(Err(error)) => Err(lost(error.to_string())),
            Err(_) => Err(JupyterError::Silent { what: kind.to_owned(), within: SENT_WITHIN }),
        }
    }

    /// The next message. Nothing is lost if the waiting is given up.
    pub(crate) async fn next(&mut self) -> Result<Message, Broken> {
        loop {
            match self.socket.next().await {
                Some(Ok(tungstenite::Message::Binary(bytes))) => match Message::read(&bytes) {
                    Some(message) => return Ok(message),
                    None => tracing::debug!(bytes = bytes.len(), "a message of a kernel is none"),
                },
                Some(Ok(tungstenite::Message::Close(_))) | None => {
                    return Err(Broken::Closed("the gateway closed it".into()));
                }
                Some(Ok(_)) => {}
                Some(Err(tungstenite::Error::Capacity(_))) => return Err(Broken::TooLong),
                Some(Err(error)) => return Err(Broken::Closed(printable(&error.to_string(), 300))),
            }
        }
    }
}

/// The connection broke.
pub(crate) fn lost(reason: String) -> JupyterError {
    JupyterError::Lost { reason }
}
