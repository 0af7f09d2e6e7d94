//! One run, from its request to its end.
//!
//! ```text
//!  execute_request ─► execute_input ─► outputs … ─► execute_reply (shell) and idle (iopub): over
//!       │ time is up, or nobody waits any more
//!       ▼
//!    interrupt ─► again after half the grace ─► after all of it: the process is replaced
//! ```
//!
//! Reply and idle come over two channels, so either may be first. A kernel that is flooded may lose
//! one of them: the other alone ends the run when nothing more has come for a while.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::JupyterError;
use crate::content::Reader;
use crate::driver::{Closing, Control, Driver, Order, Wish};
use crate::message::Message;
use crate::output::{KernelEvent, KernelStatus, Limits};
use crate::websocket::{Broken, lost};

/// How long reply or idle is waited for, when the other is there and nothing more comes.
const SETTLED_AFTER: Duration = Duration::from_secs(5);
/// How long in any case. Output may come behind the reply.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);
/// As good as for ever.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 365);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: KernelStatus,
    pub(crate) execution_count: Option<u64>,
    pub(crate) output_was_cut: bool,
    pub(crate) kernel_was_restarted: bool,
}

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
        let ended = match self.connect_or_replace().await {
            Ok(()) => self.converse(&wish, &events, controls, &mut closing).await,
            Err(error) => Err(error),
        };
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
        let was_another = std::mem::take(&mut self.is_another);
        let mut progress = Progress::new(&wish.limits);
        let mut interrupts = Interrupts::default();
        loop {
            tokio::select! {
                message = channel.next() => match message {
                    Ok(message) if message.tells_of_death() => {
                        (self.process, self.is_another) = (None, false);
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
            if let Some(ended) = progress.ended(was_another) {
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
                    (self.process, self.is_another) = (None, false);
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
                let is_another = std::mem::take(&mut self.is_another);
                Ok(progress.cut_off(KernelStatus::TooMuchOutput, is_another || !is_recovered))
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

/// What to do when time has come.
enum Ring {
    Interrupt,
    Replace,
    Nothing,
}

/// How far a run has come.
struct Progress {
    reader: Reader,
    deadline: Instant,
    grace: Duration,
    /// Why it shall end, since when, and whether it was interrupted twice.
    early: Option<(KernelStatus, Instant, bool)>,
    has_begun: bool,
    /// As soon as it has begun.
    wants_interrupt: bool,
    was_interrupted: bool,
    reply: Option<Reply>,
    /// The reply itself, if it tells of an exception.
    failure: Option<Message>,
    is_idle: bool,
    /// Since when one of both is there, and when the run was last heard of.
    half_over: Option<(Instant, Instant)>,
}

#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    execution_count: Option<u64>,
}

impl Progress {
    fn new(limits: &Limits) -> Self {
        Self {
            reader: Reader::new(limits.max_output_bytes),
            deadline: Instant::now() + limits.timeout.min(FOR_EVER),
            grace: limits.grace.min(FOR_EVER),
            early: None,
            has_begun: false,
            wants_interrupt: false,
            was_interrupted: false,
            reply: None,
            failure: None,
            is_idle: false,
            half_over: None,
        }
    }

    /// A message of this run.
    fn hear(&mut self, message: Message) -> Option<KernelEvent> {
        let event = match message.kind.as_str() {
            "execute_input" => {
                self.has_begun = true;
                None
            }
            "status" => {
                self.is_idle |= message.is_idle();
                None
            }
            "execute_reply" => {
                self.reply = message.content();
                let has_failed = self.reply.as_ref().is_some_and(|reply| reply.status == "error");
                self.failure = has_failed.then_some(message);
                None
            }
            _ => self.reader.read(&message),
        };
        if self.is_idle || self.reply.is_some() {
            let now = Instant::now();
            self.half_over = Some((self.half_over.map_or(now, |(since, _)| since), now));
        }
        event
    }

    /// The exception, if it is known from the reply only.
    fn last_words(&mut self) -> Option<KernelEvent> {
        let failure = self.failure.take()?;
        self.reader.raised(&failure).map(KernelEvent::Output)
    }

    fn is_wanted(&self) -> bool {
        self.early.is_none()
    }

    fn end_early(&mut self, why: KernelStatus) {
        self.early = Some((why, Instant::now(), false));
        self.wants_interrupt = true;
    }

    /// When to ring next.
    fn alarm(&self) -> Instant {
        match (self.half_over, self.early) {
            (Some((since, heard)), _) => (heard + SETTLED_AFTER).min(since + SETTLED_WITHIN),
            (None, Some((_, since, false))) => since + self.grace / 2,
            (None, Some((_, since, true))) => since + self.grace,
            (None, None) => self.deadline,
        }
    }

    fn ring(&mut self) -> Ring {
        match &mut self.early {
            _ if self.half_over.is_some() => {
                // One of them is lost, so output may be.
                self.reader.was_cut = true;
                self.is_idle = true;
                self.reply.get_or_insert(Reply { status: "lost".into(), execution_count: None });
                Ring::Nothing
            }
            None => {
                self.end_early(KernelStatus::TimedOut);
                Ring::Nothing
            }
            // The first may have come in a moment in which it was not heard.
            Some((_, _, is_second @ false)) => {
                *is_second = true;
                Ring::Interrupt
            }
            Some(_) => Ring::Replace,
        }
    }

    /// The end, if both parts of it are there.
    fn ended(&self, kernel_was_restarted: bool) -> Option<Ended> {
        let reply = self.reply.as_ref().filter(|_| self.is_idle)?;
        let status = match (self.early, reply.status.as_str()) {
            (Some((why, ..)), _) => why,
            (None, "ok") => KernelStatus::Ok,
            (None, _) if self.was_interrupted => KernelStatus::Interrupted,
            (None, "lost") if !self.reader.has_error => KernelStatus::Ok,
            (None, _) => KernelStatus::Error,
        };
        Some(Ended {
            status,
            execution_count: reply.execution_count,
            output_was_cut: self.reader.was_cut,
            kernel_was_restarted,
        })
    }

    /// The end of a run that does not come to it.
    fn cut_off(&self, status: KernelStatus, kernel_was_restarted: bool) -> Ended {
        Ended {
            status: self.early.map_or(status, |(why, ..)| why),
            execution_count: self.reply.as_ref().and_then(|reply| reply.execution_count),
            output_was_cut: self.reader.was_cut || status == KernelStatus::TooMuchOutput,
            kernel_was_restarted,
        }
    }
}
