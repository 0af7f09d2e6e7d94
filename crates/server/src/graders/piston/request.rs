//! What a body of `/api/v2/execute` says, and what is wrong with it in Piston's words.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar::config::GuestPath;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::super::job::{Given, Input, Job, Limits, Place};
use super::super::languages::Tongue;
use super::super::versions::Runtime;
use crate::problem::Problem;
use crate::runs::invalid;

/// What is asked for.
pub(super) struct Wanted {
    language: String,
    version: String,
    pub(super) job: Job,
    pub(super) input: Input,
}

impl Wanted {
    pub(super) fn read(bytes: &Bytes, longest: Option<f64>) -> Result<Self, Problem> {
        let body: Value = serde_json::from_slice(bytes)
            .map_err(|error| invalid(format!("the body is not JSON: {error}")))?;
        let Value::Object(fields) = body else { return Err(invalid("the body must be a JSON object")) };
        let text = |name: &str| match fields.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            _ => Err(invalid(format!("{name} is required as a string"))),
        };
        let (language, version) = (text("language")?, text("version")?);
        let (source, name, files) = files(&fields)?;
        let unknown = || unknown(&language, &version);
        let tongue = Tongue::named(&language).ok_or_else(unknown)?;
        let run = limits(&fields, "run", Duration::from_secs(3), longest)?;
        let compile_limits = limits(&fields, "compile", Duration::from_secs(10), longest)?;
        let job = Job {
            tongue,
            source,
            name: Some(name),
            files,
            compiles_all: true,
            flags: Vec::new(),
            compile_limits,
        };
        let input = Input {
            stdin: stdin(&fields)?,
            args: args(&fields)?,
            files: Vec::new(),
            fetch: Vec::new(),
            limits: run,
            in_order: true,
        };
        Ok(Self { language, version, job, input })
    }

    /// The runtime that it means, if there is one of that version.
    pub(super) fn runtime<'a>(&self, all: &'a [Runtime]) -> Result<&'a Runtime, Problem> {
        let found = all.iter().find(|runtime| runtime.language.name() == self.job.tongue.name);
        let found = found.filter(|runtime| runtime.version.is_in(&self.version).unwrap_or_default());
        found.ok_or_else(|| unknown(&self.language, &self.version))
    }
}

fn unknown(language: &str, version: &str) -> Problem {
    invalid(format!("{language}-{version} runtime is unknown"))
}

/// The first file of text is the program. The others are beside it.
fn files(fields: &Map<String, Value>) -> Result<(String, GuestPath, Vec<Given>), Problem> {
    let Some(Value::Array(files)) = fields.get("files") else {
        return Err(invalid("files is required as an array"));
    };
    let mut program = None;
    let mut given = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let Some(content) = file.get("content").and_then(Value::as_str) else {
            return Err(invalid(format!("files[{number}].content is required as a string")));
        };
        let name = match file.get("name") {
            None | Some(Value::Null) => format!("file{number}.code"),
            Some(Value::String(name)) if name.is_empty() => format!("file{number}.code"),
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(invalid(format!("files[{number}].name must be a string"))),
        };
        let broken = |why: String| invalid(format!("files[{number}].content: {why}"));
        let encoding = file.get("encoding").and_then(Value::as_str).unwrap_or("utf8");
        let bytes = match encoding {
            "base64" => BASE64_STANDARD.decode(content).map_err(|error| broken(error.to_string()))?,
            "hex" => unhex(content).ok_or_else(|| broken("this is no hexadecimal".to_owned()))?,
            _ if program.is_none() => {
                let name = GuestPath::new(&name).map_err(|error| invalid(error.to_string()))?;
                program = Some((content.to_owned(), name));
                continue;
            }
            _ => content.as_bytes().to_vec(),
        };
        let place = Place::read(&name)?;
        given.push(Given { place, content: bytes.into(), is_executable: false });
    }
    let (source, name) =
        program.ok_or_else(|| invalid("files must include at least one utf8 encoded file"))?;
    Ok((source, name, given))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// A newline is added to a last line that has none: also to nothing.
fn stdin(fields: &Map<String, Value>) -> Result<Bytes, Problem> {
    let mut text = match fields.get("stdin") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err(invalid("stdin must be a string")),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text.into())
}

fn args(fields: &Map<String, Value>) -> Result<Vec<String>, Problem> {
    let args = match fields.get("args") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(args)) => args,
        Some(_) => return Err(invalid("args must be an array of strings")),
    };
    let text = |arg: &Value| match arg {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(invalid("args must be an array of strings")),
    };
    args.iter().map(text).collect()
}

