//! Asks the helper of a jail for the mounts that one cell gets for itself.

use std::io;
use std::os::fd::OwnedFd;

use belljar_jail::KeptName;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use super::zygote::receive;
use crate::watch::watch;

/// The host's end of the socket on which the helper lends.
pub(super) struct Lender {
    socket: Mutex<AsyncFd<OwnedFd>>,
}

/// An answer is an id and, if there are no mounts, why.
const LONGEST_ANSWER: usize = 1024;

impl Lender {
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = watch(socket, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { socket: Mutex::new(socket) })
    }

    /// The mounts for a cell that has this id outside, or why there are none. Its workspace, if it
    /// has a kept one, is the first of them.
    pub(super) async fn lend(
        &self,
        id: u32,
        workspace: Option<KeptName>,
    ) -> io::Result<Result<Vec<OwnedFd>, String>> {
        let socket = self.socket.lock().await;
        let id = id.to_le_bytes();
        let name = workspace.as_ref().map_or("", KeptName::as_str);
        let question = [&id, name.as_bytes()].concat();
        socket.async_io(Interest::WRITABLE, |socket| belljar_jail::send(socket, &question, &[])).await?;
        loop {
            let (answer, mounts) = receive(&socket, LONGEST_ANSWER).await?;
            match answer.strip_prefix(&id) {
                Some([]) => return Ok(Ok(mounts)),
                Some(reason) => return Ok(Err(String::from_utf8_lossy(reason).into_owned())),
                // Somebody asked for another cell and did not wait.
                None => {}
            }
        }
    }
}
