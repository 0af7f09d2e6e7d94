//! One cell, as the host holds it.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use belljar_core::wire::{Envelope, GuestFrame, Lines, PROTOCOL};
use belljar_core::{CellId, Decision};
use belljar_jail::cgroup::CellCgroup;
use bytes::Bytes;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::ids::LeasedId;
use super::network_namespaces::{LeasedNamespace, proves_untouched};
use super::template::NativeTemplate;
use super::watch::watch;
use super::way_out::WayOut;
use super::zygote::{Newborn, SOCKETS_WERE_MADE, refusal};
use crate::engine::{Autopsy, BoxFuture, Burst, Cell, CellUsage, End, Leftovers, Output};
use crate::reaper::{self, Remains};

/// One side's ends of what a cell is connected by, besides its channel.
pub(super) struct CellEnds<E> {
    pub(super) stdout: E,
    pub(super) stderr: E,
    pub(super) status: E,
}

/// What a cell has of things that there are only so many of.
pub(super) struct Share {
    pub(super) cgroup: CellCgroup,
    pub(super) host_id: Option<LeasedId>,
    pub(super) network: LeasedNamespace,
}

/// One cell. Its parts go to the reaper when it is dropped.
pub(super) struct NativeCell {
    id: CellId,
    /// `None` only while being dropped.
    parts: Option<Parts>,
    template: Arc<NativeTemplate>,
    end: Option<End>,
    /// Processor time spent on getting ready, which no run shall be charged with.
    spent_before_ready: u64,
}

struct Parts {
    channel: AsyncFd<OwnedFd>,
    stdout: Option<AsyncFd<OwnedFd>>,
    stderr: Option<AsyncFd<OwnedFd>>,
    status: AsyncFd<OwnedFd>,
    process: AsyncFd<OwnedFd>,
    scratch: Vec<OwnedFd>,
    way_out: Option<WayOut>,
    share: Share,
    channel_open: bool,
    /// As far as PID 1 has told: nobody in the cell has made a socket.
    network_is_untouched: bool,
}

const READ_SIZE: usize = 64 * 1024;

impl NativeCell {
    pub(super) fn new(
        id: CellId,
        ends: CellEnds<AsyncFd<OwnedFd>>,
        newborn: Newborn,
        share: Share,
        template: Arc<NativeTemplate>,
    ) -> io::Result<Self> {
        let parts = Parts {
            channel: watch(newborn.channel, Interest::READABLE | Interest::WRITABLE)?,
            stdout: Some(ends.stdout),
            stderr: Some(ends.stderr),
            status: ends.status,
            process: watch(newborn.process, Interest::READABLE)?,
            scratch: newborn.scratch,
            way_out: None,
            share,
            channel_open: true,
            network_is_untouched: newborn.is_untouched,
        };
        Ok(Self { id, parts: Some(parts), template, end: None, spent_before_ready: 0 })
    }

    /// Gives it its way to the hosts it may talk to.
    pub(super) fn open_way_out(&mut self, way_out: WayOut) {
        if let Some(parts) = &mut self.parts {
            parts.way_out = Some(way_out);
        }
    }

    /// Waits for the harness's `ready`; the reason when it does not come.
    pub(super) async fn wait_until_ready(&mut self) -> Result<(), String> {
        const WITHIN: Duration = Duration::from_secs(30);
        let mut lines = Lines::with_limit(READ_SIZE);
        let mut said = String::new();
        let ready = tokio::time::timeout(WITHIN, async {
            loop {
                match std::future::poll_fn(|cx| self.poll_output(cx)).await {
                    Output::Burst(burst) => {
                        for printed in [&burst.stdout, &burst.stderr] {
                            said.push_str(&String::from_utf8_lossy(printed));
                        }
                        lines.push(&burst.channel);
                        while let Ok(Some(line)) = lines.next_line() {
                            match Envelope::parse(line).map(|envelope| envelope.frame) {
                                Some(GuestFrame::Ready { protocol: PROTOCOL }) => return Ok(()),
                                Some(GuestFrame::Ready { protocol }) => {
                                    return Err(format!("it speaks protocol {protocol}, not {PROTOCOL}"));
                                }
                                _ => {}
                            }
                        }
                    }
                    Output::Closed => return Err(self.why_it_did_not_start().await),
                }
            }
        })
        .await;
        let reason = match ready {
            Ok(Ok(())) => {
                self.spent_before_ready = self.usage().cpu_micros.unwrap_or(0);
                return Ok(());
            }
            Ok(Err(reason)) => reason,
            Err(_) => "it was not ready within 30 s".to_owned(),
        };
        Err(if said.trim().is_empty() { reason } else { format!("{reason}; it said: {}", said.trim()) })
    }