/// The limits of one stage. Memory that is more than the sandbox has is as much as that.
fn limits(
    fields: &Map<String, Value>,
    stage: &str,
    usual: Duration,
    longest: Option<f64>,
) -> Result<Limits, Problem> {
    const DAY_MS: f64 = 86_400_000.0;
    let number = |name: String, most: f64| match fields.get(&name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match number.as_f64().unwrap_or(f64::NAN) {
            wanted if wanted > most => {
                Err(invalid(format!("{name} cannot exceed the configured limit of {most}")))
            }
            // Without end, to those who wrote the first of these servers. Here it is the usual one.
            wanted if wanted == 0.0 || wanted == -1.0 => Ok(None),
            wanted if wanted < 0.0 || !wanted.is_finite() => {
                Err(invalid(format!("{name} must be non-negative")))
            }
            wanted => Ok(Some(wanted)),
        },
        Some(_) => Err(invalid(format!("If specified, {name} must be a number"))),
    };
    let most = longest.map_or(DAY_MS, |seconds| seconds * 1e3);
    let time = |ms: f64| Duration::from_secs_f64(ms / 1e3).max(Duration::from_millis(1));
    let usual = usual.min(time(most));
    let memory = number(format!("{stage}_memory_limit"), f64::INFINITY)?;
    Ok(Limits {
        timeout: number(format!("{stage}_timeout"), most)?.map_or(usual, time),
        memory_mb: memory.map(|bytes| ((bytes / f64::from(1 << 20)).ceil() as u64).max(1)),
        cpu_time: number(format!("{stage}_cpu_time"), most)?.map(time),
        output_bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(body: Value) -> Option<String> {
        Wanted::read(&Bytes::from(body.to_string()), Some(60.0)).err().map(|problem| problem.to_string())
    }

    #[test]
    fn what_is_wrong_is_said_in_pistons_words() {
        let with = |more: Value| {
            let mut body = json!({"language": "python", "version": "*", "files": [{"content": "1"}]});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for (body, said) in [
            (json!({}), "language is required as a string"),
            (json!({"language": "python"}), "version is required as a string"),
            (json!({"language": "python", "version": "*"}), "files is required as an array"),
            (with(json!({"files": [{"name": "a"}]})), "files[0].content is required as a string"),
            (
                with(json!({"files": [{"content": "YQ==", "encoding": "base64"}]})),
                "files must include at least one utf8 encoded file",
            ),
            (with(json!({"language": "cobol", "version": "1"})), "cobol-1 runtime is unknown"),
            (with(json!({"run_timeout": 60_001})), "run_timeout cannot exceed the configured limit of 60000"),
            (with(json!({"run_timeout": "3"})), "If specified, run_timeout must be a number"),
            (with(json!({"compile_timeout": -5})), "compile_timeout must be non-negative"),
        ] {
            assert_eq!(refusal(body.clone()).as_deref(), Some(said), "{body}");
        }
        for outside in ["../a", "/etc/a", ""] {
            let files = json!({"files": [{"content": "1"}, {"name": outside, "content": "2"}]});
            assert_eq!(refusal(with(files)).is_some(), !outside.is_empty(), "{outside}");
        }
    }

    #[test]
    fn encodings_limits_and_stdin_are_read() {
        let body = json!({
            "language": "c++17", "version": "*", "stdin": "é", "args": ["a", 1],
            "files": [
                {"name": "in.bin", "content": "00ff", "encoding": "hex"},
                {"name": "main.cpp", "content": "int main(){}"},
                {"content": "x", "encoding": "odd"},
            ],
            "run_timeout": 2500, "run_memory_limit": 67_108_865, "run_cpu_time": 0, "compile_memory_limit": -1,
        });
        let Ok(wanted) = Wanted::read(&Bytes::from(body.to_string()), None) else { panic!("it is read") };
        assert_eq!(wanted.input.stdin, "é\n");
        assert_eq!(wanted.input.args, ["a", "1"]);
        assert_eq!(wanted.job.name.unwrap().as_str(), "main.cpp");
        let contents: Vec<_> = wanted.job.files.iter().map(|file| file.content.to_vec()).collect();
        assert_eq!(contents, [vec![0, 0xff], b"x".to_vec()]);
        let limits = wanted.input.limits;
        assert_eq!((limits.timeout.as_millis(), limits.memory_mb, limits.cpu_time), (2500, Some(65), None));
    }
}
