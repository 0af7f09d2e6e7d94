//! Runs scripts that a model wrote, streams what happens, and gives an honest result.
//!
//! ```no_run
//! # async fn example() -> Result<(), belljar_runtime::RuntimeError> {
//! use belljar_runtime::{Runtime, SandboxConfig};
//!
//! let runtime = Runtime::new().await?;
//! let sandbox = runtime.sandbox(SandboxConfig::default()).await?;
//! let result = sandbox.run("emit_result({'answer': 6 * 7})").await?;
//! assert_eq!(result.final_data.unwrap().as_str(), r#"{"answer":42}"#);
//! # Ok(()) }
//! ```
//!
//! One request type and one event type are used from end to end:
//!
//! ```text
//!  ExecutionRequest ─► Sandbox ─► pool: a warm cell, in turn ─► executor ─► conversation
//!                                                       the cell, both ways; deadlines │
//!  ExecutionResult ◄── transcript ◄── Event ◄──────────────────────────────────────────┘
//! ```
//!
//! A [`Sandbox`] gives every [`Sandbox::run`] a cell that has never run anything and is destroyed
//! afterwards. A [`Session`] keeps one cell for several steps. Dropping the future of a run kills
//! what it runs.

mod control;
mod conversation;
mod deadlines;
mod error;
mod executor;
mod files;
mod inquiry;
mod mask;
mod meters;
mod network;
mod program;
mod runtime;
mod sandbox;
mod secrets;
mod session;
mod sink;
mod stdin;
mod stream;
mod tools;
mod transcript;
mod utf8;
mod warnings;

pub use belljar_core::config::{
    ConfigError, ExecutionMode, FileResource, NetworkPolicy, ResourceLimits, SandboxConfig,
};
pub use belljar_core::{
    CollectLimits, Collected, CollectedFile, Decision, Display, DisplayData, Event, EventKind, ExecutionId,
    ExecutionRequest, ExecutionResult, FileContent, InputFile, Intermediate, Json, LogLevel, LogLine,
    NetworkVerdict, OutputStream, Program, ProgramError, ScriptError, Secret, Stdin, StdinStream,
    ToolCallRecord, Usage, Verdict, WorkspaceName, WorkspaceNameError, is_combining, is_printable, json_line,
};
#[cfg(feature = "native")]
pub use belljar_engine::builder::LayerStore;
pub use belljar_engine::pool::{CheckoutError, LiveTemplate, PoolKey, TemplateStats};
pub use belljar_engine::{
    Blueprint, Capabilities, Engine, EngineError, EngineFailure, Fault, Forked, IntoEngine, Progress,
    ProtectionState, ProtectionStatus, TemplateReport, ToolSource,
};
pub use control::RunHandle;
pub use error::RuntimeError;
pub use executor::ScriptExecutor;
pub use files::{FileEntry, FilesError, SessionFiles};
pub use inquiry::{Completions, Variable};
pub use program::{NotRunning, ProgramEnd, ProgramSink, RunningProgram, Stop};
pub use runtime::{Runtime, RuntimeBuilder};
pub use sandbox::Sandbox;
pub use secrets::{
    MissingSecret, SecretError, SecretSource, SecretSourceError, Secrets, UnknownSecretSource,
};
pub use session::Session;
pub use sink::EventSink;
pub use stdin::{stdin_from_async_reader, stdin_from_reader, stdin_from_stream};
pub use stream::Execution;
pub use tools::{DescribeError, Equipped, HostTool, RegistryError, ToolContext, ToolFailure, ToolRegistry};
