//! A program whose output is handed on as it comes.

use belljar_core::wire::TerminalSize;
use belljar_runtime::{OutputStream, ProgramEnd, ProgramSink, RunningProgram, Stdin};
use std::task::{Context, Poll};

use super::OpenWorkspace;
use super::capture::Capture;
use super::runner::{Started, Terms, result, run_directory};
use crate::{RunProgramSpec, RunResult, WorkspaceError};

/// How a program is streamed.
#[derive(Debug, Default)]
pub struct Streaming {
    /// What it reads, instead of the bytes in its spec.
    pub stdin: Stdin,
    /// Its terminal, if it has one.
    pub terminal: Option<TerminalSize>,
    /// Whether its result has what it printed, too.
    pub keeps_output: bool,
}

/// A program that prints to a sink. Dropping it kills the program.
pub struct StreamedProgram {
    started: Started,
    capture: Capture,
}

impl std::fmt::Debug for StreamedProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StreamedProgram").field(&self.started.program).finish()
    }
}

impl OpenWorkspace {
    /// Starts a program that prints to a sink, and may read a stream.
    pub async fn start_streaming(
        &self,
        spec: RunProgramSpec,
        streaming: Streaming,
        sink: impl ProgramSink,
    ) -> Result<StreamedProgram, WorkspaceError> {
        let Streaming { stdin, terminal, keeps_output } = streaming;
        let (inner, kept) = (&self.inner, self.inner.kept(&self.workspace)?);
        let run = run_directory();
        let (most, spilled) = (inner.options.max_output_bytes, inner.options.max_spill_bytes);
        let capture = Capture::new(kept.clone(), run.clone(), most, spilled);
        let tee = Tee { sink, capture: keeps_output.then(|| capture.clone()) };
        let terms = Terms { run, stdin, terminal, sink: tee };
        let started = inner.start(&self.workspace, &kept, spec, terms).await?;
        Ok(StreamedProgram { started, capture })
    }
}

impl StreamedProgram {
    /// The program: wait for it, interrupt it, stop it, give its terminal another size.
    pub fn program(&self) -> &RunningProgram {
        &self.started.program
    }

    /// The result of a program that has ended so.
    pub fn into_result(self, end: &ProgramEnd) -> RunResult {
        result(end, &self.capture)
    }
}

struct Tee<S> {
    sink: S,
    capture: Option<Capture>,
}

impl<S: ProgramSink> ProgramSink for Tee<S> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        if let Some(capture) = &mut self.capture {
            ProgramSink::take(capture, stream, bytes);
        }
        self.sink.take(stream, bytes);
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.sink.poll_room(cx)
    }
}
