//! Programs in a workspace, each in a cell of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use belljar_core::wire::TerminalSize;
use belljar_engine::EngineError;
use belljar_engine::kept::KeptWorkspace;
use belljar_runtime::{
    CheckoutError, Program, ProgramEnd, ProgramError, ProgramSink, RunningProgram, RuntimeError, Stdin, Stop,
    Verdict,
};
use tracing::Instrument;
use tracing::field::Empty;

use super::capture::Capture;
use super::disk::DiskWatch;
use super::put::asked;
use super::{Inner, of_runtime, session};
use crate::layout::{OUT, OUTPUT_DIR, RUN_DIR, RUNS, SKILLS, SKILLS_DIR, WORK, WORK_DIR, WORKSPACE_DIR};
use crate::{
    BoxFuture, Context, InteractiveProgramRunner, InteractiveProgramSpec, ProgramRunner, ProgramSession,
    RunProgramSpec, RunResult, Timestamp, Workspace, WorkspaceError, telemetry,
};

/// Runs programs.
pub(super) struct Runner(pub(super) Arc<Inner>);

impl ProgramRunner for Runner {
    fn run_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: RunProgramSpec,
    ) -> BoxFuture<'a, Result<RunResult, WorkspaceError>> {
        let span = running(&spec);
        Box::pin(
            async move {
                let result = self.0.run(ctx, ws, spec).await?;
                note(&tracing::Span::current(), &result);
                Ok(result)
            }
            .instrument(span),
        )
    }

    fn interactive(&self) -> Option<Arc<dyn InteractiveProgramRunner>> {
        Some(Arc::new(Self(Arc::clone(&self.0))))
    }
}

impl InteractiveProgramRunner for Runner {
    fn start_program<'a>(
        &'a self,
        ctx: &'a Context,
        ws: &'a Workspace,
        spec: InteractiveProgramSpec,
    ) -> BoxFuture<'a, Result<Box<dyn ProgramSession>, WorkspaceError>> {
        let span = running(&spec.program);
        Box::pin(
            async move {
                let session = ctx.run(session::start(&self.0, ws, spec)).await??;
                Ok(Box::new(session) as Box<dyn ProgramSession>)
            }
            .instrument(span),
        )
    }
}

fn running(spec: &RunProgramSpec) -> tracing::Span {
    tracing::info_span!(
        telemetry::SPAN_RUN,
        { telemetry::CMD } = spec.cmd,
        { telemetry::CWD } = spec.cwd,
        { telemetry::EXIT_CODE } = Empty,
        { telemetry::TIMED_OUT } = Empty
    )
}

pub(super) fn note(span: &tracing::Span, result: &RunResult) {
    span.record(telemetry::EXIT_CODE, result.exit_code).record(telemetry::TIMED_OUT, result.timed_out);
}

/// A program that has been started.
pub(super) struct Started {
    pub(super) program: Arc<RunningProgram>,
    /// Ends with what holds this.
    pub(super) _disk: Option<DiskWatch>,
}

impl Inner {
    async fn run(
        &self,
        ctx: &Context,
        ws: &Workspace,
        mut spec: RunProgramSpec,
    ) -> Result<RunResult, WorkspaceError> {
        let kept = self.kept(ws)?;
        let run = run_directory();
        let (most, spilled) = (self.options.max_output_bytes, self.options.max_spill_bytes);
        let capture = Capture::new(kept.clone(), run.clone(), most, spilled);
        let stdin = std::mem::take(&mut spec.stdin);
        let stdin = if stdin.is_empty() { Stdin::default() } else { Stdin::from(stdin) };
        let terms = Terms { kept, run, stdin, terminal: None };
        let starting = self.start(ws, spec, terms, capture.clone());
        let started = ctx.run(starting).await??;
        let ended = tokio::select! {
            ended = started.program.wait() => ended,
            why = ctx.ended() => {
                let _ = started.program.stop(Stop::Cancelled);
                let _ = started.program.wait().await;
                return Err(why);
            }
        };
        let ended = ended.ok_or_else(|| of_runtime(self.engine, "run a program", RuntimeError::ShutDown))?;
        Ok(result(&ended, &capture))
    }

