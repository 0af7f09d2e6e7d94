//! What the libraries say of an error, as a person and a script may read it.
//!
//! They quote the server, the address and their own types. An address may have a key in it, and a
//! script reads what is said here.

use std::error::Error;

use rmcp::model::ServerResult;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::de::DeserializeOwned;

use crate::child::printable;
use crate::keys::Keys;
use crate::server::{McpServer, Place};

/// Characters of it.
const MOST: usize = 400;

/// The error and its causes on one line.
pub(crate) fn told(error: &(dyn Error + 'static), server: &McpServer) -> String {
    let error = inside(error);
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    printable(&without_keys(text, server), MOST)
}

/// What is wrong with an answer that is none of this kind.
pub(crate) fn not_an_answer<T: DeserializeOwned>(answer: &ServerResult, server: &McpServer) -> String {
    let parsed = serde_json::to_value(answer).and_then(serde_json::from_value::<T>);
    let reason = parsed.err().map_or_else(String::new, |error| format!(": {}", told(&error, server)));
    format!("is not one that MCP describes{reason}")
}

/// What is left of an error without those that only say which part of the library had it.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return inside(error);
    }
    if let Some(DynamicTransportError { error, .. }) = error.downcast_ref() {
        return inside(error.as_ref());
    }
    match error.downcast_ref() {
        // By itself, it only has the address.
        Some(StreamableHttpError::<reqwest::Error>::Client(error)) => error.source().unwrap_or(error),
        _ => error,
    }
}

/// The text without what follows `?` in the server's address, without a password in it, and without
/// the keys that the server was given.
fn without_keys(text: String, server: &McpServer) -> String {
    let mut text = Keys::of(server).hidden(&text);
    let Place::Address { url, .. } = &server.place else { return text };
    let query = url.split_once('?').map(|(_, query)| query);
    let host = url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let password = host.rsplit_once('@').map(|(password, _)| password);
    for key in [query, password].into_iter().flatten().filter(|key| !key.is_empty()) {
        text = text.replace(key, "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_an_address_are_not_told() {
        let server = McpServer::url("https://me:hunter2@example.com/mcp?key=hunter2");
        let said = "nothing at https://me:hunter2@example.com/mcp?key=hunter2";
        assert_eq!(without_keys(said.into(), &server), "nothing at https://…@example.com/mcp?…");
        assert_eq!(told(&std::io::Error::other("no\u{1b}[2J"), &server), "no [2J");
    }

    #[test]
    fn the_name_of_a_type_is_not_told() {
        let cause = StreamableHttpError::<reqwest::Error>::SessionExpired;
        let error =
            DynamicTransportError::from_parts("a::Type", std::any::TypeId::of::<()>(), Box::new(cause));
        let error = ClientInitializeError::TransportError { error, context: "it is sent".into() };
        assert_eq!(told(&error, &McpServer::url("http://localhost")), "Session expired (HTTP 404)");
    }
}
