//! A model behind an HTTP endpoint.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use belljar_engine::{Background, BoxFuture};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::mpsc::unbounded_channel;

use super::anthropic::{self, Spoken};
use super::builder::HttpModelBuilder;
use super::endpoint::Endpoint;
use super::openai::{self, Completion};
use crate::model::{Delta, Message, Model, ModelError, Prices, Reply};

/// How a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// Chat completions: OpenAI, and the many servers that speak as it does.
    OpenAi,
    /// Messages: Anthropic.
    Anthropic,
}

/// There is no such provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no provider: there are openai, for all servers that speak as it does, and anthropic")]
pub struct UnknownProvider {
    /// What was given.
    pub name: String,
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        match name {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            _ => Err(UnknownProvider { name: name.to_owned() }),
        }
    }
}

/// A model behind an HTTP endpoint.
///
/// ```
/// use belljar_agent::models::HttpModel;
/// use belljar_core::Secret;
///
/// let model = HttpModel::openai("qwen3").base_url("http://127.0.0.1:8000/v1").build()?;
/// let model = HttpModel::anthropic("claude-sonnet-4-5").key(Secret::new("…")).build();
/// # Ok::<(), belljar_agent::model::ModelError>(())
/// ```
pub struct HttpModel {
    pub(super) name: String,
    pub(super) provider: Provider,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) max_tokens: Option<u32>,
    pub(super) extra: Map<String, Value>,
    pub(super) prices: Option<Prices>,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("name", &self.name)
            .field("provider", &self.provider)
            .field("url", &self.endpoint.url.as_str())
            .field("key", &self.endpoint.hiding.key())
            .finish_non_exhaustive()
    }
}

impl HttpModel {
    /// A model of OpenAI's, or of a server that speaks as it does.
    pub fn openai(name: impl Into<String>) -> HttpModelBuilder {
        Self::of(Provider::OpenAi, name)
    }

    /// A model of Anthropic's.
    pub fn anthropic(name: impl Into<String>) -> HttpModelBuilder {
        Self::of(Provider::Anthropic, name)
    }

    /// A model of either.
    pub fn of(provider: Provider, name: impl Into<String>) -> HttpModelBuilder {
        HttpModelBuilder::new(provider, name.into())
    }

    fn body(&self, messages: &[Message]) -> Bytes {
        let mut body = match self.provider {
            Provider::OpenAi => openai::body(&self.name, messages, self.max_tokens),
            Provider::Anthropic => anthropic::body(&self.name, messages, self.max_tokens),
        };
        for (name, value) in &self.extra {
            match value {
                Value::Null => drop(body.remove(name)),
                value => drop(body.insert(name.clone(), value.clone())),
            }
        }
        Value::Object(body).to_string().into()
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply<'a>(
        &'a self,
        messages: &'a [Message],
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let failed = |reason: String| ModelError::Failed { reason };
            let background = Background::of_this_process().map_err(|error| failed(error.to_string()))?;
            let (deltas, mut coming) = unbounded_channel();
            let (endpoint, body, provider) = (Arc::clone(&self.endpoint), self.body(messages), self.provider);
            let asking = async move {
                match provider {
                    Provider::OpenAi => endpoint.ask::<Completion>(body, &deltas).await,
                    Provider::Anthropic => endpoint.ask::<Spoken>(body, &deltas).await,
                }
            };
            let mut asking = std::pin::pin!(background.run(asking));
            let reply = loop {
                tokio::select! {
                    biased;
                    Some(delta) = coming.recv() => on_delta(delta),
                    reply = &mut asking => break reply.map_err(|forked| failed(forked.to_string()))?,
                }
            };
            while let Ok(delta) = coming.try_recv() {
                on_delta(delta);
            }
            Ok(reply?.priced(self.prices))
        })
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::Secret;

    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let model = HttpModel::openai("m").key(Secret::new("sk-secret")).build().unwrap();
        assert!(!format!("{model:?} {:?}", model.endpoint.headers).contains("sk-secret"));
        let builder = HttpModel::anthropic("m").key(Secret::new("sk-secret\n"));
        assert!(!format!("{builder:?}").contains("sk-secret"));
        let error = builder.build().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model cannot be asked: the key has characters that no key has, such as a line break"
        );
    }

    #[test]
    fn a_field_replaces_one_of_ours_and_null_takes_it_away() {
        let model = HttpModel::openai("m").field("stream_options", Value::Null).field("model", "other");
        let body: Value = serde_json::from_slice(&model.build().unwrap().body(&[])).unwrap();
        assert_eq!(body.get("stream_options"), None);
        assert_eq!(body["model"], "other");
    }
}
