//! The host's end of a zygote's control socket.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belljar_jail::{CellOrder, KeptName, Launched, LentPlace, shortage};
use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::NativeError;
use super::lender::Lender;
use super::reaper::{self, Reaper};
use crate::EngineError;
use crate::blocking::named;
use crate::watch::watch;

/// A zygote. Dropping it ends it and all its cells.
pub(super) struct Zygote {
    name: String,
    control: AsyncFd<OwnedFd>,
    /// A handle on the process itself.
    process: OwnedFd,
    last_words: LastWords,
    /// Asked before each cell, if something is lent to it.
    lender: Option<Lender>,
    /// `None` once the zygote was ended.
    helper: Mutex<Option<Child>>,
    reaper: Reaper,
    /// When it last answered.
    heard: Mutex<Instant>,
}

/// Handles on a new cell.
pub(super) struct Newborn {
    /// Its PID 1.
    pub(super) process: OwnedFd,
    /// The host's end of its private channel.
    pub(super) channel: OwnedFd,
    /// The listener on the cell's loopback, which the proxy serves. `None` without egress.
    pub(super) listener: Option<OwnedFd>,
    /// The file systems it may write to.
    pub(super) scratch: Vec<OwnedFd>,
    /// Whether nothing has used its network namespace yet. Its PID 1 reports the first use.
    pub(super) is_untouched: bool,
}

/// What PID 1 of a cell writes when a process in it makes the first socket.
pub(super) const SOCKETS_WERE_MADE: u8 = b'N';

/// The message of a zygote that is ready.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Ready {
    pub(super) protocol: u32,
    pub(super) python: String,
    pub(super) tools: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Modules that need not be tried again before they are preloaded.
    pub(super) vouched: Option<Vec<String>>,
    /// The numbers of lent places in which guests are nobody. Said by its helper.
    #[serde(default)]
    pub(super) foreign: Vec<usize>,
}

/// Any message of the helper or the zygote before the zygote serves.
#[derive(Deserialize)]
struct Greeting {
    r#type: String,
    step: Option<String>,
    error: Option<String>,
    errno: Option<i32>,
    /// Sentences of the helper about limits of this process that its cells cannot get rid of.
    #[serde(default)]
    limits: Vec<String>,
    /// See [`Ready::foreign`].
    #[serde(default)]
    foreign: Vec<usize>,
}

impl Greeting {
    fn parse(message: &[u8]) -> io::Result<Self> {
        serde_json::from_slice(message).map_err(io::Error::from)
    }
}

/// Heavy packages can take long to import, but a zygote that hangs must not take forever.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// How long a zygote may be silent while cells are requested. It makes a cell in milliseconds, so
/// many waiting callers are no excuse.
const SILENT_AT_MOST: Duration = Duration::from_secs(5);

