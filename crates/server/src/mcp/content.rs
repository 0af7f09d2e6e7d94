//! A result in the three ways that clients understand: text for the model, JSON for programs, and
//! pictures.
//!
//! The text comes first and is short enough to be read. The JSON is the `ExecutionResult` as it is
//! everywhere, but for the pictures, which come once: as pictures.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar::{Display, DisplayData, ExecutionResult};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::problem::Problem;

/// Characters of one part of a text, such as stdout.
const LONGEST: usize = 30_000;
/// Pictures in one answer, and their bytes.
const MOST_PICTURES: usize = 20;
const MOST_PICTURE_BYTES: usize = 8 << 20;
/// Forms of pictures, the best first. Few clients show SVG.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml"];

/// What is refused, as an answer.
pub(super) fn refusal(problem: &Problem) -> CallToolResult {
    let text = match problem.field() {
        Some(field) => format!("{field}: {problem}"),
        None => problem.to_string(),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({"error": problem.to_string(), "code": problem.code.name()}));
    result
}

/// A text and the same for programs.
pub(super) fn said(text: impl Into<String>, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

/// What is left when a run is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After<'a> {
    /// Nothing.
    Nothing,
    /// A session that goes on.
    Session(&'a str),
    /// A session that ended with its step.
    SessionOver(&'a str),
}

/// A run that is over.
pub(super) fn of_result(result: &ExecutionResult, after: After<'_>) -> CallToolResult {
    let (pictures, left_out) = pictures(result);
    let mut text = text(result);
    if left_out > 0 {
        let _ = write!(text, "\n{left_out} more pictures are too many, or too large, for one answer");
    }
    let _ = match after {
        After::Nothing => Ok(()),
        After::Session(id) => write!(text, "\nsession: {id}"),
        After::SessionOver(id) => {
            write!(text, "\nsession {id} is over: a step without `session` opens another")
        }
    };
    let text = text.trim_start_matches('\n');
    let text = if text.is_empty() { "it ran, and printed nothing" } else { text };
    let mut content = vec![ContentBlock::text(text)];
    content.extend(pictures);
    let mut answer = match result.success() {
        true => CallToolResult::success(content),
        false => CallToolResult::error(content),
    };
    answer.structured_content = Some(structured(result, after));
    answer
}

fn text(result: &ExecutionResult) -> String {
    let mut text = String::new();
    let mut add = |part: &str| {
        let part = part.trim_end();
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&shortened(part, LONGEST, Side::Both));
        }
    };
    add(&result.stdout);
    if !result.stderr.trim().is_empty() {
        add(&format!("stderr:\n{}", result.stderr));
    }
    for display in &result.displays {
        add(display.text().unwrap_or_default());
    }
    if let Some(data) = &result.final_data {
        add(&format!("result: {}", data.as_str()));
    }
    if !result.success() {
        let name = result.verdict.name();
        let error = result.error.as_deref().unwrap_or("the run failed");
        add(&format!("error ({name}): {error}"));
        // It quotes the lines of the script.
        add(result.traceback.as_deref().unwrap_or_default());
    }
    for file in &result.files {
        add(&format!("file: {} ({} bytes)", file.name, file.size));
    }
    for warning in &result.warnings {
        add(&format!("warning: {warning}"));
    }
    text
}

/// The pictures that a run showed or left, and how many more there are.
fn pictures(result: &ExecutionResult) -> (Vec<ContentBlock>, usize) {
    let shown = result.displays.iter().filter_map(picture);
    let files = result.files.iter().filter_map(|file| {
        let is_picture = PICTURES.contains(&file.media_type.as_str());
        Some((file.media_type.as_str(), &file.bytes().filter(|_| is_picture)?[..]))
    });
    let (mut blocks, mut bytes, mut left_out) = (Vec::new(), 0, 0);
    for (kind, data) in shown.chain(files) {
        bytes += data.len();
        if blocks.len() < MOST_PICTURES && bytes <= MOST_PICTURE_BYTES {
            blocks.push(image(kind, data));
        } else {
            left_out += 1;
        }
    }
    (blocks, left_out)
}

/// The best picture of what was shown.
fn picture(display: &Display) -> Option<(&str, &[u8])> {
    PICTURES.into_iter().find_map(|kind| Some((kind, display.get(kind).map(DisplayData::as_bytes)?)))
}

/// A picture as a client gets it.
fn image(kind: &str, bytes: &[u8]) -> ContentBlock {
    ContentBlock::image(BASE64_STANDARD.encode(bytes), kind)
}

/// A picture, if bytes of that type are one.
pub(super) fn image_of(kind: &str, bytes: &[u8]) -> Option<ContentBlock> {
    let is_picture = PICTURES.contains(&kind) && bytes.len() <= MOST_PICTURE_BYTES;
    is_picture.then(|| image(kind, bytes))
}

