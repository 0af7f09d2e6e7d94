//! What is said between callers and engines, with its JSON.
//!
//! ```text
//!  block       code, as a model writes it, and what came of it
//!  workspace   a workspace, its policy, what an engine can do
//!  files       files that are put and collected
//!  inputs      what is staged, and that it was      outputs   what is kept, and that it was
//!  program     one run of a program                 session   a program that is talked to
//!  metadata    the record that a workspace keeps of itself
//! ```
//!
//! Keys are in snake case. Durations are seconds, as numbers with a fraction, in keys that end in
//! `_seconds`. Bytes are text: what is not UTF-8 has replacement characters in it, and its bytes
//! beside it in a key that ends in `_base64`. Unknown keys are ignored when read.

mod block;
mod bytes;
mod files;
mod inputs;
mod metadata;
mod outputs;
mod program;
mod seconds;
mod session;
mod workspace;

pub use block::{BlockResult, CodeBlock, CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult};
pub use files::{File, FileRef, PutFile};
pub use inputs::{DirectorySpec, InputRecord, InputSpec, StageOptions};
pub use metadata::{SkillMeta, WorkspaceMetadata};
pub use outputs::{OutputManifest, OutputRecord, OutputSpec};
pub use program::{CutStream, InteractiveProgramSpec, RunProgramSpec, RunResult, Truncated};
pub use session::{ProgramBytes, ProgramLog, ProgramPoll, ProgramState, ProgramStatus};
pub use workspace::{Capabilities, EnforcedLimits, ResourceLimits, Workspace, WorkspacePolicy};

/// For `skip_serializing_if`: whether a value says nothing.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
