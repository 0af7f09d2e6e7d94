//! What a server answers, as what a script reads.
//!
//! * Structured content is the data, as it is.
//! * Otherwise each part is an entry of a list: a text as text, a picture or a sound as bytes with
//!   their type, a resource as a dict with its address. A single part is the data itself.

use belljar_core::Json;
use belljar_core::tool::ToolBytes;
use belljar_runtime::ToolFailure;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::child::printable;
use crate::keys::Keys;

/// Characters of what a server may say about a failure.
const LONGEST_FAILURE: usize = 4000;

pub(crate) fn of_result(result: CallToolResult, keys: &Keys) -> Result<Json, ToolFailure> {
    if result.is_error == Some(true) {
        return Err(ToolFailure::new(failure(&result, keys)));
    }
    let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    let only_texts = result.content.iter().all(is_text);
    // Some servers write `null` where they mean that there is none.
    let structured = result.structured_content.filter(|structured| !structured.is_null());
    let mut data = match (structured, only_texts) {
        // The texts are for clients that do not know about structured content.
        (Some(structured), true) => structured,
        (Some(structured), false) => json!({"structured": structured, "content": parts(result.content)}),
        (None, _) if result.content.len() == 1 => parts(result.content).pop().unwrap_or_default(),
        (None, _) => Value::Array(parts(result.content)),
    };
    keys.hide_in_answer(&mut data);
    let text = serde_json::to_string(&data).map_err(ToolFailure::from)?;
    Ok(Json::parse_repaired(&text).map_err(ToolFailure::from)?.0)
}

fn failure(result: &CallToolResult, keys: &Keys) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = keys.hidden(&texts.collect::<Vec<_>>().join("\n"));
    if text.is_empty() { "it failed, and did not say why".into() } else { lines(&text) }
}

/// Its lines, each of them printable.
fn lines(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_FAILURE).collect();
    short.lines().map(|line| printable(line, LONGEST_FAILURE)).collect::<Vec<_>>().join("\n")
}

fn parts(content: Vec<ContentBlock>) -> Vec<Value> {
    content.into_iter().map(part).collect()
}

fn part(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => Value::String(text.text),
        ContentBlock::Image(image) => bytes(&image.data, Some(image.mime_type)),
        ContentBlock::Audio(audio) => bytes(&audio.data, Some(audio.mime_type)),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                json!({"uri": uri, "media_type": mime_type, "data": text})
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                json!({"uri": uri, "media_type": mime_type, "data": bytes(&blob, mime_type.clone())})
            }
            _ => Value::Null,
        },
        ContentBlock::ResourceLink(link) => {
            json!({"uri": link.uri, "name": link.name, "media_type": link.mime_type})
        }
        _ => Value::Null,
    }
}

/// What is no base64 stays the text that it is.
fn bytes(encoded: &str, media_type: Option<String>) -> Value {
    match ToolBytes::from_base64(encoded, media_type) {
        Some(bytes) => serde_json::to_value(bytes).unwrap_or_default(),
        None => Value::String(encoded.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::CallToolResult;

    use super::*;

    fn of(result: Value) -> Result<Value, ToolFailure> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        Ok(serde_json::from_str(of_result(result, &Keys::default())?.as_str()).unwrap())
    }

    #[test]
    fn one_text_is_a_text_and_structure_is_kept() {
        let text = json!({"type": "text", "text": "a\u{1b}[31m"});
        assert_eq!(of(json!({"content": [text]})).unwrap(), json!("a\u{1b}[31m"));
        assert_eq!(of(json!({"content": [text, text]})).unwrap().as_array().unwrap().len(), 2);
        assert_eq!(of(json!({"content": []})).unwrap(), json!([]));
        let structured = json!({"content": [text], "structuredContent": {"a": 1}});
        assert_eq!(of(structured).unwrap(), json!({"a": 1}));
        let none = json!({"content": [text], "structuredContent": null});
        assert_eq!(of(none).unwrap(), json!("a\u{1b}[31m"));
    }

    #[test]
    fn pictures_and_resources_are_kept() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let found = of(json!({"content": [image], "structuredContent": 1})).unwrap();
        assert_eq!(
            found,
            json!({"structured": 1, "content": [{"__bytes__": "aGk=", "media_type": "image/png"}]})
        );
        let blob = json!({"type": "resource", "resource": {"uri": "x://y", "blob": "aGk="}});
        assert_eq!(of(json!({"content": [blob]})).unwrap()["data"], json!({"__bytes__": "aGk="}));
        let link = json!({"type": "resource_link", "uri": "x://y", "name": "y"});
        assert_eq!(of(json!({"content": [link]})).unwrap()["uri"], "x://y");
        let broken = json!({"type": "image", "data": "not base64!", "mimeType": "image/png"});
        assert_eq!(of(json!({"content": [broken]})).unwrap(), json!("not base64!"));
    }

    #[test]
    fn a_failure_says_what_the_server_says_and_nothing_to_a_terminal() {
        let text = json!({"type": "text", "text": "no\u{1b}[2J\nway"});
        let failure = of(json!({"content": [text], "isError": true})).unwrap_err();
        assert_eq!(failure.message, "no [2J\nway");
        assert!(of(json!({"content": [], "isError": true})).unwrap_err().message.contains("did not say why"));
    }
}
