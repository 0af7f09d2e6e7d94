//! MCP servers as tools: each tool of a server is a function that scripts call.
//!
//! ```text
//!  McpServer ──connect──► McpConnection ──tools──► HostTool ─► ToolRegistry ─► Sandbox
//!  a command or            │ one for each server    │ name, signature, documentation
//!  an address              └ restarted if it dies   └ a call ─► the server ─► its content as data
//! ```
//!
//! * `server` says where a server is, `naming` what it is called, `configured` reads the file in
//!   which other programs list theirs.
//! * `child` is a server that is a process of ours, `remote` one that is reached over HTTP. `paced`
//!   reads no more from either if it does not take our answers, `measured` tells whoever waits if a
//!   message is too long.
//! * `link` is one connection from the handshake to its end. `connection` keeps a server reachable
//!   over any number of them.
//! * `content` turns what a server answers into what a script reads. `progress` passes on how far a
//!   call has come. `told` is what can be said of an error. `keys` hides what a server was
//!   given in what it says.
//!
//! A server is not trusted with anything but its own tools. What it says of itself is shortened and
//! cleaned (see [`belljar_core::tool`]), it cannot name a function of Belljar's or Python's, what
//! it sends is bounded, and each call has a time limit. It runs on the host, with the rights of
//! whoever started it: whether to start it is the user's decision.

mod child;
mod configured;
mod connection;
mod content;
mod error;
mod keys;
mod link;
mod measured;
mod naming;
mod paced;
mod progress;
mod remote;
mod server;
mod told;

pub use connection::McpConnection;
pub use error::{McpError, ServerTextError};
pub use server::McpServer;
