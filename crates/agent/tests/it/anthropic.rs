//! Messages.

use belljar_agent::model::{Delta, Message, Model, ModelError, Stop, TokenUsage};
use belljar_agent::models::{HttpModel, Retry};
use belljar_core::Secret;
use belljar_testing::in_time;
use serde_json::json;

use super::server::{Answer, Server};

/// As api.anthropic.com sends it, with a thought before the text.
pub(crate) const STREAM: [&str; 10] = [
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":25,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
    "event: ping\ndata: {\"type\": \"ping\"}",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"!\"}}",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":15}}",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}",
];

#[tokio::test]
async fn a_reply_is_streamed_without_its_thoughts() {
    let server = Server::start([Answer::stream(&STREAM)]).await;
    let model = HttpModel::anthropic("m").base_url(server.address.clone()).key(Secret::new("sk-ant")).build();
    let model = model.unwrap();
    let messages = [Message::system("rules"), Message::user("task")];
    let mut deltas = Vec::new();
    let reply = in_time(model.reply(&messages, &mut |delta| deltas.push(delta))).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Hello!", Stop::End));
    assert_eq!(reply.tokens, Some(TokenUsage::new(30, 15)));
    assert_eq!(deltas, [Delta::Text("Hello".into()), Delta::Text("!".into())]);
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.headers["x-api-key"], "sk-ant");
    assert_eq!(asked.headers["anthropic-version"], "2023-06-01");
    assert_eq!(
        asked.body,
        json!({
            "model": "m",
            "max_tokens": 8192,
            "system": "rules",
            "messages": [{"role": "user", "content": "task"}],
            "stream": true,
        })
    );
}

#[tokio::test]
async fn a_server_that_becomes_too_busy_in_the_middle_is_asked_again() {
    let busy = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";
    let start = Answer::stream(&[STREAM[0], STREAM[5], busy]);
    let server = Server::start([start, Answer::stream(&STREAM)]).await;
    let soon = Retry::new(2, std::time::Duration::from_millis(1), std::time::Duration::from_secs(1));
    let model = HttpModel::anthropic("m").base_url(server.address.clone()).retry(soon).build().unwrap();
    let mut deltas = Vec::new();
    let reply = in_time(model.reply(&[], &mut |delta| deltas.push(delta))).await.unwrap();
    assert_eq!(reply.text, "Hello!", "what came before does not count");
    assert!(matches!(&deltas[1], Delta::Retrying { reason, .. } if reason == "Overloaded"), "{deltas:?}");
}

#[tokio::test]
async fn a_whole_message_is_understood_and_one_without_an_end_is_none() {
    let whole = r#"{"type":"message","content":[{"type":"text","text":"all"}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let server = Server::start([Answer::json(200, whole), Answer::json(200, "{}")]).await;
    let model = HttpModel::anthropic("m").base_url(server.address.clone()).build().unwrap();
    let reply = in_time(model.reply(&[], &mut |_| {})).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("all", Stop::Length));
    let error = in_time(model.reply(&[], &mut |_| {})).await.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
}
