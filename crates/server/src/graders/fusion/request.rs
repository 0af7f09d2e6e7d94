//! What a body of `/run_code` says, and what is wrong with it in the words of FastAPI.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::job::{Given, Input, Job, Limits, Place};
use super::super::languages::Tongue;
use crate::problem::Problem;

/// Why there is no answer.
pub(super) enum Refusal {
    /// What is wrong with the body, as FastAPI says it.
    Fields(Vec<Value>),
    Problem(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

pub(super) fn wrong(kind: &str, place: &[&str], message: &str, input: &Value) -> Value {
    json!({"type": kind, "loc": place, "msg": message, "input": input})
}

/// Reads a body. Whatever is wrong is named, all of it.
pub(super) fn read(bytes: &Bytes, longest: Option<f64>) -> Result<(Job, Input), Refusal> {
    let body: Value = serde_json::from_slice(bytes).map_err(|error| {
        let mut detail = wrong("json_invalid", &["body"], "JSON decode error", &json!({}));
        detail["ctx"] = json!({"error": error.to_string()});
        Refusal::Fields(vec![detail])
    })?;
    let Value::Object(fields) = &body else {
        let message = "Input should be a valid dictionary or object to extract fields from";
        return Err(Refusal::Fields(vec![wrong("model_attributes_type", &["body"], message, &body)]));
    };
    let mut reader = Reader { fields, whole: &body, errors: Vec::new() };
    let source = reader.code();
    let tongue = reader.language();
    let stdin = reader.text("stdin").unwrap_or_default();
    let compile_timeout = reader.seconds("compile_timeout", longest);
    let run_timeout = reader.seconds("run_timeout", longest);
    let memory_mb = reader.memory();
    let files = reader.files();
    let fetch = reader.fetched();
    let (Some(source), Some(tongue), true) = (source, tongue, reader.errors.is_empty()) else {
        return Err(Refusal::Fields(reader.errors));
    };
    let job = Job {
        tongue,
        source,
        name: None,
        files,
        compiles_all: false,
        flags: Vec::new(),
        compile_limits: Limits::of(compile_timeout),
    };
    let limits = Limits { memory_mb, ..Limits::of(run_timeout) };
    let input = Input {
        stdin: Bytes::from(stdin),
        args: Vec::new(),
        files: Vec::new(),
        fetch,
        limits,
        in_order: false,
    };
    Ok((job, input))
}

/// Reads fields as pydantic does. `null` is the default, because clients send it so.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    whole: &'a Value,
    errors: Vec<Value>,
}

impl Reader<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn fail(&mut self, place: &[&str], kind: &str, message: &str, input: &Value) {
        let place: Vec<&str> = std::iter::once("body").chain(place.iter().copied()).collect();
        self.errors.push(wrong(kind, &place, message, input));
    }

    fn code(&mut self) -> Option<String> {
        if !self.fields.contains_key("code") {
            let whole = self.whole;
            self.fail(&["code"], "missing", "Field required", whole);
            return None;
        }
        match self.text("code") {
            Some(code) => Some(code),
            None if self.fields["code"].is_null() => {
                self.fail(&["code"], "string_type", "Input should be a valid string", &Value::Null);
                None
            }
            None => None,
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.get(name).cloned() {
            None => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.fail(&[name], "string_type", "Input should be a valid string", &other);
                None
            }
        }
    }

    /// Without one it is Python: a tool of a trainer's tutorial sends nothing but code.
    fn language(&mut self) -> Option<Tongue> {
        let before = self.errors.len();
        let name = self.text("language").unwrap_or_else(|| "python".to_owned());
        if self.errors.len() > before {
            return None;
        }
        let tongue = Tongue::of_fusion(&name);
        if tongue.is_none() {
            let names: Vec<_> = Tongue::fusion_names().map(|name| format!("'{name}'")).collect();
            let expected = names.join(", ");
            self.fail(&["language"], "enum", &format!("Input should be {expected}"), &json!(name));
            if let Some(last) = self.errors.last_mut() {
                last["ctx"] = json!({"expected": expected});
            }
        }
        tongue
    }

