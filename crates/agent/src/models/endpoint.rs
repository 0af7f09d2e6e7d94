//! Requests to one server, until there is a reply or a reason to give up.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use reqwest::{Response, Url};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::hiding::Hiding;
use super::problem::{Problem, excerpt, message_of};
use super::retry::{Retry, retry_after};
use super::sse::{SseEvent, SseReader};
use crate::model::{Delta, ModelError, Reply};

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How much of an answer that is no reply is read.
const LONGEST_REFUSAL: u64 = 64 << 10;

/// How one kind of server speaks: what its reply is made of.
pub(super) trait Wire: Default + Send {
    /// Takes an event of a stream. Returns the text in it.
    fn event(&mut self, event: &SseEvent) -> Result<String, Problem>;
    /// Takes a reply that came in one piece, from a server that does not stream.
    fn whole(&mut self, body: &[u8]) -> Result<String, Problem>;
    /// The reply, or what of it is missing.
    fn finish(self) -> Result<Reply, &'static str>;
}

/// A server, and how it is asked.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) hiding: Hiding,
    pub(super) client: reqwest::Client,
    pub(super) retry: Retry,
    /// How long nothing may come.
    pub(super) silence: Duration,
    /// How long a reply may take.
    pub(super) total: Duration,
    /// How long a reply may be, in bytes as they come.
    pub(super) limit: u64,
}

/// A client for a server. It trusts what this machine trusts, and follows nobody elsewhere with a
/// key.
pub(super) fn client(url: &Url) -> Result<reqwest::Client, String> {
    let tls = belljar_tls::client_config(url.scheme()).map_err(|error| error.to_string())?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("belljar/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.without_url().to_string())
}

impl Endpoint {
    /// Asks until there is a reply, or trying again cannot help.
    pub(super) async fn ask<W: Wire>(
        &self,
        body: Bytes,
        deltas: &UnboundedSender<Delta>,
    ) -> Result<Reply, ModelError> {
        let mut tries = 1;
        loop {
            let problem = match timeout(self.total, self.try_once::<W>(body.clone(), deltas)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(problem)) => problem,
                Err(_) => Problem::Silent { within: self.total },
            };
            let again = if problem.may_pass() { self.retry.wait(tries, problem.again_after()) } else { None };
            let Some(wait) = again else { return Err(problem.into_error(self.url.as_str(), tries)) };
            tracing::debug!(tries, ?wait, problem = %problem.brief(), "the model is asked again");
            // Fails only if nobody wants to know.
            let _ = deltas.send(Delta::Retrying { reason: problem.brief(), wait });
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    async fn try_once<W: Wire>(
        &self,
        body: Bytes,
        deltas: &UnboundedSender<Delta>,
    ) -> Result<Reply, Problem> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = self.in_time(request.send()).await?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = self.hiding.in_error(kind.unwrap_or_default()).to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return self.stream::<W>(response, deltas).await;
        }
        let body = self.body(response, self.limit).await?;
        if !kind.contains("json") {
            let shown = excerpt(&self.hiding.in_error(&String::from_utf8_lossy(&body)));
            return Err(Problem::Malformed { reason: format!("it sends {kind:?}, which begins {shown:?}") });
        }
        let mut wire = W::default();
        let text = wire.whole(&body).map_err(|problem| self.hide(problem))?;
        let _ = deltas.send(Delta::Text(self.hiding.in_reply(text)));
        let reply = wire.finish().map_err(|missing| Problem::Malformed { reason: missing.to_owned() })?;
        Ok(self.hide_in(reply))
    }

    async fn stream<W: Wire>(
        &self,
        mut response: Response,
        deltas: &UnboundedSender<Delta>,
    ) -> Result<Reply, Problem> {
        let (mut wire, mut reader, mut bytes) = (W::default(), SseReader::default(), 0u64);
        let mut pieces = self.hiding.pieces();
        let show = |text: String| {
            if !text.is_empty() {
                let _ = deltas.send(Delta::Text(text));
            }
        };
        while let Some(chunk) = self.chunk(&mut response, bytes).await? {
            bytes += chunk.len() as u64;
            if bytes > self.limit {
                return Err(Problem::TooLong { limit: self.limit });
            }
            for mut event in reader.push(&chunk) {
                event.data = self.hiding.in_reply(event.data);
                let text = wire.event(&event).map_err(|problem| self.hide(problem))?;
                show(pieces.push(text));
            }
        }
        show(pieces.finish());
        let reply =
            wire.finish().map_err(|missing| Problem::Truncated { bytes, reason: missing.to_owned() })?;
        Ok(self.hide_in(reply))
    }

    /// Why a server did not reply, in its own words.
    async fn refusal(&self, response: Response) -> Problem {
        let status = response.status().as_u16();
        let again_after = retry_after(response.headers(), SystemTime::now());
        // Its status says enough, if its words cannot be had.
        let body = self.body(response, LONGEST_REFUSAL).await.unwrap_or_default();
        let message = self.hiding.in_error(&message_of(&body));
        Problem::Status { status, message, again_after }
    }

    async fn body(&self, mut response: Response, limit: u64) -> Result<Vec<u8>, Problem> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut response, body.len() as u64).await? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(Problem::TooLong { limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(self.hiding.in_body(body))
    }

    /// The next bytes of an answer, of which so many have come. A server that leaves in the middle
    /// of it was reached.
    async fn chunk(&self, response: &mut Response, so_far: u64) -> Result<Option<Bytes>, Problem> {
        self.in_time(response.chunk()).await.map_err(|problem| match problem {
            Problem::Unreachable { reason } => Problem::Truncated { bytes: so_far, reason },
            other => other,
        })
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, reqwest::Error>>) -> Result<T, Problem> {
        match timeout(self.silence, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                let reason = self.hiding.in_error(&with_causes(&error.without_url()));
                Err(Problem::Unreachable { reason })
            }
            Err(_) => Err(Problem::Silent { within: self.silence }),
        }
    }

    fn hide(&self, problem: Problem) -> Problem {
        match problem {
            Problem::Malformed { reason } => Problem::Malformed { reason: self.hiding.in_error(&reason) },
            Problem::Failed { message } => Problem::Failed { message: self.hiding.in_error(&message) },
            Problem::Busy { message } => Problem::Busy { message: self.hiding.in_error(&message) },
            other => other,
        }
    }

    fn hide_in(&self, mut reply: Reply) -> Reply {
        reply.text = self.hiding.in_reply(reply.text);
        reply
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
