//! The file system of a workspace: each call in a span of its own.

use tracing::Instrument;
use tracing::field::Empty;

use super::Inner;
use crate::{
    BoxFuture, Context, DirectorySpec, File, InputSpec, OutputManifest, OutputSpec, PutFile, Workspace,
    WorkspaceError, WorkspaceFs, telemetry,
};

impl WorkspaceFs for Inner {
    fn put_files<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        files: Vec<PutFile>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        let span = tracing::info_span!(telemetry::SPAN_STAGE_FILES, { telemetry::COUNT } = files.len());
        Box::pin(async move { ctx.run(self.put(ws, files)).await? }.instrument(span))
    }

    fn stage_directory<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: DirectorySpec,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        let span = tracing::info_span!(
            telemetry::SPAN_STAGE_DIRECTORY,
            { telemetry::HOST_PATH } = %spec.source.display(),
            { telemetry::TO } = spec.to,
            { telemetry::MOUNT_USED } = false
        );
        Box::pin(async move { ctx.run(self.stage(ws, spec)).await? }.instrument(span))
    }

    fn collect<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        patterns: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<File>, WorkspaceError>> {
        let span = collecting(patterns.len());
        Box::pin(
            async move {
                let files = ctx.run(self.collect_files(ws, patterns)).await??;
                tracing::Span::current().record(telemetry::COUNT, files.len());
                Ok(files)
            }
            .instrument(span),
        )
    }

    fn stage_inputs<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        specs: Vec<InputSpec>,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        let span = tracing::info_span!(telemetry::SPAN_STAGE_FILES, { telemetry::COUNT } = specs.len());
        Box::pin(async move { ctx.run(self.stage_all(ctx, ws, specs)).await? }.instrument(span))
    }

    fn collect_outputs<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: OutputSpec,
    ) -> BoxFuture<'a, Result<OutputManifest, WorkspaceError>> {
        let span = collecting(spec.globs.len());
        Box::pin(
            async move {
                let manifest = ctx.run(self.outputs(ctx, ws, spec)).await??;
                tracing::Span::current().record(telemetry::COUNT, manifest.files.len());
                Ok(manifest)
            }
            .instrument(span),
        )
    }
}

fn collecting(patterns: usize) -> tracing::Span {
    tracing::info_span!(
        telemetry::SPAN_COLLECT,
        { telemetry::PATTERNS } = patterns,
        { telemetry::COUNT } = Empty
    )
}
