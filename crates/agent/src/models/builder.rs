//! How a model behind an HTTP endpoint is set up.

use std::sync::Arc;
use std::time::Duration;

use belljar_core::Secret;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use serde_json::{Map, Value};

use super::endpoint::{Endpoint, client};
use super::hiding::Hiding;
use super::retry::Retry;
use super::{HttpModel, Provider, anthropic, openai};
use crate::model::{ModelError, Prices};

/// Sets up an [`HttpModel`].
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpModelBuilder {
    name: String,
    provider: Provider,
    base_url: String,
    key: Option<Secret>,
    retry: Retry,
    silence: Duration,
    total: Duration,
    limit: u64,
    max_tokens: Option<u32>,
    extra: Map<String, Value>,
    prices: Option<Prices>,
}

impl HttpModelBuilder {
    pub(super) fn new(provider: Provider, name: String) -> Self {
        let base_url = match provider {
            Provider::OpenAi => openai::BASE,
            Provider::Anthropic => anthropic::BASE,
        };
        Self {
            name,
            provider,
            base_url: base_url.to_owned(),
            key: None,
            retry: Retry::default(),
            silence: Duration::from_secs(120),
            total: Duration::from_secs(600),
            limit: 16 << 20,
            max_tokens: None,
            extra: Map::new(),
            prices: None,
        }
    }

    /// Where the server is, without the last part of the path: `http://127.0.0.1:8000/v1`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// The key that the server wants. It is sent in a header and shown nowhere: it is `***` in
    /// errors, and in replies too unless it is shorter than 12 bytes.
    pub fn key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    /// What tokens cost. Without it a reply has no cost.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }

    /// The most tokens of a reply. Servers have a default; that of Anthropic's is set here to 8192.
    pub fn max_tokens(mut self, most: u32) -> Self {
        self.max_tokens = Some(most);
        self
    }

    /// Another field of the request, such as `temperature`. It takes the place of one of ours.
    /// `null` takes one of ours away, for servers that do not know it.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// How often, and when, a request that failed is made again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How long nothing may come from the server. 2 minutes by default.
    pub fn silence(mut self, longest: Duration) -> Self {
        self.silence = longest;
        self
    }

    /// How long a reply may take. 10 minutes by default.
    pub fn reply_within(mut self, longest: Duration) -> Self {
        self.total = longest;
        self
    }

    /// How long a reply may be, in bytes as they come. 16 MiB by default.
    pub fn longest_reply(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The model. Asks nobody yet.
    pub fn build(self) -> Result<HttpModel, ModelError> {
        let setup = |reason: String| ModelError::Setup { reason };
        let url = endpoint_url(&self.base_url, self.provider).map_err(setup)?;
        let headers = headers(self.provider, self.key.as_ref()).map_err(setup)?;
        let client = client(&url).map_err(setup)?;
        let Self { name, provider, key, retry, silence, total, limit, max_tokens, extra, prices, .. } = self;
        if name.trim().is_empty() {
            return Err(setup("it has no name".to_owned()));
        }
        let hiding = Hiding::new(key);
        let endpoint = Arc::new(Endpoint { url, headers, hiding, client, retry, silence, total, limit });
        Ok(HttpModel { name, provider, endpoint, max_tokens, extra, prices })
    }
}

fn endpoint_url(base: &str, provider: Provider) -> Result<Url, String> {
    // A mistyped URL may have a key in it, so it is not shown.
    let mut url: Url = base.parse().map_err(|error| format!("the base URL is none: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the base URL must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("the base URL has a user or a query in it: a key is given by itself".to_owned());
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let path = match provider {
        Provider::OpenAi => format!("{path}/{}", openai::PATH),
        // Its own documents name the address without the version.
        Provider::Anthropic if path.is_empty() => format!("/v1/{}", anthropic::PATH),
        Provider::Anthropic => format!("{path}/{}", anthropic::PATH),
    };
    url.set_path(&path);
    Ok(url)
}

fn headers(provider: Provider, key: Option<&Secret>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if provider == Provider::Anthropic {
        let (name, version) = anthropic::VERSION;
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
    }
    if let Some(key) = key {
        let (name, text) = match provider {
            Provider::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
        };
        let wrong = |_| "the key has characters that no key has, such as a line break".to_owned();
        let mut value: HeaderValue = text.parse().map_err(wrong)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_gets_the_path_of_its_provider() {
        for (provider, base, url) in [
            (Provider::OpenAi, openai::BASE, "https://api.openai.com/v1/chat/completions"),
            (Provider::OpenAi, "http://h:1/v1/", "http://h:1/v1/chat/completions"),
            (Provider::Anthropic, anthropic::BASE, "https://api.anthropic.com/v1/messages"),
            (Provider::Anthropic, "http://h:1", "http://h:1/v1/messages"),
        ] {
            assert_eq!(endpoint_url(base, provider).unwrap().as_str(), url);
        }
        for bad in ["api.openai.com", "ftp://h", "https://user:key@h", "https://h/?key=k"] {
            let error = endpoint_url(bad, Provider::OpenAi).unwrap_err();
            assert!(error.starts_with("the base URL"), "{error}");
        }
    }
}
