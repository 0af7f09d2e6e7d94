//! Where one expected cell hands over its listener: a socket with a name that nobody can guess.
//!
//! All containers of a config see the directory of these sockets, and guests run in them. No guest
//! may list the directory, so it has nothing to connect to. It cannot pose as a cell, nor keep one
//! waiting. A socket exists from the moment its cell is announced until the cell has connected.

use std::fs;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar_core::layout::EGRESS;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// How long a cell that has connected may take to hand over its listener.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(5);

/// Makes it impossible to list the directory, so that a socket's name must be known. Removes what
/// an earlier proxy has left there.
pub(super) fn close_the_directory() -> io::Result<()> {
    for left in fs::read_dir(EGRESS)? {
        let left = left?.path();
        fs::remove_file(&left)?;
    }
    fs::set_permissions(EGRESS, PermissionsExt::from_mode(0o711))
}

/// An open door. Dropping it removes it.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Opens a door under a name that only the expected cell is told.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let path = Path::new(EGRESS).join(name);
        let door = Self { listener: UnixListener::bind(&path)?, path };
        // The cell runs as another user. Whoever knows the name may connect.
        fs::set_permissions(&door.path, PermissionsExt::from_mode(0o666))?;
        Ok(door)
    }

    /// Waits for the cell and takes its listener. `serve` runs before the cell is told that all is
    /// well.
    pub(super) async fn meet(self, serve: impl FnOnce(TcpListener) -> Result<(), String>) -> io::Result<()> {
        let (mut stream, listener) = loop {
            let (stream, _) = self.listener.accept().await?;
            match timeout(HAND_OVER_WITHIN, receive(&stream)).await {
                Ok(Ok(Some(listener))) => break (stream, listener),
                _ => tracing::debug!("somebody came without a listener"),
            }
        };
        let answer = match serve(TcpListener::from(listener)) {
            Ok(()) => "ok\n".to_owned(),
            Err(reason) => format!("{reason}\n"),
        };
        stream.write_all(answer.as_bytes()).await
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The descriptor that came with a message.
async fn receive(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    stream
        .async_io(Interest::READABLE, || {
            let mut word = [0u8; 16];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            recvmsg(stream, &mut [IoSliceMut::new(&mut word)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
            let rights = ancillary.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
                _ => None,
            });
            Ok(rights)
        })
        .await
}