impl Zygote {
    /// Takes over a launched jail and waits until its zygote serves.
    pub(super) async fn meet(
        name: &str,
        launched: Launched,
        reaper: Reaper,
    ) -> Result<(Self, Ready), EngineError> {
        let Launched { control, mut helper, lender } = launched;
        let last_words = LastWords::listen(helper.stderr.take());
        let helper = HelperGuard { helper: Some(helper), reaper: reaper.clone() };
        let control = watch(control, Interest::READABLE | Interest::WRITABLE)
            .map_err(EngineError::io("set up the control socket"))?;
        let lender =
            lender.map(Lender::new).transpose().map_err(EngineError::io("set up the lender's socket"))?;
        let gone = async |why: &str| EngineError::TemplateGone {
            name: name.to_owned(),
            last_words: last_words.text_after(why).await,
        };
        let (mut limits, mut foreign) = (Vec::new(), Vec::new());
        let greeting = tokio::time::timeout(READY_WITHIN, async {
            let mut process = None;
            loop {
                let (message, handles) = receive(&control, LONGEST_GREETING).await?;
                match Greeting::parse(&message)? {
                    greeting if greeting.r#type == "jailed" => {
                        process = handles.into_iter().next();
                        (limits, foreign) = (greeting.limits, greeting.foreign);
                    }
                    greeting => return Ok::<_, io::Error>((greeting, message, process)),
                }
            }
        });
        let (greeting, message, process) = match greeting.await {
            Err(_) => return Err(gone("it was not ready within 120 s").await),
            Ok(Err(error)) if is_out_of_descriptors(&error) => {
                return Err(EngineError::io("take over a zygote")(error));
            }
            // Such a limit may be why: Python could not be loaded, or used its time up.
            Ok(Err(_)) => return Err(gone(&limits.join("\n")).await),
            Ok(Ok(greeted)) => greeted,
        };
        if greeting.r#type == "failed" {
            return Err(NativeError::Jail {
                step: greeting.step.unwrap_or_default(),
                error: greeting.error.unwrap_or_default(),
                remedy: greeting
                    .errno
                    .and_then(shortage)
                    .unwrap_or("`belljar doctor` tells what this machine allows")
                    .into(),
            }
            .into());
        }
        let mut ready: Ready = serde_json::from_slice(&message)
            .map_err(|error| EngineError::io("read the zygote's greeting")(error.into()))?;
        ready.warnings.extend(limits);
        ready.foreign = foreign;
        let Some(process) = process else { return Err(gone("its helper did not hand it over").await) };
        let zygote = Self {
            name: name.to_owned(),
            control,
            process,
            last_words,
            lender,
            helper: Mutex::new(Some(helper.keep())),
            reaper,
            heard: Mutex::new(Instant::now()),
        };
        Ok((zygote, ready))
    }

    /// Asks for a cell made of these descriptors. The third is the status socket, on which
    /// [`PendingCell::birth`] waits. Cells are made in the order in which they are asked for.
    /// Nobody has to wait for one before asking for the next.
    pub(super) async fn ask(
        &self,
        order: CellOrder,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<PendingCell<'_>, EngineError> {
        let pending = PendingCell { zygote: self, since: Instant::now() };
        let message = order.encode();
        let sending = self
            .control
            .async_io(Interest::WRITABLE, |socket| belljar_jail::send(socket, &message, descriptors));
        match pending.unless_it_hangs(sending).await? {
            Ok(()) => Ok(pending),
            Err(_) => Err(self.gone("").await),
        }
    }

    /// Mounts of everything that is lent to a cell with this id outside. A kept workspace comes
    /// first.
    pub(super) async fn lend(
        &self,
        id: Option<u32>,
        workspace: Option<KeptName>,
    ) -> Result<Vec<OwnedFd>, EngineError> {
        let (Some(lender), Some(id)) = (&self.lender, id) else { return Ok(Vec::new()) };
        let asked = PendingCell { zygote: self, since: Instant::now() };
        match asked.unless_it_hangs(lender.lend(id, workspace)).await? {
            Ok(Ok(lent)) => Ok(lent),
            Ok(Err(reason)) => Err(EngineError::Spawn {
                name: self.name.clone(),
                reason: format!(
                    "cannot mount what it may write to under an id of its own ({reason}): that takes Linux 5.12 or later, \
                     and a file system that can do it. An ordinary user needs neither"
                ),
            }),
            Err(error) if is_out_of_descriptors(&error) => {
                Err(EngineError::io("take over mounts for a cell")(error))
            }
            Err(_) => Err(self.gone("").await),
        }
    }

    /// How many descriptors its cells can have at most. Its helper may have been allowed to raise
    /// the host's own hard limit.
    pub(super) fn most_open_files(&self) -> Option<u64> {
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.id();
        let limits = std::fs::read_to_string(format!("/proc/{helper}/limits")).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Ends it and every cell it ever made, whatever state it is in. Blocks until its processes are
    /// gone.
    pub(super) fn end(&self) {
        if let Some(helper) = self.hang_up() {
            Reaper::collect_now(helper);
        }
    }

    /// Ends it. Returns its helper, which ends too, unless somebody else has it.
    fn hang_up(&self) -> Option<Child> {
        // A zygote that is well takes this for the end, and its helper does in any case.
        let _ = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Both);
        reaper::kill(&self.process);
        self.helper.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn gone(&self, why: &str) -> EngineError {
        EngineError::TemplateGone {
            name: self.name.clone(),
            last_words: self.last_words.text_after(why).await,
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cell that was asked for and is not made yet.
pub(super) struct PendingCell<'a> {
    zygote: &'a Zygote,
    since: Instant,
}

impl PendingCell<'_> {
    /// Waits until the cell is made.
    pub(super) async fn birth(self, status: &AsyncFd<OwnedFd>) -> Result<Newborn, EngineError> {
        let zygote = self.zygote;
        let (mut scratch, mut is_untouched) = (Vec::new(), true);
        loop {
            let (record, handles) = match self.unless_it_hangs(receive(status, LONGEST_RECORD)).await? {
                Ok(received) => received,
                Err(error) if is_out_of_descriptors(&error) => {
                    return Err(EngineError::io("take over a cell")(error));
                }
                Err(_) => return Err(zygote.gone("").await),
            };
            *zygote.heard() = Instant::now();
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
                    let reason = refusal(record.strip_prefix(b"F").unwrap_or(&record));
                    return Err(EngineError::Spawn { name: zygote.name.clone(), reason });
                }
            }
        }
    }

    /// Waits for `work`. Gives up when the zygote has answered nobody for too long.
    async fn unless_it_hangs<T>(&self, work: impl Future<Output = T>) -> Result<T, EngineError> {
        const LOOK_EVERY: Duration = Duration::from_millis(250);
        tokio::pin!(work);
        loop {
            if let Ok(done) = tokio::time::timeout(LOOK_EVERY, &mut work).await {
                return Ok(done);
            }
            let last = self.since.max(*self.zygote.heard());
            // Uses the machine's clock, because tests may wind the runtime's clock forward.
            if last.elapsed() > SILENT_AT_MOST {
                let within = SILENT_AT_MOST.as_secs();
                return Err(self.zygote.gone(&format!("it hangs: it made no cell within {within} s")).await);
            }
        }
    }
}

