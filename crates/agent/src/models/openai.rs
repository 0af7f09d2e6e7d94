//! Chat completions, as OpenAI and many other servers have them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::endpoint::Wire;
use super::problem::{Problem, Said, excerpt};
use super::sse::SseEvent;
use crate::model::{Message, Reply, Role, Stop, TokenUsage};

/// Below the base URL.
pub(super) const PATH: &str = "chat/completions";
/// The base URL of its maker.
pub(super) const BASE: &str = "https://api.openai.com/v1";

/// What is asked.
pub(super) fn body(model: &str, messages: &[Message], max_tokens: Option<u32>) -> Map<String, Value> {
    let role = |role| match role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User => "user",
    };
    let messages: Vec<Value> =
        messages.iter().map(|message| json!({"role": role(message.role), "content": message.text})).collect();
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if let Some(most) = max_tokens {
        body.insert("max_completion_tokens".into(), most.into());
    }
    body
}

/// A chunk of a streamed completion, or a whole one.
#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<Said>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

/// A completion as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Completion {
    text: String,
    stop: Option<Stop>,
    is_done: bool,
    tokens: Option<TokenUsage>,
}

impl Completion {
    fn take(&mut self, chunk: Chunk) -> Result<String, Problem> {
        if let Some(said) = chunk.error {
            return Err(Problem::Failed { message: said.message() });
        }
        if let Some(usage) = chunk.usage {
            self.tokens = Some(TokenUsage { input: usage.prompt_tokens, output: usage.completion_tokens });
        }
        let mut text = String::new();
        // Only one choice is asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            if let Some(content) = choice.delta {
                if content.refusal.is_some() {
                    self.stop = Some(Stop::Refused);
                }
                text.extend(content.content);
                text.extend(content.refusal);
            }
            if let Some(reason) = choice.finish_reason {
                let stop = match reason.as_str() {
                    "length" => Stop::Length,
                    "content_filter" => Stop::Refused,
                    _ => Stop::End,
                };
                self.stop.get_or_insert(stop);
            }
        }
        self.text.push_str(&text);
        Ok(text)
    }
}

impl Wire for Completion {
    fn event(&mut self, event: &SseEvent) -> Result<String, Problem> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(String::new());
        }
        let malformed =
            |error| Problem::Malformed { reason: format!("{error} in {:?}", excerpt(&event.data)) };
        self.take(serde_json::from_str(&event.data).map_err(malformed)?)
    }

    fn whole(&mut self, body: &[u8]) -> Result<String, Problem> {
        let shown = || excerpt(&String::from_utf8_lossy(body));
        let malformed = |error| Problem::Malformed { reason: format!("{error} in {:?}", shown()) };
        let chunk: Chunk = serde_json::from_slice(body).map_err(malformed)?;
        if chunk.choices.is_empty() && chunk.error.is_none() {
            return Err(Problem::Malformed { reason: format!("there is no choice in {:?}", shown()) });
        }
        self.is_done = true;
        self.take(chunk)
    }

    fn finish(self) -> Result<Reply, &'static str> {
        if self.stop.is_none() && !self.is_done {
            return Err("neither a finish_reason nor [DONE] came");
        }
        let mut reply = Reply::new(self.text).with_stop(self.stop.unwrap_or(Stop::End));
        reply.tokens = self.tokens;
        Ok(reply)
    }
}
