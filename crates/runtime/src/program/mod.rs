//! Programs in cells: any command, confined like a script.
//!
//! ```text
//!  Sandbox::start_program ─► a cell of its own ─► `program` frame ─► the guest becomes the program
//!          │                                                         (pipes), or attends to it in a
//!          ▼                                                         terminal
//!  RunningProgram: stdin, signals, size ──► driver ──► ProgramSink: bytes of stdout and stderr
//!                                              └────► ProgramEnd: verdict, exit code, usage
//! ```
//!
//! * `driver` is the task that serves one program until it has ended. It goes on whoever waits.
//! * `running` is what the caller holds. Dropping it kills the program.
//! * `end` is how it ended, and the verdict on that.

mod driver;
mod end;
mod running;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use belljar_core::config::ResourceLimits;
use belljar_core::{OutputStream, Program, Secret, WorkspaceName};
use belljar_engine::Fitting;

use self::driver::{Driver, Held};
pub use self::end::ProgramEnd;
pub use self::running::{NotRunning, RunningProgram, Stop};
use crate::mask::Mask;
use crate::meters::RunMeters;
use crate::{RuntimeError, Sandbox};

/// Takes what a program writes, as it comes, with the values of secrets hidden. It is called on a
/// thread that serves others too, so it must not wait for anything.
pub trait ProgramSink: Send + 'static {
    /// Takes some bytes.
    fn take(&mut self, stream: OutputStream, bytes: &[u8]);

    /// Whether it can take more. While it cannot, the program is not read from, and soon waits
    /// itself. Its time goes on. Once it is killed, what it left in its pipes is handed over all
    /// the same.
    fn poll_room(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl<F: FnMut(OutputStream, &[u8]) + Send + 'static> ProgramSink for F {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        self(stream, bytes);
    }
}

/// What programs of a sandbox run under.
#[derive(Clone)]
pub(crate) struct ProgramTerms {
    pub(crate) engine: &'static str,
    pub(crate) limits: ResourceLimits,
    pub(crate) secrets: Arc<BTreeMap<String, Secret>>,
    pub(crate) mask: Mask,
    pub(crate) warnings: Arc<[String]>,
    pub(crate) meters: Arc<RunMeters>,
}

/// The longest that a program may be allowed to run: a day.
const LONGEST: Duration = Duration::from_secs(86_400);

impl Sandbox {
    /// Starts a program in a cell of its own, in a kept workspace if one is named. It is confined
    /// like a script, and goes on until it ends, its time is up, or what this returns is dropped.
    ///
    /// Kept workspaces are those of the directory that the sandbox was prepared with
    /// ([`Blueprint::workspaces`](belljar_engine::Blueprint::workspaces)).
    pub async fn start_program(
        &self,
        program: Program,
        workspace: Option<WorkspaceName>,
        sink: impl ProgramSink,
    ) -> Result<RunningProgram, RuntimeError> {
        program.check()?;
        let terms = self.executor().terms();
        let timeout = program.timeout.unwrap_or_else(|| terms.limits.execution_timeout());
        if timeout.is_zero() || timeout > LONGEST {
            return Err(RuntimeError::Timeout { seconds: timeout.as_secs_f64() });
        }
        let fitting = Fitting {
            workspace,
            memory_mb: program.memory_mb,
            cpu_quota: program.cpu_quota,
            pids_limit: program.pids_limit,
        };
        let hold = self.hold().share()?;
        let background = hold.background().clone();
        let held = match fitting == Fitting::default() {
            true => Held::leased(self.checkout(&hold, None).await?)?,
            // Not here: streams to a daemon stay where they are made, and a program may outlive the
            // tokio runtime of whoever starts it.
            false => {
                let making = hold.clone();
                let made = background.run(async move { making.fitted(&fitting).await }).await?;
                Held::Fitted(made?)
            }
        };
        let (driver, running) = Driver::new(held, program, timeout, terms, Box::new(sink));
        background.lasting()?.spawn(driver.drive());
        Ok(running.watched_by(background))
    }
}
