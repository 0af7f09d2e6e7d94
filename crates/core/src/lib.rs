//! Belljar's shared types, and the rules that can be checked without I/O.
//!
//! Every other crate uses these types. A [`SandboxConfig`] describes an environment. An
//! [`ExecutionRequest`] asks for one run in it. [`Event`]s report what happens meanwhile. An
//! [`ExecutionResult`] with a [`Verdict`] says how the run ended. A [`ToolSet`] describes the
//! functions that scripts may call.
//!
//! ```text
//!  config ──► request ──► wire (host → guest)
//!                         wire (guest → host) ──► event ──► result + verdict
//! ```
//!
//! Nothing here reads a file, a clock, the environment or a socket. The `clippy.toml` of this crate
//! enforces that.

pub mod config;
pub mod display;
pub mod environment;
mod event;
mod exit_code;
mod files;
mod ids;
pub mod json;
pub mod layout;
pub mod metrics;
mod network;
mod path;
pub mod policy;
mod printable;
mod program;
mod protection_status;
#[cfg(test)]
mod public_json;
mod random;
#[cfg(test)]
mod reference;
pub mod remedies;
mod request;
mod result;
mod script_metadata;
mod secret;
pub mod tool;
mod tool_call;
mod verdict;
pub mod wire;

pub use config::{ExecutionMode, FileResource, NetworkPolicy, ResourceLimits, SandboxConfig};
pub use display::{Display, DisplayData};
pub use event::{Event, EventKind, LogLevel, OutputStream};
pub use exit_code::ExitCode;
pub use files::{Collected, CollectedFile, media_type};
pub use ids::{CellId, ExecutionId, WorkspaceName, WorkspaceNameError};
pub use json::{Json, json_line};
pub use network::{Decision, NetworkVerdict, OTHER_HOSTS};
pub use path::{GuestPath, GuestPathError};
pub use printable::{is_combining, is_printable};
pub use program::{Program, ProgramError};
pub use protection_status::{ProtectionState, ProtectionStatus};
pub use random::random_hex;
pub use request::{CollectLimits, ExecutionRequest, FileContent, InputFile, ScriptError, Stdin, StdinStream};
pub use result::{ExecutionResult, Intermediate, LogLine, Usage};
pub use script_metadata::{ScriptMetadata, ScriptMetadataError, ScriptMetadataFault};
pub use secret::Secret;
pub use tool::{Tool, ToolError, ToolSet};
pub use tool_call::{MOST_TOOL_CALLS, ToolCallRecord};
pub use verdict::Verdict;
