//! The server for models: the Model Context Protocol, over a pipe and over HTTP.
//!
//! ```text
//!  stdin, stdout ─► stdio ─┐                                    ┌► runs (queue, events, history)
//!                          ├─► handler ─► tools ─► calls, files ┼► sessions
//!  guard ─► /mcp ─► http ──┘      │                             └► workspaces, artifacts (room)
//!                                 └► answers: content (text, JSON, pictures), progress
//! ```
//!
//! * `stdio` serves the client that started this process. It may do everything.
//! * `http` is `/mcp`. A token has its own sessions, workspaces and artifacts, as in the rest of
//!   the server.
//! * `handler` is what the protocol asks; `tools` says which tools there are and what they take.
//! * `calls` runs code and programs, `files` reads and writes, `artifacts` keeps what should stay.
//! * `content` says a result in the three ways that clients understand. `progress` tells of a run
//!   while it goes on.
//! * `room` is where workspaces and artifacts are.
//!
//! What a tool refuses is an answer that a model can read, and never an error of the protocol.
//! Such an error means that there is no such tool.

mod artifacts;
mod calls;
mod content;
mod files;
mod handler;
pub(crate) mod http;
mod progress;
mod room;
mod stdio;
mod tools;
mod uri;

pub(crate) use self::room::Room;
pub use self::stdio::McpServer;
pub(crate) use self::tools::ToolName;
