//! The host's side of the jail: runs the helper from memory and hands it the spec.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use crate::cgroup::Cgroups;
use crate::circumstances::Circumstances;
use crate::helper::{ASK_HOLD, ASK_JAIL, ASK_PRESENCE, ASK_PROBE, HELLO, ProbeAnswer};
use crate::memory_file::{program_file, sealed_file};
use crate::shortage::shortage_of;
use crate::spec::JailSpec;

/// A jail that could not be started. Failures *inside* the helper come as messages on the control
/// socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The helper could not be put into memory.
    #[error("cannot put the jail helper into memory, from where it is run{}", forbidden(source))]
    Memory {
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The helper did not start.
    #[error("cannot start the jail helper{}", forbidden(source))]
    Helper {
        /// Why it did not start.
        #[source]
        source: io::Error,
    },
    /// The helper was started and did not say that it is there.
    #[error("the jail helper {what}{}", written(stderr))]
    NoHello {
        /// What it did instead.
        what: String,
        /// What it wrote to its standard error.
        stderr: String,
    },
    /// A system call filter killed the helper.
    #[error("a system call filter killed the jail helper: {remedy}")]
    Filtered {
        /// What to do about it.
        remedy: &'static str,
    },
    /// The helper could not be told what to do.
    #[error("cannot hand the jail helper its spec{}", shortage_of(_0))]
    Handover(#[source] io::Error),
    /// The helper could not be put where the control groups of its cells are.
    #[error("cannot put the jail helper where the control groups of cells are")]
    Group(#[source] io::Error),
    /// The helper did not answer, or went away.
    #[error("the jail helper gave no answer{}", shortage_of(_0))]
    NoAnswer(#[source] io::Error),
}

/// What to do when programs in memory are forbidden, or the machine is short of something.
fn forbidden(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": programs may not be run from memory here: set the sysctl vm.memfd_noexec to 0 or 1, or allow it in SELinux"
                .into()
        }
        _ => shortage_of(error),
    }
}

fn written(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

/// A jail that is being built. Dropping the control socket ends it, in any state. So does the end
/// of this process, whatever its children still hold.
#[derive(Debug)]
pub struct Launched {
    /// Messages to and from the helper, and later the program in the jail. That program finds the
    /// socket at descriptor 0.
    pub control: OwnedFd,
    /// The helper. It lives as long as the jail.
    pub helper: Child,
    /// Where to ask for mounts of what the spec lends. `None` if that is nothing.
    ///
    /// A question is a cell's id outside, as four bytes, lowest first. The answer begins with the
    /// same bytes. A mount for each place comes with it, in the order of the spec, or the reason
    /// follows why there is none.
    pub lender: Option<OwnedFd>,
}

/// The helper, a program of a few hundred thousand bytes.
const HELPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/belljar_helper"));
/// Its name in lists of processes.
const HELPER_NAME: &str = "belljar-jail-helper";

/// How long the helper may take to say hello, whenever it is to. It does so at once, but the
/// machine may be busy.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take to try everything out.
const PROBED_WITHIN: Duration = Duration::from_secs(60);

/// Starts a jail, whose cells get groups of `cgroups`. Its program finds `passed_on`, and the
/// spec's programs, at descriptor 3 and up. The standard error of jail and helper is a pipe. Blocks
/// until the helper is there.
pub fn launch(
    spec: &JailSpec,
    passed_on: &[BorrowedFd<'_>],
    cgroups: &Cgroups,
) -> Result<Launched, LaunchError> {
    let file = sealed_file("belljar-spec", &spec.encode()).map_err(LaunchError::Handover)?;
    let mut launched = start()?;
    // Now, while it has no children that would stay behind.
    if let Err(error) = cgroups.admit(launched.helper.id()) {
        let _ = launched.helper.kill();
        let _ = launched.helper.wait();
        return Err(LaunchError::Group(error));
    }
    let lending = match spec.needs_a_lender() {
        true => Some(socket_pair()?),
        false => None,
    };
    let mut descriptors = vec![file.as_fd()];
    descriptors.extend(lending.as_ref().map(|(_, theirs)| theirs.as_fd()));
    descriptors.extend_from_slice(passed_on);
    ask(&launched, ASK_JAIL, &descriptors)?;
    launched.lender = lending.map(|(ours, _)| ours);
    Ok(launched)
}

/// Asks a helper what this kernel lets it do.
pub(crate) fn ask_probe() -> Result<ProbeAnswer, LaunchError> {
    let mut launched = start()?;
    ask(&launched, ASK_PROBE, &[])?;
    let mut answer = vec![0; ProbeAnswer::LONGEST];
    let read =
        receive_within(&launched.control, &mut answer, PROBED_WITHIN).map_err(LaunchError::NoAnswer)?;
    // It ends by itself after its answer, and at the latest when it is hung up on.
    drop(launched.control);
    end_of(&mut launched.helper)?;
    ProbeAnswer::decode(&answer[..read])
        .ok_or_else(|| LaunchError::NoAnswer(io::Error::new(io::ErrorKind::InvalidData, "it cannot be read")))
}

/// A helper that does nothing, so that the group it is in is not empty. It ends when this is
/// dropped, or when this process ends.
#[derive(Debug)]
pub(crate) struct Anchor {
    launched: Launched,
}

impl Anchor {
    /// Starts one, in the group of this process.
    pub(crate) fn start() -> Result<Self, LaunchError> {
        let anchor = Self { launched: start()? };
        ask(&anchor.launched, ASK_HOLD, &[])?;
        Ok(anchor)
    }

    /// Whether it is there, and nobody has begun to end it. If not, do not ask again: a late answer
    /// would be taken for another one.
    ///
    /// Only an answer shows that. A signal takes a moment to end a process, which is still listed
    /// meanwhile. But from then on it runs nothing any more.
    pub(crate) fn answers(&self) -> bool {
        let mut said = [0; 64];
        send(&self.launched.control, ASK_PRESENCE, &[]).is_ok()
            && receive_within(&self.launched.control, &mut said, HELLO_WITHIN)
                .is_ok_and(|read| &said[..read] == HELLO)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.launched.helper.id()
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        let _ = self.launched.helper.kill();
        let _ = self.launched.helper.wait();
    }
}

/// Runs the helper and waits until it says hello.
fn start() -> Result<Launched, LaunchError> {
    let (ours, theirs) = socket_pair()?;
    let mut launched = Launched { control: ours, helper: run(theirs)?, lender: None };
    let mut said = [0; 64];
    let what = match receive_within(&launched.control, &mut said, HELLO_WITHIN) {
        Ok(read) if &said[..read] == HELLO => return Ok(launched),
        Ok(0) => "ended before it said hello".to_owned(),
        Ok(_) => "said something else than hello".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!("did not say hello within {} s", HELLO_WITHIN.as_secs())
        }
        Err(error) => format!("could not be heard: {error}"),
    };
    let _ = launched.helper.kill();
    end_of(&mut launched.helper)?;
    Err(LaunchError::NoHello { what, stderr: last_words(&mut launched.helper) })
}

/// Waits for its end. An error, if a system call filter is the cause of that.
fn end_of(helper: &mut Child) -> Result<(), LaunchError> {
    const SIGSYS: i32 = 31;
    match helper.wait() {
        Ok(status) if status.signal() == Some(SIGSYS) => {
            Err(LaunchError::Filtered { remedy: Circumstances::here().remedy_for_filter() })
        }
        _ => Ok(()),
    }
}

fn socket_pair() -> Result<(OwnedFd, OwnedFd), LaunchError> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|error| LaunchError::Handover(error.into()))
}

