//! The host's end of a zygote's control socket.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use belljar_jail::{CellOrder, Launched};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::watch::watch;
use crate::EngineError;

/// A zygote. Dropping it hangs up, and with the zygote go all its cells.
pub(super) struct Zygote {
    name: String,
    /// `None` only while being dropped.
    control: Option<AsyncFd<OwnedFd>>,
    last_words: LastWords,
    helper: Mutex<Child>,
}

/// Handles on a new cell.
pub(super) struct Newborn {
    /// Its PID 1.
    pub(super) process: OwnedFd,
    /// The host's end of its private channel.
    pub(super) channel: OwnedFd,
    /// The socket on which the cell asks for the world outside.
    pub(super) listener: Option<OwnedFd>,
    /// The file systems it may write to.
    pub(super) scratch: Vec<OwnedFd>,
    /// Whether its network namespace is as new, and its PID 1 will say when it is no more.
    pub(super) is_untouched: bool,
}

/// What PID 1 of a cell says when somebody in it makes the first socket.
pub(super) const SOCKETS_WERE_MADE: u8 = b'N';

/// What a zygote says once it is ready.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Ready {
    pub(super) protocol: u32,
    pub(super) python: String,
    pub(super) tools: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Anything the helper or the zygote says before it serves.
#[derive(Deserialize)]
struct Greeting {
    r#type: String,
    step: Option<String>,
    error: Option<String>,
}

/// Heavy packages can take long to import, a zygote that hangs must not take for ever.
const READY_WITHIN: Duration = Duration::from_secs(120);

impl Zygote {
    /// Takes over a launched jail and waits until its zygote serves.
    pub(super) async fn meet(name: &str, launched: Launched) -> Result<(Self, Ready), EngineError> {
        let Launched { control, mut helper } = launched;
        let last_words = LastWords::listen(helper.stderr.take());
        let control = watch(control, Interest::READABLE | Interest::WRITABLE)
            .map_err(EngineError::io("set up the control socket"))?;
        let zygote =
            Self { name: name.to_owned(), control: Some(control), last_words, helper: Mutex::new(helper) };
        let greeting = tokio::time::timeout(READY_WITHIN, receive(zygote.control(), LONGEST_GREETING)).await;
        let message = match greeting {
            Err(_) => return Err(zygote.gone("it was not ready within 120 s").await),
            Ok(Err(_)) => return Err(zygote.gone("").await),
            Ok(Ok((message, _))) => message,
        };
        let greeting: Greeting = serde_json::from_slice(&message)
            .map_err(|error| EngineError::io("read the zygote's greeting")(error.into()))?;
        if greeting.r#type == "failed" {
            return Err(EngineError::Jail {
                step: greeting.step.unwrap_or_default(),
                error: greeting.error.unwrap_or_default(),
                remedy: "`belljar doctor` tells what this machine allows".into(),
            });
        }
        let ready = serde_json::from_slice(&message)
            .map_err(|error| EngineError::io("read the zygote's greeting")(error.into()))?;
        Ok((zygote, ready))
    }

    fn control(&self) -> &AsyncFd<OwnedFd> {
        self.control.as_ref().expect("only a dropped zygote has hung up")
    }

    /// Asks for a cell made of these descriptors, the third of which is the socket that [`Self::birth`] is told on. Cells are made in the
    /// order in which they are asked for; nobody has to wait for one before asking for the next.
    pub(super) async fn ask(
        &self,
        order: CellOrder,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), EngineError> {
        let message = order.encode();
        let asked = self
            .control()
            .async_io(Interest::WRITABLE, |socket| belljar_jail::send(socket, &message, descriptors))
            .await;
        match asked {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone("").await),
        }
    }

    /// Waits for the cell that was asked for.
    pub(super) async fn birth(&self, status: &AsyncFd<OwnedFd>) -> Result<Newborn, EngineError> {
        let (mut scratch, mut is_untouched) = (Vec::new(), true);
        loop {
            let Ok((record, handles)) = receive(status, LONGEST_RECORD).await else {
                return Err(self.gone("").await);
            };
            match record.as_slice() {
                b"S" if handles.len() >= 2 => {
                    let mut handles = handles.into_iter();
                    let (process, channel, listener) = (handles.next(), handles.next(), handles.next());
                    let (Some(process), Some(channel)) = (process, channel) else { continue };
                    return Ok(Newborn { process, channel, listener, scratch, is_untouched });
                }
                b"D" => scratch = handles,
                [SOCKETS_WERE_MADE] => is_untouched = false,
                _ => {
                    let reason = record.strip_prefix(b"F").unwrap_or(&record);
                    let reason = String::from_utf8_lossy(reason).into_owned();
                    return Err(EngineError::Spawn { name: self.name.clone(), reason });
                }
            }
        }
    }

    async fn gone(&self, why: &str) -> EngineError {
        let mut stderr = self.last_words.text().await;
        if !why.is_empty() {
            stderr = format!("{why}\n{stderr}");
        }
        EngineError::ZygoteGone { name: self.name.clone(), stderr }
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // Hanging up is what ends the jail; the wait only keeps the helper from staying a zombie, and is short.
        self.control = None;
        let helper = self.helper.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        let _ = helper.wait();
    }
}

/// A greeting may carry the warnings of many tools.
const LONGEST_GREETING: usize = 64 * 1024;
/// What is said about one cell: at most why it could not be made.
const LONGEST_RECORD: usize = 1024;

/// One message with the few descriptors that come along.
async fn receive(control: &AsyncFd<OwnedFd>, longest: usize) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    control
        .async_io(Interest::READABLE, |socket| {
            let mut buffer = vec![0; longest];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let received = recvmsg(
                socket.as_fd(),
                &mut [IoSliceMut::new(&mut buffer)],
                &mut ancillary,
                RecvFlags::CMSG_CLOEXEC,
            )?;
            if received.bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer.truncate(received.bytes);
            let mut handles = Vec::new();
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    handles.extend(descriptors);
                }
            }
            Ok((buffer, handles))
        })
        .await
}

/// The end of a zygote's standard error, for when it dies.
struct LastWords {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Closed by the listener when it has heard everything.
    heard: tokio::sync::watch::Receiver<()>,
}

impl LastWords {
    const LINES: usize = 20;
    /// A zygote that is gone has closed its end; one that hangs has not.
    const PATIENCE: Duration = Duration::from_secs(1);

    fn listen(stderr: Option<ChildStderr>) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (listening, heard) = tokio::sync::watch::channel(());
        if let Some(stderr) = stderr {
            let kept = Arc::clone(&lines);
            let listen = move || {
                let _until_the_end = listening;
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    tracing::debug!(target: "zygote", "{line}");
                    let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    if kept.len() == Self::LINES {
                        kept.pop_front();
                    }
                    kept.push_back(line);
                }
            };
            // Ends with the zygote, which alone holds the other end.
            let _ = thread::Builder::new().name("belljar-stderr".into()).spawn(listen);
        }
        Self { lines, heard }
    }

    async fn text(&self) -> String {
        let mut heard = self.heard.clone();
        // An error is the end: the other side is gone.
        let _ = tokio::time::timeout(Self::PATIENCE, heard.changed()).await;
        let lines = self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        lines.iter().cloned().collect::<Vec<_>>().join("\n")
    }
}