fn structured(result: &ExecutionResult, after: After<'_>) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    for display in value["displays"].as_array_mut().into_iter().flatten() {
        if let Some(forms) = display["data"].as_object_mut() {
            forms.retain(|kind, _| !PICTURES.contains(&kind.as_str()));
        }
    }
    if let After::Session(id) = after {
        value["session"] = id.into();
    }
    value
}

/// Which side of a text is worth more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The end.
    End,
    /// Half of the beginning and half of the end.
    Both,
}

/// A text of at most about so many bytes, that says what is missing.
pub(super) fn shortened(text: &str, most: usize, side: Side) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let is_between = |at: &usize| text.is_char_boundary(*at);
    let half = if side == Side::Both { most / 2 } else { 0 };
    let head = (0..=half).rfind(is_between).unwrap_or(0);
    let tail = (text.len() - (most - head)..).find(is_between).unwrap_or(text.len());
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
        .trim_start()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use belljar::{ExecutionId, Verdict};

    use super::*;

    const PNG: &str = "iVBORw0KGgo=";

    fn result(verdict: Verdict) -> ExecutionResult {
        ExecutionResult::new(ExecutionId::new("run_1"), verdict, "native")
    }

    fn display(data: &Value) -> Display {
        serde_json::from_value(json!({ "data": data })).unwrap()
    }

    fn first_text(answer: &CallToolResult) -> &str {
        &answer.content[0].as_text().unwrap().text
    }

    #[test]
    fn the_model_reads_what_was_printed_then_the_value_and_pictures_are_pictures() {
        let mut result = result(Verdict::Ok);
        result.stdout = "hello\n".into();
        result.final_data = Some(serde_json::from_str("42").unwrap());
        result.displays = vec![
            display(&json!({"image/png": PNG, "image/svg+xml": "<svg/>", "text/plain": "<Figure>"})),
            display(&json!({"image/svg+xml": "<svg>é</svg>"})),
        ];
        let answer = of_result(&result, After::Session("ses_1"));
        assert_eq!(first_text(&answer), "hello\n<Figure>\nresult: 42\nsession: ses_1");
        assert_eq!(answer.is_error, Some(false));
        let pictures: Vec<_> = answer.content[1..].iter().map(|block| block.as_image().unwrap()).collect();
        assert_eq!(pictures.len(), 2, "one for each display, in the best form");
        assert_eq!((pictures[0].mime_type.as_str(), pictures[0].data.as_str()), ("image/png", PNG));
        assert_eq!(pictures[1].mime_type, "image/svg+xml");
        assert_eq!(BASE64_STANDARD.decode(&pictures[1].data).unwrap(), "<svg>é</svg>".as_bytes());
        let structured = answer.structured_content.unwrap();
        assert_eq!(structured["final_data"], 42);
        assert_eq!(structured["session"], "ses_1");
        assert!(!structured.to_string().contains(PNG), "a picture does not come twice: {structured}");
        assert_eq!(structured["displays"][0]["data"]["text/plain"], "<Figure>");
    }

    #[test]
    fn a_failure_is_told_with_its_verdict_and_its_line() {
        let mut result = result(Verdict::Exception);
        result.error = Some("ZeroDivisionError: division by zero".into());
        result.traceback = Some("Traceback:\n  line 2, in <module>\n    1 / 0\n".into());
        result.warnings = vec!["a warning".into()];
        let answer = of_result(&result, After::Nothing);
        assert_eq!(answer.is_error, Some(true));
        let text = first_text(&answer);
        assert!(text.starts_with("error (exception): ZeroDivisionError"), "{text}");
        assert!(text.contains("line 2") && text.contains("1 / 0"), "{text}");
        assert!(text.ends_with("warning: a warning"), "{text}");
    }

    #[test]
    fn an_answer_has_its_bounds_and_says_what_is_missing() {
        let mut result = result(Verdict::Ok);
        result.stdout = format!("begin{}end", "é".repeat(1 << 20));
        result.displays = (0..30).map(|_| display(&json!({"image/png": PNG}))).collect();
        let answer = of_result(&result, After::Nothing);
        let text = first_text(&answer);
        assert!(text.len() < 2 * LONGEST, "{}", text.len());
        assert!(text.starts_with("begin") && text.contains("end\n"), "both ends are there");
        assert!(text.contains("bytes left out") && text.contains("10 more pictures"));
        assert_eq!(answer.content.len(), 1 + MOST_PICTURES);
        let structured = answer.structured_content.unwrap();
        assert_eq!(structured["stdout"].as_str().unwrap().len(), result.stdout.len(), "programs get all");
        let silent = of_result(&self::result(Verdict::Ok), After::Nothing);
        assert_eq!(first_text(&silent), "it ran, and printed nothing");
    }

    #[test]
    fn a_refusal_names_the_field_and_has_a_code() {
        let problem = Problem::new(crate::problem::Code::Invalid, "must be a number").at("timeout");
        let answer = refusal(&problem);
        assert_eq!((answer.is_error, first_text(&answer)), (Some(true), "timeout: must be a number"));
        assert_eq!(answer.structured_content.unwrap()["code"], "invalid-request");
    }
}
