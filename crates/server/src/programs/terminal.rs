//! `/v1/programs/{id}/terminal`: a program over a WebSocket.
//!
//! | frame | from the client | from the server |
//! |---|---|---|
//! | binary | what is typed | what the program prints |
//! | text | `{"type": "resize", "rows": 24, "cols": 80}` | `attached`, `skipped`, at the end `ended` |
//!
//! A client that has lost its connection comes again with `?from=`, the number of the next byte.
//! The program does not notice. A browser cannot say `Authorization` here, so it offers the token
//! as a subprotocol, which the guard reads; the one that is agreed on is [`PROTOCOL`].

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, timeout};
use utoipa::IntoParams;

use super::control::set_size;
use super::held::{Held, Input, Stage};
use super::log::Reader;

use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::revoked;
use crate::state::App;

/// What both sides speak.
const PROTOCOL: &str = "belljar.terminal.v1";
/// What is typed at once, at most.
const MOST: usize = 256 << 10;
/// What is sent at once.
const PIECE: usize = 32 << 10;
/// How long a client may take to read one piece. The program waits for it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a client is asked whether it is there. Proxies close what is silent.
const PINGS: Duration = Duration::from_secs(5);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// The number of the first byte that is wanted.
    #[serde(default)]
    from: u64,
}

/// Attaches to a program over a WebSocket: binary frames are keys and output, text frames JSON.
#[utoipa::path(
    get, path = "/v1/programs/{id}/terminal", tag = "programs", operation_id = "attach_to_program", params(From),
    responses((status = SWITCHING_PROTOCOLS, description = "a WebSocket of `belljar.terminal.v1`")),
)]
pub(super) async fn attach(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    Query(From { from }): Query<From>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Problem> {
    let held = app.programs.changed(&id, &client)?;
    if !held.kind.is_talked_to() {
        let detail = "nobody can talk to this program: begin one with `terminal` or `interactive`";
        return Err(Problem::new(Code::Conflict, detail));
    }
    let reader = held.attach(from)?;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(MOST).max_frame_size(MOST);
    Ok(upgrade.on_upgrade(async move |mut socket| {
        let closing = speak(&mut socket, &held, reader, || revoked::is_known(&app, &client)).await;
        held.touch();
        if let Some(closing) = closing {
            close(socket, closing).await;
        }
    }))
}

/// Why a conversation is ended by this side.
type Closing = (u16, String);

/// Carries bytes both ways. `None`: the client has gone.
async fn speak(
    socket: &mut WebSocket,
    held: &Held,
    mut reader: Reader,
    is_welcome: impl Fn() -> bool,
) -> Option<Closing> {
    let mut typed: Option<Bytes> = None;
    // One whose input has ended can still be watched.
    let input = held.input().ok();
    let mut pings = interval(PINGS);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    say(socket, &json!({"type": "attached", "offset": reader.at()})).await?;
    loop {
        tokio::select! {
            // While a program does not read, its client is not read from either. What it prints is
            // sent all the same: it may wait for that.
            () = hand_over(&input, &mut typed), if typed.is_some() => {}
            message = socket.recv(), if typed.is_none() => match message?.ok()? {
                Message::Binary(bytes) => typed = Some(bytes).filter(|bytes| !bytes.is_empty()),
                Message::Text(text) => if let Err(reason) = obey(held, &text) {
                    return Some((close_code::POLICY, reason));
                },
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => {}
            },
            piece = reader.next(PIECE) => match piece {
                Some(piece) => {
                    if piece.skipped > 0 {
                        say(socket, &json!({"type": "skipped", "bytes": piece.skipped})).await?;
                    }
                    send(socket, Message::Binary(piece.bytes.into())).await?;
                }
                None => {
                    say(socket, &ended(held)).await?;
                    return Some((close_code::NORMAL, "the program has ended".to_owned()));
                }
            },
            _ = pings.tick() => {
                if !is_welcome() {
                    return Some((close_code::POLICY, "the token was taken back, or has ended".to_owned()));
                }
                send(socket, Message::Ping(Bytes::new())).await?;
            }
        }
    }
}

/// Gives the program what was typed, when it has room. Nothing is lost if this is dropped before.
async fn hand_over(input: &Option<Input>, typed: &mut Option<Bytes>) {
    let Some(input) = input else { return drop(typed.take()) };
    match input.reserve().await {
        Ok(place) => drop(typed.take().map(|bytes| place.send(Ok(bytes)))),
        // It reads no more.
        Err(_) => drop(typed.take()),
    }
}

/// Does what a text frame says.
fn obey(held: &Held, text: &str) -> Result<(), String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
        return Err("a text frame must be a JSON object".to_owned());
    };
    match fields.remove("type").as_ref().and_then(Value::as_str) {
        Some("resize") => match set_size(held, fields) {
            // It may have ended meanwhile.
            Err(problem) if problem.code != Code::Conflict => Err(problem.to_string()),
            _ => Ok(()),
        },
        _ => Err("a text frame must have the type `resize`".to_owned()),
    }
}

fn ended(held: &Held) -> Value {
    match held.stage() {
        Stage::Ended(result) => json!({
            "type": "ended",
            "exit_code": result.exit_code,
            "signal": result.signal,
            "timed_out": result.timed_out,
            "verdict": result.verdict,
        }),
        Stage::Failed(_, reason) => json!({"type": "ended", "exit_code": -1, "error": reason}),
        _ => json!({"type": "ended", "exit_code": -1}),
    }
}

async fn say(socket: &mut WebSocket, message: &Value) -> Option<()> {
    send(socket, Message::Text(message.to_string().into())).await
}

/// `None`: the client has gone, or does not read.
async fn send(socket: &mut WebSocket, message: Message) -> Option<()> {
    timeout(PATIENCE, socket.send(message)).await.ok()?.ok()
}

async fn close(mut socket: WebSocket, (code, reason): Closing) {
    /// How long the client may take to agree.
    const AGREED: Duration = Duration::from_secs(2);
    /// A close frame has no room for more.
    const LONGEST: usize = 120;
    let reason: String = reason.chars().take_while(char::is_ascii).take(LONGEST).collect();
    let frame = CloseFrame { code, reason: reason.into() };
    let _ = timeout(AGREED, async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    })
    .await;
}
