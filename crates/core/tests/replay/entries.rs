//! What is claimed of every input. The tests here make inputs up, and so do the fuzz targets in
//! `fuzz/targets`, which share this file.
//!
//! An entry takes any bytes and panics when a claim does not hold.

use std::path::{Component, Path};

use belljar_core::config::{ConfigError, SandboxConfig};
use belljar_core::display::{Display, Received};
use belljar_core::tool::{Tool, ToolSet, check_arguments, safe_tool_name};
use belljar_core::wire::{Envelope, GuestFrame, Lines};
use belljar_core::{GuestPath, Json, is_printable, json_line};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a guest writes on its channel. The first byte says in how large pieces it arrives.
pub(crate) fn guest_frames(input: &[u8]) {
    const LIMIT: usize = 512;
    let Some((piece, stream)) = input.split_first() else { return };
    let mut lines = Lines::with_limit(LIMIT);
    let mut expected = stream.split(|&byte| byte == b'\n');
    let mut seen = 0;
    for piece in stream.chunks(usize::from(*piece) + 1) {
        lines.push(piece);
        loop {
            match lines.next_line() {
                Ok(Some(line)) => {
                    assert!(line.len() <= LIMIT, "a line of {} bytes came through", line.len());
                    assert_eq!(Some(line), expected.next(), "a line came out other than it went in");
                    seen += line.len() + 1;
                    guest_frame(line);
                }
                Ok(None) => break,
                // Nothing is read after this: the run is over.
                Err(error) => {
                    let line = expected.next().expect("a line is too long, so there is one");
                    assert!(line.len() > error.limit, "a line of {} bytes was refused", line.len());
                    return;
                }
            }
        }
    }
    let last = expected.next().expect("the end of a stream is a line, if an empty one");
    assert_eq!(seen + last.len(), stream.len(), "{seen} bytes of lines were seen");
    assert!(last.len() <= LIMIT, "{} bytes are held back", last.len());
}

fn guest_frame(line: &[u8]) {
    let Some(envelope) = Envelope::parse(line) else { return };
    match &envelope.seal {
        Some(seal) => assert!(envelope.is_sealed_with(seal) && !envelope.is_sealed_with(&format!("{seal}0"))),
        None => assert!(!envelope.is_sealed_with("")),
    }
    if let GuestFrame::Display { data, .. } = envelope.frame {
        guest_display(data);
        return;
    }
    let (GuestFrame::FinalResult { data } | GuestFrame::Intermediate { data, .. }) = envelope.frame else {
        return;
    };
    let (json, repairs) = Json::repaired(data);
    assert!(!json.as_str().contains(['\r', '\n']), "a value of several lines: {json:?}");
    assert_eq!(Json::parse(data.get()).is_ok(), repairs.is_empty(), "{repairs} in {}", data.get());
    // As an event and as a result hold it, and with one level around it by a caller.
    for around in [&["{\"data\":", "}"], &["[{\"intermediates\":[{\"data\":", "}]}]"]] {
        let line = json_line(&RawValue::from_string(around.join(json.as_str())).expect("JSON around JSON"));
        let line = line.expect("text can be written");
        let read = serde_json::from_str::<serde_json::Value>(&line);
        assert!(read.is_ok(), "{} became {line}, which cannot be read: {read:?}", data.get());
        assert!(
            line.chars().all(|c| c == '\t' || is_printable(c)),
            "a line that acts on a terminal: {line:?}"
        );
    }
}

/// What is left of a display can be written, and read back as it was.
fn guest_display(data: &RawValue) {
    let Some(display) = Received::read(data, |_, _, _| true).display else { return };
    let line = json_line(&display).expect("text can be written");
    assert!(line.chars().all(|c| c == '\t' || is_printable(c)), "it acts on a terminal: {line:?}");
    assert_eq!(serde_json::from_str::<Display>(&line).ok(), Some(display), "{line}");
}

/// A sandbox file.
pub(crate) fn config_document(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for (read, is_toml) in [(SandboxConfig::from_toml(text), true), (SandboxConfig::from_json(text), false)] {
        match read {
            Ok(config) => config_survives(&config),
            Err(error) => config_error_names_the_place(&error, text, is_toml),
        }
    }
}

