//! Runs an installer, reads its output, and ends it if it should stop.
//!
//! An installer leads a process group of its own. When it is stopped it is interrupted first, as by
//! Ctrl-C, so that it can remove its temporary files. After [`GRACE`] the whole group is killed.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use super::hint::Hint;
use super::stop::{Stop, UntilStopped};

/// How many of its last lines the report of a failed installer has.
const TAIL: usize = 20;
/// The longest line in that report. pip can name hundreds of versions on one line.
const TAIL_WIDTH: usize = 500;
/// A longer line is reported in pieces.
const LINE_LIMIT: u64 = 8 * 1024;
/// How long an installer that is stopped has to tidy up, and how long the kernel may take to end
/// its group.
const GRACE: Duration = Duration::from_secs(1);
/// How often an ending process is looked at.
const TICK: Duration = Duration::from_millis(2);

/// How an installer ended.
pub(super) struct Outcome {
    pub status: ExitStatus,
    pub tail: Vec<String>,
    pub hint: Option<Hint>,
}

/// Runs `command` to its end. Passes each line of its output and error streams to `line`, in order.
/// `None` if it was stopped.
pub(super) fn run(
    mut command: Command,
    wheels_only: bool,
    stop: &Stop,
    line: &mut dyn FnMut(&str),
) -> io::Result<Option<Outcome>> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut installer = Running::start(&mut command)?;
    // The command holds the pipe's other end. It must go, or the output never ends.
    drop(command);

    let mut reader = BufReader::new(UntilStopped(reader, stop));
    let mut tail: VecDeque<String> = VecDeque::with_capacity(TAIL);
    let mut hint: Option<Hint> = None;
    let mut bytes = Vec::new();
    while reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes)? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        if !text.is_empty() {
            // uv wraps its sentences, so a sign may begin on the line before.
            let before = tail.back().map_or("", String::as_str);
            let sentence = format!("{} {}", before.trim(), text.trim());
            hint = hint.into_iter().chain(Hint::in_text(&sentence, wheels_only)).min();
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(text.chars().take(TAIL_WIDTH).collect());
            line(text);
        }
        bytes.clear();
    }
    let status = installer.wait(stop)?;
    Ok(status.map(|status| Outcome { status, tail: tail.into(), hint }))
}

/// What `command` prints on its output stream. `None` if it fails or is stopped.
pub(super) fn output(mut command: Command, stop: &Stop) -> Option<Vec<u8>> {
    let mut running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null())).ok()?;
    let mut said = Vec::new();
    let stdout = running.0.stdout.take()?;
    UntilStopped(stdout, stop).take(LINE_LIMIT).read_to_end(&mut said).ok()?;
    let status = running.wait(stop).ok()??;
    status.success().then_some(said)
}

/// A process that leads a group of its own. Dropping this ends the group, unless it has been waited
/// for.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self(command.stdin(Stdio::null()).process_group(0).spawn()?))
    }

    /// Waits for its end. `None` if it should stop before.
    fn wait(&mut self, stop: &Stop) -> io::Result<Option<ExitStatus>> {
        // It has closed its output, so it ends now, and the first waits are short.
        let mut pause = TICK;
        loop {
            if stop.within(Duration::ZERO)? {
                return Ok(None);
            }
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            stop.within(pause)?;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Ends the whole group and waits until it is gone.
    fn end(&mut self) {
        let leader = Pid::from_child(&self.0);
        let _ = kill_process_group(leader, Signal::INT);
        // NOWAIT keeps the leader as a zombie. So its number cannot belong to another group when
        // the group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let runs = || matches!(waitid(WaitId::Pid(leader), options), Ok(None) | Err(Errno::INTR));
        wait_while(runs);
        let _ = kill_process_group(leader, Signal::KILL);
        let _ = self.0.wait();
        // What it started may still be writing to its directory, which is removed next.
        wait_while(|| test_kill_process_group(leader).is_ok());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// Waits as long as something is so, but no longer than [`GRACE`].
fn wait_while(is_so: impl Fn() -> bool) {
    let until = Instant::now() + GRACE;
    while is_so() && Instant::now() < until {
        thread::sleep(TICK);
    }
}
