//! One subprocess, as the host holds it.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use belljar_core::wire::{Envelope, GuestFrame, GuestReport, Lines, PROTOCOL};
use belljar_core::{CellId, Decision};
use bytes::Bytes;

use super::home::Place;
use super::process::{Leaving, Process};
use crate::files::{Tree, Worker};
use crate::{
    Autopsy, BoxFuture, Cell, CellFiles, CellIo, CellLife, CellUsage, CellView, End, Files, Leftovers,
    Output, Signal, Streams, Until,
};

/// How long an interpreter may take until its harness is ready. It loads tools and packages in that
/// time.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// The longest line a harness may write before it is ready.
const LONGEST_GREETING: usize = 256 * 1024;

/// One subprocess. It is killed, with its process group, when it is dropped.
pub(super) struct LocalCell {
    id: CellId,
    streams: Streams,
    process: Process,
    /// Its files, which stay as long as somebody may ask for them. `None` only while being dropped.
    place: Option<Arc<Place>>,
    leaving: Leaving,
    /// Its end, once it is waited for. A process that has left its group may have its pipes for
    /// ever.
    ended: Option<BoxFuture<'static, End>>,
}

impl LocalCell {
    pub(super) fn new(
        id: CellId,
        streams: Streams,
        process: Process,
        (place, leaving): (Arc<Place>, Leaving),
    ) -> Self {
        Self { id, streams, process, place: Some(place), leaving, ended: None }
    }

    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    /// Waits for the harness. Returns what it reports when it is ready, or why it did not become
    /// ready.
    pub(super) async fn wait_until_ready(&mut self) -> Result<GuestReport, String> {
        let mut printed = Vec::new();
        let ready = tokio::time::timeout(READY_WITHIN, self.greeting(&mut printed)).await;
        let reason = match ready {
            Ok(Ok(report)) => return Ok(report),
            Ok(Err(reason)) => reason,
            Err(_) => format!("it was not ready within {} s", READY_WITHIN.as_secs()),
        };
        let said = String::from_utf8_lossy(&printed);
        Err(if said.trim().is_empty() { reason } else { format!("{reason}; it said: {}", said.trim()) })
    }

    async fn greeting(&mut self, printed: &mut Vec<u8>) -> Result<GuestReport, String> {
        let mut lines = Lines::with_limit(LONGEST_GREETING);
        loop {
            match std::future::poll_fn(|cx| self.poll_output(cx)).await {
                Output::Burst(burst) => {
                    printed.extend_from_slice(&burst.stdout);
                    printed.extend_from_slice(&burst.stderr);
                    lines.push(&burst.channel);
                }
                Output::Closed => {
                    return Err(format!("it ended before it was ready ({:?})", self.process.end().await));
                }
            }
            while let Some(line) = lines.next_line().map_err(|error| error.to_string())? {
                match Envelope::parse(line).map(|envelope| envelope.frame) {
                    Some(GuestFrame::Ready { protocol: PROTOCOL, report }) => {
                        return report.ok_or_else(|| "its harness does not say what it prepared".to_owned());
                    }
                    Some(GuestFrame::Ready { protocol, .. }) => {
                        return Err(format!("its harness speaks protocol {protocol}, the host {PROTOCOL}"));
                    }
                    _ => {}
                }
            }
        }
    }
}

impl CellIo for LocalCell {
    fn begin(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn come_here(&mut self) -> io::Result<()> {
        self.streams.come_here()
    }

    fn send(&mut self, bytes: Bytes) {
        self.streams.send(bytes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.streams.poll_flush(cx)
    }

    fn open_stdin(&mut self) -> io::Result<()> {
        self.streams.open_stdin()
    }

    fn poll_stdin(&mut self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        self.streams.poll_stdin(cx, bytes)
    }

    fn close_stdin(&mut self) {
        self.streams.close_stdin();
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        if let Poll::Ready(output) = self.streams.poll_output(cx) {
            return Poll::Ready(output);
        }
        let process = &self.process;
        let ended = self.ended.get_or_insert_with(|| {
            let mut process = process.clone();
            Box::pin(async move { process.end().await })
        });
        if ended.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let mut process = self.process.clone();
        self.ended = Some(Box::pin(async move { process.end().await }));
        // It has written everything it ever will: its last words, and its last frames.
        Poll::Ready(self.streams.read_on().map_or(Output::Closed, Output::Burst))
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        Box::pin(std::future::ready(self.streams.take_leftovers()))
    }
}

/// Nothing is measured, because a script's processes cannot be told from others of this user.
impl CellView for LocalCell {
    fn usage(&self) -> CellUsage {
        CellUsage::default()
    }

    fn scratch_is_full(&self) -> bool {
        false
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        Vec::new()
    }

    fn take_decisions(&mut self, _until: Until) -> BoxFuture<'_, Vec<Decision>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl CellLife for LocalCell {
    fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }

    fn kill(&mut self) {
        self.process.kill();
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move { Autopsy { end: self.process.end().await, usage: self.usage() } })
    }

    fn uses_left(&self) -> u32 {
        0
    }

    fn reset(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}

impl CellFiles for LocalCell {
    fn still(&mut self) {
        self.kill();
    }

    fn files(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Files + '_>>> {
        let opened = self.open_workspace().map(|files| Box::new(files) as Box<dyn Files>);
        Box::pin(std::future::ready(opened))
    }
}

impl LocalCell {
    fn open_workspace(&self) -> io::Result<Worker> {
        let place = self.place.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Worker::start(Arc::new(Tree::new(place.open_workspace()?)?), None)
    }
}

impl Cell for LocalCell {
    fn id(&self) -> CellId {
        self.id
    }

    fn place(&self) -> Option<&str> {
        None
    }
}

impl Drop for LocalCell {
    fn drop(&mut self) {
        // First: whoever waits for the process also waits for its files to go.
        drop(self.place.take());
        self.leaving.add(self.process.clone());
    }
}
