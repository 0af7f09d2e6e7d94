//! Programs over a WebSocket.

use std::time::Duration;

use belljar_server::{Scope, TokenLimits};
use belljar_testing::in_time;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::workspaces::peak_memory;
use crate::world::{World, told};

type Socket = WebSocketStream<TcpStream>;

/// Opens a WebSocket with these headers. A refusal is its status.
async fn open(
    world: &World,
    path: &str,
    headers: &[(&'static str, String)],
) -> Result<(Socket, String), u16> {
    let address = world.url.strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match in_time(client_async(request, stream)).await {
        Ok((socket, response)) => {
            let agreed = response.headers().get("sec-websocket-protocol");
            Ok((socket, agreed.map_or("", |it| it.to_str().unwrap()).to_owned()))
        }
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

async fn attached(world: &World, program: &str) -> Socket {
    let bearer = ("authorization", format!("Bearer {}", world.admin));
    open(world, &format!("{program}/terminal"), &[bearer]).await.unwrap().0
}

/// What came until this was printed, or until the end, and the last text frame.
async fn until(socket: &mut Socket, text: &str) -> (String, Value) {
    let (mut printed, mut said) = (Vec::new(), Value::Null);
    in_time(async {
        while let Some(message) = socket.next().await {
            match message.unwrap() {
                Message::Binary(bytes) => printed.extend_from_slice(&bytes),
                Message::Text(text) => said = serde_json::from_str(&text).unwrap(),
                Message::Close(_) => break,
                _ => {}
            }
            if !text.is_empty() && String::from_utf8_lossy(&printed).contains(text) {
                break;
            }
        }
    })
    .await;
    (String::from_utf8(printed).unwrap(), said)
}

async fn type_in(socket: &mut Socket, keys: &str) {
    in_time(socket.send(Message::Binary(keys.as_bytes().to_vec().into()))).await.unwrap();
}

async fn say(socket: &mut Socket, message: Value) {
    in_time(socket.send(Message::Text(message.to_string().into()))).await.unwrap();
}

async fn begun(world: &World, body: &Value) -> String {
    let workspace = world.workspace("job").await;
    let (status, made) = told(world.post(&format!("{workspace}/programs"), body)).await;
    assert_eq!(status, 201, "{made}");
    format!("/v1/programs/{}", made["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_terminal_is_typed_into_resized_interrupted_and_ends() {
    let Some(world) = World::new().await else { return };
    let shell = json!({"command": "sh", "terminal": {"rows": 24, "cols": 80}, "env": {"PS1": "> "}});
    let program = begun(&world, &shell).await;
    let mut socket = attached(&world, &program).await;
    type_in(&mut socket, "stty size\n").await;
    until(&mut socket, "24 80").await;
    say(&mut socket, json!({"type": "resize", "rows": 33, "cols": 99})).await;
    type_in(&mut socket, "while [ \"$(stty size)\" != '33 99' ]; do :; done; echo got-$((1 + 1))\n").await;
    until(&mut socket, "got-2").await;
    let resize = world.post(&format!("{program}/resize"), &json!({"rows": 11, "cols": 22}));
    assert_eq!(told(resize).await.0, 204);
    type_in(&mut socket, "while [ \"$(stty size)\" != '11 22' ]; do :; done; echo got-$((1 + 2))\n").await;
    until(&mut socket, "got-3").await;
    // Ctrl-C ends what the shell runs, and not the shell.
    type_in(&mut socket, "echo on-$((2 + 2)); sleep 1000\n").await;
    until(&mut socket, "on-4").await;
    // One may come in the moment in which the shell begins to wait.
    in_time(async {
        loop {
            type_in(&mut socket, "\x03").await;
            type_in(&mut socket, "echo back-$((2 + 3))\n").await;
            if timeout(Duration::from_millis(500), until(&mut socket, "back-5")).await.is_ok() {
                break;
            }
        }
    })
    .await;
    // A client that comes again sees what there was, and the program did not notice.
    drop(socket);
    let mut again = attached(&world, &program).await;
    let (printed, said) = until(&mut again, "back-5").await;
    assert!(printed.contains("24 80"), "{printed}");
    assert_eq!((&said["type"], &said["offset"]), (&json!("attached"), &json!(0)));
    type_in(&mut again, "exit 5\n").await;
    let (_, said) = until(&mut again, "").await;
    assert_eq!((&said["type"], &said["exit_code"]), (&json!("ended"), &json!(5)), "{said}");
    // Also after the end, from anywhere.
    let (_, polled) = told(world.get(&program)).await;
    let bearer = ("authorization", format!("Bearer {}", world.admin));
    let path = format!("{program}/terminal?from={}", polled["next_offset"]);
    let (mut late, _) = open(&world, &path, &[bearer]).await.unwrap();
    let (printed, said) = until(&mut late, "").await;
    assert_eq!((printed.as_str(), &said["type"]), ("", &json!("ended")));
    world.stop().await;
}

#[tokio::test]
async fn a_browser_offers_its_token_as_a_protocol_and_others_are_refused() {
    let Some(world) = World::new().await else { return };
    let program = begun(&world, &json!({"command": "cat", "terminal": {}})).await;
    let path = format!("{program}/terminal");
    let protocol = |token: &str| ("sec-websocket-protocol", format!("belljar.terminal.v1, bearer.{token}"));
    let origin = |origin: &str| ("origin", origin.to_owned());
    let (mut socket, agreed) =
        open(&world, &path, &[protocol(&world.admin), origin(&world.url)]).await.unwrap();
    assert_eq!(agreed, "belljar.terminal.v1", "the token is not said back");
    type_in(&mut socket, "echoed\n").await;
    until(&mut socket, "echoed").await;
    let stranger = world.token(Scope::Run, TokenLimits::default());
    let reader = world.token(Scope::Read, TokenLimits::default());
    for (headers, status) in [
        (vec![], 401),
        (vec![protocol("bj_0_0")], 401),
        (vec![protocol(&stranger)], 404),
        (vec![protocol(&reader)], 403),
        (vec![protocol(&world.admin), origin("http://evil.example")], 403),
    ] {
        assert_eq!(open(&world, &path, &headers).await.map(drop), Err(status));
    }
    assert_eq!(
        open(&world, "/v1/programs/none/terminal", &[protocol(&world.admin)]).await.map(drop),
        Err(404)
    );
    // A plain request has no such way in.
    let plain = world.http.get(format!("{}/v1/programs", world.url));
    let (name, value) = protocol(&world.admin);
    assert_eq!(told(plain.header(name, value)).await.0, 401);
    assert_eq!(told(world.get(&path)).await.0, 400, "it is no WebSocket");
    // What makes no sense ends the conversation, and not the program.
    for text in [json!({"type": "dance"}), json!({"type": "resize", "rows": 0, "cols": 1}), json!(3)] {
        let mut socket = attached(&world, &program).await;
        say(&mut socket, text).await;
        until(&mut socket, "").await;
    }
    assert_eq!(told(world.get(&program)).await.1["status"], "running");
    world.stop().await;
}

#[tokio::test]
async fn a_reader_that_is_slow_makes_the_program_wait_and_nothing_grow() {
    const LINES: usize = 2_000_000;
    let Some(world) = World::new().await else { return };
    let script = format!("read go; seq {LINES}");
    let flood = json!({"command": "sh", "args": ["-c", script], "interactive": true, "timeout": 600});
    let program = begun(&world, &flood).await;
    let mut socket = attached(&world, &program).await;
    let before = peak_memory();
    type_in(&mut socket, "\n").await;
    // It has begun, and nobody reads. It must come to a halt.
    let offset = async || {
        let (_, polled) = told(world.get(&format!("{program}?from=99999999999"))).await;
        (polled["offset"].as_u64().unwrap(), polled["status"].clone())
    };
    let mut last = 0;
    in_time(async {
        let mut same = 0;
        while same < 50 {
            let (now, status) = offset().await;
            assert_eq!(status, "running");
            same = if now == last && now > 0 { same + 1 } else { 0 };
            last = now;
            told(world.get("/v1/status")).await;
        }
    })
    .await;
    assert!(last < 14_000_000, "it printed {last} bytes though nobody read them");
    let mut expected = (1..=LINES).map(|number| format!("{number}\n")).collect::<String>();
    let mut read = 0;
    in_time(async {
        while let Some(message) = socket.next().await {
            match message.unwrap() {
                Message::Binary(bytes) => {
                    assert_eq!(expected.as_bytes().get(read..read + bytes.len()), Some(&*bytes), "at {read}");
                    read += bytes.len();
                }
                Message::Text(text) => assert!(!text.contains("skipped"), "{text}"),
                _ => {}
            }
        }
    })
    .await;
    assert_eq!(read, expected.len());
    expected.clear();
    let grown = peak_memory() - before;
    assert!(grown < 64, "{grown} MiB");
    world.stop().await;
}

#[tokio::test]
async fn a_terminal_hears_its_end_when_the_server_ends() {
    let Some(mut world) = World::new().await else { return };
    let program = begun(&world, &json!({"command": "cat", "terminal": {}})).await;
    let mut socket = attached(&world, &program).await;
    type_in(&mut socket, "here\n").await;
    until(&mut socket, "here").await;
    world.begin_to_stop();
    let (_, said) = until(&mut socket, "").await;
    assert_eq!((&said["type"], &said["verdict"]), (&json!("ended"), &json!("cancelled")), "{said}");
    world.stopped().await;
}