/// Why a cell could not be set up, in the words of the cell or the zygote. Adds what to do if the
/// machine is short of something.
pub(super) fn refusal(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    // What is no text was no reason: the cell ended before it could give one.
    if !said.chars().any(char::is_alphabetic) {
        return "it ended before it was set up".to_owned();
    }
    let said: String = said.chars().filter(|character| !character.is_control()).collect();
    let number = said.rsplit_once("(os error ").and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
    match number.and_then(shortage) {
        Some(remedy) => format!("{said}: {remedy}"),
        None => said,
    }
}

impl Drop for Zygote {
    /// Waits for nothing: it may be dropped on a thread that serves others.
    fn drop(&mut self) {
        if let Some(helper) = self.hang_up() {
            self.reaper.collect(helper);
        }
    }
}

/// Hands the helper to the reaper if its zygote never becomes ready.
struct HelperGuard {
    helper: Option<Child>,
    reaper: Reaper,
}

impl HelperGuard {
    fn keep(mut self) -> Child {
        self.helper.take().expect("it is taken once")
    }
}

impl Drop for HelperGuard {
    fn drop(&mut self) {
        if let Some(helper) = self.helper.take() {
            self.reaper.collect(helper);
        }
    }
}

/// A greeting may carry the warnings of many tools.
const LONGEST_GREETING: usize = 64 * 1024;
/// A record is about one cell. The longest says why it could not be made.
const LONGEST_RECORD: usize = 1024;

/// Whether this process is out of descriptors, while the other end is well.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error())
}

/// Receives one message with its few descriptors: all of them or none.
pub(super) async fn receive(
    control: &AsyncFd<OwnedFd>,
    longest: usize,
) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    control
        .async_io(Interest::READABLE, |socket| {
            let mut buffer = vec![0; longest];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(LentPlace::MOST + 1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let received = retry_on_intr(|| {
                let into = &mut [IoSliceMut::new(&mut buffer)];
                recvmsg(socket.as_fd(), into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
            })?;
            // The kernel only says that some did not fit. The space above is large enough, so this
            // process is out of descriptors.
            if received.flags.contains(ReturnFlags::CTRUNC) {
                return Err(rustix::io::Errno::MFILE.into());
            }
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

/// The last lines of a zygote's standard error, for the error message when it dies.
struct LastWords {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Closes when the listening thread has read everything.
    heard: tokio::sync::watch::Receiver<()>,
}

impl LastWords {
    const LINES: usize = 20;
    /// A dead zygote has closed its end. A hanging one has not, so the wait is bounded.
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
            // The thread ends with the zygote, because only the zygote holds the other end.
            let _ = named("belljar-stderr").spawn(listen);
        }
        Self { lines, heard }
    }

    /// `why`, if it is known, followed by what the zygote itself wrote last.
    async fn text_after(&self, why: &str) -> String {
        let mut heard = self.heard.clone();
        // An error means the end: the other side is gone.
        let _ = tokio::time::timeout(Self::PATIENCE, heard.changed()).await;
        let lines = self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let why = Some(why.to_owned()).filter(|why| !why.is_empty());
        why.into_iter().chain(lines.iter().cloned()).collect::<Vec<_>>().join("\n")
    }
}