fn config_survives(config: &SandboxConfig) {
    assert_eq!(config.validate(), Ok(()), "what was read is not valid");
    let toml = config.to_toml().expect("what is valid can be written");
    assert_eq!(SandboxConfig::from_toml(&toml).as_ref(), Ok(config), "{toml}");
    // Not compared: the JSON reader is exact for short decimals only.
    let json = config.to_json().expect("what is valid can be written");
    assert!(SandboxConfig::from_json(&json).is_ok(), "{json}");
}

fn config_error_names_the_place(error: &ConfigError, text: &str, is_toml: bool) {
    let message = error.to_string();
    assert_eq!(message.lines().count(), 1, "an error of several lines: {message:?}");
    // A value may be shown escaped and quoted, a key with its path; never the whole document over
    // and over.
    assert!(message.len() <= 2048 + 8 * text.len(), "{} bytes of error for {}", message.len(), text.len());
    match error {
        ConfigError::Syntax { line, column, .. }
        | ConfigError::UnknownKey { line, column, .. }
        | ConfigError::BadValue { line, column, .. } => {
            assert!((1..=text.split('\n').count()).contains(line), "line {line} of {text:?}");
            assert!(message.contains(&format!("line {line}, column {column}")), "{message}");
            assert!(!is_toml || *column >= 1, "{message}");
        }
        _ => assert!(message.contains(" is invalid: "), "{message}"),
    }
}

/// A path inside a workspace.
pub(crate) fn guest_path(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let path = match GuestPath::new(text) {
        Ok(path) => path,
        Err(error) => {
            let message = error.to_string();
            assert_eq!(message.lines().count(), 1, "an error of several lines: {message:?}");
            assert!(message.len() <= 256 + 12 * text.len(), "{} bytes of error", message.len());
            return;
        }
    };
    let joined = Path::new("/workspace").join(&path);
    assert!(joined.starts_with("/workspace") && joined != Path::new("/workspace"), "{joined:?}");
    assert!(joined.components().skip(1).all(|part| matches!(part, Component::Normal(_))), "{joined:?}");
    assert!(path.as_str().len() <= 4096 && path.components().all(|part| (1..=255).contains(&part.len())));
    assert_eq!(GuestPath::new(path.as_str()).as_ref(), Ok(&path), "what is normal does not stay so");
    let json = serde_json::to_string(&path).expect("text is JSON");
    assert_eq!(serde_json::from_str::<GuestPath>(&json).expect("what was written can be read"), path);
    // Cut in two anywhere, the halves are paths or they are not, but together they never climb. A
    // few cuts: each costs as much as the path.
    for (at, _) in text.char_indices().step_by(1 + text.len() / 16) {
        let Ok(above) = GuestPath::new(&text[..at]) else { continue };
        if let Ok(both) = above.join(&text[at..]) {
            assert!(Path::new(both.as_str()).starts_with(above.as_str()), "{both:?} is not below {above:?}");
        }
    }
}

/// A server's description of a tool. The same JSON is its schema and the arguments of a call.
pub(crate) fn tool_schema(input: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(input) else { return };
    let text = String::from_utf8_lossy(input);
    let mut set = ToolSet::new();
    for schema in [&schema, &serde_json::json!({"properties": {"x": schema, "a b": schema}})] {
        let name = safe_tool_name(&text, &text, |name| set.get(name).is_some());
        let tool = Tool::from_json_schema(&name, &text, schema);
        set.add(tool).unwrap_or_else(|error| panic!("a stranger's tool is refused: {error}"));
        let tool = set.get(&name).expect("it was just added");
        let Value::Object(arguments) = schema.clone() else { continue };
        match check_arguments(tool, arguments) {
            Ok(checked) => assert_eq!(check_arguments(tool, checked.clone()), Ok(checked)),
            Err(error) => {
                let message = error.to_string();
                assert!(message.chars().all(is_printable), "{message:?}");
                assert!(message.len() <= 32 << 10, "{} bytes of error", message.len());
            }
        }
    }
    for page in [set.prompt(), set.stubs()] {
        assert!(page.chars().all(|c| c == '\n' || is_printable(c)), "{page:?}");
    }
    let json = serde_json::to_string(&set).expect("a set is plain data");
    assert_eq!(serde_json::from_str::<ToolSet>(&json).expect("what was written can be read"), set);
}
