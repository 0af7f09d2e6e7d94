//! What a client asks for, and in which form it wants the answer.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use belljar::{ExecutionRequest, SandboxConfig};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::{Code, Problem};

/// A run that is asked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) request: ExecutionRequest,
    pub(crate) place: Place,
}

/// The sandbox that is asked for.
#[derive(Debug)]
pub(crate) enum Place {
    /// One that the server has.
    Named(String),
    /// One that comes with the request.
    Config(Box<SandboxConfig>),
}

/// The name of the sandbox that is used if none is named.
pub(crate) const DEFAULT: &str = "default";

impl Wanted {
    /// The body of a run: an `ExecutionRequest`, and `sandbox` or `config` beside it.
    pub(crate) fn read(mut fields: Map<String, Value>) -> Result<Self, Problem> {
        let place = Place::take(&mut fields)?;
        Ok(Self { request: script(fields)?, place })
    }
}

impl Place {
    /// Takes `sandbox` or `config` out of a body.
    pub(crate) fn take(fields: &mut Map<String, Value>) -> Result<Self, Problem> {
        match (fields.remove("sandbox"), fields.remove("config")) {
            (Some(_), Some(_)) => Err(invalid("name a `sandbox` or give a `config`, not both").at("config")),
            (None, None) => Ok(Self::Named(DEFAULT.to_owned())),
            (Some(Value::String(name)), None) => Ok(Self::Named(name)),
            (Some(_), None) => Err(invalid("`sandbox` must be the name of a sandbox").at("sandbox")),
            (None, Some(config)) => {
                let read = SandboxConfig::from_json(&config.to_string());
                let config = read.map_err(|error| invalid(error.to_string()).at("config"))?;
                Ok(Self::Config(Box::new(config)))
            }
        }
    }
}

/// The rest of a body: what is to run.
pub(crate) fn script(fields: Map<String, Value>) -> Result<ExecutionRequest, Problem> {
    if fields.contains_key("execution_id") {
        return Err(invalid("the server names runs: leave it out").at("execution_id"));
    }
    let request: ExecutionRequest = value(Value::Object(fields))?;
    request.check().map_err(|error| invalid(error.to_string()))?;
    Ok(request)
}

/// Anything that is read from JSON. What is wrong is named.
pub(crate) fn value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner().to_string());
        let field = match path.as_str() {
            "." => quoted(&reason).unwrap_or_default(),
            path => path.to_owned(),
        };
        let problem = invalid(reason);
        if field.is_empty() { problem } else { problem.at(field) }
    })
}

/// The first word between backquotes: the field that is missing or unknown.
fn quoted(text: &str) -> Option<String> {
    text.split('`').nth(1).map(str::to_owned)
}

pub(crate) fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Invalid, detail)
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The result, once it is there.
    Result,
    /// Events as they come, for browsers.
    Sse,
    /// Events as they come, a line each.
    Ndjson,
    /// Where to look later.
    Later,
}

impl Form {
    /// What a client prefers, by its headers.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let prefers = |wish: &str| {
            let given = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
            given.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(wish))
        };
        if prefers("respond-async") {
            return Ok(Self::Later);
        }
        Self::accepted(headers, Self::Result)
    }

    /// The same for a stream, which there is in two forms.
    pub(crate) fn of_stream(headers: &HeaderMap) -> Result<Self, Problem> {
        match Self::accepted(headers, Self::Sse)? {
            Self::Result => Ok(Self::Ndjson),
            form => Ok(form),
        }
    }

    fn accepted(headers: &HeaderMap, usual: Self) -> Result<Self, Problem> {
        let mut is_said = false;
        for value in headers.get_all(ACCEPT) {
            for kind in value.to_str().unwrap_or_default().split(',') {
                is_said = true;
                match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
                    "application/json" | "application/problem+json" => return Ok(Self::Result),
                    "text/event-stream" => return Ok(Self::Sse),
                    "application/x-ndjson" | "application/jsonl" => return Ok(Self::Ndjson),
                    "*/*" | "application/*" | "" => return Ok(usual),
                    _ => {}
                }
            }
        }
        if !is_said {
            return Ok(usual);
        }
        let known = "application/json, text/event-stream or application/x-ndjson";
        Err(Problem::new(Code::NotAcceptable, format!("`Accept` must allow {known}")).at("accept"))
    }
}

/// The time limit of a run, if its token has one.
pub(crate) fn within(most: Option<f64>, request: &mut ExecutionRequest, usual: f64) -> Result<(), Problem> {
    let Some(most) = most else { return Ok(()) };
    match request.timeout {
        Some(wanted) if wanted.as_secs_f64() > most => {
            Err(invalid(format!("this token's runs may take {most} s at most")).at("timeout"))
        }
        None if usual > most => {
            request.timeout = Duration::try_from_secs_f64(most).ok();
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Wanted, (String, Option<String>)> {
        let Value::Object(fields) = body else { panic!("{body}") };
        Wanted::read(fields).map_err(|problem| (problem.to_string(), problem.field().map(str::to_owned)))
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(read(json!({"script": "1", "timeout": 3, "sandbox": "x"})).is_ok());
        for (body, field) in [
            (json!({}), "script"),
            (json!({"script": 1}), "script"),
            (json!({"script": "1", "scripd": 1}), "scripd"),
            (json!({"script": "1", "env": {"A": 1}}), "env.A"),
            (json!({"script": "1", "execution_id": "x"}), "execution_id"),
            (json!({"script": "1", "sandbox": 3}), "sandbox"),
            (json!({"script": "1", "sandbox": "a", "config": {}}), "config"),
            (json!({"script": "1", "config": {"pool_sise": 1}}), "config"),
        ] {
            let (detail, named) = read(body.clone()).unwrap_err();
            assert_eq!(named.as_deref(), Some(field), "{body}: {detail}");
        }
    }

    #[test]
    fn an_answer_has_the_form_that_is_asked_for() {
        let form = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            Form::of(&headers).map_err(|problem| problem.code)
        };
        assert_eq!(Form::of(&HeaderMap::new()).ok(), Some(Form::Result));
        assert_eq!(form("accept", "*/*"), Ok(Form::Result));
        assert_eq!(form("accept", "text/html, text/event-stream;q=0.9"), Ok(Form::Sse));
        assert_eq!(form("accept", "application/x-ndjson"), Ok(Form::Ndjson));
        assert_eq!(form("prefer", "wait=3, respond-async"), Ok(Form::Later));
        assert_eq!(form("accept", "text/html"), Err(Code::NotAcceptable));
    }
}
