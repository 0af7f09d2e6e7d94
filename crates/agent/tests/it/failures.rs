//! What servers do wrong. Each is an error with a name, after a bounded number of tries.

use std::time::{Duration, Instant};

use belljar_agent::model::{Delta, Model, ModelError, Reply};
use belljar_agent::models::{HttpModel, HttpModelBuilder, Retry};
use belljar_core::Secret;
use belljar_testing::in_time;

use super::openai::STREAM;
use super::server::{Answer, Part, Server};

const KEY: &str = "sk-very-secret-key";

/// A model that tries three times, and does not wait long between them.
fn model(server: &Server) -> HttpModelBuilder {
    let retry = Retry::new(2, Duration::from_millis(1), Duration::from_secs(30));
    HttpModel::openai("m").base_url(server.address.clone()).key(Secret::new(KEY)).retry(retry)
}

async fn ask(model: HttpModelBuilder) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let reply = in_time(model.build().unwrap().reply(&[], &mut |delta| deltas.push(delta))).await;
    if let Err(error) = &reply {
        assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    }
    (reply, deltas)
}

async fn fails(answers: impl IntoIterator<Item = Answer>) -> (ModelError, usize) {
    let server = Server::start(answers).await;
    let (reply, _) = ask(model(&server)).await;
    (reply.unwrap_err(), server.asked().len())
}

