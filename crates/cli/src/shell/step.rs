//! One step under the user's Ctrl-C.
//!
//! ```text
//!  Ctrl-C ─► KeyboardInterrupt in the step ─► it ends: the variables stay
//!                 ├ Ctrl-C again ──────────► the cell is killed
//!                 └ no end within the grace ► said, and the cell is killed
//! ```

use std::time::Duration;

use belljar::{Execution, ExecutionResult, RuntimeError};
use tokio::time::{Instant, sleep_until};

use crate::error::CliError;
use crate::follow::{follow, hand_on};
use crate::interrupt::{Interrupt, Interrupts};
use crate::printer::Printer;

/// How long a step may take to end after Ctrl-C. Then its cell is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How a step came to its end.
pub(crate) enum Stepped {
    /// It has a result. `was_interrupted` says whether somebody pressed Ctrl-C.
    Ended { result: Result<ExecutionResult, RuntimeError>, was_interrupted: bool },
    /// The shell is to end, and the step with it.
    Left(Interrupt),
}

/// Follows a step to its end. If nobody can type more, a signal ends the shell.
pub(crate) async fn follow_step(
    execution: Execution,
    printer: &Printer,
    interrupts: &mut Interrupts,
    is_interactive: bool,
) -> Result<Stepped, CliError> {
    let handle = execution.handle();
    let mut step = std::pin::pin!(follow(printer, async |queue| hand_on(execution, queue).await));
    let mut was_interrupted = false;
    let mut kill_at: Option<Instant> = None;
    loop {
        let grace_is_over = async {
            match kill_at {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            result = &mut step => return Ok(Stepped::Ended { result: result?, was_interrupted }),
            interrupt = interrupts.next() => {
                if interrupt == Interrupt::Terminate || !is_interactive {
                    return Ok(Stepped::Left(interrupt));
                }
                printer.end_line()?;
                if was_interrupted {
                    kill_at = None;
                    handle.cancel();
                } else {
                    was_interrupted = true;
                    kill_at = Some(Instant::now() + GRACE);
                    handle.interrupt();
                }
            }
            () = grace_is_over => {
                kill_at = None;
                let grace = GRACE.as_secs();
                printer.note(&format!("The step has not stopped {grace} s after Ctrl-C. Its cell is ended."))?;
                handle.cancel();
            }
        }
    }
}