    /// A number, also one in a string.
    fn number(&mut self, name: &str, kind: &str) -> Option<f64> {
        let value = self.get(name).cloned()?;
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite() && (kind == "float" || number.fract() == 0.0));
        if number.is_none() {
            let what = if kind == "float" { "number" } else { "integer" };
            let message = format!("Input should be a valid {what}");
            self.fail(&[name], &format!("{kind}_type"), &message, &value);
        }
        number
    }

    fn seconds(&mut self, name: &str, longest: Option<f64>) -> Duration {
        const USUAL: f64 = 10.0;
        let seconds =
            self.number(name, "float").unwrap_or_else(|| longest.map_or(USUAL, |most| most.min(USUAL)));
        let most = longest.unwrap_or(LONGEST);
        if seconds <= 0.0 {
            self.fail(&[name], "greater_than", "Input should be greater than 0", &json!(seconds));
        } else if seconds > most {
            let message = format!("Input should be less than or equal to {most}");
            self.fail(&[name], "less_than_equal", &message, &json!(seconds));
        }
        Duration::try_from_secs_f64(seconds).unwrap_or_default().max(Duration::from_millis(1))
    }

    /// In mebibytes. None, if it is not more than 0.
    fn memory(&mut self) -> Option<u64> {
        let megabytes = self.number("memory_limit_MB", "int")?;
        (megabytes > 0.0).then_some(megabytes as u64)
    }

    fn files(&mut self) -> Vec<Given> {
        const IGNORED: &str = "IGNORE_THIS_FILE";
        let files = match self.get("files").cloned() {
            None => return Vec::new(),
            Some(Value::Object(files)) => files,
            Some(other) => {
                self.fail(&["files"], "dict_type", "Input should be a valid dictionary", &other);
                return Vec::new();
            }
        };
        let mut given = Vec::new();
        for (name, content) in files {
            if content.is_null() || name.contains(IGNORED) {
                continue;
            }
            let decoded = content.as_str().map(decoded);
            match (Place::read(&name), decoded) {
                (Ok(place), Some(Ok(content))) => given.push(Given { place, content, is_executable: false }),
                (Err(problem), _) => {
                    self.fail(&["files", &name], "value_error", &problem.to_string(), &json!(name));
                }
                (_, Some(Err(why))) => self.fail(&["files", &name], "value_error", &why, &json!(name)),
                (_, None) => {
                    self.fail(&["files", &name], "string_type", "Input should be a valid string", &content);
                }
            }
        }
        given
    }

    fn fetched(&mut self) -> Vec<(String, Place)> {
        let names = match self.get("fetch_files").cloned() {
            None => return Vec::new(),
            Some(Value::Array(names)) => names,
            Some(other) => {
                self.fail(&["fetch_files"], "list_type", "Input should be a valid list", &other);
                return Vec::new();
            }
        };
        let mut wanted = Vec::new();
        for name in names {
            match name.as_str().map(|text| (text.to_owned(), Place::read(text))) {
                Some((name, Ok(place))) => wanted.push((name, place)),
                // What is not in the workspace is not there.
                Some((_, Err(_))) => {}
                None => self.fail(&["fetch_files"], "string_type", "Input should be a valid string", &name),
            }
        }
        wanted
    }
}

/// A day.
const LONGEST: f64 = 86_400.0;

fn decoded(text: &str) -> Result<Bytes, String> {
    let plain: String = text.chars().filter(|next| !next.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(plain).map(Bytes::from).map_err(|error| format!("this is no base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_fields(body: Value) -> Vec<(String, String)> {
        match read(&Bytes::from(body.to_string()), None) {
            Ok(_) => Vec::new(),
            Err(Refusal::Problem(problem)) => panic!("{problem}"),
            Err(Refusal::Fields(errors)) => errors
                .iter()
                .map(|error| {
                    (error["loc"].as_array().unwrap().last().unwrap().to_string(), error["type"].to_string())
                })
                .map(|(place, kind)| (place.replace('"', ""), kind.replace('"', "")))
                .collect(),
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_fastapi_says_it() {
        let python = |more: Value| {
            let mut body = json!({"code": "1"});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for (body, place, kind) in [
            (json!({}), "code", "missing"),
            (json!({"code": null}), "code", "string_type"),
            (json!({"code": 3}), "code", "string_type"),
            (json!([]), "body", "model_attributes_type"),
            (python(json!({"language": "cobol"})), "language", "enum"),
            (python(json!({"language": 1})), "language", "string_type"),
            (python(json!({"run_timeout": "soon"})), "run_timeout", "float_type"),
            (python(json!({"run_timeout": 0})), "run_timeout", "greater_than"),
            (python(json!({"memory_limit_MB": 1.5})), "memory_limit_MB", "int_type"),
            (python(json!({"files": []})), "files", "dict_type"),
            (python(json!({"files": {"a": "%"}})), "a", "value_error"),
            (python(json!({"files": {"/etc/a": "YQ=="}})), "/etc/a", "value_error"),
            (python(json!({"fetch_files": "a"})), "fetch_files", "list_type"),
        ] {
            assert_eq!(wrong_fields(body.clone()), [(place.to_owned(), kind.to_owned())], "{body}");
        }
    }

    #[test]
    fn what_clients_send_is_read() {
        let body = json!({
            "code": "print(1)", "language": "python", "stdin": null, "compile_timeout": "10", "run_timeout": 3,
            "memory_limit_MB": -1, "files": {"a.txt": "YQ==", "b": null, "IGNORE_THIS_FILE": "%"},
            "fetch_files": ["out.txt", "/etc/passwd"], "unknown": 1,
        });
        let Ok((job, input)) = read(&Bytes::from(body.to_string()), None) else { panic!("it is read") };
        assert_eq!((job.files.len(), input.fetch.len(), input.limits.memory_mb), (1, 1, None));
        assert_eq!(input.limits.timeout, Duration::from_secs(3));
        let Ok((job, _)) = read(&Bytes::from_static(br#"{"code": ""}"#), None) else { panic!("it is read") };
        assert!(job.tongue.is_python());
    }
}