    async fn why_it_did_not_start(&mut self) -> String {
        match self.read_status().await {
            Some(record) if record.first() == Some(&b'F') => refusal(&record[1..]),
            _ => format!("it ended before it was ready ({:?})", self.end_of_life().await),
        }
    }

    /// What PID 1 left on the status socket about the cell's end, once it is dead.
    async fn read_status(&mut self) -> Option<Vec<u8>> {
        let parts = self.parts.as_mut()?;
        // PID 1 writes before it exits, so once it is dead whatever it had to say can be read without waiting.
        let _ = parts.process.readable().await;
        let mut record = vec![0; 4096];
        loop {
            match rustix::io::read(parts.status.get_ref(), &mut record[..]) {
                Ok(1) if record[0] == SOCKETS_WERE_MADE => parts.network_is_untouched = false,
                Ok(read) if read > 0 => {
                    record.truncate(read);
                    return Some(record);
                }
                _ => return None,
            }
        }
    }

    async fn end_of_life(&mut self) -> End {
        if let Some(end) = self.end {
            return end;
        }
        let end = match self.read_status().await {
            Some(record) if record.first() == Some(&b'E') && record.len() >= 5 => {
                End::of_wait_status(i32::from_le_bytes([record[1], record[2], record[3], record[4]]))
            }
            _ => End::Killed,
        };
        self.end = Some(end);
        end
    }
}

impl Cell for NativeCell {
    fn id(&self) -> CellId {
        self.id
    }

    fn send<'a>(&'a mut self, line: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let parts = self.parts.as_ref().expect("only a dropped cell has no parts");
            let mut rest = line;
            while !rest.is_empty() {
                // Most lines fit at once: try before asking the reactor.
                let written = match rustix::net::send(
                    parts.channel.get_ref(),
                    rest,
                    rustix::net::SendFlags::NOSIGNAL,
                ) {
                    Ok(written) => written,
                    Err(rustix::io::Errno::AGAIN) => {
                        parts
                            .channel
                            .async_io(Interest::WRITABLE, |socket| {
                                Ok(rustix::net::send(socket, rest, rustix::net::SendFlags::NOSIGNAL)?)
                            })
                            .await?
                    }
                    Err(error) => return Err(error.into()),
                };
                rest = &rest[written..];
            }
            Ok(())
        })
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Output> {
        let parts = self.parts.as_mut().expect("only a dropped cell has no parts");
        parts.poll_output(cx)
    }

    fn take_leftovers(&mut self) -> BoxFuture<'_, Leftovers> {
        let parts = self.parts.as_mut().expect("only a dropped cell has no parts");
        Box::pin(std::future::ready(parts.take_leftovers()))
    }

    fn usage(&self) -> CellUsage {
        let counted = self.parts.as_ref().map(|parts| parts.share.cgroup.usage()).unwrap_or_default();
        CellUsage {
            cpu_micros: counted.cpu_micros.map(|micros| micros.saturating_sub(self.spent_before_ready)),
            peak_memory_bytes: counted.peak_memory_bytes,
            oom_kills: counted.oom_kills,
            forks_refused: counted.forks_refused,
        }
    }

    fn scratch_is_full(&self) -> bool {
        let full = |place: &OwnedFd| {
            rustix::fs::fstatvfs(place).is_ok_and(|space| space.f_bavail == 0 || space.f_ffree == 0)
        };
        self.parts.as_ref().is_some_and(|parts| parts.scratch.iter().any(full))
    }

    fn take_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        let way_out = self.parts.as_ref().and_then(|parts| parts.way_out.as_ref());
        Box::pin(std::future::ready(way_out.map(WayOut::take_decisions).unwrap_or_default()))
    }

    fn take_last_decisions(&mut self) -> BoxFuture<'_, Vec<Decision>> {
        match self.parts.as_mut().and_then(|parts| parts.way_out.as_mut()) {
            Some(way_out) => Box::pin(way_out.close()),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn take_denials(&mut self) -> Vec<Decision> {
        self.parts
            .as_ref()
            .and_then(|parts| parts.way_out.as_ref())
            .map(WayOut::take_denials)
            .unwrap_or_default()
    }

    fn kill(&mut self) {
        if let Some(parts) = &self.parts {
            reaper::kill(parts.process.get_ref());
        }
    }

    fn autopsy(&mut self) -> BoxFuture<'_, Autopsy> {
        Box::pin(async move {
            let end = self.end_of_life().await;
            Autopsy { end, usage: self.usage() }
        })
    }
}

