//! Compiles a program, and runs it: each time in a cell of its own, in a copy of what was compiled.
//!
//! ```text
//!  job ──► workspace: source, files ──► compiler ──► kept ──copy──► workspace: input files ──► run
//! ```

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use belljar::files::Stdin;
use belljar::metrics::SERVER_COMPILATIONS;
use belljar::program::{Program, ProgramEnd, StopProgram};
use belljar::workspace::{
    Context, OpenWorkspace, ProgramLimits, PutFile, RunProgramSpec, Streaming, WorkspaceEngine,
    WorkspaceError, WorkspacePolicy, workspace_layout,
};
use bytes::Bytes;

use super::Graders;
use super::capture::Capture;
use super::ended::{Ended, How};
use super::job::{Given, Input, Job, Limits};
use super::kept::Compiled;
use super::languages::NoPlan;
use super::passing::{Passing, fresh_name};
use crate::problem::{Code, Problem, with_causes};
use crate::runs::invalid;

/// The directory that programs run in. Beside it is what every workspace has, and no program
/// should see when it looks around.
const BOX: &str = "box";
/// The least memory that a program can be given: cells begin as an interpreter.
const LEAST_MEMORY_MB: u64 = 16;
/// Bytes of one file that is fetched, and of all of them.
const MOST_FETCHED: (usize, usize) = (16 << 20, 64 << 20);

/// What came of a job and one input.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// `None` if the language is not compiled.
    pub(super) compile: Option<Arc<Ended>>,
    /// `None` if it could not be compiled.
    pub(super) run: Option<Ended>,
}

impl Graders {
    /// Runs a job with one input.
    pub(super) async fn run_once(&self, client: &str, job: &Job, input: &Input) -> Result<Outcome, Problem> {
        let ready = self.make_ready(client, job, input).await?;
        let run = match ready.is_compiled() {
            true => Some(self.run(&ready, job, input).await?),
            false => None,
        };
        Ok(Outcome { compile: ready.compiled().cloned(), run })
    }

    /// Makes a job ready for any number of inputs like this one.
    pub(super) async fn make_ready(&self, client: &str, job: &Job, input: &Input) -> Result<Ready, Problem> {
        if self.is_fast(job, input) {
            return Ok(Ready::Script);
        }
        let plan = match self.plan(job).await {
            Ok(plan) => plan,
            Err(NoPlan::Problem(problem)) => return Err(problem),
            Err(NoPlan::Missing { why, is_compiled }) => {
                let ended = Arc::new(Ended::not_found(&why));
                return Ok(if is_compiled { Ready::NotCompiled(ended) } else { Ready::NotFound(ended) });
            }
        };
        if plan.compile.is_none() {
            return Ok(Ready::Plain(Box::new(plan)));
        }
        let key = job.key(client);
        let (compiled, is_reused) = self.kept.get(&key, || self.compile(job, plan)).await?;
        Ok(Ready::Compiled { compiled, is_reused })
    }

    /// Runs a job that was made ready.
    pub(super) async fn run(&self, ready: &Ready, job: &Job, input: &Input) -> Result<Ended, Problem> {
        let (workspace, argv) = match ready {
            Ready::Script => return self.run_script(job, input).await,
            Ready::NotFound(ended) | Ready::NotCompiled(ended) => return Ok(Ended::clone(ended)),
            Ready::Plain(plan) => (self.furnish(job, &plan.source, &plan.content).await?, &plan.run),
            Ready::Compiled { compiled, .. } => (compiled.workspace.copy().await?, &compiled.run),
        };
        self.put(workspace.get(), &input.files).await?;
        let ended = self.attend(workspace.get(), argv, input).await;
        let ended = match ended {
            Ok(mut ended) => {
                ended.files = fetch(workspace.get(), input).await;
                Ok(ended)
            }
            Err(problem) => Err(problem),
        };
        workspace.remove().await;
        ended
    }

