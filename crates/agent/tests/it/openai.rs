//! Chat completions.

use belljar_agent::model::{Delta, Message, Model, Prices, Stop, TokenUsage};
use belljar_agent::models::HttpModel;
use belljar_core::Secret;
use belljar_testing::in_time;
use serde_json::json;

use super::server::{Answer, Server};

/// As api.openai.com sends it.
pub(crate) const STREAM: [&str; 6] = [
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hé"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"llo"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}"#,
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":2,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":0}}}"#,
    "data: [DONE]",
];

#[tokio::test]
async fn a_reply_is_streamed_and_its_tokens_are_counted() {
    let server = Server::start([Answer::stream(&STREAM)]).await;
    let model = HttpModel::openai("m")
        .base_url(format!("{}/v1", server.address))
        .key(Secret::new("sk-1"))
        .prices(Prices { input: 1e6, output: 2e6 })
        .max_tokens(100)
        .field("temperature", 0)
        .build()
        .unwrap();
    let messages = [Message::system("rules"), Message::user("task"), Message::assistant("a")];
    let mut deltas = Vec::new();
    let reply = in_time(model.reply(&messages, &mut |delta| deltas.push(delta))).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Héllo", Stop::End));
    assert_eq!((reply.tokens, reply.cost), (Some(TokenUsage::new(19, 2)), Some(23.0)));
    assert_eq!(deltas, [Delta::Text("Hé".into()), Delta::Text("llo".into())]);
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.headers["authorization"], "Bearer sk-1");
    assert_eq!(
        asked.body,
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "rules"},
                {"role": "user", "content": "task"},
                {"role": "assistant", "content": "a"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 100,
            "temperature": 0,
        })
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_or_ends_early_on_purpose_is_understood() {
    for (answer, text, stop, tokens) in [
        (
            Answer::json(
                200,
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
            ),
            "whole",
            Stop::End,
            Some(TokenUsage::new(1, 2)),
        ),
        (
            Answer::stream(&[r#"data: {"choices":[{"delta":{"content":"half"},"finish_reason":"length"}]}"#]),
            "half",
            Stop::Length,
            None,
        ),
        (
            Answer::stream(&[
                r#"data: {"choices":[{"delta":{"refusal":"I cannot"},"finish_reason":null}]}"#,
                r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            ]),
            "I cannot",
            Stop::Refused,
            None,
        ),
        (Answer::stream(&["data: [DONE]"]), "", Stop::End, None),
    ] {
        let server = Server::start([answer]).await;
        let model = HttpModel::openai("m").base_url(server.address.clone()).build().unwrap();
        let reply = in_time(model.reply(&[], &mut |_| {})).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop, reply.tokens), (text, stop, tokens));
        assert!(!server.asked()[0].headers.contains_key("authorization"));
    }
}
