//! The descriptors that a cell is connected by, where it has descriptors on this machine.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::SendFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{self, Handle};

use super::burst::{Gathered, poll_read, read_now};
use super::stdin::StdinPipe;
use super::{Burst, Leftovers, Outbox, Output};
use crate::watch::{watch, watch_more};

/// A cell's channel, which is a socket, and its two pipes. An engine's [`CellIo`](super::CellIo)
/// can hand on to it.
#[derive(Debug)]
pub struct Streams {
    /// The tokio runtime that watches the descriptors.
    watched_by: runtime::Id,
    /// `None` if no reactor would watch it any more.
    channel: Option<AsyncFd<OwnedFd>>,
    channel_open: bool,
    stdout: Option<AsyncFd<OwnedFd>>,
    stderr: Option<AsyncFd<OwnedFd>>,
    outbox: Outbox,
    stdin: Option<StdinPipe>,
    /// Whether the last burst had something [`ahead`](super::Burst::ahead).
    is_ahead: bool,
}

impl Streams {
    /// Makes our ends of a cell's connections non-blocking, and watches them. Must be called within
    /// a tokio runtime.
    pub fn new(channel: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            watched_by: Handle::current().id(),
            channel: Some(watch(channel, Interest::READABLE | Interest::WRITABLE)?),
            channel_open: true,
            stdout: Some(watch(stdout, Interest::READABLE)?),
            stderr: Some(watch(stderr, Interest::READABLE)?),
            outbox: Outbox::default(),
            stdin: None,
            is_ahead: false,
        })
    }

    /// Has the descriptors watched by the tokio runtime of whoever calls this. Another one, which
    /// made the cell or ran the last script in it, may be busy, or gone.
    pub fn come_here(&mut self) -> io::Result<()> {
        let here = Handle::current().id();
        if here != self.watched_by {
            self.watched_by = here;
            move_here(&mut self.channel, Interest::READABLE | Interest::WRITABLE)?;
            move_here(&mut self.stdout, Interest::READABLE)?;
            move_here(&mut self.stderr, Interest::READABLE)?;
            if let Some(stdin) = &mut self.stdin {
                stdin.come_here()?;
            }
        }
        Ok(())
    }

    /// As [`CellIo::send`](super::CellIo::send) has it.
    pub fn send(&mut self, bytes: Bytes) {
        self.outbox.push(bytes);
    }

    /// As [`CellIo::poll_flush`](super::CellIo::poll_flush) has it.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { outbox, channel, .. } = self;
        let Some(channel) = channel else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        ready!(outbox.poll_write(cx, |cx, bytes| poll_send(channel, cx, bytes)))?;
        match &mut self.stdin {
            None => Poll::Ready(Ok(())),
            Some(stdin) => stdin.poll_hand_over(channel, cx),
        }
    }

    /// As [`CellIo::open_stdin`](super::CellIo::open_stdin) has it.
    pub fn open_stdin(&mut self) -> io::Result<()> {
        self.stdin = Some(StdinPipe::new()?);
        Ok(())
    }

    /// As [`CellIo::poll_stdin`](super::CellIo::poll_stdin) has it.
    pub fn poll_stdin(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        match &mut self.stdin {
            Some(stdin) => stdin.poll_write(cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// As [`CellIo::close_stdin`](super::CellIo::close_stdin) has it.
    pub fn close_stdin(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            stdin.close();
        }
    }

    /// As [`CellIo::poll_output`](super::CellIo::poll_output) has it.
    pub fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        let mut burst = Gathered::default();
        if let Some(channel) = self.channel.as_ref().filter(|_| self.channel_open)
            && burst.channel.take(poll_read(channel, cx).into())
        {
            self.channel_open = false;
        }
        for (pipe, gathered) in [(&mut self.stdout, &mut burst.stdout), (&mut self.stderr, &mut burst.stderr)]
        {
            if pipe.as_ref().is_some_and(|open| gathered.take(poll_read(open, cx).into())) {
                *pipe = None;
            }
        }
        if burst.is_empty() && !self.is_ahead {
            let everything_closed = !self.channel_open && self.stdout.is_none() && self.stderr.is_none();
            return if everything_closed { Poll::Ready(Output::Closed) } else { Poll::Pending };
        }
        Poll::Ready(Output::Burst(self.completed(burst)))
    }

    /// Reads what is there, frames included, and waits for nothing. `None` if there is nothing. The
    /// reactor is not asked: it may not know yet.
    pub fn read_on(&mut self) -> Option<Burst> {
        let mut burst = Gathered::default();
        self.read_channel(&mut burst);
        self.read_printed(&mut burst);
        match burst.is_empty() && !self.is_ahead {
            true => None,
            false => Some(self.completed(burst)),
        }
    }

    /// Reads what is there and waits for nothing.
    pub fn take_leftovers(&mut self) -> Leftovers {
        let mut leftovers = Leftovers::default();
        self.is_ahead = false;
        loop {
            let mut burst = Gathered::default();
            self.read_channel(&mut burst);
            self.read_printed(&mut burst);
            if burst.is_empty() {
                return leftovers;
            }
            leftovers.add(&burst.into());
            if leftovers.is_plenty() {
                return leftovers;
            }
        }
    }

    /// Whether something was there.
    fn read_channel(&mut self, burst: &mut Gathered) -> bool {
        let Some(channel) = self.channel.as_ref().filter(|_| self.channel_open) else { return false };
        let had = burst.channel.0.len();
        if burst.channel.take(read_now(channel)) {
            self.channel_open = false;
        }
        burst.channel.0.len() > had
    }

    fn read_printed(&mut self, burst: &mut Gathered) {
        for (pipe, gathered) in [(&mut self.stdout, &mut burst.stdout), (&mut self.stderr, &mut burst.stderr)]
        {
            if pipe.as_ref().is_some_and(|open| gathered.take(read_now(open))) {
                *pipe = None;
            }
        }
    }

    fn completed(&mut self, mut burst: Gathered) -> Burst {
        self.complete(&mut burst);
        let burst = Burst::from(burst);
        self.is_ahead = burst.ahead != [0, 0];
        burst
    }

    /// Reads on until prints and frames fit together: every frame written before the last print
    /// seen, and every print before the last frame seen. The reactor is not asked: it may not know
    /// yet. A guest that writes without pause would keep us here, so in the end some prints may be
    /// ahead.
    fn complete(&mut self, burst: &mut Gathered) {
        const ROUNDS: usize = 8;
        for _ in 0..ROUNDS {
            self.read_printed(burst);
            if burst.printed() == 0 && !self.is_ahead {
                return;
            }
            if !self.read_channel(burst) {
                return burst.channel_is_empty();
            }
        }
        self.read_printed(burst);
    }
}

