//! How a compiler or a program ended. Each route says it in its own words.

use std::time::Duration;

use belljar::{OutputStream, Verdict};
use bytes::Bytes;

use crate::problem::{Code, Problem};

/// How one step ended, and what it printed.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) how: How,
    /// The engine's word for it.
    pub(super) verdict: &'static str,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Both, as they came. Only if that was asked for.
    pub(super) output: Option<String>,
    pub(super) wall: Duration,
    pub(super) cpu: Option<Duration>,
    pub(super) peak_memory: Option<u64>,
    /// Files that were wanted and are there, under the names that they were asked for by.
    pub(super) files: Vec<(String, Bytes)>,
}

/// How one step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// By itself.
    Exited(i32),
    /// A signal ended it, and not ours.
    Signaled(i32),
    /// Its time was up: that of the clock, or that of the processor.
    TimedOut,
    /// It needed more memory than it may have.
    OutOfMemory,
    /// It printed more than it may.
    Flooded(OutputStream),
}

impl How {
    /// What a verdict means here. `code` is the exit code, where there is one beside the verdict.
    pub(super) fn of(verdict: &Verdict, code: i32, signal: Option<i32>) -> Result<Self, Problem> {
        Ok(match verdict {
            Verdict::Ok | Verdict::NoResult => Self::Exited(0),
            Verdict::Exception => Self::Exited(1),
            Verdict::Exited { code } => Self::Exited(*code),
            Verdict::Signaled { signal } => Self::Signaled(*signal),
            Verdict::TimeoutWall | Verdict::TimeoutCpu => Self::TimedOut,
            Verdict::Oom => Self::OutOfMemory,
            Verdict::Output => Self::Flooded(OutputStream::Stdout),
            Verdict::Pids | Verdict::Disk => match signal {
                Some(signal) => Self::Signaled(signal),
                None if code > 0 => Self::Exited(code),
                None => Self::Exited(1),
            },
            _ => {
                let detail = format!("the program was not run to its end: {verdict}");
                return Err(Problem::new(Code::Sandbox, detail));
            }
        })
    }
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.how == How::Exited(0)
    }

    /// Something that could not even be begun, as a shell says it.
    pub(super) fn not_found(why: &str) -> Self {
        const NOT_FOUND: i32 = 127;
        Self {
            how: How::Exited(NOT_FOUND),
            verdict: Verdict::Exited { code: NOT_FOUND }.name(),
            stdout: String::new(),
            stderr: format!("{why}\n"),
            output: Some(format!("{why}\n")),
            wall: Duration::ZERO,
            cpu: None,
            peak_memory: None,
            files: Vec::new(),
        }
    }

    /// Adds a line of ours to what the program said.
    pub(super) fn note(&mut self, line: &str) {
        for text in [Some(&mut self.stderr), self.output.as_mut()].into_iter().flatten() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
        }
    }

    /// Says why it ended, where it cannot have said so itself.
    pub(super) fn explain(&mut self, why: Option<&str>) {
        match self.how {
            How::OutOfMemory => self.note("belljar: out of memory"),
            How::Flooded(OutputStream::Stdout) => self.note("belljar: stdout length exceeded"),
            How::Flooded(_) => self.note("belljar: output length exceeded"),
            How::Exited(_) | How::Signaled(_) if matches!(self.verdict, "pids" | "disk") => {
                self.note(&format!("belljar: {}", why.unwrap_or(self.verdict)));
            }
            _ => {}
        }
    }
}