impl Drop for NativeCell {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let Parts { channel, stdout, stderr, status, process, scratch, share, network_is_untouched, .. } =
            parts;
        let Share { cgroup, host_id, network } = share;
        self.template.resources.reaper.reap(Remains {
            process: process.into_inner(),
            cgroup,
            handles: Box::new((channel, stdout, stderr, scratch)),
            lingering: self.template.lingering.clone(),
            belongings: Box::new(Belongings {
                status: status.into_inner(),
                network,
                network_is_untouched,
                _host_id: host_id,
            }),
        });
    }
}

/// What goes back, or goes, when every process of a cell is gone.
struct Belongings {
    status: OwnedFd,
    network: LeasedNamespace,
    network_is_untouched: bool,
    _host_id: Option<LeasedId>,
}

impl Drop for Belongings {
    fn drop(&mut self) {
        if self.network_is_untouched && proves_untouched(&self.status) {
            self.network.vouch();
        }
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

/// A burst in the making.
#[derive(Default)]
struct Gathered {
    channel: Piece,
    stdout: Piece,
    stderr: Piece,
}

#[derive(Default)]
struct Piece(Bytes);

impl Piece {
    /// Appends what was read; whether that was the end of the stream.
    fn take(&mut self, read: Read) -> bool {
        match read {
            Read::Some(bytes) if self.0.is_empty() => self.0 = bytes,
            Read::Some(bytes) => self.0 = [&self.0[..], &bytes[..]].concat().into(),
            Read::Nothing => {}
            Read::End => return true,
        }
        false
    }
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.channel.0.is_empty() && self.printed() == 0
    }

    fn printed(&self) -> usize {
        self.stdout.0.len() + self.stderr.0.len()
    }
}

impl From<Gathered> for Burst {
    fn from(gathered: Gathered) -> Self {
        Self { channel: gathered.channel.0, stdout: gathered.stdout.0, stderr: gathered.stderr.0 }
    }
}

enum Read {
    Some(Bytes),
    End,
    Nothing,
}

impl From<Poll<Option<Bytes>>> for Read {
    fn from(poll: Poll<Option<Bytes>>) -> Self {
        match poll {
            Poll::Ready(Some(bytes)) => Self::Some(bytes),
            Poll::Ready(None) => Self::End,
            Poll::Pending => Self::Nothing,
        }
    }
}

thread_local! {
    /// Where bytes land before they are copied to a place of their own size; a buffer per cell would be most of what a cell costs the host.
    static LANDING: RefCell<Box<[u8; READ_SIZE]>> = RefCell::new(Box::new([0; READ_SIZE]));
}

fn read_now(fd: &AsyncFd<OwnedFd>) -> Read {
    LANDING.with_borrow_mut(|landing| match rustix::io::read(fd.as_fd(), &mut landing[..]) {
        Ok(0) => Read::End,
        Ok(read) => Read::Some(Bytes::copy_from_slice(&landing[..read])),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Read::Nothing,
        Err(_) => Read::End,
    })
}

/// `None` at the end of the stream, however it came about.
fn poll_read(fd: &AsyncFd<OwnedFd>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
    loop {
        let Ok(mut guard) = ready!(fd.poll_read_ready(cx)) else { return Poll::Ready(None) };
        match read_now(fd) {
            Read::Some(bytes) => return Poll::Ready(Some(bytes)),
            Read::End => return Poll::Ready(None),
            Read::Nothing => guard.clear_ready(),
        }
    }
}
