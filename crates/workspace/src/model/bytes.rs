//! Bytes in JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::Error;

/// Bytes as two keys: text for whoever reads, and base64 if the text is not all of it.
pub(super) fn to_json(bytes: &[u8]) -> (String, Option<String>) {
    match str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Some(BASE64_STANDARD.encode(bytes))),
    }
}

/// The inverse of [`to_json`]. The exact bytes count, where they are given.
pub(super) fn from_json<E: Error>(text: String, base64: Option<String>) -> Result<Vec<u8>, E> {
    match base64 {
        Some(base64) => BASE64_STANDARD.decode(base64).map_err(E::custom),
        None => Ok(text.into_bytes()),
    }
}
