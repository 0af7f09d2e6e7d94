//! Running blocks of code.

use std::sync::Arc;

use super::{BoxFuture, WorkspaceEngine};
use crate::{CodeBlockDelimiter, CodeExecutionInput, CodeExecutionResult, Context, WorkspaceError};

/// Runs code blocks and says what came of them.
pub trait CodeExecutor: Send + Sync {
    /// Runs the blocks in order. A block that fails is part of the result, and the next one runs.
    fn execute_code<'a>(
        &'a self,
        ctx: &'a Context,
        input: CodeExecutionInput,
    ) -> BoxFuture<'a, Result<CodeExecutionResult, WorkspaceError>>;

    /// What stands around code blocks in texts for this executor.
    fn code_block_delimiter(&self) -> CodeBlockDelimiter {
        CodeBlockDelimiter::default()
    }

    /// The engine that runs the blocks, if it is one that can be used by itself.
    fn engine(&self) -> Option<Arc<dyn WorkspaceEngine>> {
        None
    }
}
