//! Tools: functions that scripts call.
//!
//! * A *guest tool* is Python in the cell. It can do what the script can do.
//! * A *host tool* is a closure of the program that runs the script. The script sees a function of
//!   the same name. What it does, it does out here, with whatever the closure can reach.
//!
//! ```text
//!  closure ─► HostTool ─► ToolRegistry ─► Sandbox
//!                            │ faces: names, signatures, documentation ─► template ─► script
//!                            └ HostTools: the closures ─► conversation::calls ◄─ tool_call
//! ```
//!
//! * `context` is what it knows of a call, and how it says how far it has come.
//! * `host` is one tool: what it is called with, its limits, what it answers.
//! * `schema` turns the type of its arguments into a [`Tool`](belljar_core::tool::Tool).
//! * `registry` collects tools for a sandbox.
//! * `needs` is what files of guest tools say that they need.
//! * `describe` is what a model should know of all of them.

mod context;
mod describe;
mod host;
mod needs;
mod registry;
mod schema;

pub use context::ToolContext;
pub use describe::DescribeError;
pub use host::{HostTool, ToolFailure};
pub use registry::{Equipped, RegistryError, ToolRegistry};

pub(crate) use context::{MOST_WAITING, ToolProgress, progress_channel};
pub(crate) use describe::{Tools, describe, describe_in};
pub(crate) use host::Answer;
pub(crate) use needs::Needs;
pub(crate) use registry::HostTools;