/// Most lines fit at once, so this tries before it asks the reactor.
fn poll_send(channel: &AsyncFd<OwnedFd>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    let send = || retry_on_intr(|| rustix::net::send(channel.get_ref(), bytes, SendFlags::NOSIGNAL));
    loop {
        match send() {
            Err(Errno::AGAIN) => {}
            sent => return Poll::Ready(sent.map_err(Into::into)),
        }
        // The reactor may remember a readiness that is used up; it is then asked again.
        ready!(channel.poll_write_ready(cx))?.clear_ready();
    }
}

/// Has a descriptor watched by this runtime's reactor instead of another's.
fn move_here(place: &mut Option<AsyncFd<OwnedFd>>, interest: Interest) -> io::Result<()> {
    if let Some(fd) = place.take() {
        *place = Some(watch_more(fd.into_inner(), interest)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn frames_are_read_on_whether_the_reactor_knows_of_them_or_not() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let ((stdout, prints), (stderr, _silent)) = (pipe(), pipe());
        let mut streams = Streams::new(ours.into(), stdout, stderr).unwrap();
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(streams.poll_output(&mut context).is_pending());
        assert!(streams.read_on().is_none());
        // The reactor of this thread has no chance to run before it is asked.
        guest.write_all(b"a last frame\n").unwrap();
        rustix::io::write(&prints, b"last words").unwrap();
        drop(guest);
        let burst = streams.read_on().unwrap();
        assert_eq!((&burst.channel[..], &burst.stdout[..]), (&b"a last frame\n"[..], &b"last words"[..]));
        assert!(streams.read_on().is_none());
    }
}
