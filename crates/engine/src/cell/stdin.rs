//! The pipe that a script reads from, where a cell has descriptors on this machine.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustix::fs::{Mode, fchmod};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::watch::{watch, watch_more};

/// Our end, and for a while the guest's.
#[derive(Debug)]
pub(super) struct StdinPipe {
    /// `None` once there is nothing more to write.
    writes: Option<AsyncFd<OwnedFd>>,
    /// The guest's end. It stays open here: a write that nobody can read any more would be a signal
    /// to this process.
    reads: OwnedFd,
    is_handed_over: bool,
}

impl StdinPipe {
    pub(super) fn new() -> io::Result<Self> {
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
        // A guest opens it again by name (`/dev/stdin`), and may not be the user that made it.
        fchmod(&reads, Mode::RUSR | Mode::RGRP | Mode::ROTH)?;
        Ok(Self { writes: Some(watch(writes, Interest::WRITABLE)?), reads, is_handed_over: false })
    }

    pub(super) fn come_here(&mut self) -> io::Result<()> {
        if let Some(fd) = self.writes.take() {
            self.writes = Some(watch_more(fd.into_inner(), Interest::WRITABLE)?);
        }
        Ok(())
    }

    /// Sends the guest its end, with an empty line. Whatever was queued is sent.
    pub(super) fn poll_hand_over(
        &mut self,
        channel: &AsyncFd<OwnedFd>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_handed_over {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut descriptors = SendAncillaryBuffer::new(&mut space);
            let passed = [self.reads.as_fd()];
            descriptors.push(SendAncillaryMessage::ScmRights(&passed));
            let line = [IoSlice::new(b"\n")];
            match retry_on_intr(|| sendmsg(channel.get_ref(), &line, &mut descriptors, SendFlags::NOSIGNAL)) {
                Ok(_) => self.is_handed_over = true,
                Err(Errno::AGAIN) => ready!(channel.poll_write_ready(cx))?.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let Some(pipe) = &self.writes else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        while !bytes.is_empty() {
            match retry_on_intr(|| rustix::io::write(pipe.get_ref(), bytes)) {
                Ok(written) => bytes.advance(written),
                Err(Errno::AGAIN) => ready!(pipe.poll_write_ready(cx))?.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn close(&mut self) {
        self.writes = None;
    }
}