/// Runs the helper from memory.
///
/// A thread of the host may fork while the file is still open for writing. The kernel runs no
/// program that somebody can write to, so such a file is useless and another one is made.
fn run(control: OwnedFd) -> Result<Child, LaunchError> {
    const ATTEMPTS: usize = 20;
    let mut attempt = 0;
    loop {
        attempt += 1;
        // It can be read, because the helper must be able to write files of its own in /proc.
        let program = program_file(HELPER_NAME, HELPER).map_err(|source| LaunchError::Memory { source })?;
        let stdin = control.try_clone().map_err(|source| LaunchError::Helper { source })?;
        let started = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
            .arg0(HELPER_NAME)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        match started {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && attempt < ATTEMPTS => {}
            other => return other.map_err(|source| LaunchError::Helper { source }),
        }
    }
}

/// What a dead helper has written. It does not wait, because a child of the host may hold the pipe.
fn last_words(helper: &mut Child) -> String {
    let mut text = [0; 4096];
    let read = helper.stderr.as_mut().and_then(|stderr| {
        rustix::io::ioctl_fionbio(&*stderr, true).ok()?;
        stderr.read(&mut text).ok()
    });
    String::from_utf8_lossy(&text[..read.unwrap_or(0)]).trim().to_owned()
}

/// Sends the one message that a helper gets. A handle on this process goes with it.
fn ask(launched: &Launched, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), LaunchError> {
    let this_process =
        pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| LaunchError::Handover(error.into()))?;
    let mut all = vec![this_process.as_fd()];
    all.extend_from_slice(descriptors);
    send(&launched.control, message, &all).map_err(LaunchError::Handover)
}

/// Receives one message, but does not wait for ever.
fn receive_within(socket: &OwnedFd, buffer: &mut [u8], limit: Duration) -> io::Result<usize> {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut handle = [PollFd::new(socket, PollFlags::IN)];
        match rustix::event::poll(&mut handle, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        match recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => return Ok(other.map(|(read, _)| read)?),
        }
    }
}

/// Sends one message with descriptors.
pub fn send(socket: impl AsFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let send_once = || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(48))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            assert!(
                ancillary.push(SendAncillaryMessage::ScmRights(descriptors)),
                "at most 48 descriptors a message"
            );
        }
        sendmsg(&socket, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)
    };
    retry_on_intr(send_once)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_says_hello_and_answers() {
        let answer = ask_probe().unwrap();
        assert_eq!(answer.trials.len(), 10, "{answer:?}");
    }

    #[test]
    fn an_anchor_answers_until_somebody_begins_to_end_it() {
        let anchor = Anchor::start().unwrap();
        assert!(anchor.answers() && anchor.answers());
        let process = rustix::process::Pid::from_raw(anchor.id().cast_signed()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(!anchor.answers());
    }

    #[test]
    fn who_says_nothing_is_not_waited_for_for_ever() {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let mut buffer = [0; 8];
        let waited = receive_within(&ours, &mut buffer, Duration::from_millis(20));
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(theirs);
        assert_eq!(receive_within(&ours, &mut buffer, HELLO_WITHIN).unwrap(), 0);
    }
}
