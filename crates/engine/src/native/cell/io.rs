//! Writing to a cell's channel, and reading from its channel and its pipes.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::SendFlags;
use tokio::io::unix::AsyncFd;

use super::burst::{Gathered, poll_read, read_now};
use super::{NativeCell, Parts};
use crate::cell::{CellIo, Leftovers, Output};
use crate::engine::BoxFuture;

impl CellIo for NativeCell {
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn send(&mut self, bytes: Bytes) {
        self.parts_mut().outbox.push(bytes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Parts { outbox, channel, .. } = self.parts_mut();
        outbox.poll_write(cx, |cx, bytes| poll_send(channel, cx, bytes))
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        self.parts_mut().poll_output(cx)
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(std::future::ready(self.parts_mut().take_leftovers()))
    }
}

/// Most lines fit at once, so this tries before it asks the reactor.
fn poll_send(channel: &AsyncFd<OwnedFd>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    let send = || rustix::net::send(channel.get_ref(), bytes, SendFlags::NOSIGNAL);
    loop {
        match send() {
            Err(Errno::AGAIN) => {}
            sent => return Poll::Ready(sent.map_err(Into::into)),
        }
        // The reactor may remember a readiness that is used up; it is then asked again.
        ready!(channel.poll_write_ready(cx))?.clear_ready();
    }
}

impl Parts {
    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        let mut burst = Gathered::default();
        if self.channel_open && burst.channel.take(poll_read(&self.channel, cx).into()) {
            self.channel_open = false;
        }
        for (pipe, gathered) in [(&mut self.stdout, &mut burst.stdout), (&mut self.stderr, &mut burst.stderr)]
        {
            if pipe.as_ref().is_some_and(|open| gathered.take(poll_read(open, cx).into())) {
                *pipe = None;
            }
        }
        if burst.is_empty() {
            let everything_closed = !self.channel_open && self.stdout.is_none() && self.stderr.is_none();
            return if everything_closed { Poll::Ready(Output::Closed) } else { Poll::Pending };
        }
        self.complete(&mut burst);
        Poll::Ready(Output::Burst(burst.into()))
    }

    /// Reads what is there and waits for nothing.
    fn take_leftovers(&mut self) -> Leftovers {
        let mut leftovers = Leftovers::default();
        loop {
            let mut burst = Gathered::default();
            if self.channel_open && burst.channel.take(read_now(&self.channel)) {
                self.channel_open = false;
            }
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

    fn read_printed(&mut self, burst: &mut Gathered) {
        for (pipe, gathered) in [(&mut self.stdout, &mut burst.stdout), (&mut self.stderr, &mut burst.stderr)]
        {
            if pipe.as_ref().is_some_and(|open| gathered.take(read_now(open))) {
                *pipe = None;
            }
        }
    }

    /// Reads on until prints and frames fit together: every frame written before the last print seen, and every print before the last
    /// frame seen. The reactor's word is not enough for that, hence plain reads.
    fn complete(&mut self, burst: &mut Gathered) {
        // A guest that writes without pause would keep us here.
        const ROUNDS: usize = 8;
        for _ in 0..ROUNDS {
            let printed = burst.printed();
            self.read_printed(burst);
            if burst.printed() == printed && printed == 0 {
                return;
            }
            let framed = burst.channel.0.len();
            if self.channel_open && burst.channel.take(read_now(&self.channel)) {
                self.channel_open = false;
            }
            if burst.channel.0.len() == framed {
                return;
            }
        }
    }
}
