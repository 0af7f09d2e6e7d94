//! One request and its answer, over a stream of its own.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;

use crate::JupyterError;
use crate::error::printable;
use crate::gateway::Gateway;

/// Bytes of an answer that are read.
const LONGEST_ANSWER: usize = 4 << 20;

/// What a gateway said.
pub(crate) struct Answer {
    /// What it was asked, for errors.
    what: String,
    pub(crate) status: StatusCode,
    body: Bytes,
}

impl Gateway {
    /// Asks. An answer of any status is an answer, but for a token that is refused.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
        within: Duration,
    ) -> Result<Answer, JupyterError> {
        let what = format!("{method} {path}");
        let asking = self.ask_without_end(method, path, body, what.clone());
        let answer = tokio::time::timeout(within, asking).await;
        answer.unwrap_or(Err(JupyterError::Silent { what, within }))
    }

    async fn ask_without_end(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
        what: String,
    ) -> Result<Answer, JupyterError> {
        let stream = self.transport().open().await?;
        let broken = |error: &dyn std::fmt::Display| JupyterError::Answer {
            what: what.clone(),
            reason: printable(&error.to_string(), 300),
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
        // It ends when the sender and the answer are dropped.
        tokio::spawn(connection);
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, self.authorization())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|e| broken(&e))?;
        let answer = sender.send_request(request).await.map_err(|e| broken(&e))?;
        let status = answer.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(JupyterError::Token);
        }
        let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
        let body = body.map_err(|e| broken(&e))?.to_bytes();
        Ok(Answer { what, status, body })
    }
}

impl Answer {
    /// Nothing is expected but that it was done.
    pub(crate) fn done(self) -> Result<(), JupyterError> {
        if self.status.is_success() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// What it was asked for.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, JupyterError> {
        if !self.status.is_success() {
            return Err(self.unexpected());
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| JupyterError::Answer { what: self.what, reason: error.to_string() })
    }

    fn unexpected(self) -> JupyterError {
        let said = printable(&String::from_utf8_lossy(&self.body), 300);
        JupyterError::Answer { what: self.what, reason: format!("{} {said}", self.status) }
    }
}