    async fn compile(&self, job: &Job, plan: super::languages::Plan) -> Result<Compiled, Problem> {
        let workspace = self.furnish(job, &plan.source, &plan.content).await?;
        let input = Input {
            stdin: Bytes::new(),
            args: Vec::new(),
            files: Vec::new(),
            fetch: Vec::new(),
            limits: job.compile_limits,
            in_order: true,
        };
        let argv = plan.compile.unwrap_or_default();
        let ended = self.attend(workspace.get(), &argv, &input).await?;
        metrics::counter!(SERVER_COMPILATIONS.name).increment(1);
        Ok(Compiled { workspace, run: plan.run, ended: Arc::new(ended) })
    }

    /// A new workspace with a job's source and files.
    async fn furnish(&self, job: &Job, source: &str, content: &[u8]) -> Result<Passing, Problem> {
        /// More than the compilers that we know write for one program.
        const LEAST_DISK: u64 = 256 << 20;
        let max_disk_bytes = (self.config.scratch_size_mb << 20).max(LEAST_DISK);
        let policy = WorkspacePolicy { max_disk_bytes, ..WorkspacePolicy::default() };
        let made = self.workspaces().await?.workspace_with(&fresh_name(), policy).await;
        let workspace = Passing::new(made.map_err(failed)?)?;
        self.put(workspace.get(), &job.files).await?;
        let source = source.strip_prefix("./").unwrap_or(source);
        workspace.get().put(&format!("{BOX}/{source}"), content).await.map_err(failed)?;
        Ok(workspace)
    }

    /// Writes files into a workspace.
    async fn put(&self, workspace: &OpenWorkspace, files: &[Given]) -> Result<(), Problem> {
        if files.is_empty() {
            return Ok(());
        }
        let files = files.iter().map(|file| {
            let executable = workspace_layout::EXECUTABLE_MODE;
            let mode = if file.is_executable { executable } else { workspace_layout::SCRIPT_MODE };
            PutFile { path: file.place.below(BOX), content: file.content.to_vec(), mode }
        });
        let (context, fs) = (Context::new(), self.workspaces().await?.fs());
        fs.put_files(&context, workspace.workspace(), files.collect()).await.map_err(failed)
    }

    /// Runs a program in a workspace, and keeps what it prints.
    async fn attend(
        &self,
        workspace: &OpenWorkspace,
        argv: &[String],
        input: &Input,
    ) -> Result<Ended, Problem> {
        let mut words = argv.iter().chain(&input.args).cloned();
        let mut spec = RunProgramSpec::new(words.next().unwrap_or_default(), words);
        spec.cwd = BOX.to_owned();
        spec.timeout = Some(input.limits.timeout);
        spec.limits = self.program_limits(input.limits);
        let stdin = if input.stdin.is_empty() { Stdin::Empty } else { Stdin::from(input.stdin.clone()) };
        let streaming = Streaming { stdin, ..Streaming::default() };
        let most = self.config.resource_limits.max_output_bytes;
        let most = input.limits.output_bytes.map_or(most, |wanted| wanted.min(most));
        let capture = Capture::new(most, input.in_order);
        let started = workspace.start_streaming(spec, streaming, capture.clone()).await.map_err(failed)?;
        let program = started.program();
        let mut was_flooded = false;
        let end = loop {
            tokio::select! {
                end = program.wait() => break end,
                () = capture.flooded(), if !was_flooded => {
                    was_flooded = true;
                    let _ = program.stop(StopProgram::Cancelled);
                }
            }
        };
        let end = end.ok_or(belljar::RuntimeError::ShutDown)?;
        let mut printed = capture.take();
        // A program that has ended before it was stopped has printed too much all the same.
        ended(end, input.limits, &mut printed)
    }

    fn program_limits(&self, limits: Limits) -> ProgramLimits {
        let usual = self.config.resource_limits.memory_mb;
        let memory_mb = limits.memory_mb.filter(|wanted| *wanted < usual).unwrap_or_default();
        let memory_mb = if memory_mb == 0 { 0 } else { memory_mb.max(LEAST_MEMORY_MB.min(usual)) };
        ProgramLimits { memory_mb, ..ProgramLimits::default() }
    }

