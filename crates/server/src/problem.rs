//! What a client is told when something is not done: one format (RFC 9457) and a code that stays.
//!
//! | field | what it is |
//! |---|---|
//! | `type` | `urn:belljar:problem:` and the code |
//! | `title` | the same for every problem with this code |
//! | `status` | the HTTP status |
//! | `code` | one word, for programs |
//! | `detail` | what happened here, and what to do |
//! | `field` | which part of the request is meant, if one is |

use std::fmt;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use belljar::{Fault, RuntimeError};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;
use utoipa::ToSchema;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $code:literal $status:ident $title:literal;)*) => {
        /// Why something was not done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// For programs. It never changes.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    /// Not what this path can read.
    Invalid "invalid-request" BAD_REQUEST "The request cannot be used";
    /// No token, or one that is not known.
    Unauthorized "unauthorized" UNAUTHORIZED "A token is needed";
    /// A token that may not do this.
    Forbidden "forbidden" FORBIDDEN "This token may not do that";
    /// A page of another site asks, or the request was meant for another.
    WrongOrigin "wrong-origin" FORBIDDEN "The request was made for another host, or by another page";
    /// Nothing there.
    NotFound "not-found" NOT_FOUND "There is no such thing";
    /// Nothing there that could be done so.
    Method "method-not-allowed" METHOD_NOT_ALLOWED "This cannot be done with that method";
    /// An answer in a form that there is not.
    NotAcceptable "not-acceptable" NOT_ACCEPTABLE "The answer cannot be written in that form";
    /// Something else is in the way.
    Conflict "conflict" CONFLICT "Something else is in the way";
    /// A body that is too long.
    TooLarge "too-large" PAYLOAD_TOO_LARGE "The request is too large";
    /// More than a workspace or a token may hold.
    NoRoom "no-room" PAYLOAD_TOO_LARGE "There is no room for that";
    /// A body in a form that nobody reads.
    MediaType "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "The request is in a form that is not read here";
    /// More wait than may wait.
    QueueFull "queue-full" TOO_MANY_REQUESTS "Too many wait already";
    /// More than this token may have.
    RateLimited "rate-limited" TOO_MANY_REQUESTS "This token has used up its share";
    /// The server is about to end.
    Draining "draining" SERVICE_UNAVAILABLE "The server is about to end";
    /// No sandbox could be made.
    Sandbox "sandbox-unavailable" SERVICE_UNAVAILABLE "No sandbox could be had";
    /// The history cannot be written.
    History "history-unavailable" SERVICE_UNAVAILABLE "What runs cannot be written down";
    /// Our own fault.
    Internal "internal" INTERNAL_SERVER_ERROR "The server failed";
}

/// What a client is told instead of an answer.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    detail: String,
    field: Option<String>,
    retry_after: Option<Duration>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), field: None, retry_after: None }
    }

    /// Names the part of the request that is meant.
    pub(crate) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says when it is worth another try.
    pub(crate) fn after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// The part of the request that is meant.
    pub(crate) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    pub(crate) fn no_such(what: &str, name: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} {name:?}, or it is not yours"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// How it is written.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Written {
    /// `urn:belljar:problem:` and the code.
    r#type: String,
    /// The same for every problem with this code.
    title: String,
    /// The HTTP status.
    status: u16,
    /// Why, for programs. It never changes.
    #[schema(example = "invalid-request")]
    code: String,
    /// What happened, and what to do.
    detail: String,
    /// Which part of the request is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (code, status) = (self.code, self.code.status());
        if status.is_server_error() {
            tracing::warn!(code = code.name(), detail = %self.detail, "a request failed");
        }
        let written = Written {
            r#type: format!("urn:belljar:problem:{}", code.name()),
            title: code.title().to_owned(),
            status: status.as_u16(),
            code: code.name().to_owned(),
            detail: self.detail,
            field: self.field,
        };
        let mut response = (status, Json(written)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(time) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
        }
        response
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        let detail = with_causes(&error);
        match &error {
            RuntimeError::ShutDown | RuntimeError::SandboxClosed { .. } => Self::new(Code::Draining, detail),
            RuntimeError::SessionOver { .. } | RuntimeError::StepUnderWay { .. } => {
                Self::new(Code::Conflict, detail)
            }
            _ if error.fault() == Fault::Caller => Self::new(Code::Invalid, detail),
            _ => Self::new(Code::Sandbox, detail).after(Duration::from_secs(1)),
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_a_word_of_its_own_and_each_status_an_error() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.status().is_client_error() || code.status().is_server_error(), "{}", code.name());
        }
    }
}
