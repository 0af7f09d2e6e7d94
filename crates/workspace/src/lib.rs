//! Workspaces: kept trees, the programs that run in them, and code blocks.
//!
//! A workspace is a directory that outlives the programs that run in it. A caller puts files into
//! it, stages inputs, runs programs, and collects what they wrote. An engine does that somewhere:
//! in a cell, in a container, or on this machine. This crate has the types and the traits that all
//! engines share, and the rules that do not depend on where a workspace is.
//!
//! ```text
//!   CodeExecutor ── blocks of code, as a model writes them
//!        │
//!   WorkspaceEngine ─┬─ WorkspaceManager   makes and removes workspaces
//!                    ├─ WorkspaceFs        puts, stages and collects files
//!                    └─ ProgramRunner      runs one program to its end
//!                         └─ InteractiveProgramRunner ──► ProgramSession
//! ```
//!
//! Where to look:
//!
//! * [`model`]: what is said, with its JSON. [`contract`]: who is asked.
//! * [`context`]: deadline, cancellation and values of one call.
//! * [`layout`] and [`telemetry`]: names of directories, variables, spans and fields.
//! * [`blocks`] finds code in a text, [`languages`] says how to run it, [`executor`] runs it.
//! * [`globs`] says which paths a pattern means, [`mime`] what a file is, [`digest`] whether two
//!   trees are the same.
//! * [`metadata`]: the record of a workspace. [`registry`]: workspaces that are used again.
//! * [`env`](mod@env): the variables of a program.
//!
//! A program that fails is data: a [`RunResult`] with an exit code. A [`WorkspaceError`] says that
//! the program could not be run as asked.

pub mod blocks;
pub mod context;
pub mod contract;
pub mod digest;
pub mod env;
mod error;
pub mod executor;
pub mod globs;
#[cfg(feature = "jupyter")]
pub mod jupyter;
pub mod kept;
pub mod languages;
pub mod layout;
pub mod metadata;
pub mod mime;
pub mod model;
pub mod registry;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod timestamp;

pub use blocks::extract_code_blocks;
pub use context::Context;
pub use contract::{
    BoxFuture, CodeExecutor, EngineProvider, InteractiveProgramRunner, ProgramRunner, ProgramSession,
    SimpleEngine, WorkspaceEngine, WorkspaceFs, WorkspaceManager,
};
pub use digest::dir_digest;
pub use env::{RunEnvProvider, env_injecting_engine, env_injecting_executor};
pub use error::WorkspaceError;
pub use executor::{BlockExecutor, BlockExecutorOptions};
pub use globs::{GlobSet, normalize_globs};
#[cfg(feature = "jupyter")]
pub use jupyter::{JupyterExecution, JupyterExecutor, JupyterOptions};
pub use kept::{OpenWorkspace, StreamedProgram, Streaming, Workspaces, WorkspacesOptions};
pub use languages::{BlockPlan, BlockSpec, Language, build_block_spec, plan_block, plan_block_in};
pub use mime::{is_text_mime, mime_type};
pub use model::{
    BlockResult, Capabilities, CodeBlock, CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult,
    CutStream, DirectorySpec, EnforcedLimits, File, FileRef, InputRecord, InputSpec, InteractiveProgramSpec,
    OutputManifest, OutputRecord, OutputSpec, ProgramBytes, ProgramLog, ProgramPoll, ProgramState,
    ProgramStatus, PutFile, ResourceLimits, RunProgramSpec, RunResult, SkillMeta, StageOptions, Truncated,
    Workspace, WorkspaceMetadata, WorkspacePolicy,
};
pub use registry::{RegistryOptions, WorkspaceHandle, WorkspaceRegistry};
pub use timestamp::Timestamp;
