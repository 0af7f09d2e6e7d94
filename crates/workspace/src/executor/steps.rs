//! One block: its files are written, it is compiled, it runs.

use std::sync::Arc;
use std::time::Duration;

use super::place::Place;
use super::{Inner, text};
use crate::env::{ProvidedEnv, merge_provided_env};
use crate::languages::plan_block_in;
use crate::layout::INLINE_SOURCES;
use crate::{
    BlockResult, CodeBlock, Context, CutStream, Language, ProgramRunner, ResourceLimits, RunProgramSpec,
    RunResult, WorkspaceError, WorkspaceFs,
};

/// Puts the working directory before what a variable has, and becomes the program.
const WITH_SEARCH: &str = r#"eval "rest=\${$1-}"; export "$1=$PWD${rest:+:$rest}"; shift; exec "$@""#;

/// What one call does for each of its blocks.
pub(super) struct Steps<'a> {
    ctx: &'a Context,
    inner: &'a Inner,
    place: &'a Place,
    runner: Arc<dyn ProgramRunner>,
    fs: Arc<dyn WorkspaceFs>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(ctx: &'a Context, inner: &'a Inner, place: &'a Place) -> Self {
        Self { ctx, inner, place, runner: inner.engine.runner(), fs: inner.engine.fs() }
    }

    /// Runs a block. Whatever is wrong with the block alone is part of the result.
    pub(super) async fn block(&self, index: usize, block: &CodeBlock) -> Result<BlockResult, WorkspaceError> {
        let language = block.language.clone();
        match self.try_block(index, block).await {
            Ok(ended) => Ok(BlockResult { language, ..ended }),
            Err(error) if is_about_the_block(&error) => {
                let error = Some(error.to_string());
                Ok(BlockResult { language, exit_code: -1, error, ..BlockResult::default() })
            }
            Err(error) => Err(error),
        }
    }

    async fn try_block(&self, index: usize, block: &CodeBlock) -> Result<BlockResult, WorkspaceError> {
        let toolchains = &self.inner.toolchains;
        if let Some(language) = Language::named(&block.language) {
            toolchains.look_for(language, self).await?;
        }
        let directory = self.place.directory_of(index);
        let mut plan = plan_block_in(&directory, index, block, |program| toolchains.has(program))?;
        for file in &mut plan.files {
            file.path = format!("{INLINE_SOURCES}/{}", file.path);
        }
        self.fs.put_files(self.ctx, self.place.workspace(), plan.files).await?;
        let options = &self.inner.options;
        let mut compile = None;
        if let Some(argv) = plan.compile {
            let shown = argv.join(" ");
            let spec = program(argv, plan.search, options.compile_timeout, options.compile_limits);
            let ended = self.run(spec).await?;
            if !ended.is_success() {
                return Ok(not_compiled(&shown, ended, options.compile_timeout));
            }
            compile = Some(Box::new(ended));
        }
        let ended = self.run(program(plan.run, plan.search, options.timeout, options.limits)).await?;
        let error = match ended.timed_out {
            true => Some(text::took_too_long(options.timeout)),
            false => ended.verdict.as_ref().map(|verdict| format!("ended by the engine: {verdict}")),
        };
        let mut stderr = ended.stderr_text().into_owned();
        for (name, cut) in [("stdout", &ended.truncated.stdout), ("stderr", &ended.truncated.stderr)] {
            stderr.extend(cut.as_ref().map(|cut| self.note(name, cut)));
        }
        let stdout = ended.stdout_text().into_owned();
        let (exit_code, timed_out, language) = (ended.exit_code, ended.timed_out, String::new());
        Ok(BlockResult { language, exit_code, timed_out, stdout, stderr, error, compile })
    }

    /// Says that a stream was cut, and where the rest is if that stays.
    fn note(&self, name: &str, cut: &CutStream) -> String {
        let rest = match &cut.spill {
            Some(spill) if !self.place.is_fresh() => format!("; all of it is in {spill}"),
            _ => String::new(),
        };
        format!("\n[{name} was cut: it has {} bytes{rest}]\n", cut.total_bytes)
    }

    /// Runs a program with the variables that all blocks get.
    pub(super) async fn run(&self, mut spec: RunProgramSpec) -> Result<RunResult, WorkspaceError> {
        let options = &self.inner.options;
        spec.clean_env = options.clean_env;
        if let Some(provider) = &options.env {
            spec = merge_provided_env(spec, provider(self.ctx));
        }
        let spec = ProvidedEnv::added_to(self.ctx, spec);
        self.runner.run_program(self.ctx, self.place.workspace(), spec).await
    }
}

/// A compiler or a program that runs where sources are.
fn program(
    argv: Vec<String>,
    search: Option<&str>,
    timeout: Duration,
    limits: ResourceLimits,
) -> RunProgramSpec {
    let mut argv = argv.into_iter();
    let spec = match search {
        Some(variable) => {
            let wrapper = ["-c", WITH_SEARCH, "sh", variable].map(str::to_owned);
            RunProgramSpec::new("sh", wrapper.into_iter().chain(argv))
        }
        None => RunProgramSpec::new(argv.next().unwrap_or_default(), argv),
    };
    RunProgramSpec { cwd: INLINE_SOURCES.to_owned(), timeout: Some(timeout), limits, ..spec }
}

/// A block whose compiler failed. What the compiler printed is told as an error of the block.
fn not_compiled(command: &str, ended: RunResult, timeout: Duration) -> BlockResult {
    let why = match (ended.timed_out, &ended.verdict) {
        (true, _) => text::took_too_long(timeout),
        (false, Some(verdict)) => format!("ended by the engine: {verdict}"),
        (false, None) => format!("exit code {}", ended.exit_code),
    };
    let said = format!("{}{}", ended.stdout_text(), ended.stderr_text());
    BlockResult {
        exit_code: if ended.exit_code == 0 { -1 } else { ended.exit_code },
        timed_out: ended.timed_out,
        stderr: format!("compile: {command}\n{said}"),
        error: Some(format!("compiling failed: {why}")),
        compile: Some(Box::new(ended)),
        ..BlockResult::default()
    }
}

/// Whether the next block may still succeed.
fn is_about_the_block(error: &WorkspaceError) -> bool {
    matches!(
        error.original(),
        WorkspaceError::UnsupportedLanguage { .. }
            | WorkspaceError::Toolchain { .. }
            | WorkspaceError::InvalidProgram { .. }
            | WorkspaceError::Limit { .. }
            | WorkspaceError::DiskFull { .. }
            | WorkspaceError::WrongKind { .. }
            | WorkspaceError::Io { .. }
    )
}
