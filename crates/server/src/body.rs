//! Reads the body of a request.
//!
//! What is read takes of the client's share of memory before it is there, and for as long as the
//! [`Share`] lives that comes with it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::invalid;
use crate::shares::Share;
use crate::state::App;
use crate::tokens::Scope;

/// Values in one body, at most. Each takes many times as much memory as it is long.
const MOST_VALUES: usize = 500_000;

/// The body as a JSON object, of a client that may change something. An empty body is an empty
/// object. Whoever keeps what is in it keeps the share, too.
pub(crate) struct Object(pub(crate) Map<String, Value>, pub(crate) Share);

impl FromRequest<Arc<App>> for Object {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let client = request.extensions().get::<Client>().cloned();
        let client = client.ok_or_else(|| Problem::new(Code::Unauthorized, "nobody knows who asks"))?;
        client.needs(Scope::Run)?;
        let (bytes, share) = received(app, &client, request.into_body(), app.limits.request_bytes).await?;
        object(&kind, &bytes).map(|fields| Self(fields, share))
    }
}

/// The fields of a body of this type.
pub(crate) fn object(kind: &str, bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    if !is_json {
        let detail = "send JSON, and say so: `Content-Type: application/json`";
        return Err(Problem::new(Code::MediaType, detail).at("content-type"));
    }
    few_enough(bytes)?;
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(invalid("the body must be a JSON object")),
        Err(error) => Err(invalid(format!("the body is not JSON: {error}"))),
    }
}

/// Refuses a body of very many values before any of them is made.
pub(crate) fn few_enough(bytes: &[u8]) -> Result<(), Problem> {
    let (mut values, mut is_text, mut is_escaped) = (1_usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => values += 1,
            _ => {}
        }
    }
    if values <= MOST_VALUES {
        return Ok(());
    }
    Err(Problem::new(Code::TooLarge, format!("a body may have {MOST_VALUES} values at most")))
}

/// The whole body, if it is not longer than this and keeps coming.
pub(crate) async fn received(
    app: &App,
    client: &Client,
    mut body: Body,
    most: usize,
) -> Result<(Bytes, Share), Problem> {
    let mut share = app.held.take(&client.id, 0, None)?;
    let mut whole = BytesMut::new();
    loop {
        let Some(frame) = in_time(app.limits.body_time, body.frame()).await? else { break };
        let frame = frame.map_err(|error| invalid(format!("the request broke off: {error}")))?;
        let Ok(piece) = frame.into_data() else { continue };
        if whole.len() + piece.len() > most {
            return Err(too_large(most));
        }
        share.grow(piece.len() as u64)?;
        whole.extend_from_slice(&piece);
    }
    Ok((whole.freeze(), share))
}

/// What comes before a client has said nothing for too long.
async fn in_time<T>(time: Duration, coming: impl Future<Output = T>) -> Result<T, Problem> {
    let late = |_| invalid(format!("nothing of the request came for {} s", time.as_secs_f64()));
    tokio::time::timeout(time, coming).await.map_err(late)
}

fn too_large(most: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("a request may have {most} bytes at most"))
}

/// An answer in pieces, which are there until a client has taken them. So is the share.
pub(crate) fn sent(bytes: Bytes, share: Share) -> Body {
    const PIECE: usize = 64 << 10;
    let pieces = stream::unfold((bytes, share), |(mut bytes, share)| async move {
        let piece = bytes.split_to(bytes.len().min(PIECE));
        (!piece.is_empty()).then(|| (Ok::<_, Infallible>(piece), (bytes, share)))
    });
    Body::from_stream(pieces)
}

/// The whole body of an answer of our own.
pub(crate) async fn read(body: Body, most: usize) -> Result<Bytes, Problem> {
    match Limited::new(body, most).collect().await {
        Ok(bytes) => Ok(bytes.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Err(error) => Err(invalid(format!("the request broke off: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_very_many_values_is_refused_and_one_of_much_text_is_not() {
        let text =
            format!("{{\"script\": \"{}\\\"{}\"}}", "[,".repeat(MOST_VALUES), "{,".repeat(MOST_VALUES));
        assert_eq!(object("application/json", text.as_bytes()).unwrap().len(), 1);
        let zeros = format!("{{\"a\": [{}0]}}", "0,".repeat(MOST_VALUES));
        assert_eq!(object("application/json", zeros.as_bytes()).unwrap_err().code, Code::TooLarge);
    }
}
