//! A server that is reached over HTTP.

use std::collections::HashMap;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::Url;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::McpError;
use crate::measured::LONGEST_MESSAGE;
use crate::server::{McpServer, Place};

const CONNECT_WITHIN: Duration = Duration::from_secs(10);

pub(crate) type RemoteTransport = StreamableHttpClientTransport<reqwest::Client>;

/// The way to the server, if it is one.
pub(crate) fn transport(server: &McpServer) -> Result<Option<RemoteTransport>, McpError> {
    let Place::Address { url, headers } = &server.place else { return Ok(None) };
    let wrong = |reason: String| McpError::Address { server: server.name.clone(), reason };
    let mut custom_headers = HashMap::new();
    for (name, value) in headers {
        let header: HeaderName =
            name.parse().map_err(|_| wrong(format!("`{name}` is no name of a header")))?;
        let mut value: HeaderValue = value.expose().parse().map_err(|_| {
            wrong(format!("the value of the header {name} has characters that none can have"))
        })?;
        value.set_sensitive(true);
        custom_headers.insert(header, value);
    }
    let address: Url = url.parse().map_err(|error| wrong(format!("its address is no URL: {error}")))?;
    let client = client(&address).map_err(wrong)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.custom_headers = custom_headers;
    config.max_sse_event_size = LONGEST_MESSAGE;
    Ok(Some(StreamableHttpClientTransport::with_client(client, config)))
}

fn client(url: &Url) -> Result<reqwest::Client, String> {
    let tls = belljar_tls::client_config(url.scheme()).map_err(|error| error.to_string())?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_WITHIN)
        // A redirect would take keys in headers to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("belljar/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}
