//! A program as the server knows it.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use belljar::program::TerminalSize;
use belljar::workspace::RunResult;
use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::answers::ListedProgram;
use super::log::{Log, Reader};
use crate::problem::{Code, Problem};
use crate::workspaces::Name;

/// How a program is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs to its end.
    Batch,
    /// It is talked to through pipes.
    Interactive,
    /// It is talked to through a terminal.
    Terminal,
}

impl Kind {
    pub(super) fn is_talked_to(self) -> bool {
        self != Self::Batch
    }
}

/// How far a program is.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    Waiting,
    Running,
    Ended(Arc<RunResult>),
    /// It never ran, or nobody can tell how it ended.
    Failed(Code, String),
}

impl Stage {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Failed(..))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Ended(_) => "ended",
            Self::Failed(..) => "failed",
        }
    }
}

/// What the driver of a program is to do. The last word counts, so nothing piles up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Orders {
    pub(super) size: Option<TerminalSize>,
    /// How often it was interrupted.
    pub(super) interrupts: u64,
    /// It is asked to end, and killed after this time.
    pub(super) ends_within: Option<Duration>,
    pub(super) is_killed: bool,
}

/// What is typed, on its way.
pub(super) type Input = mpsc::Sender<io::Result<Bytes>>;

/// A program that a client has asked for.
pub(super) struct Held {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) workspace: Name,
    pub(super) command: Vec<String>,
    pub(super) kind: Kind,
    pub(super) log: Arc<Log>,
    pub(super) stage: watch::Sender<Stage>,
    pub(super) orders: watch::Sender<Orders>,
    pub(super) input: Mutex<Option<Input>>,
    pub(super) used: Mutex<Instant>,
    pub(super) asked_at: SystemTime,
    /// Nobody will ask for it any more.
    pub(super) is_forgotten: AtomicBool,
}

impl Held {
    pub(super) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage.borrow().is_over()
    }

    /// Waits until it is over.
    pub(super) async fn over(&self) -> Stage {
        self.reaches(Stage::is_over).await
    }

    /// Waits until it runs, or is over.
    pub(super) async fn begun(&self) -> Stage {
        self.reaches(|stage| !matches!(stage, Stage::Waiting)).await
    }

    async fn reaches(&self, is_it: impl Fn(&Stage) -> bool) -> Stage {
        let mut stage = self.stage.subscribe();
        // The sender is in this program, so it cannot be gone.
        let reached = stage.wait_for(is_it).await.map(|stage| stage.clone());
        reached.unwrap_or_else(|_| self.stage())
    }

    /// Kills it and everything it started, or keeps it from beginning.
    pub(super) fn kill(&self) {
        self.orders.send_modify(|orders| orders.is_killed = true);
    }

    /// It was used just now.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When it was last used. Somebody who is attached uses it.
    pub(super) fn last_use(&self) -> Instant {
        if self.log.attached() > 0 {
            return Instant::now();
        }
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where to write what it reads.
    pub(super) fn input(&self) -> Result<Input, Problem> {
        self.touch();
        if self.is_over() {
            return Err(Problem::new(Code::Conflict, "the program has ended"));
        }
        let open = self.input.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.ok_or_else(|| {
            let detail = "the input of this program has ended: begin one with `interactive` or `terminal`";
            Problem::new(Code::Conflict, detail)
        })
    }

    /// Ends its input. With a terminal, that is the key for it.
    pub(super) async fn end_input(&self) -> Result<(), Problem> {
        const END_OF_FILE: &[u8] = b"\x04";
        let open = self.input()?;
        match self.kind {
            Kind::Terminal => type_in(&open, Bytes::from_static(END_OF_FILE)).await,
            _ => {
                drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
                Ok(())
            }
        }
    }

    /// Somebody reads along until what this returns is dropped.
    pub(super) fn attach(&self, from: u64) -> Result<Reader, Problem> {
        const MOST: usize = 8;
        if self.log.attached() >= MOST {
            return Err(Problem::new(
                Code::Conflict,
                format!("{MOST} are attached to it, as many as may be"),
            ));
        }
        self.touch();
        Ok(self.log.attach(from))
    }

    /// A program as it is listed.
    pub(super) fn told(&self) -> ListedProgram {
        let stage = self.stage();
        let error = match &stage {
            Stage::Failed(_, reason) => Some(reason.clone()),
            _ => None,
        };
        ListedProgram {
            id: self.id.clone(),
            workspace: self.workspace.to_string(),
            owner: self.owner.clone(),
            command: self.command.clone(),
            status: stage.name(),
            is_interactive: self.kind.is_talked_to(),
            has_terminal: self.kind == Kind::Terminal,
            asked_at: humantime::format_rfc3339_millis(self.asked_at).to_string(),
            error,
        }
    }
}

/// Types something. A program that does not read is not waited for for ever.
pub(super) async fn type_in(input: &Input, bytes: Bytes) -> Result<(), Problem> {
    const PATIENCE: Duration = Duration::from_secs(10);
    match tokio::time::timeout(PATIENCE, input.send(Ok(bytes))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Problem::new(Code::Conflict, "the program has ended, or reads no more")),
        Err(_) => Err(Problem::new(Code::Conflict, "the program does not read what was sent before")),
    }
}
