//! Files of a workspace.

use super::BoxFuture;
use crate::{
    Context, DirectorySpec, File, InputSpec, OutputManifest, OutputSpec, PutFile, Workspace, WorkspaceError,
};

/// Puts, stages and collects files. No path leads out of the workspace, in either direction.
pub trait WorkspaceFs: Send + Sync {
    /// Writes files, in order. The first that fails ends it; those before it stay.
    fn put_files<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        files: Vec<PutFile>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Copies what is in a directory of the host into a directory of the workspace.
    fn stage_directory<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: DirectorySpec,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Reads the files that a pattern matches, each once.
    fn collect<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        patterns: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<File>, WorkspaceError>>;

    /// Stages inputs, in order, and records them. The first that fails ends it.
    fn stage_inputs<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        specs: Vec<InputSpec>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Collects outputs within limits, saves them if asked to, and records that.
    fn collect_outputs<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: OutputSpec,
    ) -> BoxFuture<'a, Result<OutputManifest, WorkspaceError>>;
}