    /// What a short command prints, in a cell without a workspace.
    pub(super) async fn ask<'a>(
        &self,
        command: &str,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, Problem> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let sandbox = self.workspaces().await?.sandbox().await.map_err(failed)?;
        let program = Program::new(command).args(args).timeout(PATIENCE);
        let capture = Capture::new(1 << 20, false);
        let running = sandbox.start_program(program, None, capture.clone()).await?;
        let end = running.wait().await.ok_or(belljar::RuntimeError::ShutDown)?;
        match end.exit_code {
            0 => Ok(capture.take().stdout),
            _ => {
                let why = end.not_started.or(end.result.error).unwrap_or_default();
                let detail = format!("cells cannot be asked what they have: {why} {}", capture.take().stderr);
                Err(Problem::new(Code::Sandbox, detail))
            }
        }
    }
}

/// A job that inputs can be given to.
pub(super) enum Ready {
    /// A script in a warm cell.
    Script,
    /// A source that an interpreter reads.
    Plain(Box<super::languages::Plan>),
    /// Compiled, or found to be wrong by the compiler.
    Compiled { compiled: Arc<Compiled>, is_reused: bool },
    /// There is nothing to run it with.
    NotFound(Arc<Ended>),
    /// There is nothing to compile it with.
    NotCompiled(Arc<Ended>),
}

impl Ready {
    /// How compiling ended, if there was anything to compile.
    pub(super) fn compiled(&self) -> Option<&Arc<Ended>> {
        match self {
            Self::Compiled { compiled, .. } => Some(&compiled.ended),
            Self::NotCompiled(ended) => Some(ended),
            _ => None,
        }
    }

    /// Whether it can be run.
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled().is_none_or(|ended| ended.is_success())
    }
}

fn ended(end: ProgramEnd, limits: Limits, printed: &mut super::capture::Printed) -> Result<Ended, Problem> {
    let usage = end.result.usage;
    let cpu = usage.cpu_ms.map(|cpu| Duration::from_secs_f64(cpu.max(0.0) / 1e3));
    let is_spent = limits.cpu_time.zip(cpu).is_some_and(|(most, used)| used > most);
    let (how, verdict) = match printed.flooded {
        Some(stream) => (How::Flooded(stream), "output"),
        None if is_spent => (How::TimedOut, "timeout_cpu"),
        None => {
            let how = How::of(&end.result.verdict, end.exit_code, end.signal)?;
            (how, end.result.verdict.name())
        }
    };
    let mut ended = Ended {
        how,
        verdict,
        stdout: std::mem::take(&mut printed.stdout),
        stderr: std::mem::take(&mut printed.stderr),
        output: printed.both.take(),
        wall: Duration::from_secs_f64(usage.wall_ms.max(0.0) / 1e3),
        cpu,
        peak_memory: usage.peak_memory_bytes,
        files: Vec::new(),
    };
    match &end.not_started {
        Some(why) => ended.note(why),
        None => ended.explain(end.result.error.as_deref()),
    }
    Ok(ended)
}

/// Reads files that are wanted. Those that are not there, that are no files, or that are too large
/// are left out.
async fn fetch(workspace: &OpenWorkspace, input: &Input) -> Vec<(String, Bytes)> {
    let (most, mut left) = MOST_FETCHED;
    let mut fetched = Vec::new();
    for (name, place) in &input.fetch {
        let mut bounded = Bounded { bytes: Vec::new(), most: most.min(left) };
        if workspace.read_into(&place.below(BOX), &mut bounded).await.is_ok() {
            left -= bounded.bytes.len();
            fetched.push((name.clone(), bounded.bytes.into()));
        }
    }
    fetched
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What workspaces refuse, in the words of the server.
pub(super) fn failed(error: WorkspaceError) -> Problem {
    let detail = with_causes(&error);
    match error.original() {
        WorkspaceError::Escapes { .. }
        | WorkspaceError::EmptyPath
        | WorkspaceError::WrongKind { .. }
        | WorkspaceError::InvalidProgram { .. }
        | WorkspaceError::UnsupportedLanguage { .. }
        | WorkspaceError::Limit { .. }
        | WorkspaceError::DiskFull { .. } => invalid(detail),
        // A path of this machine is nobody's business.
        WorkspaceError::Io { .. } => {
            tracing::error!(error = detail, "a workspace failed");
            let detail = "the program's workspace cannot be used: see the server's log";
            Problem::new(Code::Sandbox, detail).after(Duration::from_secs(1))
        }
        _ => Problem::new(Code::Sandbox, detail).after(Duration::from_secs(1)),
    }
}
