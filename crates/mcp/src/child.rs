//! A server that is a process of ours.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};

use crate::McpError;
use crate::keys::Keys;
use crate::measured::{LONGEST_MESSAGE, Lengths, Measured};
use crate::server::{McpServer, Place};

/// How long a server has to end by itself after its stdin is closed.
const END_WITHIN: Duration = Duration::from_secs(2);
/// Bytes of what it printed that are kept.
const MOST_SAID: usize = 4096;

/// How many processes of servers there are.
static ALIVE: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

pub(crate) type ChildTransport = AsyncRwTransport<RoleClient, Measured<ChildStdout>, ChildStdin>;

/// A running server. Dropping it ends the process, and all that it started in its group.
pub(crate) struct Process {
    said: Said,
    keys: Keys,
    /// Of its messages.
    pub(crate) lengths: Lengths,
    ended: watch::Receiver<Option<String>>,
    until: Mutex<Option<oneshot::Sender<()>>>,
    /// Whether it has shaken hands. One that has not has no work to finish, and is killed at once.
    is_ready: Arc<AtomicBool>,
}

/// The last of what a server printed to stderr.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<VecDeque<u8>>>);

impl Process {
    /// Starts the server. Called on a thread of tokio's.
    pub(crate) fn start(server: &McpServer) -> Result<Option<(Self, ChildTransport)>, McpError> {
        let Place::Process { program, arguments, environment, directory } = &server.place else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value.expose())));
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        // A group of its own: Ctrl-C in a terminal is not for it, and what it starts ends with it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let failed = |source| McpError::Start {
            server: server.name.clone(),
            program: program.to_string_lossy().into_owned(),
            source,
        };
        let mut child = command.kill_on_drop(true).spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        let said = Said::default();
        tokio::spawn(said.clone().listen(stderr, server.name.clone()));
        let (until, dropped) = oneshot::channel();
        let (tell, ended) = watch::channel(None);
        let is_ready = Arc::new(AtomicBool::new(false));
        tokio::spawn(keep(Alive::new(child), dropped, Arc::clone(&is_ready), tell));
        let (stdout, lengths) = Measured::new(stdout);
        let transport = AsyncRwTransport::new(stdout, stdin).with_max_line_length(LONGEST_MESSAGE);
        let (keys, until) = (Keys::of(server), Mutex::new(Some(until)));
        Ok(Some((Self { said, keys, lengths, ended, until, is_ready }, transport)))
    }

    /// It has shaken hands.
    pub(crate) fn is_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// Waits a moment for its end, and says how that was. For a server that no longer answers.
    pub(crate) async fn how_it_ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let waiting = ended.wait_for(Option::is_some);
        tokio::time::timeout(END_WITHIN, waiting).await.ok()?.ok()?.clone()
    }

    /// Ends it, and waits for that. It has a moment to end by itself, if its stdin is closed.
    pub(crate) async fn stop(&self) {
        drop(self.until.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Its last words as the end of a sentence, or nothing.
    pub(crate) fn last_words(&self) -> String {
        self.said.sentence(&self.keys)
    }
}

/// A process that is counted.
struct Alive(Child);

impl Alive {
    fn new(child: Child) -> Self {
        ALIVE.send_modify(|count| *count += 1);
        Self(child)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.send_modify(|count| *count -= 1);
    }
}

/// Waits until there is no process of a server left, but no longer than that.
pub(crate) async fn none_left(within: Duration) {
    let mut alive = ALIVE.subscribe();
    let _ = belljar_engine::timeout(within, alive.wait_for(|count| *count == 0)).await;
}

/// Waits for the process, and ends it when nobody wants it any more.
async fn keep(
    mut alive: Alive,
    dropped: oneshot::Receiver<()>,
    is_ready: Arc<AtomicBool>,
    tell: watch::Sender<Option<String>>,
) {
    let child = &mut alive.0;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        _ = dropped => match is_ready.load(Ordering::Relaxed) {
            true => tokio::time::timeout(END_WITHIN, child.wait()).await.ok(),
            false => None,
        },
    };
    // Whatever it started may be left, or itself. The number is its own for as long as its group
    // has a member, and while it is not waited for.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = match ended {
        Some(status) => status,
        None => child.wait().await,
    };
    tell.send_replace(Some(match status {
        Ok(status) => format!("it ended with {status}"),
        Err(error) => format!("it ended: {error}"),
    }));
}

impl Said {
    async fn listen(self, mut stderr: ChildStderr, server: String) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            tracing::debug!(server, said = %String::from_utf8_lossy(&buffer[..count]), "MCP server");
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&buffer[..count]);
            let surplus = said.len().saturating_sub(MOST_SAID);
            said.drain(..surplus);
        }
    }

    fn sentence(&self, keys: &Keys) -> String {
        let bytes: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = keys.hidden(&String::from_utf8_lossy(&bytes));
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        if last.is_empty() { String::new() } else { format!("; it said: {}", printable(&last, 400)) }
    }
}

/// The last characters of a stranger's text, without any that a terminal would act upon.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let surplus = text.chars().count().saturating_sub(most);
    let shown = text.chars().skip(surplus).map(|c| if belljar_core::is_printable(c) { c } else { ' ' });
    if surplus > 0 { std::iter::once('…').chain(shown).collect() } else { shown.collect() }
}
