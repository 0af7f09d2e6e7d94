//! One run, from its request to its end.
//!
//! ```text
//!  execute_request ─► execute_input ─► outputs … ─► execute_reply (shell) and idle (iopub): over
//!       │ time is up, or nobody waits any more
//!       ▼
//!    interrupt ─► again after half the grace ─► after all of it: the process is replaced
//! ```
//!
//! What is said here is decided in `progress`.

use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::JupyterError;
use crate::driver::{Closing, Control, Driver, Order, Wish};
use crate::output::{KernelEvent, KernelStatus};
use crate::progress::{Ended, Progress, Ring};
use crate::websocket::{Broken, lost};

impl Driver {
    /// Runs code. If somebody wants the kernel's end meanwhile, who that is.
    pub(crate) async fn run(
        &mut self,
        order: Order,
        controls: &mut mpsc::UnboundedReceiver<Control>,
    ) -> Option<Closing> {
        let Order { wish, events, end } = order;
        if events.is_closed() {
            return None;
        }
        let mut closing = None;
        let mut ended = match self.connect_or_replace().await {
            Ok(()) => self.converse(&wish, &events, controls, &mut closing).await,
            Err(error) => Err(error),
        };
        // A run of which nothing is known leaves it to the next one to tell this.
        if let Ok(ended) = &mut ended {
            ended.kernel_was_restarted |= std::mem::take(&mut self.is_another);
        }
        // The caller waits for the end of events first.
        drop(events);
        let _ = end.send(ended);
        closing
    }

    async fn converse(
        &mut self,
        wish: &Wish,
        events: &mpsc::UnboundedSender<KernelEvent>,
        controls: &mut mpsc::UnboundedReceiver<Control>,
        closing: &mut Option<Closing>,
    ) -> Result<Ended, JupyterError> {
        let Some(mut channel) = self.channel.take() else { return Err(JupyterError::Closed) };
        let content = json!({
            "code": wish.code, "silent": false, "store_history": true, "user_expressions": {},
            "allow_stdin": false, "stop_on_error": true,
        });
        let id = channel.send("execute_request", &content).await?;
        let mut progress = Progress::new(&wish.limits);
        let mut interrupts = Interrupts::default();
        loop {
            tokio::select! {
                message = channel.next() => match message {
                    Ok(message) if message.tells_of_death() => {
                        self.process = None;
                        return Ok(progress.cut_off(KernelStatus::KernelDied, true));
                    }
                    Ok(message) if message.parent == id => {
                        if let Some(event) = progress.hear(message) {
                            let _ = events.send(event);
                        }
                    }
                    Ok(_) => {}
                    Err(broken) => return self.broken(broken, &progress, wish.limits.grace).await,
                },
                control = controls.recv() => match control {
                    Some(Control::Interrupt(reply)) => interrupts.0.push(reply),
                    Some(Control::Shutdown(reply)) => {
                        *closing = Some(reply);
                        return Err(JupyterError::Closed);
                    }
                    None => return Err(JupyterError::Closed),
                },
                () = events.closed(), if progress.is_wanted() => {
                    progress.end_early(KernelStatus::Interrupted);
                }
                () = tokio::time::sleep_until(progress.alarm()) => match progress.ring() {
                    Ring::Interrupt => self.send_interrupt(None),
                    Ring::Replace => {
                        drop(channel);
                        self.replace_process().await;
                        return Ok(progress.cut_off(KernelStatus::Interrupted, true));
                    }
                    Ring::Nothing => {}
                },
            }
            // Before the code runs, the kernel would not hear it.
            if progress.has_begun && std::mem::take(&mut progress.wants_interrupt) {
                self.send_interrupt(None);
            }
            if progress.has_begun && !interrupts.0.is_empty() {
                progress.was_interrupted = true;
                interrupts.0.drain(..).for_each(|reply| self.send_interrupt(Some(reply)));
            }
            if let Some(ended) = progress.ended() {
                if let Some(event) = progress.last_words() {
                    let _ = events.send(event);
                }
                self.channel = Some(channel);
                return Ok(ended);
            }
        }
    }

    /// There is nothing more to be read of this run.
    async fn broken(
        &mut self,
        broken: Broken,
        progress: &Progress,
        grace: Duration,
    ) -> Result<Ended, JupyterError> {
        let id = self.id();
        match broken {
            Broken::Closed(reason) => match self.gateway.has(&id).await {
                Ok(false) => {
                    self.process = None;
                    Ok(progress.cut_off(KernelStatus::KernelDied, true))
                }
                Ok(true) => {
                    self.send_interrupt(None);
                    Err(lost(reason))
                }
                Err(_) => Err(lost(reason)),
            },
            Broken::TooLong => {
                let _ = self.gateway.interrupt(&id).await;
                // A new connection is there when the kernel has answered, after all that it had to do.
                let recovered = tokio::time::timeout(grace, self.connect()).await;
                let is_recovered = matches!(recovered, Ok(Ok(())));
                if !is_recovered {
                    self.replace_process().await;
                }
                Ok(progress.cut_off(KernelStatus::TooMuchOutput, !is_recovered))
            }
        }
    }
}

/// Who wants an interrupt and waits for the code to begin. If it never does, there was nothing to
/// interrupt.
#[derive(Default)]
struct Interrupts(Vec<oneshot::Sender<Result<bool, JupyterError>>>);

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|reply| drop(reply.send(Ok(false))));
    }
}