#[tokio::test]
async fn too_many_requests_are_made_again_when_the_server_wants_them() {
    let busy = Answer::json(429, r#"{"error":{"message":"Rate limit reached","type":"requests"}}"#);
    let server = Server::start([busy.header("retry-after", "1"), Answer::stream(&STREAM)]).await;
    let began = Instant::now();
    let (reply, deltas) = ask(model(&server)).await;
    assert_eq!(reply.unwrap().text, "Héllo");
    assert!(began.elapsed() >= Duration::from_secs(1));
    let reason = "status 429: Rate limit reached".to_owned();
    assert_eq!(deltas[0], Delta::Retrying { reason, wait: Duration::from_secs(1) });
}

#[tokio::test]
async fn a_server_that_wants_a_long_wait_is_not_waited_for() {
    let busy = Answer::json(429, r#"{"error":{"message":"Come back tomorrow"}}"#);
    let (error, tries) = fails([busy.header("retry-after", "3600")]).await;
    assert_eq!(tries, 1);
    assert!(
        matches!(&error, ModelError::RateLimited { again_after: Some(after), .. } if after.as_secs() == 3600)
    );
    assert!(error.to_string().contains("again in 3600 s): Come back tomorrow"), "{error}");
}

#[tokio::test]
async fn a_wait_beyond_all_measure_is_worded() {
    let busy = Answer::json(429, r#"{"error":{"message":"slow"}}"#);
    let (error, tries) = fails([busy.header("retry-after", "99999999999999999999")]).await;
    assert_eq!(tries, 1);
    let said = error.to_string();
    assert!(said.ends_with("(status 429, 1 try, again in a year or never): slow"), "{said}");
}

#[tokio::test]
async fn a_server_that_wants_to_be_asked_at_once_is_given_time_all_the_same() {
    let failing = Answer::json(500, "{}").header("retry-after", "0");
    let server = Server::start([failing]).await;
    let retry = Retry::new(2, Duration::from_millis(200), Duration::from_secs(30));
    let (reply, deltas) = ask(model(&server).retry(retry)).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Server { tries: 3, .. }));
    let waits: Vec<Duration> = deltas
        .iter()
        .map(|delta| match delta {
            Delta::Retrying { wait, .. } => *wait,
            other => panic!("{other:?}"),
        })
        .collect();
    let [first, second] = waits[..] else { panic!("{waits:?}") };
    assert!(first >= Duration::from_millis(100) && second >= Duration::from_millis(200), "{waits:?}");
}

#[tokio::test]
async fn a_server_that_fails_is_asked_three_times() {
    let html = Answer { status: 502, headers: Vec::new(), parts: vec![Part::Text("<h1>Bad</h1>".into())] };
    let (error, tries) = fails([Answer::json(500, "{}"), Answer::json(503, ""), html]).await;
    assert_eq!(tries, 3);
    assert!(matches!(error, ModelError::Server { status: 502, tries: 3, .. }), "{error}");
    let server = Server::start([Answer::json(529, "{}"), Answer::stream(&STREAM)]).await;
    assert_eq!(ask(model(&server)).await.0.unwrap().text, "Héllo");
}

#[tokio::test]
async fn a_refusal_is_not_repeated_and_does_not_show_the_key() {
    let wrong = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#);
    let (error, tries) = fails([Answer::json(401, &wrong)]).await;
    assert_eq!(tries, 1);
    assert!(error.is_callers());
    assert!(error.to_string().ends_with("(status 401): Incorrect API key provided: ***."), "{error}");
    let unknown = Answer::json(404, r#"{"error":{"message":"The model `m` does not exist"}}"#);
    let (error, tries) = fails([unknown]).await;
    assert_eq!(tries, 1);
    assert!(matches!(error, ModelError::Refused { status: 404, .. }), "{error}");
}

#[tokio::test]
async fn nobody_is_followed_elsewhere_with_a_key() {
    let elsewhere = Server::start([Answer::stream(&STREAM)]).await;
    let sends = Answer::json(307, "").header("location", &elsewhere.address);
    let (error, tries) = fails([sends]).await;
    assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
    assert_eq!((tries, elsewhere.asked().len()), (1, 0));
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_tried_again_and_then_named() {
    let cut = Answer::stream(&STREAM[..2]);
    let server = Server::start([cut.clone(), Answer::stream(&STREAM)]).await;
    let (reply, deltas) = ask(model(&server)).await;
    assert_eq!(reply.unwrap().text, "Héllo", "what came before does not count");
    assert!(matches!(deltas[1], Delta::Retrying { .. }), "{deltas:?}");
    for broken in [cut.clone(), cut.then(Part::Break)] {
        let (error, tries) = fails([broken]).await;
        assert_eq!(tries, 3);
        assert!(matches!(error, ModelError::Truncated { tries: 3, bytes: 300.., .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_named_as_a_stream_is() {
    let cut = Answer::json(200, r#"{"choices":"#).then(Part::Break);
    for broken in [cut.clone().header("content-length", "1000"), cut] {
        let (error, tries) = fails([broken]).await;
        assert_eq!(tries, 3);
        assert!(matches!(error, ModelError::Truncated { tries: 3, bytes: 11, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_hidden_in_all_it_says() {
    let whole =
        format!(r#"{{"choices":[{{"message":{{"content":"x = '{KEY}'"}},"finish_reason":"stop"}}]}}"#);
    let chunk = |text: &str| format!(r#"data: {{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let (begin, end) = KEY.split_at(7);
    let pieces = [chunk(&format!("x = '{begin}")), chunk(&format!("{end}'")), "data: [DONE]".to_owned()];
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let escaped = whole.replace("sk-", "sk\\u002d");
    for answer in [Answer::json(200, &whole), Answer::json(200, &escaped), Answer::stream(&pieces)] {
        let server = Server::start([answer]).await;
        let (reply, deltas) = ask(model(&server)).await;
        assert_eq!(reply.unwrap().text, "x = '***'");
        let said: String = deltas
            .iter()
            .map(|delta| match delta {
                Delta::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(said, "x = '***'");
    }
    // Where an error shows only the beginning of what a server says, no part of the key is left.
    let long = format!("{}{KEY}", "x".repeat(390));
    let (part, _) = KEY.split_at(10);
    for answer in [Answer::json(400, &long), Answer::json(200, &long)] {
        let (error, _) = fails([answer]).await;
        assert!(!error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let server = Server::start([Answer::stream(&STREAM[..2]).then(Part::Hang)]).await;
    let impatient = model(&server).silence(Duration::from_millis(50)).retry(Retry::never());
    let error = ask(impatient).await.0.unwrap_err();
    assert!(matches!(error, ModelError::Silent { tries: 1, .. }), "{error}");
    let endless = Answer::stream(&[]).then(Part::Forever(": still thinking\n\n"));
    let server = Server::start([endless]).await;
    let error = ask(model(&server).reply_within(Duration::from_millis(50)).retry(Retry::never())).await;
    assert!(matches!(error.0.unwrap_err(), ModelError::Silent { .. }));
}

#[tokio::test]
async fn a_reply_without_an_end_is_too_long() {
    let server = Server::start([Answer::stream(&[]).then(Part::Forever("data: {\"choices\":[]}\n\n"))]).await;
    let error = ask(model(&server).longest_reply(100_000)).await.0.unwrap_err();
    assert!(matches!(error, ModelError::TooLong { limit: 100_000, .. }), "{error}");
    // A line without an end is held, and no longer than that.
    let server = Server::start([Answer::stream(&[]).then(Part::Forever("data: xxxxxxxxxxxxxxxx"))]).await;
    let error = ask(model(&server).longest_reply(100_000)).await.0.unwrap_err();
    assert!(matches!(error, ModelError::TooLong { .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_reply_is_named_with_what_it_is() {
    let html = Answer {
        status: 200,
        headers: vec![("content-type", "text/html".into())],
        parts: vec![Part::Text("<title>Welcome</title>".into())],
    };
    for (answer, part) in [
        (html, "text/html"),
        (Answer::json(200, "not JSON"), "not JSON"),
        (Answer::json(200, r#"{"choices":[]}"#), "no choice"),
        (Answer::stream(&["data: {\"choices\": 7}"]), "choices"),
        (Answer::stream(&["data: garbage"]), "garbage"),
    ] {
        let (error, tries) = fails([answer]).await;
        assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(tries, 1);
    }
    let failing = Answer::stream(&[r#"data: {"error":{"message":"out of memory","type":"server_error"}}"#]);
    let (error, tries) = fails([failing]).await;
    assert!(matches!(error, ModelError::Server { status: 200, .. }), "{error}");
    assert_eq!(tries, 3);
}

#[tokio::test]
async fn where_nobody_listens_the_address_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let retry = Retry::new(1, Duration::from_millis(1), Duration::from_secs(1));
    let model = HttpModel::openai("m").base_url(format!("http://{address}")).retry(retry);
    let error = ask(model).await.0.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { tries: 2, .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
