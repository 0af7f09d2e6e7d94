//! The last bytes that a program printed, both streams in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use belljar::OutputStream;
use belljar::program::ProgramSink;
use tokio::sync::Notify;

/// What is kept of one program.
const KEPT: usize = 1 << 20;
/// How far somebody who is attached may be behind before the program has to wait.
const BEHIND: u64 = KEPT as u64 / 2;

/// What a program printed. Bytes are counted from the first, also where that is not kept any more.
#[derive(Default)]
pub(super) struct Log {
    ring: Mutex<Ring>,
    changed: Notify,
}

#[derive(Default)]
struct Ring {
    bytes: VecDeque<u8>,
    /// The number of the first byte that is kept.
    first: u64,
    is_over: bool,
    /// Where everybody is who is attached.
    readers: HashMap<u64, u64>,
    last_reader: u64,
    /// Whoever waits for room.
    waiting: Option<Waker>,
}

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.bytes.len() as u64
    }

    fn has_room(&self) -> bool {
        let slowest = self.readers.values().min();
        slowest.is_none_or(|at| self.end().saturating_sub(*at) < BEHIND)
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, printed: &[u8]) {
        let mut ring = self.lock();
        ring.bytes.extend(printed);
        let surplus = ring.bytes.len().saturating_sub(KEPT);
        ring.bytes.drain(..surplus);
        ring.first += surplus as u64;
        drop(ring);
        self.changed.notify_waiters();
    }

    /// There will be no more.
    pub(super) fn close(&self) {
        self.lock().is_over = true;
        self.changed.notify_waiters();
    }

    /// Bytes from one on, at most so many, and the number of the first.
    pub(super) fn read(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        let ring = self.lock();
        let from = from.clamp(ring.first, ring.end());
        let skipped = usize::try_from(from - ring.first).unwrap_or(usize::MAX);
        (from, ring.bytes.iter().skip(skipped).take(most).copied().collect())
    }

    /// Waits until there is something from a byte on. False: there will be nothing.
    pub(super) async fn reaches_beyond(&self, from: u64) -> bool {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let ring = self.lock();
                if ring.end() > from || ring.is_over {
                    return ring.end() > from;
                }
            }
            changed.await;
        }
    }

    /// Somebody who misses nothing from a byte on, until what this returns is dropped.
    pub(super) fn attach(self: &Arc<Self>, from: u64) -> Reader {
        let mut ring = self.lock();
        ring.last_reader += 1;
        let (number, at) = (ring.last_reader, from.min(ring.end()));
        ring.readers.insert(number, at);
        drop(ring);
        Reader { log: self.clone(), number, at }
    }

    /// How many are attached.
    pub(super) fn attached(&self) -> usize {
        self.lock().readers.len()
    }

    /// Waits until nobody is.
    pub(super) async fn nobody_attached(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.attached() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// Somebody who is attached.
pub(super) struct Reader {
    log: Arc<Log>,
    number: u64,
    at: u64,
}

/// Some bytes, and how many are missing before them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) skipped: u64,
    pub(super) bytes: Vec<u8>,
}

impl Reader {
    /// Where it is.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The next bytes. None after the last. What was not handed out comes again.
    pub(super) async fn next(&mut self, most: usize) -> Option<Piece> {
        if !self.log.reaches_beyond(self.at).await {
            return None;
        }
        let (from, bytes) = self.log.read(self.at, most);
        let skipped = from - self.at;
        self.at = from + bytes.len() as u64;
        let mut ring = self.log.lock();
        ring.readers.insert(self.number, self.at);
        wake(ring);
        Some(Piece { skipped, bytes })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut ring = self.log.lock();
        ring.readers.remove(&self.number);
        wake(ring);
        self.log.changed.notify_waiters();
    }
}

/// Tells the program that it may print, if it waits and may. Not while the ring is locked.
fn wake(mut ring: MutexGuard<'_, Ring>) {
    let waiting = if ring.has_room() { ring.waiting.take() } else { None };
    drop(ring);
    if let Some(waker) = waiting {
        waker.wake();
    }
}

/// Takes what a program prints.
pub(super) struct Output(pub(super) Arc<Log>);

impl ProgramSink for Output {
    fn take(&mut self, _stream: OutputStream, bytes: &[u8]) {
        self.0.add(bytes);
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut ring = self.0.lock();
        if ring.has_room() {
            return Poll::Ready(());
        }
        ring.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn has_room(log: &Arc<Log>) -> bool {
        Output(log.clone()).poll_room(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[tokio::test]
    async fn whoever_is_attached_holds_a_program_up_and_misses_nothing() {
        let log = Arc::new(Log::default());
        let mut reader = log.attach(0);
        let mut printed = 0u64;
        while has_room(&log) {
            log.add(&[7; 1000]);
            printed += 1000;
        }
        assert!(printed <= KEPT as u64);
        let mut read = 0;
        while read < printed {
            let piece = reader.next(64 << 10).await.unwrap();
            assert_eq!(piece.skipped, 0);
            read += piece.bytes.len() as u64;
        }
        assert!(has_room(&log));
        log.close();
        assert_eq!(reader.next(1).await, None);
    }

    #[tokio::test]
    async fn a_program_that_nobody_reads_goes_on_and_its_first_bytes_are_gone() {
        let log = Arc::new(Log::default());
        for _ in 0..3000 {
            assert!(has_room(&log));
            log.add(&[7; 1000]);
        }
        assert!(log.lock().bytes.len() <= KEPT);
        let (from, bytes) = log.read(0, 10);
        assert_eq!((from, bytes.len()), (3_000_000 - KEPT as u64, 10));
        let mut late = log.attach(5);
        assert!(!has_room(&log));
        assert_eq!(late.next(3).await, Some(Piece { skipped: from - 5, bytes: vec![7; 3] }));
        drop(late);
        assert!(has_room(&log), "one that has gone holds nobody up");
    }
}
