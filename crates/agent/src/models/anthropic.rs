//! Messages, as Anthropic has them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::endpoint::Wire;
use super::problem::{Problem, Said, excerpt};
use super::sse::SseEvent;
use crate::model::{Message, Reply, Role, Stop, TokenUsage};

/// Below the base URL.
pub(super) const PATH: &str = "messages";
/// The base URL of its maker.
pub(super) const BASE: &str = "https://api.anthropic.com/v1";
/// The version of the protocol, in a header of that name.
pub(super) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The server wants a number.
const MOST_TOKENS: u32 = 8192;

/// What is asked.
pub(super) fn body(model: &str, messages: &[Message], max_tokens: Option<u32>) -> Map<String, Value> {
    let of_system = |message: &&Message| message.role == Role::System;
    let system: Vec<&str> = messages.iter().filter(of_system).map(|message| message.text.as_str()).collect();
    let others: Vec<Value> = messages
        .iter()
        .filter(|message| !of_system(message))
        .map(|message| {
            let role = if message.role == Role::Assistant { "assistant" } else { "user" };
            json!({"role": role, "content": message.text})
        })
        .collect();
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), max_tokens.unwrap_or(MOST_TOKENS).into());
    if !system.is_empty() {
        body.insert("system".into(), system.join("\n\n").into());
    }
    body.insert("messages".into(), others.into());
    body.insert("stream".into(), true.into());
    body
}

/// An event of a streamed message. Kinds and fields that are not here mean nothing for a text.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Happening {
    MessageStart {
        message: Whole,
    },
    ContentBlockDelta {
        delta: Block,
    },
    MessageDelta {
        delta: Change,
        usage: Option<Usage>,
    },
    MessageStop,
    Error {
        error: Said,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Whole {
    #[serde(default)]
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

/// A block, or a part of one. Thoughts and signatures have no text.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Change {
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
}

/// A message as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    text: String,
    stop: Option<Stop>,
    is_done: bool,
    tokens: Option<TokenUsage>,
}

impl Spoken {
    fn count(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let tokens = self.tokens.get_or_insert_default();
        let cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        let input = cached.into_iter().flatten().fold(usage.input_tokens, u64::saturating_add);
        // Later counts are of everything so far, and may leave out what was said before.
        tokens.input = tokens.input.max(input);
        tokens.output = tokens.output.max(usage.output_tokens);
    }

    fn stop_for(&mut self, reason: Option<String>) {
        self.stop = reason.map(|reason| match reason.as_str() {
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => Stop::Refused,
            _ => Stop::End,
        });
    }

    fn add(&mut self, block: Block) -> String {
        let is_text = matches!(block.kind.as_str(), "text" | "text_delta");
        let text = block.text.filter(|_| is_text).unwrap_or_default();
        self.text.push_str(&text);
        text
    }

    fn take(&mut self, said: Happening) -> Result<String, Problem> {
        match said {
            Happening::MessageStart { message } => self.count(message.usage),
            Happening::ContentBlockDelta { delta } => return Ok(self.add(delta)),
            Happening::MessageDelta { delta, usage } => {
                self.count(usage);
                self.stop_for(delta.stop_reason);
            }
            Happening::MessageStop => self.is_done = true,
            Happening::Error { error } => {
                let message = error.message();
                return Err(match error.kind() {
                    "overloaded_error" | "rate_limit_error" => Problem::Busy { message },
                    _ => Problem::Failed { message },
                });
            }
            Happening::Other => {}
        }
        Ok(String::new())
    }
}

impl Wire for Spoken {
    fn event(&mut self, event: &SseEvent) -> Result<String, Problem> {
        let malformed =
            |error| Problem::Malformed { reason: format!("{error} in {:?}", excerpt(&event.data)) };
        self.take(serde_json::from_str(&event.data).map_err(malformed)?)
    }

    fn whole(&mut self, body: &[u8]) -> Result<String, Problem> {
        let shown = || excerpt(&String::from_utf8_lossy(body));
        let malformed = |error| Problem::Malformed { reason: format!("{error} in {:?}", shown()) };
        let whole: Whole = serde_json::from_slice(body).map_err(malformed)?;
        if whole.stop_reason.is_none() {
            return Err(Problem::Malformed { reason: format!("there is no stop_reason in {:?}", shown()) });
        }
        self.count(whole.usage);
        self.stop_for(whole.stop_reason);
        self.is_done = true;
        Ok(whole.content.into_iter().map(|block| self.add(block)).collect())
    }

    fn finish(self) -> Result<Reply, &'static str> {
        if !self.is_done {
            return Err("no message_stop came");
        }
        let mut reply = Reply::new(self.text).with_stop(self.stop.unwrap_or(Stop::End));
        reply.tokens = self.tokens;
        Ok(reply)
    }
}
