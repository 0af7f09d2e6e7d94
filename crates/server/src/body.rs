//! Reads the body of a request.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::problem::{Code, Problem};
use crate::runs::invalid;
use crate::state::App;

/// The body as a JSON object. An empty body is an empty object.
pub(crate) struct Object(pub(crate) Map<String, Value>);

impl FromRequest<Arc<App>> for Object {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let bytes = read(request.into_body(), app.limits.request_bytes).await?;
        object(&kind, &bytes).map(Self)
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
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(invalid("the body must be a JSON object")),
        Err(error) => Err(invalid(format!("the body is not JSON: {error}"))),
    }
}

/// The whole body, if it is not longer than this.
pub(crate) async fn read(body: Body, most: usize) -> Result<bytes::Bytes, Problem> {
    match Limited::new(body, most).collect().await {
        Ok(bytes) => Ok(bytes.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Problem::new(Code::TooLarge, format!("a request may have {most} bytes at most")))
        }
        Err(error) => Err(invalid(format!("the request broke off: {error}"))),
    }
}
