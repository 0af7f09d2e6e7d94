//! A process beside this one that makes the terminal what it was.
//!
//! A process that is killed tidies nothing up, and a terminal in raw mode is of no use to the shell
//! that gets it back. So somebody else remembers:
//!
//! ```text
//!  belljar ──── what programs switch on ────► keeper ──► the terminal, at the end: as it was
//!          ──── nothing more comes ─────────►
//! ```
//!
//! However this process ends, its end of the pipe closes. The keeper is in a session of its own, so
//! no key and no shell reaches it.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::Modes;

/// What the keeper is called.
const NAME: &str = "belljar-terminal";
/// Says that nothing more comes. No escape sequence has it.
const END: u8 = 0;

/// A handle on the keeper. When it is dropped, the terminal is what it was, whoever had to do that.
pub(crate) struct Keeper {
    child: Option<Child>,
    told: Told,
    /// The terminal, and how it was.
    before: Option<(OwnedFd, Termios)>,
}

/// Tells the keeper what a program has switched on. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    to: Option<ChildStdin>,
    /// What it was told, should it be gone when it is needed.
    modes: Modes,
}

impl Keeper {
    /// Starts it, for the terminal on stdout or else stdin. Comes back when it knows how that is.
    /// Where no process can be started, nobody is there if this one is killed.
    pub(crate) fn start() -> Self {
        let mut keeper = Self { child: None, told: Told::default(), before: None };
        if let Err(error) = keeper.begin() {
            tracing::warn!(%error, "the terminal stays raw if this process is killed");
        }
        keeper
    }

    fn begin(&mut self) -> io::Result<()> {
        let terminal = match io::stdout().is_terminal() {
            true => io::stdout().as_fd().try_clone_to_owned()?,
            false => io::stdin().as_fd().try_clone_to_owned()?,
        };
        let was = tcgetattr(&terminal)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(NAME).current_dir("/").stdout(terminal.try_clone()?);
        self.before = Some((terminal, was));
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let ready = child.stderr.take();
        self.told.known().to = child.stdin.take();
        self.child = Some(child);
        ready.ok_or(io::ErrorKind::BrokenPipe)?.read_exact(&mut [0])
    }

    /// The same, for what puts brackets around what is pasted while it reads a line.
    pub(crate) fn of_an_editor() -> Self {
        let keeper = Self::start();
        keeper.told.tell(b"\x1b[?2004h");
        keeper
    }

    /// For whoever prints what the program writes.
    pub(crate) fn told(&self) -> Told {
        self.told.clone()
    }
}

impl Told {
    /// Tells it what a program writes, as far as that changes anything.
    pub(crate) fn tell(&self, written: &[u8]) {
        let mut known = self.known();
        let changes = known.modes.note(written);
        known.pass_on(&changes);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// There is nobody else to tell if that fails.
    fn pass_on(&mut self, bytes: &[u8]) {
        if let Some(to) = self.to.as_mut().filter(|_| !bytes.is_empty()) {
            let _ = to.write_all(bytes);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.told.known().pass_on(&[END]);
        let has_done_it = self.child.as_mut().is_some_and(ends_well);
        if let Some((terminal, was)) = self.before.take().filter(|_| !has_done_it) {
            // Somebody has killed it, or it was stopped.
            let _ = restore(terminal, &was, &self.told.known().modes);
        }
    }
}

/// Whether a keeper that was told of the end does what it is for. It is not waited for for ever:
/// somebody may have stopped it.
fn ends_well(child: &mut Child) -> bool {
    const WITHIN: Duration = Duration::from_secs(1);
    const AGAIN: Duration = Duration::from_millis(2);
    let until = Instant::now() + WITHIN;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(AGAIN),
            _ => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Whether this process was started to be a keeper.
pub(crate) fn is_called() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// The whole life of a keeper. Its stdin is the pipe, its stdout the terminal.
pub(crate) fn keep() -> io::Result<()> {
    // Fails if it leads a group, which nobody has told it to.
    let _ = rustix::process::setsid();
    let was = tcgetattr(io::stdout())?;
    io::stderr().write_all(b".")?;
    let (mut modes, mut piece) = (Modes::default(), [0; 256]);
    loop {
        match io::stdin().read(&mut piece) {
            Ok(0) => break,
            Ok(read) => {
                modes.note(&piece[..read]);
                if piece[..read].contains(&END) {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    restore(io::stdout().as_fd().try_clone_to_owned()?, &was, &modes)
}

fn restore(terminal: OwnedFd, was: &Termios, modes: &Modes) -> io::Result<()> {
    let mut terminal = File::from(terminal);
    // Before anybody else has the terminal: a prompt on another screen would be gone with that.
    let undone = terminal.write_all(&modes.undo());
    tcsetattr(&terminal, OptionalActions::Now, was)?;
    undone
}