    /// Starts a program whose output goes to a sink.
    pub(super) async fn start(
        &self,
        ws: &Workspace,
        spec: RunProgramSpec,
        Terms { kept, run, stdin, terminal }: Terms,
        sink: impl ProgramSink,
    ) -> Result<Started, WorkspaceError> {
        let RunProgramSpec { cmd, args, env, cwd, stdin: _, timeout, limits, clean_env } = spec;
        if let Some(what) = limits.beyond(self.capabilities.limits).next() {
            return Err(WorkspaceError::Limit { what, engine: self.engine.to_owned() });
        }
        let mut program = Program::new(cmd).args(args).stdin(stdin);
        program.cwd = match cwd.trim_matches('/') {
            "" | "." => None,
            _ => Some(asked(&cwd)?),
        };
        program.places = places(&run);
        program.env = env;
        program.clean_env = clean_env;
        program.timeout = timeout;
        program.terminal = terminal;
        let set = |value: u64| (value > 0).then_some(value);
        program.memory_mb = set(limits.memory_mb);
        program.cpu_quota = set(limits.cpu_percent.into()).map(|percent| percent as f64 / 100.0);
        program.pids_limit = (limits.max_pids > 0).then_some(limits.max_pids);
        let disk = self.disk_limit(ws, &kept, limits.disk_mb).await?;
        program.largest_file = disk.map(|disk| disk.largest_file);
        let name = kept.name().clone();
        let sandbox = self.prepare(&mut |_| {}).await?;
        let in_use = self.store.begin_use(&name).map_err(WorkspaceError::io("work in", &ws.path))?;
        let sink = self.uses.begin(&name, in_use, sink);
        let started = sandbox.start_program(program, Some(name), sink).await;
        let program = Arc::new(started.map_err(|error| self.refused(error))?);
        self.uses.started(kept.name(), &program);
        let watch = |limit| DiskWatch::start(kept.clone(), limit, Arc::clone(&program));
        let watching = disk.map(watch).transpose();
        let _disk = watching.map_err(WorkspaceError::io("watch", &ws.path))?;
        Ok(Started { program, _disk })
    }

    /// What the runtime refuses, in the words of workspaces.
    fn refused(&self, error: RuntimeError) -> WorkspaceError {
        match &error {
            RuntimeError::Program(ProgramError::Environment { .. })
            | RuntimeError::Program(_)
            | RuntimeError::Timeout { .. } => WorkspaceError::InvalidProgram { reason: error.to_string() },
            RuntimeError::Checkout(CheckoutError::Spawn(spawn))
                if matches!(**spawn, EngineError::Unenforceable { .. }) =>
            {
                WorkspaceError::Limit { what: "limits of one program", engine: self.engine.to_owned() }
            }
            _ => of_runtime(self.engine, "start a program", error),
        }
    }
}

/// How one program is started.
pub(super) struct Terms {
    /// Where it works.
    pub(super) kept: KeptWorkspace,
    /// Its own directory.
    pub(super) run: String,
    pub(super) stdin: Stdin,
    pub(super) terminal: Option<TerminalSize>,
}

/// A directory for one run, like no other.
pub(super) fn run_directory() -> String {
    static RUN: AtomicU64 = AtomicU64::new(0);
    let (seconds, nanos) = Timestamp::now().since_1970();
    let number = RUN.fetch_add(1, Ordering::Relaxed);
    format!("{RUNS}/run_{seconds}_{:06}_{}_{number}", nanos / 1000, std::process::id())
}

/// The variables that tell a program where things are.
fn places(run: &str) -> BTreeMap<String, String> {
    let places =
        [(WORKSPACE_DIR, ""), (SKILLS_DIR, SKILLS), (WORK_DIR, WORK), (OUTPUT_DIR, OUT), (RUN_DIR, run)];
    places.map(|(name, place)| (name.to_owned(), place.to_owned())).into()
}

/// How a program ended, and what it printed.
pub(super) fn result(ended: &ProgramEnd, capture: &Capture) -> RunResult {
    if let Some(why) = &ended.not_started {
        capture.say(&format!("{why}\n"));
    }
    let (stdout, stderr, truncated) = capture.take();
    let verdict = match &ended.result.verdict {
        Verdict::Ok | Verdict::Exited { .. } if ended.not_started.is_none() => None,
        Verdict::Exited { .. } => Some("not_started".to_owned()),
        verdict => Some(verdict.name().to_owned()),
    };
    RunResult {
        stdout,
        stderr,
        exit_code: ended.exit_code,
        signal: ended.signal,
        timed_out: ended.timed_out(),
        duration: Duration::from_secs_f64(ended.result.usage.wall_ms.max(0.0) / 1e3),
        verdict,
        truncated,
    }
}
