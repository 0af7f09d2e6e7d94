//! The task behind a kernel. It alone talks to it.
//!
//! ```text
//!  start ─► connected ⇄ running (run.rs) ─► ended: DELETE
//!              │  ▲
//!              ▼  │ before the next run
//!           not connected: the process died, the gateway closed, a message was too long
//! ```
//!
//! It always reads, so a thread that a run has left behind cannot fill the gateway's memory.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::gateway::Gateway;
use crate::output::{KernelEvent, Limits};
use crate::progress::Ended;
use crate::websocket::Channel;
use crate::{JupyterError, Kernel};

/// How often a connection is tried. A kernel that is just being restarted may break some.
const MOST_TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// A run that somebody wants.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) wish: Wish,
    /// Dropped before the end is told.
    pub(crate) events: mpsc::UnboundedSender<KernelEvent>,
    pub(crate) end: oneshot::Sender<Result<Ended, JupyterError>>,
}

/// What shall run, and with what.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) code: String,
    pub(crate) limits: Limits,
}

/// What does not wait for its turn.
#[derive(Debug)]
pub(crate) enum Control {
    Interrupt(oneshot::Sender<Result<bool, JupyterError>>),
    Shutdown(Closing),
}

/// Who waits for the kernel's end.
pub(crate) type Closing = oneshot::Sender<Result<(), JupyterError>>;

pub(crate) struct Driver {
    pub(crate) gateway: Gateway,
    name: String,
    id: Arc<Mutex<String>>,
    pub(crate) channel: Option<Channel>,
    /// The process behind the kernel when it was last heard of, as far as it has a name.
    pub(crate) process: Option<String>,
    /// The process is another one, and nobody was told yet.
    pub(crate) is_another: bool,
}

impl Driver {
    /// Starts a kernel. If nobody waits for it any more it is ended again.
    pub(crate) async fn start(gateway: Gateway, name: String) -> Result<Kernel, JupyterError> {
        let id = Arc::new(Mutex::new(String::new()));
        let (orders, next_order) = mpsc::unbounded_channel();
        let (controls, next_control) = mpsc::unbounded_channel();
        let (ready, is_ready) = oneshot::channel();
        let kernel = Kernel { id: Arc::clone(&id), orders, controls };
        let driver = Self { gateway, name, id, channel: None, process: None, is_another: false };
        tokio::spawn(driver.live(ready, next_order, next_control));
        is_ready.await.map_err(|_| JupyterError::Closed)??;
        Ok(kernel)
    }

    async fn live(
        mut self,
        ready: oneshot::Sender<Result<(), JupyterError>>,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut controls: mpsc::UnboundedReceiver<Control>,
    ) {
        let started = self.connect().await;
        let is_started = started.is_ok();
        if ready.send(started).is_ok() && is_started {
            let closing = self.serve(&mut orders, &mut controls).await;
            let ended = self.delete().await;
            if let Some(closing) = closing {
                let _ = closing.send(ended);
            }
        } else {
            let _ = self.delete().await;
        }
    }

    /// Until nobody holds the kernel, or somebody wants its end.
    async fn serve(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        controls: &mut mpsc::UnboundedReceiver<Control>,
    ) -> Option<Closing> {
        loop {
            tokio::select! {
                // An order that was given before an interrupt is the one that is meant.
                biased;
                order = orders.recv() => {
                    let closing = self.run(order?, controls).await;
                    if closing.is_some() {
                        return closing;
                    }
                }
                control = controls.recv() => match control? {
                    Control::Interrupt(reply) => drop(reply.send(Ok(false))),
                    Control::Shutdown(closing) => return Some(closing),
                },
                () = self.be_idle() => {}
            }
        }
    }

    /// Reads what a kernel says between two runs.
    async fn be_idle(&mut self) {
        let Some(channel) = &mut self.channel else { return std::future::pending().await };
        match channel.next().await {
            Ok(message) if message.tells_of_death() => {
                (self.channel, self.process, self.is_another) = (None, None, true);
            }
            Ok(_) => {}
            Err(_) => self.channel = None,
        }
    }

    /// Makes sure of a connection. A kernel that does not answer has its process replaced: a run of
    /// which nothing more was heard may keep it busy for ever.
    pub(crate) async fn connect_or_replace(&mut self) -> Result<(), JupyterError> {
        match self.connect().await {
            Err(JupyterError::Silent { .. }) => {
                self.replace_process().await;
                self.is_another = true;
                self.connect().await
            }
            connected => connected,
        }
    }

    /// Makes sure of a connection to a kernel that answers.
    pub(crate) async fn connect(&mut self) -> Result<(), JupyterError> {
        let mut tries = 1;
        while self.channel.is_none() {
            let id = self.existing().await?;
            match Channel::open(&self.gateway, &id).await {
                Ok((channel, process)) => {
                    self.is_another |= self.process.is_some() && self.process != process;
                    (self.channel, self.process) = (Some(channel), process);
                }
                Err(error @ (JupyterError::Lost { .. } | JupyterError::Answer { .. }))
                    if tries < MOST_TRIES =>
                {
                    tracing::debug!(kernel = id, %error, "a kernel cannot be connected to yet");
                    tokio::time::sleep(BETWEEN_TRIES * tries).await;
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The kernel's id. If the gateway has none, or gave it up, there is a new one.
    async fn existing(&mut self) -> Result<String, JupyterError> {
        let id = self.id();
        if !id.is_empty() && self.gateway.has(&id).await? {
            return Ok(id);
        }
        let new = self.gateway.create(&self.name).await?;
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&new);
        if !id.is_empty() {
            // One that has died may still be listed.
            let _ = self.gateway.delete(&id).await;
        }
        Ok(new)
    }

    pub(crate) fn id(&self) -> String {
        self.id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends an interrupt while other things go on.
    pub(crate) fn send_interrupt(&self, reply: Option<oneshot::Sender<Result<bool, JupyterError>>>) {
        let (gateway, id) = (self.gateway.clone(), self.id());
        tokio::spawn(async move {
            let sent = gateway.interrupt(&id).await;
            if let Err(error) = &sent {
                tracing::warn!(kernel = id, %error, "a kernel cannot be interrupted");
            }
            if let Some(reply) = reply {
                let _ = reply.send(sent.map(|()| true));
            }
        });
    }

    /// Gives the kernel a fresh process. The old one does not listen.
    pub(crate) async fn replace_process(&mut self) {
        (self.channel, self.process, self.is_another) = (None, None, false);
        let id = self.id();
        if let Err(error) = self.gateway.restart(&id).await {
            tracing::warn!(kernel = id, %error, "a kernel cannot be restarted, and is ended");
            let _ = self.gateway.delete(&id).await;
        }
    }

    async fn delete(&mut self) -> Result<(), JupyterError> {
        self.channel = None;
        let id = self.id();
        if id.is_empty() { Ok(()) } else { self.gateway.delete(&id).await }
    }
}
