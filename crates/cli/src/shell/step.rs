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

/// A step that is over.
pub(crate) struct Ended {
    pub(crate) result: Result<ExecutionResult, RuntimeError>,
    /// Whether somebody pressed Ctrl-C.
    pub(crate) was_interrupted: bool,
}

/// Follows a step to its end. The inner error is a signal that ends the shell, and the step with
/// it: SIGTERM or, if nobody can type more, Ctrl-C.
pub(crate) async fn follow_step(
    execution: Execution,
    printer: &Printer,
    interrupts: &mut Interrupts,
    is_interactive: bool,
) -> Result<Result<Ended, Interrupt>, CliError> {
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
            result = &mut step => return Ok(Ok(Ended { result: result?, was_interrupted })),
            interrupt = interrupts.next() => {
                if interrupt != Interrupt::Keyboard || !is_interactive {
                    return Ok(Err(interrupt));
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
