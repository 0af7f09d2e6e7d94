//! The host's side of the jail: starts the helper and hands it the spec.

use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair,
};

use crate::helper::{ASK_JAIL, ASK_PROBE, ProbeAnswer};
use crate::spec::JailSpec;
use crate::sys::entry::{HELPER_NAME, is_linked};

/// A jail that could not be started. Failures *inside* the helper come as messages on the control
/// socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The helper did not start.
    #[error("cannot start the jail helper {path}")]
    Helper {
        /// The program that was run.
        path: PathBuf,
        /// Why it did not start.
        #[source]
        source: io::Error,
    },
    /// The helper could not be told what to do.
    #[error("cannot hand the jail helper its spec")]
    Handover(#[source] io::Error),
    /// The helper went away without an answer.
    #[error("the jail helper gave no answer")]
    NoAnswer(#[source] io::Error),
}

/// A jail that is being built. Dropping the control socket ends it, in any state.
#[derive(Debug)]
pub struct Launched {
    /// Messages to and from the helper, and later the program in the jail. That program finds the
    /// socket at descriptor 0.
    pub control: OwnedFd,
    /// The helper. It lives as long as the jail.
    pub helper: Child,
}

/// The program that becomes the helper: this same program, under another name.
fn helper_program() -> PathBuf {
    assert!(is_linked(), "the helper's entry point is part of this program");
    PathBuf::from("/proc/self/exe")
}

/// Starts a jail. Its program finds `passed_on` at descriptor 3 and up. The standard error of jail
/// and helper is a pipe.
pub fn launch(spec: &JailSpec, passed_on: &[BorrowedFd<'_>]) -> Result<Launched, LaunchError> {
    let spec = serde_json::to_vec(spec).expect("a spec is plain data");
    let file = sealed_file("belljar-spec", &spec).map_err(LaunchError::Handover)?;
    let launched = start(Stdio::piped())?;
    let mut descriptors = vec![file.as_fd()];
    descriptors.extend_from_slice(passed_on);
    send(&launched.control, ASK_JAIL, &descriptors).map_err(LaunchError::Handover)?;
    Ok(launched)
}

/// Asks a helper what this kernel lets it do.
pub(crate) fn ask_probe() -> Result<ProbeAnswer, LaunchError> {
    let mut launched = start(Stdio::null())?;
    send(&launched.control, ASK_PROBE, &[]).map_err(LaunchError::Handover)?;
    let mut answer = vec![0; 16 * 1024];
    let read = rustix::io::read(&launched.control, &mut answer[..])
        .map_err(|error| LaunchError::NoAnswer(error.into()))?;
    let _ = launched.helper.wait();
    serde_json::from_slice(&answer[..read]).map_err(|error| LaunchError::NoAnswer(io::Error::other(error)))
}

fn start(stderr: Stdio) -> Result<Launched, LaunchError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|error| LaunchError::Handover(error.into()))?;
    let path = helper_program();
    let helper = Command::new(&path)
        .arg0(HELPER_NAME)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(|source| LaunchError::Helper { path, source })?;
    Ok(Launched { control: ours, helper })
}

/// Makes an in-memory file with these contents, for a process that cannot open ours. It is sealed,
/// because every cell of a template maps the same one.
pub fn sealed_file(name: &str, contents: &[u8]) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(fd);
    file.write_all(contents)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Makes such a file for a program. Nobody may read it, so the kernel lets nobody look into the
/// process that runs it.
pub fn program_file(name: &str, contents: &[u8]) -> io::Result<OwnedFd> {
    let fd = sealed_file(name, contents)?;
    rustix::fs::fchmod(&fd, rustix::fs::Mode::from_raw_mode(0o111))?;
    // A file that is open for writing cannot be run.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
}

/// Sends one message with descriptors.
pub fn send(socket: impl AsFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors)),
            "at most 32 descriptors a message"
        );
    }
    sendmsg(socket, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_can_be_read_and_not_changed() {
        let file = std::fs::File::from(sealed_file("test", b"contents").unwrap());
        let refused = (&file).write_all(b"x").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(file.set_len(0).is_err());
        let mut read = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 0).unwrap();
        assert_eq!(&read, b"contents");
    }
}
