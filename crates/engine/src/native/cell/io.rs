//! Writing to a cell's channel, and reading from its channel and its pipes.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::NativeCell;
use crate::cell::{CellIo, Leftovers, Output};
use crate::engine::BoxFuture;

impl CellIo for NativeCell {
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        // An interrupt of the last request must not reach the guest after the next one.
        Box::pin(self.parts_mut().status.interrupt_has_arrived())
    }

    fn come_here(&mut self) -> io::Result<()> {
        // What else a cell waits for is watched in the background.
        self.parts_mut().streams.come_here()
    }

    fn send(&mut self, bytes: Bytes) {
        self.parts_mut().streams.send(bytes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.parts_mut().streams.poll_flush(cx)
    }

    fn open_stdin(&mut self) -> io::Result<()> {
        self.parts_mut().streams.open_stdin()
    }

    fn poll_stdin(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.parts_mut().streams.poll_stdin(cx, bytes)
    }

    fn close_stdin(&mut self) {
        self.parts_mut().streams.close_stdin();
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        self.parts_mut().streams.poll_output(cx)
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(std::future::ready(self.parts_mut().streams.take_leftovers()))
    }
}
