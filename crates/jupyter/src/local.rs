//! A gateway that is a process of ours. It confines nothing: code runs with the rights of whoever
//! starts this. For tests, and for those who want exactly that.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use belljar_core::environment;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};

use crate::{GATEWAY_PROGRAM, Gateway, JupyterError, Transport, gateway_token};

/// How long the program may take to say how the start went. It gives up earlier by itself.
const START_WITHIN: Duration = Duration::from_secs(90);
/// How long it may take to end everything, after its stdin is closed.
const END_WITHIN: Duration = Duration::from_secs(15);
/// Bytes of what it says at the start.
const MOST_SAID: u64 = 64 << 10;

/// A gateway on this machine. Dropping it ends it and its kernels.
#[derive(Debug)]
pub struct LocalGateway {
    gateway: Gateway,
    process: u32,
    until: oneshot::Sender<()>,
    ended: watch::Receiver<bool>,
}

impl LocalGateway {
    /// Starts a gateway with a Python that has `jupyter-kernel-gateway` and `ipykernel`. Kernels work
    /// in the directory, and what Jupyter keeps is in `.jupyter` there. A directory has room for one
    /// gateway.
    ///
    /// Of the environment, kernels see `PATH` only.
    pub async fn start(python: &Path, directory: &Path) -> Result<Self, JupyterError> {
        let home = directory.join(".jupyter");
        let program = home.join("gateway.py");
        let cannot_write = |source| JupyterError::Start { program: program.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&home).map_err(cannot_write)?;
        std::fs::write(&program, GATEWAY_PROGRAM).map_err(cannot_write)?;
        let socket = home.join("gateway.sock");
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new(python);
        command.args(["-I", ".jupyter/gateway.py", ".jupyter/gateway.sock"]).current_dir(directory);
        command.env_clear().env("LANG", "C.UTF-8").env("PYTHONUNBUFFERED", "1");
        command.envs(std::env::var_os(environment::PATH).map(|path| (environment::PATH, path)));
        // A group of its own: Ctrl-C in a terminal is not for it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let failed = |source| JupyterError::Start { program: python.to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(process)) =
            (child.stdin.take(), child.stdout.take(), child.id())
        else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        let (until, dropped) = oneshot::channel();
        let (tell, ended) = watch::channel(false);
        tokio::spawn(keep(child, stdin, dropped, tell));
        let token = token(stdout).await?;
        let gateway = Gateway::connect(Transport::unix(socket), token).await?;
        Ok(Self { gateway, process, until, ended })
    }

    /// The gateway, to start kernels with.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Ends it and its kernels, and waits for that.
    pub async fn close(self) {
        let Self { until, mut ended, .. } = self;
        drop(until);
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

/// Waits for the program's line. The token is in it.
async fn token(stdout: ChildStdout) -> Result<String, JupyterError> {
    let mut line = Vec::new();
    let mut reader = stdout.take(MOST_SAID);
    let reading =
        async { while !line.contains(&b'\n') && matches!(reader.read_buf(&mut line).await, Ok(1..)) {} };
    if tokio::time::timeout(START_WITHIN, reading).await.is_err() {
        return Err(JupyterError::Silent { what: "its start".into(), within: START_WITHIN });
    }
    gateway_token(&line)
}

/// Waits for the program, and ends it when nobody wants it any more. If the tokio runtime ends first,
/// its stdin is closed with this task, which is how the program knows.
async fn keep(
    mut child: Child,
    stdin: ChildStdin,
    dropped: oneshot::Receiver<()>,
    tell: watch::Sender<bool>,
) {
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let has_ended = tokio::select! {
        _ = child.wait() => true,
        _ = dropped => {
            drop(stdin);
            tokio::time::timeout(END_WITHIN, child.wait()).await.is_ok()
        }
    };
    // It is not waited for yet, so the number is still its own.
    if let (false, Some(group)) = (has_ended, group) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait().await;
    }
    tell.send_replace(true);
}
